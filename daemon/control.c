// SPDX-License-Identifier: GPL-2.0
/*
 * The Unix socket for farswapctl, mode 0600, so that only root can use it. A connection
 * carries one request and one reply, each with a deadline.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "drain.h"
#include "evict.h"
#include "log.h"
#include "loop.h"
#include "session.h"
#include "status.h"

/* Further connections wait to be accepted. */
#define CONTROL_CONNS_MAX	64
/* Deadline for sending the request, and for reading the reply. */
#define CONTROL_IO_MS		5000
/* Pause before accepting again when no file descriptor is available. */
#define CONTROL_RETRY_MS	1000

#define CONTROL_BROKEN	"; memory whose rkey can't be revoked stays allocated until farswapd ends"

struct control_conn {
	struct list link;
	struct loop_fd fd;
	struct loop_timer timer;
	struct control_request request;
	size_t got;
	char *reply;			/* header and text */
	size_t bytes;
	size_t sent;
	struct evict_job *job;		/* the job that the client waits for */
	struct drain_wait drain;
	bool waits_drain;
};

static struct {
	char path[CONTROL_PATH_MAX];
	struct loop_fd fd;
	struct loop_timer retry;
	struct list conns;
	unsigned int count;
} control = { .fd = { .fd = -1 } };

static void control_close(struct control_conn *conn)
{
	int fd = conn->fd.fd;

	loop_fd_del(&conn->fd);
	loop_timer_stop(&conn->timer);
	if (conn->job)
		evict_forget(conn->job);
	if (conn->waits_drain)
		drain_forget(&conn->drain);
	close(fd);
	free(conn->reply);
	list_del(&conn->link);
	free(conn);
	if (control.count-- == CONTROL_CONNS_MAX)
		loop_fd_events(&control.fd, EPOLLIN);
}

static void control_write(struct control_conn *conn)
{
	ssize_t n = send(conn->fd.fd, conn->reply + conn->sent, conn->bytes - conn->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		conn->sent += n;
	if (n < 0 || conn->sent == conn->bytes)
		control_close(conn);
}

/* Send @error (0 or an errno) and @text. Takes ownership of @text. */
static void control_reply(struct control_conn *conn, int error, char *text, size_t len)
{
	struct control_reply reply = {
		.magic = CONTROL_MAGIC,
		.version = CONTROL_VERSION,
		.error = error,
		.bytes = len,
	};

	conn->reply = text ? malloc(sizeof(reply) + len) : NULL;
	if (!conn->reply) {
		free(text);
		control_close(conn);
		return;
	}
	memcpy(conn->reply, &reply, sizeof(reply));
	memcpy(conn->reply + sizeof(reply), text, len);
	free(text);
	conn->bytes = sizeof(reply) + len;
	loop_timer_set(&conn->timer, CONTROL_IO_MS);
	loop_fd_events(&conn->fd, EPOLLOUT);
}

__attribute__((format(printf, 3, 4)))
static void control_print(struct control_conn *conn, int error, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	control_reply(conn, error, n < 0 ? NULL : text, n < 0 ? 0 : n);
}

static void control_text(struct control_conn *conn, void (*show)(FILE *out))
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool failed;

	if (!out) {
		control_close(conn);
		return;
	}
	show(out);
	/* The client can't tell a truncated text from a complete one. */
	failed = ferror(out);
	if (fclose(out) || failed) {
		free(text);
		control_close(conn);
		return;
	}
	control_reply(conn, 0, text, len);
}

static void control_evicted(void *arg, const struct evict_result *result)
{
	struct control_conn *conn = arg;

	conn->job = NULL;
	control_print(conn, 0, "%u regions evicted: %u returned, %u revoked%s\n",
		      result->returned + result->revoked, result->returned, result->revoked,
		      result->broken ? CONTROL_BROKEN : "");
}

static void control_evict(struct control_conn *conn)
{
	/* The connection needs no deadline: the job has one. */
	loop_timer_stop(&conn->timer);
	conn->job = evict_start(conn->request.arg, false, control_evicted, conn);
	if (!conn->job)
		control_print(conn, ENOMEM, "out of memory");
}

static void control_drained(void *arg, const struct drain_result *result)
{
	struct control_conn *conn = arg;
	char gone[64] = "";

	conn->waits_drain = false;
	switch (result->end) {
	case DRAIN_END_DONE:
		if (result->gone)
			snprintf(gone, sizeof(gone), ", %u of disconnected clients", result->gone);
		control_print(conn, 0, "drained: %u regions evicted, %u returned, %u revoked%s%s\n",
			      result->lent, result->lent - result->revoked - result->gone,
			      result->revoked, gone,
			      result->broken ? CONTROL_BROKEN : "");
		break;
	case DRAIN_END_TIMEOUT:
		control_print(conn, ETIMEDOUT, "%u of %u regions are still lent after %.1f s; the drain continues",
			      result->left, result->lent, result->ms / 1000.0);
		break;
	case DRAIN_END_UNDRAINED:
		control_print(conn, ECANCELED, "canceled by undrain with %u of %u regions still lent",
			      result->left, result->lent);
		break;
	case DRAIN_END_LEAVING:
		control_print(conn, ESHUTDOWN, "farswapd is shutting down");
		break;
	}
}

static void control_drain(struct control_conn *conn)
{
	if (session_leaving()) {
		control_print(conn, ESHUTDOWN, "farswapd is shutting down");
		return;
	}
	if (conn->request.arg > CONTROL_DRAIN_S_MAX) {
		control_print(conn, EINVAL, "invalid timeout (at most %d seconds)",
			      CONTROL_DRAIN_S_MAX);
		return;
	}
	if (drain_begin()) {
		control_print(conn, ENOMEM, "out of memory");
		return;
	}
	/* The connection needs no deadline: the wait has one. */
	loop_timer_stop(&conn->timer);
	conn->waits_drain = true;
	drain_wait(&conn->drain, conn->request.arg * 1000, control_drained, conn);
}

