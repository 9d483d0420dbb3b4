// SPDX-License-Identifier: GPL-2.0
/*
 * The key file: made once, for its owner only, and refused where others can read it.
 */
#include "key.c"

#include <stdlib.h>

#include "tap.h"

static char directory[] = "/tmp/farswap-key-test-XXXXXX";
static char path[64], error[KEY_ERROR_MAX];

static void write_text(const char *text, mode_t mode)
{
	FILE *file;

	unlink(path);
	file = fopen(path, "w");
	fputs(text, file);
	fclose(file);
	chmod(path, mode);
}

static void wrong(const char *what, int err, const char *says)
{
	uint8_t key[32];
	int result = key_read(path, key, error);

	if (!ok(result == err && strstr(error, says) && !strncmp(error, path, strlen(path)) &&
		!strchr(error, '\n'), "%s", what))
		printf("# %d, %s\n", result, error);
	ok(key_make(path, key, error) == err || err == -ENOENT, "and is not made anew");
}

int main(void)
{
	static const char right[] =
		"farswap-secret:hSDwCYkwp1R0i33ctD73Wg2/Og0mOBr066SpjqqbTmo=\n";
	uint8_t key[32], again[32], third[32];
	struct stat st;
	char text[128];
	int len;
	FILE *file;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/farswap/key", directory);
	umask(0);
	ok(key_read(path, key, error) == -ENOENT && strstr(error, "farswapctl key"), "no file");
	ok(!key_make(path, key, error), "a key is made, with its directory");
	ok(!stat(path, &st) && S_ISREG(st.st_mode) && (st.st_mode & 07777) == 0600 &&
	   st.st_size == 60 && st.st_nlink == 1, "for its owner only");
	ok(!key_read(path, again, error) && !memcmp(key, again, 32), "it is read");
	ok(!key_make(path, third, error) && !memcmp(key, third, 32), "it is not made twice");
	unlink(path);
	ok(!key_make(path, third, error) && memcmp(key, third, 32), "the next is another");

	write_text(right, 0600);
	ok(!key_read(path, key, error) && key[0] == 0x85 && key[31] == 0x6a, "a known key");
	write_text(right, 0400);
	ok(!key_read(path, key, error), "which may be read-only");
	write_text(right, 0640);
	wrong("a key that the group reads", -EPERM, "mode 640");
	write_text(right, 0602);
	wrong("a key that others write", -EPERM, "mode 602");
	write_text(right + 15, 0600);
	wrong("a public key", -EINVAL, "not a secret key");
	write_text("", 0600);
	wrong("an empty file", -EINVAL, "not a secret key");
	snprintf(text, sizeof(text), "%s\n", right);
	write_text(text, 0600);
	wrong("more than one line", -EINVAL, "not a secret key");
	len = strlen(right) - 2;
	snprintf(text, sizeof(text), "%.*s", len, right);
	write_text(text, 0600);
	wrong("a key cut short", -EINVAL, "not a secret key");
	unlink(path);
	mkdir(path, 0700);
	wrong("a directory", -EINVAL, "not a file");
	rmdir(path);

	/* An interrupted run may have left this; it is not followed if it is a link. */
	snprintf(text, sizeof(text), "%s.new", path);
	if (symlink("/dev/null", text))
		return 1;
	ok(!key_make(path, key, error) && !key_read(path, key, error) && access(text, F_OK),
	   "a link in the way");
	unlink(path);
	file = fopen(text, "w");
	fputs("x", file);
	fclose(file);
	ok(!key_make(path, key, error) && !key_read(path, key, error), "a file in the way");
	unlink(path);
	snprintf(text, sizeof(text), "%s/no/such/key", directory);
	ok(key_make(text, key, error) == -ENOENT && strstr(error, "/no/such: cannot be made"),
	   "no directory above");
	snprintf(text, sizeof(text), "rm -r %s", directory);
	ok(!system(text), "clean up");
	return tap_done();
}
