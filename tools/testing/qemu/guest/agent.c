// SPDX-License-Identifier: GPL-2.0
/*
 * The guest's side of the harness, static and locked in memory so that it
 * answers however little memory is left. Three programs by name:
 *
 *   agent        runs the host's commands (a virtio port) and other guests' (TCP 2323)
 *   host WORD... asks the host for something: poweroff donor1, boot donor1, ...
 *   on [-t SECONDS] ADDRESS COMMAND   runs a command on another guest
 *
 * Frames on the port are lines. From the host: "R id base64(command)",
 * "K id" (kill what id runs), "A id rc base64(answer)". From the guest:
 * "B" (ready), "O id base64(output)", "X id rc", "Q id base64(request)".
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define PORT		2323
#define SOCKET_PATH	"/run/host.sock"
#define MAX_JOBS	64
#define MAX_REQUESTS	16
#define MAX_LINE	(256 * 1024)
/* A frame of it is a page at most: the driver copies what is written. */
#define CHUNK		2700
/* Ends a remote command's output; the status follows. */
#define TRAILER		"\nfarswap-rc\001="

struct job {
	char id[24];
	pid_t pid;	/* 0: slot is free */
	int out;	/* read end of its output, -1 after its end */
	int status;	/* of waitpid, -1 while it runs */
};

static int port = -1;
static struct job jobs[MAX_JOBS];
static int requests[MAX_REQUESTS];
static sigset_t old_mask;

static const char b64[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void die(const char *what)
{
	perror(what);
	exit(125);
}

static void write_all(int fd, const char *buf, size_t len)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return;
		buf += n;
		len -= n;
	}
}

static size_t b64_encode(char *out, const unsigned char *in, size_t len)
{
	char *start = out;

	for (size_t i = 0; i < len; i += 3) {
		unsigned int v = in[i] << 16;

		if (i + 1 < len)
			v |= in[i + 1] << 8;
		if (i + 2 < len)
			v |= in[i + 2];
		*out++ = b64[v >> 18];
		*out++ = b64[(v >> 12) & 63];
		*out++ = i + 1 < len ? b64[(v >> 6) & 63] : '=';
		*out++ = i + 2 < len ? b64[v & 63] : '=';
	}
	return out - start;
}

/* In place; the result is terminated. */
static size_t b64_decode(char *s)
{
	unsigned int v = 0, bits = 0;
	size_t n = 0;

	for (char *p = s; *p && *p != '='; p++) {
		const char *at = strchr(b64, *p);

		if (!at)
			break;
		v = v << 6 | (at - b64);
		bits += 6;
		if (bits >= 8) {
			bits -= 8;
			s[n++] = v >> bits & 255;
		}
	}
	s[n] = 0;
	return n;
}

static void send_frame(char kind, const char *id, const void *data, size_t len)
{
	static char line[64 + CHUNK * 2];
	size_t n = snprintf(line, 64, "%c %s ", kind, id);

	n += b64_encode(line + n, data, len);
	line[n++] = '\n';
	write_all(port, line, n);
}

static void send_exit(const char *id, int rc)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "X %s %d\n", id, rc);

	write_all(port, line, n);
}

static int exit_code(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void set_oom_score(const char *value)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	write_all(fd, value, strlen(value));
	close(fd);
}

static void exec_shell(const char *command, int out)
{
	int null = open("/dev/null", O_RDONLY);

	setsid();
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
	set_oom_score("0");
	dup2(null, 0);
	dup2(out, 1);
	dup2(out, 2);
	execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(127);
}

static void job_start(const char *id, const char *command)
{
	int fds[2];

	for (struct job *job = jobs; job < jobs + MAX_JOBS; job++) {
		if (job->pid)
			continue;
		if (pipe2(fds, O_CLOEXEC))
			break;
		job->pid = fork();
		if (!job->pid)
			exec_shell(command, fds[1]);
		close(fds[1]);
		if (job->pid < 0) {
			close(fds[0]);
			job->pid = 0;
			break;
		}
		snprintf(job->id, sizeof(job->id), "%s", id);
		job->out = fds[0];
		job->status = -1;
		return;
	}
	send_frame('O', id, "agent: cannot start\n", 20);
	send_exit(id, 126);
}

