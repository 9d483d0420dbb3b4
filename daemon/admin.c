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

#include "admin.h"
#include "drain.h"
#include "evict.h"
#include "invite.h"
#include "json.h"
#include "log.h"
#include "loop.h"
#include "session.h"
#include "status.h"

/* Further connections wait to be accepted. */
#define ADMIN_CONNS_MAX	64
/* Deadline for sending the request, and for reading the reply. */
#define ADMIN_IO_MS		5000
/* Pause before accepting again when no file descriptor is available. */
#define ADMIN_RETRY_MS	1000

#define ADMIN_BROKEN	"; memory whose rkey can't be revoked stays allocated until farswapd ends"

struct admin_conn {
	struct list link;
	struct loop_fd fd;
	struct loop_timer timer;
	struct admin_request request;
	size_t got;
	char *reply;			/* header and text */
	size_t bytes;
	size_t sent;
	struct evict_job *job;		/* the job that the client waits for */
	struct drain_wait drain;
	bool waits_drain;
	bool waits_invite;
};

static struct {
	char path[ADMIN_PATH_MAX];
	struct loop_fd fd;
	struct loop_timer retry;
	struct list conns;
	unsigned int count;
	int (*reload)(char *error);
} admin = { .fd = { .fd = -1 } };

static void admin_close(struct admin_conn *conn)
{
	int fd = conn->fd.fd;

	loop_fd_del(&conn->fd);
	loop_timer_stop(&conn->timer);
	if (conn->job)
		evict_forget(conn->job);
	if (conn->waits_drain)
		drain_forget(&conn->drain);
	if (conn->waits_invite)
		invite_cancel();
	close(fd);
	free(conn->reply);
	list_del(&conn->link);
	free(conn);
	if (admin.count-- == ADMIN_CONNS_MAX)
		loop_fd_events(&admin.fd, EPOLLIN);
}

static void admin_write(struct admin_conn *conn)
{
	ssize_t n = send(conn->fd.fd, conn->reply + conn->sent, conn->bytes - conn->sent,
			 MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n > 0)
		conn->sent += n;
	if (n < 0 || conn->sent == conn->bytes)
		admin_close(conn);
}

/* Send @error (0 or an errno) and @text. Takes ownership of @text. */
static void admin_reply(struct admin_conn *conn, int error, char *text, size_t len)
{
	struct admin_reply reply = {
		.magic = ADMIN_MAGIC,
		.version = ADMIN_VERSION,
		.error = error,
		.bytes = len,
	};

	conn->reply = text ? malloc(sizeof(reply) + len) : NULL;
	if (!conn->reply) {
		free(text);
		admin_close(conn);
		return;
	}
	memcpy(conn->reply, &reply, sizeof(reply));
	memcpy(conn->reply + sizeof(reply), text, len);
	free(text);
	conn->bytes = sizeof(reply) + len;
	loop_timer_set(&conn->timer, ADMIN_IO_MS);
	loop_fd_events(&conn->fd, EPOLLOUT);
}

__attribute__((format(printf, 3, 4)))
static void admin_print(struct admin_conn *conn, int error, const char *fmt, ...)
{
	char *text = NULL;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vasprintf(&text, fmt, ap);
	va_end(ap);
	admin_reply(conn, error, n < 0 ? NULL : text, n < 0 ? 0 : n);
}

static void admin_text(struct admin_conn *conn, void (*show)(FILE *out))
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	bool failed;

	if (!out) {
		admin_close(conn);
		return;
	}
	show(out);
	/* The client can't tell a truncated text from a complete one. */
	failed = ferror(out);
	if (fclose(out) || failed) {
		free(text);
		admin_close(conn);
		return;
	}
	admin_reply(conn, 0, text, len);
}

struct admin_number {
	const char *key;
	uint64_t value;
};

#define ADMIN_NUMBERS	6

