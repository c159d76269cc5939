/*
 * What the program calls to execute another one. A loader that is told to preload a library which
 * it cannot load says so on stderr. So we look whether it can before: is our file there, in the
 * root and the mounts of now, and is the program of 64 bits? If not, our library is taken out of
 * the environment that is handed on. What cannot be found out counts as loadable.
 *
 * All may run in the child of a vfork(), which has the memory of its parent, and on small stacks.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracker/forbid.h"
#include "tracker/real.h"

#define EXPORT __attribute__((visibility("default")))

#define VARIABLE "LD_PRELOAD="
#define PATH_BYTES 1024 /* a longer path is not looked at */
#define LINE_BYTES 256  /* as much of a script as the kernel looks at */
#define SCRIPTS 5       /* that run scripts */
#define WORDS_MAX 8192  /* of an environment; a larger one is handed on as it is */

extern char **environ __attribute__((weak));
extern int *__errno_location(void) __attribute__((weak));

typedef char *const *words;

static words environment(void)
{
	return &environ ? environ : NULL;
}

static u32 text_length(const char *s)
{
	u32 n = 0;

	while (s[n])
		n++;
	return n;
}

static int text_begins(const char *s, const char *with)
{
	while (*with && *s == *with)
		s++, with++;
	return !*with;
}

/* Where a "#!" line says what runs the file. */
static int script_reads(const char *line, long n, char path[PATH_BYTES])
{
	long i = 2, k = 0;

	while (i < n && (line[i] == ' ' || line[i] == '\t'))
		i++;
	while (i < n && line[i] != ' ' && line[i] != '\t' && line[i] != '\n' && line[i])
		path[k++] = line[i++];
	path[k] = '\0';
	return k && i < n;
}

/* Is it of a kind that can load us? fd is read at its begin, wherever it stands. Else *path is what
 * is to be asked in its place, "": nothing. */
static int file_loads(int fd, char path[PATH_BYTES])
{
	char line[LINE_BYTES];
	long n = may_call(SYS_pread64, fd, line, sizeof(line), 0);

	path[0] = '\0';
	if (n > 2 && line[0] == '#' && line[1] == '!')
		return script_reads(line, n, path) ? 0 : 1;
	return n <= EI_CLASS || line[0] != ELFMAG0 || line[1] != ELFMAG1 || line[2] != ELFMAG2 ||
	       line[3] != ELFMAG3 || line[EI_CLASS] == ELFCLASS64;
}

static int path_loads(const char *from, int dir)
{
	char path[PATH_BYTES];
	u32 n = text_length(from);

	if (n >= sizeof(path))
		return 1;
	memcpy(path, from, n + 1);
	for (u32 i = 0; i <= SCRIPTS; i++) {
		struct stat st = {};
		int fd, loads;

		/* To open a device may do something. */
		if (may_call(SYS_newfstatat, dir, path, &st, 0) || !S_ISREG(st.st_mode))
			return 1;
		fd = (int)may_call(SYS_openat, dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd < 0)
			return 1;
		loads = file_loads(fd, path);
		may_call(SYS_close, fd);
		if (loads || !path[0])
			return loads;
	}
	return 1;
}

/* As execvp() searches. */
static int name_loads(const char *name)
{
	const char *at = NULL;
	u32 length = text_length(name);
	char path[PATH_BYTES];

	for (u32 i = 0; name[i]; i++)
		if (name[i] == '/')
			return path_loads(name, AT_FDCWD);
	for (words w = environment(); w && *w && !at; w++)
		if (text_begins(*w, "PATH="))
			at = *w + 5;
	for (at = at ? at : "/bin:/usr/bin"; *at; at += *at == ':') {
		u32 n = 0;

		while (at[n] && at[n] != ':')
			n++;
		if (n + length + 2 > sizeof(path))
			return 1;
		memcpy(path, at, n);
		path[n] = '/';
		memcpy(path + n + !!n, name, length + 1);
		if (!may_call(SYS_faccessat, AT_FDCWD, path, X_OK))
			return path_loads(path, AT_FDCWD);
		at += n;
	}
	return 1;
}

extern ElfW(Dyn) _DYNAMIC[] OURS;

/* Our file, by the name that the loader found it by; NULL: not known. */
static const char *own_path(void)
{
	const struct link_map *map = real_objects();

	while (map && map->l_ld != _DYNAMIC)
		map = map->l_next;
	return map && map->l_name && map->l_name[0] == '/' ? map->l_name : NULL;
}

/* Our part of an LD_PRELOAD: where it is, and its length with what separates it; 0: none. */
static u32 part_find(const char *value, const char *own, u32 *ret_length)
{
	u32 n = text_length(own);

	for (u32 i = sizeof(VARIABLE) - 1; value[i]; i++) {
		char before = value[i - 1], after;

		if ((before != '=' && before != ':' && before != ' ') ||
			!text_begins(value + i, own))
			continue;
		after = value[i + n];
		if (after && after != ':' && after != ' ')
			continue;
		*ret_length = n + (after != '\0');
		return i;
	}
	return 0;
}

/* What has to be changed in an environment. */
struct change {
	u32 words; /* there are, without the NULL; 0: nothing is to be changed */
	u32 at;    /* the word with our library */
	u32 part;  /* where that begins there, and how long it is */
	u32 length;
	u32 left; /* of the word, with the NUL; 0: all of it goes */
};

static struct change change_find(words env)
{
	const char *own = own_path();
	struct change c = {};
	u32 n = 0, found = 0;

