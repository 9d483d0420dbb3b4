/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Configuration files: lines of a key and a value, and drop-ins.
 */
#ifndef CONFIG_FILE_H
#define CONFIG_FILE_H

#define CONFIG_ERROR_MAX	512

/* Position in the configuration, and the buffer for an error message. */
struct config_at {
	const char *where;
	unsigned int line;		/* 0: not in a file */
	char *error;
};

typedef int (*config_set_fn)(void *data, const struct config_at *at, const char *key,
			     const char *value);

/* Write one line to @at->error. Always returns -EINVAL. */
__attribute__((format(printf, 2, 3)))
int config_wrong(const struct config_at *at, const char *fmt, ...);
/* Parse "key value" or "key = value". Modifies @line. */
int config_file_line(const struct config_at *at, char *line, config_set_fn set, void *data);
/* Call @set for each line of the file. Return 0, or -errno and one line in @error. */
int config_file_read(const char *path, config_set_fn set, void *data,
		     char error[CONFIG_ERROR_MAX]);
/* Call @set for each line of the files @path.d/NAME.conf, in the order of their names. */
int config_file_read_drop_ins(const char *path, config_set_fn set, void *data,
			      char error[CONFIG_ERROR_MAX]);

#endif