/* Send an object of numbers. The last one has no key. */
static void admin_numbers(struct admin_conn *conn, const struct admin_number numbers[ADMIN_NUMBERS])
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	struct json json;
	bool failed;
	int i;

	if (!out) {
		admin_close(conn);
		return;
	}
	json_init(&json, out);
	json_object(&json, NULL);
	for (i = 0; i < ADMIN_NUMBERS && numbers[i].key; i++)
		json_number(&json, numbers[i].key, numbers[i].value);
	json_end(&json);
	failed = ferror(out);
	if (fclose(out) || failed) {
		free(text);
		admin_close(conn);
		return;
	}
	admin_reply(conn, 0, text, len);
}

static void admin_evicted(void *arg, const struct evict_result *result)
{
	struct admin_conn *conn = arg;
	const struct admin_number numbers[ADMIN_NUMBERS] = {
		{ "evicted", (uint64_t)result->returned + result->revoked },
		{ "returned", result->returned },
		{ "revoked", result->revoked },
		{ "broken", result->broken },
	};

	conn->job = NULL;
	if (conn->request.format == ADMIN_JSON) {
		admin_numbers(conn, numbers);
		return;
	}
	admin_print(conn, 0, "%u regions evicted: %u returned, %u revoked%s\n",
		      result->returned + result->revoked, result->returned, result->revoked,
		      result->broken ? ADMIN_BROKEN : "");
}

static void admin_evict(struct admin_conn *conn)
{
	/* The connection needs no deadline: the job has one. */
	loop_timer_stop(&conn->timer);
	conn->job = evict_start(conn->request.arg, false, admin_evicted, conn);
	if (!conn->job)
		admin_print(conn, ENOMEM, "out of memory");
}

static void admin_drain_done(struct admin_conn *conn, const struct drain_result *result)
{
	unsigned int returned = result->lent - result->revoked - result->gone;
	const struct admin_number numbers[ADMIN_NUMBERS] = {
		{ "evicted", result->lent },
		{ "returned", returned },
		{ "revoked", result->revoked },
		{ "disconnected", result->gone },
		{ "broken", result->broken },
	};
	char gone[64] = "";

	if (conn->request.format == ADMIN_JSON) {
		admin_numbers(conn, numbers);
		return;
	}
	if (result->gone)
		snprintf(gone, sizeof(gone), ", %u of disconnected clients", result->gone);
	admin_print(conn, 0, "drained: %u regions evicted, %u returned, %u revoked%s%s\n",
		    result->lent, returned, result->revoked, gone,
		    result->broken ? ADMIN_BROKEN : "");
}

static void admin_drained(void *arg, const struct drain_result *result)
{
	struct admin_conn *conn = arg;

	conn->waits_drain = false;
	switch (result->end) {
	case DRAIN_END_DONE:
		admin_drain_done(conn, result);
		break;
	case DRAIN_END_TIMEOUT:
		admin_print(conn, ETIMEDOUT, "%u of %u regions are still lent after %.1f s; the drain continues",
			      result->left, result->lent, result->ms / 1000.0);
		break;
	case DRAIN_END_UNDRAINED:
		admin_print(conn, ECANCELED, "canceled by undrain with %u of %u regions still lent",
			      result->left, result->lent);
		break;
	case DRAIN_END_LEAVING:
		admin_print(conn, ESHUTDOWN, "farswapd is shutting down");
		break;
	}
}

static void admin_drain(struct admin_conn *conn)
{
	if (session_leaving()) {
		admin_print(conn, ESHUTDOWN, "farswapd is shutting down");
		return;
	}
	if (conn->request.arg > ADMIN_DRAIN_S_MAX) {
		admin_print(conn, EINVAL, "invalid timeout (at most %d seconds)",
			      ADMIN_DRAIN_S_MAX);
		return;
	}
	if (drain_begin()) {
		admin_print(conn, ENOMEM, "out of memory");
		return;
	}
	/* The connection needs no deadline: the wait has one. */
	loop_timer_stop(&conn->timer);
	conn->waits_drain = true;
	drain_wait(&conn->drain, conn->request.arg * 1000, admin_drained, conn);
}

