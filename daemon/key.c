// SPDX-License-Identifier: GPL-2.0
/*
 * The file that holds this machine's secret key: one line, readable by its owner and farswapd only.
 * It is made once and never overwritten, because other machines know its public key.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "key.h"

__attribute__((format(printf, 3, 4)))
static int key_wrong(int err, char *error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, KEY_ERROR_MAX, fmt, ap);
	va_end(ap);
	return err;
}

static bool key_is_group(gid_t gid)
{
	const struct group *group = getgrnam(KEY_GROUP);

	return group && group->gr_gid == gid;
}

static int key_check_file(int fd, const char *path, char *error)
{
	struct stat st;

	if (fstat(fd, &st))
		return key_wrong(-errno, error, "%s: cannot be read: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return key_wrong(-EINVAL, error, "%s: not a file", path);
	if (st.st_mode & 037 || (st.st_mode & 040 && !key_is_group(st.st_gid)))
		return key_wrong(-EPERM, error, "%s: other users may read or write it (mode %03o): make a new key, or chmod 600 it if nobody has read it",
				 path, st.st_mode & 0777);
	if (st.st_uid && st.st_uid != geteuid())
		return key_wrong(-EPERM, error, "%s: belongs to user %u (root, or who runs this)",
				 path, st.st_uid);
	return 0;
}

int key_read(const char *path, uint8_t secret[FARSWAP_NOISE_KEY_BYTES],
	     char error[KEY_ERROR_MAX])
{
	char text[FARSWAP_NOISE_SECRET_CHARS + 2];
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t len = 0;
	int err;

	if (fd < 0 && errno == ENOENT)
		return key_wrong(-ENOENT, error, "%s: no such file: make it with farswapctl key",
				 path);
	if (fd < 0)
		return key_wrong(-errno, error, "%s: cannot be read: %s; farswapctl key lets group "
				 KEY_GROUP " read it", path, strerror(errno));
	err = key_check_file(fd, path, error);
	if (!err) {
		len = read(fd, text, sizeof(text));
		if (len < 0)
			err = key_wrong(-errno, error, "%s: cannot be read: %s", path,
					strerror(errno));
		else if (farswap_noise_parse_secret(secret, text, len))
			err = key_wrong(-EINVAL, error, "%s: not a secret key (one line, %s and %d characters)",
					path, FARSWAP_NOISE_SECRET_PREFIX,
					FARSWAP_NOISE_TEXT_CHARS);
	}
	close(fd);
	farswap_noise_crypto_wipe(text, sizeof(text));
	return err;
}

static int key_make_directory(const char *path, char *error)
{
	char directory[KEY_PATH_MAX];
	char *slash;

	if (strlen(path) >= sizeof(directory) - sizeof(".new"))
		return key_wrong(-ENAMETOOLONG, error, "%s: longer than %zu characters", path,
				 sizeof(directory) - sizeof(".new"));
	snprintf(directory, sizeof(directory), "%s", path);
	slash = strrchr(directory, '/');
	if (!slash || slash == directory)
		return 0;
	*slash = '\0';
	if (mkdir(directory, 0755) && errno != EEXIST)
		return key_wrong(-errno, error, "%s: cannot be made: %s", directory,
				 strerror(errno));
	return 0;
}

static bool key_write(int fd, const uint8_t secret[FARSWAP_NOISE_KEY_BYTES])
{
	char text[FARSWAP_NOISE_SECRET_CHARS + 2] = FARSWAP_NOISE_SECRET_PREFIX;
	size_t len = FARSWAP_NOISE_SECRET_CHARS + 1;
	bool written;

	farswap_noise_text(text + sizeof(FARSWAP_NOISE_SECRET_PREFIX) - 1, secret);
	text[len - 1] = '\n';
	errno = EIO;
	written = write(fd, text, len) == (ssize_t)len && !fsync(fd);
	farswap_noise_crypto_wipe(text, sizeof(text));
	return written;
}

int key_make(const char *path, uint8_t secret[FARSWAP_NOISE_KEY_BYTES],
	     char error[KEY_ERROR_MAX])
{
	char new[KEY_PATH_MAX + 8];
	int fd, err;

	if (!access(path, F_OK) || errno != ENOENT)
		return key_read(path, secret, error);
	err = key_make_directory(path, error);
	if (err)
		return err;
	if (getrandom(secret, FARSWAP_NOISE_KEY_BYTES, 0) != FARSWAP_NOISE_KEY_BYTES)
		return key_wrong(-EIO, error, "no random numbers: %s", strerror(errno));
	/* The link makes it appear whole, and fails if another program was faster. */
	snprintf(new, sizeof(new), "%s.new", path);
	unlink(new);
	fd = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return key_wrong(-errno, error, "%s: cannot be written: %s", path,
				 strerror(errno));
	if (!key_write(fd, secret) || link(new, path))
		err = key_wrong(-errno, error, "%s: cannot be written: %s", path,
				strerror(errno));
	close(fd);
	unlink(new);
	return err == -EEXIST ? key_read(path, secret, error) : err;
}

int key_share(const char *path, char error[KEY_ERROR_MAX])
{
	const struct group *group = getgrnam(KEY_GROUP);
	int fd, err = 0;

	if (!group)
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || fchown(fd, -1, group->gr_gid) || fchmod(fd, 0640))
		err = key_wrong(-errno, error, "%s: cannot be given to group " KEY_GROUP ": %s",
				path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return err;
}