/*
 * Gone when the shell has ended and its output was read up to what is there
 * now: what it left running in the background may hold the pipe open for ever.
 */
static void job_finish(struct job *job)
{
	send_exit(job->id, exit_code(job->status));
	if (job->out >= 0)
		close(job->out);
	job->pid = 0;
}

static bool job_output(struct job *job)
{
	char buf[CHUNK];
	ssize_t n = read(job->out, buf, sizeof(buf));

	if (n > 0) {
		send_frame('O', job->id, buf, n);
		return true;
	}
	close(job->out);
	job->out = -1;
	return false;
}

static void jobs_reap(void)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		for (struct job *job = jobs; job < jobs + MAX_JOBS; job++)
			if (job->pid == pid)
				job->status = status;

	for (struct job *job = jobs; job < jobs + MAX_JOBS; job++) {
		if (!job->pid || job->status == -1)
			continue;
		while (job->out >= 0) {
			struct pollfd p = { .fd = job->out, .events = POLLIN };

			if (poll(&p, 1, 0) <= 0 || !job_output(job))
				break;
		}
		job_finish(job);
	}
}

static void host_answer(int slot, int rc, char *answer)
{
	char head[16];

	if (slot < 0 || slot >= MAX_REQUESTS || !requests[slot])
		return;
	snprintf(head, sizeof(head), "%d\n", rc);
	write_all(requests[slot], head, strlen(head));
	write_all(requests[slot], answer, strlen(answer));
	close(requests[slot]);
	requests[slot] = 0;
}

static void host_frame(char *line)
{
	char *save, *kind = strtok_r(line, " ", &save);
	char *id = strtok_r(NULL, " ", &save);
	char *rest = save ? save : "";

	if (!kind || !id)
		return;
	switch (*kind) {
	case 'R':
		b64_decode(rest);
		job_start(id, rest);
		break;
	case 'K':
		for (struct job *job = jobs; job < jobs + MAX_JOBS; job++)
			if (job->pid && !strcmp(job->id, id))
				kill(-job->pid, SIGKILL);
		break;
	case 'A': {
		int rc = strtol(rest, &rest, 10);

		rest += *rest == ' ';
		b64_decode(rest);
		host_answer(atoi(id), rc, rest);
		break;
	}
	}
}

static void port_read(void)
{
	static char line[MAX_LINE];
	static size_t len;
	ssize_t n = read(port, line + len, sizeof(line) - 1 - len);
	char *end;

	if (n <= 0)
		return;
	len += n;
	line[len] = 0;
	while ((end = memchr(line, '\n', len))) {
		*end++ = 0;
		len -= end - line;
		host_frame(line);
		memmove(line, end, len + 1);
	}
	if (len == sizeof(line) - 1)
		len = 0;
}

/* One request a connection, one line. */
static void host_request(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	char buf[512], id[8];
	ssize_t n;

	if (fd < 0)
		return;
	n = read(fd, buf, sizeof(buf));
	for (int i = 0; n > 0 && i < MAX_REQUESTS; i++) {
		if (requests[i])
			continue;
		requests[i] = fd;
		snprintf(id, sizeof(id), "%d", i);
		send_frame('Q', id, buf, n);
		return;
	}
	close(fd);
}

/* In a process of its own: the command up to a NUL, output, trailer. */
static void remote_serve(int fd)
{
	static char command[MAX_LINE];
	size_t len = 0;
	char trailer[64];
	int status;
	pid_t pid;

	sigprocmask(SIG_SETMASK, &old_mask, NULL);
	alarm(3600);
	while (!len || command[len - 1]) {
		ssize_t n = read(fd, command + len, sizeof(command) - len);

		if (n <= 0)
			_exit(1);
		len += n;
	}
	pid = fork();
	if (!pid)
		exec_shell(command, fd);
	waitpid(pid, &status, 0);
	snprintf(trailer, sizeof(trailer), TRAILER "%d\n", exit_code(status));
	write_all(fd, trailer, strlen(trailer));
	_exit(0);
}

static void remote_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (!fork())
		remote_serve(fd);
	close(fd);
}

static int listen_tcp(void)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	int one = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) || listen(fd, 16))
		die("agent: tcp");
	return fd;
}

static struct sockaddr_un host_address = {
	.sun_family = AF_UNIX,
	.sun_path = SOCKET_PATH,
};