	for (; own && env && env[n] && n < WORDS_MAX; n++)
		if (!found && text_begins(env[n], VARIABLE)) {
			c.part = part_find(env[n], own, &c.length);
			c.at = n;
			found = c.part > 0;
		}
	if (!found || n == WORDS_MAX)
		return (struct change){};
	c.words = n;
	c.left = text_length(env[c.at]) + 1 - c.length;
	if (c.left <= sizeof(VARIABLE))
		c.left = 0;
	return c;
}

static void change_make(const struct change *c, words env, char **ret_words, char *ret_value)
{
	u32 n = 0;

	if (c->left) {
		memcpy(ret_value, env[c->at], c->part);
		memcpy(ret_value + c->part, env[c->at] + c->part + c->length, c->left - c->part);
	}
	for (u32 i = 0; i < c->words; i++)
		if (i != c->at)
			ret_words[n++] = env[i];
		else if (c->left)
			ret_words[n++] = ret_value;
	ret_words[n] = NULL;
}

static int own_is_there(void)
{
	const char *own = own_path();

	return !own || !may_call(SYS_faccessat, AT_FDCWD, own, R_OK);
}

/* Runs what follows with `env` as it is to be; a filter may not allow us to look. */
#define WITH_FITTING(env, loads, run)                                       \
	do {                                                                \
		struct change c_ = {};                                      \
                                                                            \
		if (!calls_are_forbidden() && !(own_is_there() && (loads))) \
			c_ = change_find(env);                              \
		if (c_.words) {                                             \
			char *words_[c_.words + 1], value_[c_.left + 1];    \
                                                                            \
			change_make(&c_, env, words_, value_);              \
			env = words_;                                       \
			return run;                                         \
		}                                                           \
		return run;                                                 \
	} while (0)

/* Found when it is first called: most programs never do. */
#define REAL(type, name)                                        \
	static type real_;                                      \
	int allocator_;                                         \
	if (!real_)                                             \
		real_ = (type)real_function(name, &allocator_); \
	if (!real_)                                             \
	return missing()

static int missing(void)
{
	if (&__errno_location)
		*__errno_location() = ENOSYS;
	return -1;
}

typedef int (*exec_function)(const char *path, words argv, words env);
typedef int (*fd_function)(int fd, words argv, words env);
typedef int (*at_function)(int dir, const char *path, words argv, words env, int flags);

EXPORT int execve(const char *path, words argv, words env)
{
	REAL(exec_function, "execve");
	WITH_FITTING(env, path_loads(path, AT_FDCWD), real_(path, argv, env));
}

EXPORT int execv(const char *path, words argv)
{
	return execve(path, argv, environment());
}

EXPORT int execvpe(const char *name, words argv, words env)
{
	REAL(exec_function, "execvpe");
	WITH_FITTING(env, name_loads(name), real_(name, argv, env));
}

EXPORT int execvp(const char *name, words argv)
{
	return execvpe(name, argv, environment());
}

/* The words of execl() and its like, with the NULL; all of them are pointers. */
static u32 list_count(va_list list)
{
	u32 n = 2;

	while (va_arg(list, char *))
		n++;
	return n;
}

static void list_read(const char *first, va_list list, char **ret)
{
	*ret++ = (char *)first;
	do
		*ret = va_arg(list, char *);
	while (*ret++);
}

/* Under other names here, as the declared ones promise that there is a first word. */
#define LISTED(function, name, env_of)                                            \
	int told_##name(const char *path, const char *first, ...) __asm__(#name); \
                                                                                  \
	EXPORT int told_##name(const char *path, const char *first, ...)          \
	{                                                                         \
		va_list list, again;                                              \
                                                                                  \
		va_start(list, first);                                            \
		va_copy(again, list);                                             \
		{                                                                 \
			char *argv[first ? list_count(again) : 1];                \
			words env;                                                \
                                                                                  \
			argv[0] = NULL;                                           \
			if (first)                                                \
				list_read(first, list, argv);                     \
			env = env_of;                                             \
			va_end(again);                                            \
			va_end(list);                                             \
			return function(path, argv, env);                         \
		}                                                                 \
	}
LISTED(execve, execl, environment())
LISTED(execvpe, execlp, environment())
LISTED(execve, execle, va_arg(list, words))

EXPORT int fexecve(int fd, words argv, words env)
{
	char path[PATH_BYTES];
	int loads = 1;

	REAL(fd_function, "fexecve");
	if (!calls_are_forbidden() && !file_loads(fd, path))
		loads = path[0] && path_loads(path, AT_FDCWD);
	WITH_FITTING(env, loads, real_(fd, argv, env));
}

EXPORT int execveat(int dir, const char *path, words argv, words env, int flags)
{
	REAL(at_function, "execveat");
	WITH_FITTING(env, !*path || path_loads(path, dir), real_(dir, path, argv, env, flags));
}

typedef int (*spawn_function)(pid_t *ret, const char *path,
	const posix_spawn_file_actions_t *actions, const posix_spawnattr_t *attr, words argv,
	words env);

EXPORT int posix_spawn(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, words argv, words env)
{
	REAL(spawn_function, "posix_spawn");
	WITH_FITTING(env, path_loads(path, AT_FDCWD), real_(ret, path, actions, attr, argv, env));
}

EXPORT int posix_spawnp(pid_t *ret, const char *name, const posix_spawn_file_actions_t *actions,
	const posix_spawnattr_t *attr, words argv, words env)
{
	REAL(spawn_function, "posix_spawnp");
	WITH_FITTING(env, name_loads(name), real_(ret, name, actions, attr, argv, env));
}