static void control_undrain(struct control_conn *conn)
{
	bool drained = drain_state() != DRAIN_NOT;

	if (session_leaving()) {
		control_print(conn, ESHUTDOWN, "farswapd is shutting down");
		return;
	}
	drain_stop(DRAIN_END_UNDRAINED);
	control_print(conn, 0, "%s: %" PRIu64 "M can be lent\n",
		      drained ? "undrained" : "was not drained", region_free_bytes() >> 20);
}

static void control_serve(struct control_conn *conn)
{
	if (conn->request.magic != CONTROL_MAGIC || conn->request.version != CONTROL_VERSION) {
		control_print(conn, EPROTO, "farswapctl and farswapd have different versions");
		return;
	}
	switch (conn->request.command) {
	case CONTROL_STATUS:
		control_text(conn, status_show);
		break;
	case CONTROL_METRICS:
		control_text(conn, status_metrics);
		break;
	case CONTROL_EVICT:
		control_evict(conn);
		break;
	case CONTROL_DRAIN:
		control_drain(conn);
		break;
	case CONTROL_UNDRAIN:
		control_undrain(conn);
		break;
	default:
		control_print(conn, EOPNOTSUPP, "unknown command; farswapctl and farswapd may have different versions");
	}
}

static void control_event(void *arg, uint32_t events)
{
	struct control_conn *conn = arg;
	ssize_t n;

	if (conn->reply) {
		control_write(conn);
		return;
	}
	/* While a job runs only a hangup matters. */
	if (conn->got == sizeof(conn->request)) {
		if (events & (EPOLLHUP | EPOLLERR))
			control_close(conn);
		return;
	}
	n = recv(conn->fd.fd, (char *)&conn->request + conn->got,
		 sizeof(conn->request) - conn->got, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		control_close(conn);
		return;
	}
	conn->got += n;
	if (conn->got < sizeof(conn->request))
		return;
	loop_fd_events(&conn->fd, 0);
	control_serve(conn);
}

static void control_timeout(void *arg)
{
	control_close(arg);
}

static void control_retry(void *arg)
{
	(void)arg;
	loop_fd_events(&control.fd, EPOLLIN);
}

static void control_accept(void *arg, uint32_t events)
{
	struct control_conn *conn;
	int fd;

	(void)arg;
	(void)events;
	if (control.count == CONTROL_CONNS_MAX) {
		loop_fd_events(&control.fd, 0);
		return;
	}
	fd = accept4(control.fd.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		/* Otherwise the pending connection would be reported again at once. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			loop_fd_events(&control.fd, 0);
			loop_timer_set(&control.retry, CONTROL_RETRY_MS);
		}
		return;
	}
	conn = calloc(1, sizeof(*conn));
	if (!conn || loop_fd_add(&conn->fd, fd, EPOLLIN, control_event, conn)) {
		free(conn);
		close(fd);
		return;
	}
	loop_timer_init(&conn->timer, control_timeout, conn);
	loop_timer_set(&conn->timer, CONTROL_IO_MS);
	list_add_tail(&conn->link, &control.conns);
	control.count++;
}

/* Create the directory of the socket, but not the directories above it. */
static void control_make_directory(const char *path)
{
	char dir[CONTROL_PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return;
	*slash = '\0';
	(void)mkdir(dir, 0755);
}

/* Replace a stale socket, but not one that is in use, nor a file of any other type. */
static int control_bind(int fd, const struct sockaddr_un *addr)
{
	struct stat there;
	mode_t mask;
	int err = 0;

	if (!lstat(addr->sun_path, &there) && !S_ISSOCK(there.st_mode))
		return -EEXIST;
	if (!connect(fd, (const struct sockaddr *)addr, sizeof(*addr)))
		return -EADDRINUSE;
	if (errno == ECONNREFUSED)
		unlink(addr->sun_path);
	mask = umask(0177);
	if (bind(fd, (const struct sockaddr *)addr, sizeof(*addr)) < 0)
		err = -errno;
	umask(mask);
	if (!err && listen(fd, CONTROL_CONNS_MAX) < 0)
		err = -errno;
	return err;
}

int control_init(const char *path)
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err, fd;

	list_init(&control.conns);
	loop_timer_init(&control.retry, control_retry, NULL);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	control_make_directory(path);
	err = control_bind(fd, &addr);
	if (err == -EADDRINUSE)
		log_err("%s: in use by another farswapd; stop it, or set another path with -o control=PATH",
			path);
	else if (err == -EEXIST)
		log_err("%s: exists and is not a socket; set another path with -o control=PATH",
			path);
	else if (err)
		log_err("%s: cannot create the control socket: %s", path, strerror(-err));
	if (err)
		goto out_close;
	snprintf(control.path, sizeof(control.path), "%s", path);
	err = loop_fd_add(&control.fd, fd, EPOLLIN, control_accept, NULL);
	if (err)
		goto out_unlink;
	return 0;

out_unlink:
	unlink(path);
out_close:
	close(fd);
	return err;
}

void control_exit(void)
{
	struct list *pos, *next;
	int fd = control.fd.fd;

	if (fd < 0)
		return;
	list_for_each_safe(pos, next, &control.conns)
		control_close(container_of(pos, struct control_conn, link));
	loop_timer_stop(&control.retry);
	loop_fd_del(&control.fd);
	close(fd);
	unlink(control.path);
}