static void admin_undrain(struct admin_conn *conn)
{
	bool drained = drain_state() != DRAIN_NOT;

	if (session_leaving()) {
		admin_print(conn, ESHUTDOWN, "farswapd is shutting down");
		return;
	}
	drain_stop(DRAIN_END_UNDRAINED);
	if (conn->request.format == ADMIN_JSON) {
		admin_numbers(conn, (const struct admin_number[ADMIN_NUMBERS]){
			{ "was_drained", drained },
			{ "free_bytes", region_free_bytes() },
		});
		return;
	}
	admin_print(conn, 0, "%s: %" PRIu64 "M can be lent\n",
		      drained ? "undrained" : "was not drained", region_free_bytes() >> 20);
}

static void admin_reload(struct admin_conn *conn)
{
	char error[ADMIN_LINE_MAX];
	int err = admin.reload(error);

	if (err)
		admin_print(conn, -err, "%s", error);
	else if (conn->request.format == ADMIN_JSON)
		admin_numbers(conn, (const struct admin_number[ADMIN_NUMBERS]){ { "reloaded", 1 } });
	else
		admin_print(conn, 0, "the client lines apply\n");
}

static void admin_invite(struct admin_conn *conn)
{
	char public[FARSWAP_NOISE_TEXT_CHARS + 1], secret[FARSWAP_NOISE_TEXT_CHARS + 1];
	int err;

	if (!conn->request.arg || conn->request.arg > ADMIN_INVITE_S_MAX) {
		admin_print(conn, EINVAL, "invalid time (at most %d seconds)", ADMIN_INVITE_S_MAX);
		return;
	}
	err = invite_open(conn->request.arg, secret);
	if (err == -EBUSY)
		admin_print(conn, EBUSY, "another invitation is open: wait until it is used, or end it with Ctrl-C where it was made");
	else if (err == -ENOKEY || !auth_public(public))
		admin_print(conn, ENOKEY, "clients are not authenticated here: set auth = required, run farswapctl key, then restart farswapd");
	else if (err)
		admin_print(conn, -err, "no invitation: %s", strerror(-err));
	else
		admin_print(conn, 0, "%s %s\n", public, secret);
	explicit_bzero(secret, sizeof(secret));
}

static void admin_joined(void *arg, const char *key)
{
	struct admin_conn *conn = arg;

	conn->waits_invite = false;
	if (key)
		admin_print(conn, 0, "%s\n", key);
	else
		admin_print(conn, ETIMEDOUT, "nobody has used the invitation, which has expired");
}

static void admin_invited(struct admin_conn *conn)
{
	/* The connection needs no deadline: the invitation has one. */
	loop_timer_stop(&conn->timer);
	conn->waits_invite = true;
	if (!invite_wait(admin_joined, conn))
		return;
	conn->waits_invite = false;
	admin_print(conn, ENOENT, "there is no invitation");
}

static void admin_serve(struct admin_conn *conn)
{
	if (conn->request.magic != ADMIN_MAGIC || conn->request.version != ADMIN_VERSION) {
		admin_print(conn, EPROTO, "farswapctl and farswapd have different versions");
		return;
	}
	switch (conn->request.command) {
	case ADMIN_STATUS:
		admin_text(conn, conn->request.format == ADMIN_JSON ? status_json : status_show);
		break;
	case ADMIN_METRICS:
		admin_text(conn, conn->request.format == ADMIN_PLAIN ? status_metrics_plain :
			   status_metrics);
		break;
	case ADMIN_EVICT:
		admin_evict(conn);
		break;
	case ADMIN_DRAIN:
		admin_drain(conn);
		break;
	case ADMIN_UNDRAIN:
		admin_undrain(conn);
		break;
	case ADMIN_RELOAD:
		admin_reload(conn);
		break;
	case ADMIN_INVITE:
		admin_invite(conn);
		break;
	case ADMIN_INVITED:
		admin_invited(conn);
		break;
	default:
		admin_print(conn, EOPNOTSUPP, "unknown command; farswapctl and farswapd may have different versions");
	}
}