static int listen_unix(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	unlink(SOCKET_PATH);
	if (bind(fd, (struct sockaddr *)&host_address, sizeof(host_address)) ||
	    listen(fd, 16))
		die("agent: " SOCKET_PATH);
	return fd;
}

static __attribute__((noreturn)) void agent(const char *path)
{
	struct pollfd fds[4 + MAX_JOBS];
	sigset_t chld;
	int sfd;

	signal(SIGPIPE, SIG_IGN);
	set_oom_score("-1000");
	mlockall(MCL_CURRENT | MCL_FUTURE);
	port = open(path, O_RDWR | O_CLOEXEC);
	if (port < 0)
		die(path);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old_mask);
	sfd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);

	fds[0] = (struct pollfd){ .fd = port, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = sfd, .events = POLLIN };
	fds[2] = (struct pollfd){ .fd = listen_unix(), .events = POLLIN };
	fds[3] = (struct pollfd){ .fd = listen_tcp(), .events = POLLIN };
	write_all(port, "\nB\n", 3);

	for (;;) {
		struct signalfd_siginfo info;

		for (int i = 0; i < MAX_JOBS; i++) {
			fds[4 + i].fd = jobs[i].pid ? jobs[i].out : -1;
			fds[4 + i].events = POLLIN;
			fds[4 + i].revents = 0;
		}
		if (poll(fds, 4 + MAX_JOBS, -1) < 0)
			continue;
		for (int i = 0; i < MAX_JOBS; i++)
			if (fds[4 + i].revents)
				job_output(&jobs[i]);
		if (fds[1].revents)
			while (read(sfd, &info, sizeof(info)) > 0)
				;
		jobs_reap();
		if (fds[2].revents)
			host_request(fds[2].fd);
		if (fds[3].revents)
			remote_accept(fds[3].fd);
		if (fds[0].revents)
			port_read();
	}
}

/* First line of the answer is the status, the rest is printed. */
static int ask_host(int argc, char **argv)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);
	char buf[4096];
	size_t len = 0;
	ssize_t n;
	char *end;

	if (connect(fd, (struct sockaddr *)&host_address, sizeof(host_address)))
		die("host");
	for (int i = 1; i < argc; i++)
		len += snprintf(buf + len, 128, i > 1 ? " %s" : "%s", argv[i]);
	write_all(fd, buf, len);
	len = 0;
	while ((n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0)
		len += n;
	buf[len] = 0;
	end = strchr(buf, '\n');
	if (!end)
		return 125;
	fputs(end + 1, stdout);
	return atoi(buf);
}

/* Prints what comes up to the trailer; keeps back what may be its beginning. */
static int remote_output(int fd)
{
	static char buf[64 * 1024];
	size_t len = 0, keep = strlen(TRAILER);
	ssize_t n;

	while ((n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0) {
		char *end;

		len += n;
		buf[len] = 0;
		end = memmem(buf, len, TRAILER, keep);
		if (end && strchr(end + keep, '\n')) {
			write_all(1, buf, end - buf);
			return atoi(end + keep);
		}
		if (!end && len > keep) {
			write_all(1, buf, len - keep);
			memmove(buf, buf + len - keep, keep);
			len = keep;
		}
	}
	write_all(1, buf, len);
	fprintf(stderr, "on: connection lost\n");
	return 125;
}

static int run_on(int argc, char **argv)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	int fd = socket(AF_INET, SOCK_STREAM, 0), seconds = 60;

	if (argc > 3 && !strcmp(argv[1], "-t")) {
		seconds = atoi(argv[2]);
		argv += 2;
		argc -= 2;
	}
	if (argc != 3 || inet_pton(AF_INET, argv[1], &addr.sin_addr) != 1) {
		fprintf(stderr, "usage: on [-t SECONDS] ADDRESS COMMAND\n");
		return 2;
	}
	alarm(seconds);
	if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
		die("on");
	write_all(fd, argv[2], strlen(argv[2]) + 1);
	return remote_output(fd);
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');

	name = name ? name + 1 : argv[0];
	if (!strcmp(name, "host"))
		return ask_host(argc, argv);
	if (!strcmp(name, "on"))
		return run_on(argc, argv);
	agent(argc > 1 ? argv[1] : "/dev/vport0p1");
}
