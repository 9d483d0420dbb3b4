// SPDX-License-Identifier: GPL-2.0
/*
 * Prints a line for each result of a check, and sums up in the exit status. Runs programs whose
 * output is checked.
 */
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static struct json check_json;
static unsigned int check_count[CHECK_RESULTS];

static const char *const check_names[] = {
	[CHECK_OK] = "ok",
	[CHECK_WARN] = "warn",
	[CHECK_FAIL] = "fail",
};

void check_say(enum check_result result, const char *name, const char *cure, const char *fmt, ...)
{
	char message[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(message, sizeof(message), fmt, ap);
	va_end(ap);
	check_count[result]++;
	if (!ctl.json) {
		printf("%-4s  %s: %s%s%s\n", check_names[result], name, message,
		       cure ? "; type: " : "", cure ? cure : "");
		return;
	}
	json_object(&check_json, NULL);
	json_string(&check_json, "name", name);
	json_string(&check_json, "result", check_names[result]);
	json_string(&check_json, "message", message);
	if (cure)
		json_string(&check_json, "cure", cure);
	else
		json_null(&check_json, "cure");
	json_end(&check_json);
}

int check_run(const char *const *argv, char *output, size_t size)
{
	extern char **environ;
	posix_spawn_file_actions_t actions;
	size_t len = 0;
	int fd[2], status = -1, err;
	ssize_t n = 0;
	pid_t pid;

	*output = '\0';
	if (pipe2(fd, O_CLOEXEC) < 0)
		return -1;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDERR_FILENO);
	err = posix_spawnp(&pid, argv[0], &actions, NULL, (char *const *)argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	/* Output that does not fit is not needed; the program ends by SIGPIPE. */
	while (!err && len + 1 < size && (n = read(fd[0], output + len, size - len - 1)) > 0)
		len += n;
	output[len] = '\0';
	close(fd[0]);
	if (err || waitpid(pid, &status, 0) < 0)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void check_begin(void)
{
	if (!ctl.json)
		return;
	json_init(&check_json, stdout);
	json_object(&check_json, NULL);
	json_array(&check_json, "checks");
}

int check_end(void)
{
	if (ctl.json) {
		json_end(&check_json);
		json_number(&check_json, "ok", check_count[CHECK_OK]);
		json_number(&check_json, "warn", check_count[CHECK_WARN]);
		json_number(&check_json, "fail", check_count[CHECK_FAIL]);
		json_end(&check_json);
	} else {
		printf("%u ok, %u to look at, %u wrong\n", check_count[CHECK_OK],
		       check_count[CHECK_WARN], check_count[CHECK_FAIL]);
	}
	return check_count[CHECK_FAIL] ? CTL_PROBLEM : CTL_OK;
}