static void admin_event(void *arg, uint32_t events)
{
	struct admin_conn *conn = arg;
	ssize_t n;

	if (conn->reply) {
		admin_write(conn);
		return;
	}
	/* While a job runs only a hangup matters. */
	if (conn->got == sizeof(conn->request)) {
		if (events & (EPOLLHUP | EPOLLERR))
			admin_close(conn);
		return;
	}
	n = recv(conn->fd.fd, (char *)&conn->request + conn->got,
		 sizeof(conn->request) - conn->got, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		admin_close(conn);
		return;
	}
	conn->got += n;
	if (conn->got < sizeof(conn->request))
		return;
	loop_fd_events(&conn->fd, 0);
	admin_serve(conn);
}

static void admin_timeout(void *arg)
{
	admin_close(arg);
}

static void admin_retry(void *arg)
{
	(void)arg;
	loop_fd_events(&admin.fd, EPOLLIN);
}

static void admin_accept(void *arg, uint32_t events)
{
	struct admin_conn *conn;
	int fd;

	(void)arg;
	(void)events;
	if (admin.count == ADMIN_CONNS_MAX) {
		loop_fd_events(&admin.fd, 0);
		return;
	}
	fd = accept4(admin.fd.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0) {
		/* Otherwise the pending connection would be reported again at once. */
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
			loop_fd_events(&admin.fd, 0);
			loop_timer_set(&admin.retry, ADMIN_RETRY_MS);
		}
		return;
	}
	conn = calloc(1, sizeof(*conn));
	if (!conn || loop_fd_add(&conn->fd, fd, EPOLLIN, admin_event, conn)) {
		free(conn);
		close(fd);
		return;
	}
	loop_timer_init(&conn->timer, admin_timeout, conn);
	loop_timer_set(&conn->timer, ADMIN_IO_MS);
	list_add_tail(&conn->link, &admin.conns);
	admin.count++;
}

/* Create the directory of the socket, but not the directories above it. */
static void admin_make_directory(const char *path)
{
	char dir[ADMIN_PATH_MAX];
	char *slash;

	snprintf(dir, sizeof(dir), "%s", path);
	slash = strrchr(dir, '/');
	if (!slash || slash == dir)
		return;
	*slash = '\0';
	(void)mkdir(dir, 0755);
}

/* Replace a stale socket, but not one that is in use, nor a file of any other type. */
static int admin_bind(int fd, const struct sockaddr_un *addr)
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
	if (!err && listen(fd, ADMIN_CONNS_MAX) < 0)
		err = -errno;
	return err;
}

int admin_init(const char *path, int (*reload)(char *error))
{
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	int err, fd;

	admin.reload = reload;
	list_init(&admin.conns);
	loop_timer_init(&admin.retry, admin_retry, NULL);
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	admin_make_directory(path);
	err = admin_bind(fd, &addr);
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
	snprintf(admin.path, sizeof(admin.path), "%s", path);
	err = loop_fd_add(&admin.fd, fd, EPOLLIN, admin_accept, NULL);
	if (err)
		goto out_unlink;
	return 0;

out_unlink:
	unlink(path);
out_close:
	close(fd);
	return err;
}

void admin_exit(void)
{
	struct list *pos, *next;
	int fd = admin.fd.fd;

	if (fd < 0)
		return;
	list_for_each_safe(pos, next, &admin.conns)
		admin_close(container_of(pos, struct admin_conn, link));
	loop_timer_stop(&admin.retry);
	loop_fd_del(&admin.fd);
	close(fd);
	unlink(admin.path);
}
