/* See kept.h. */
#include "top/preferences.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

#define TREE "tree" /* in place of a column */

/* A directory of another user, as after `sudo -E`, is not written to. */
static bool directory_make(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) && errno != EEXIST)
		return false;
	return !stat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid();
}

static int top_preferences_file_open(void)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	bool own = config && config[0] == '/';
	char path[PATH_MAX];
	struct stat st;
	int fd, n;

	if (!own && (!home || home[0] != '/'))
		return -1;
	n = snprintf(path, sizeof(path) - 16, "%s%s", own ? config : home, own ? "" : "/.config");
	if (n >= (int)sizeof(path) - 16 || (!own && (stat(home, &st) || st.st_uid != geteuid())) ||
		!directory_make(path))
		return -1;
	strcat(path, "/memwhy");
	if (!directory_make(path))
		return -1;
	strcat(path, "/top");
	fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())) {
		close(fd);
		return -1;
	}
	return fd;
}

void kept_open(struct kept *k)
{
	ssize_t n;

	*k = (struct kept){.fd = top_preferences_file_open()};
	n = k->fd < 0 ? 0 : read(k->fd, k->text, sizeof(k->text) - 1);
	k->text[MAX(n, 0)] = '\0';
}

/* The value of a line "key value"; false: there is none. */
static bool value_of(const struct kept *k, const char *key, char *ret, size_t size)
{
	size_t n = strlen(key);

	for (const char *line = k->text; *line;
		line += strcspn(line, "\n"), line += *line == '\n') {
		size_t len;

		if (strncmp(line, key, n) != 0 || line[n] != ' ')
			continue;
		len = strcspn(line + n + 1, "\n");
		if (!len || len >= size)
			return false;
		memcpy(ret, line + n + 1, len);
		ret[len] = '\0';
		return true;
	}
	return false;
}

static void sort_take(
	const struct kept *k, const char *key, enum top_table which, struct ui_table *t)
{
	char word[80];

	if (!value_of(k, key, word, sizeof(word)))
		return;
	if (which == TOP_GROUPS && !strcmp(word, TREE)) {
		t->tree = true;
		return;
	}
	if (ui_column(which, word, SIZE_MAX) == SIZE_MAX)
		return; /* of another version */
	t->sort = ui_column(which, word, 0);
	t->ascending = word[0] == '-';
	t->tree = false;
}

/* Does a list of columns name one that there is? */
static bool fields_are_known(const char *fields)
{
	char word[80];

	for (const char *p = fields; *p; p += strcspn(p, ","), p += *p == ',') {
		snprintf(word, sizeof(word), "%.*s", (int)strcspn(p, ","), p);
		if (ui_column(TOP_PROCESSES, word, SIZE_MAX) != SIZE_MAX)
			return true;
	}
	return false;
}

void kept_apply(struct kept *k, const struct ui_options *o, struct ui *ui)
{
	if (!o->sort) {
		sort_take(k, "sort", TOP_PROCESSES, &ui->processes);
		sort_take(k, "groups", TOP_GROUPS, &ui->groups);
		sort_take(k, "users", TOP_USERS, &ui->users);
	}
	if (!o->fields && value_of(k, "fields", k->fields, sizeof(k->fields)) &&
		fields_are_known(k->fields))
		ui->fields = k->fields;
	k->processes =
		(struct ui_table){.sort = ui->processes.sort, .ascending = ui->processes.ascending};
	k->groups = (struct ui_table){.sort = ui->groups.sort,
		.ascending = ui->groups.ascending,
		.tree = ui->groups.tree};
	k->users = (struct ui_table){.sort = ui->users.sort, .ascending = ui->users.ascending};
}

static bool same_order(const struct ui_table *a, const struct ui_table *b)
{
	return a->sort == b->sort && a->ascending == b->ascending && a->tree == b->tree;
}

static const char *order_of(enum top_table which, const struct ui_table *t, char word[80])
{
	if (t->tree)
		return TREE;
	snprintf(word, 80, "%s%s", t->ascending ? "-" : "", top_tables[which].cols[t->sort].name);
	return word;
}

static void order_write(struct kept *k, const struct ui *ui)
{
	char text[sizeof(k->text) + 256], fields[sizeof(k->text)] = "", a[80], b[80], c[80];
	bool has_fields = value_of(k, "fields", fields, sizeof(fields));
	int n = snprintf(text, sizeof(text), "sort %s\ngroups %s\nusers %s\n%s%s%s",
		order_of(TOP_PROCESSES, &ui->processes, a), order_of(TOP_GROUPS, &ui->groups, b),
		order_of(TOP_USERS, &ui->users, c), has_fields ? "fields " : "", fields,
		has_fields ? "\n" : "");

	n = MIN(n, (int)sizeof(text) - 1);
	if (pwrite(k->fd, text, (size_t)n, 0) == n)
		(void)!ftruncate(k->fd, n); /* else lines of before follow, which are not read */
}

void kept_close(struct kept *k, const struct ui *ui)
{
	if (k->fd < 0)
		return;
	if (!same_order(&k->processes, &ui->processes) || !same_order(&k->groups, &ui->groups) ||
		!same_order(&k->users, &ui->users))
		order_write(k, ui);
	close(k->fd);
	k->fd = -1;
}
