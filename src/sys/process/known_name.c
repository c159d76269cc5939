/* What people know a process by: the script, class or module that an interpreter runs, or a name
 * that the kernel cuts. See proc.h. */
#include <string.h>

#include "base/units.h"
#include "sys/process/proc.h"
#include "sys/root.h"

#define WORD_MAX 48 /* of a name that is shown */

/* Options of these that take the next word, and with it name what is run. */
struct interpreter {
	const char *name; /* how its name begins */
	const char *runs; /* the option whose word is what is run; NULL: none */
	/* Options that take a word of no interest, each between spaces; "": runs alone says it. */
	const char *more;
};

static const struct interpreter interpreters[] = {
	{"python", "-m", " -W -X "},
	{"pypy", "-m", " -W -X "},
	{"java", "-jar", " -cp -classpath --class-path -p --module-path --add-modules "},
	{"node", NULL, " -r --require --import "},
	{"MainThread", NULL, " -r --require --import "},
	{"ruby", NULL, " -r -I "},
	{"perl", NULL, " -I -M "},
	{"php", "-f", " -c -d "},
	{"lua", NULL, " -l "},
	{"Rscript", NULL, NULL},
	{"dotnet", NULL, NULL},
	{"mono", NULL, NULL},
	{"deno", NULL, NULL},
	{"bun", NULL, NULL},
	{"bash", NULL, " -O -o "},
	{"dash", NULL, " -o "},
	{"sh", NULL, " -o "},
	{"zsh", NULL, " -o "},
	{"julia", NULL, NULL},
	{"guile", NULL, " -l "},
	{"beam", "-s", ""},
};

static const struct interpreter *interpreter_of(const char *comm)
{
	for (size_t i = 0; i < ARRAY_SIZE(interpreters); i++) {
		/* "python3.11", "lua5.4", "node-MainThread", "node", never "nodetool" */
		if (begins_with(comm, interpreters[i].name) &&
			strchr("0123456789.-", comm[strlen(interpreters[i].name)]))
			return &interpreters[i];
	}
	return NULL;
}

bool proc_runs_program(const char *comm)
{
	return interpreter_of(comm) != NULL;
}

#define CUT_LEN 15 /* the kernel keeps so much of a name */

bool proc_may_have_program(const char *comm)
{
	return strlen(comm) == CUT_LEN || proc_runs_program(comm);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool takes_word(const struct interpreter *it, const char *option)
{
	/* A word may be anything: in the list it is only looked for if it can stand there. */
	size_t n = *option == '-' && !strchr(option, ' ') ? strlen(option) : 0;

	for (const char *p = n ? it->more : NULL; p && (p = strstr(p, option)); p += n)
		if (p[-1] == ' ' && p[n] == ' ')
			return true;
	return false;
}

/*
 * Of a command line up to its end, the first word that is not for the interpreter: what is run,
 * "-c" or "-e" where the program itself follows, or the end. *ret_option: which option named it, or
 * NULL.
 */
static const char *run_find(
	const struct interpreter *it, const char *word, const char *end, const char **ret_option)
{
	*ret_option = NULL;
	for (word += strlen(word) + 1; word < end; word += strlen(word) + 1) {
		bool runs = it->runs && !strcmp(word, it->runs);

		if (!runs && it->more && !*it->more)
			continue;
		if (!strcmp(word, "-c") || !strcmp(word, "-e"))
			break;
		if (runs || takes_word(it, word)) {
			const char *option = word;

			word += strlen(word) + 1;
			if (word >= end)
				break;
			if (!runs)
				continue;
			*ret_option = option;
			break;
		}
		if (*word != '-' && *word)
			break;
	}
	return word;
}

/* A long name stands whole where the command line begins: with the file's directory, or as the
 * program wrote it there ($0 of Perl, setproctitle), then often with spaces behind it. */
static bool whole_name(const char *comm, const char *first, struct str *out)
{
	const char *name = begins_with(first, comm) ? first : base_name(first);
	size_t len = strlen(name);

	while (len && name[len - 1] == ' ')
		len--;
	if (strlen(comm) != CUT_LEN || !begins_with(name, comm) || len <= CUT_LEN)
		return false;
	str_addf(out, "%.*s", (int)MIN(len, (size_t)WORD_MAX), name);
	return true;
}

bool proc_program_name(const char *comm, const char *buf, size_t n, struct str *out)
{
	const struct interpreter *it = interpreter_of(comm);
	const char *end = buf + n, *word, *option, *name;

	if (!n || buf[n - 1])
		return false;
	if (!it)
		return whole_name(comm, buf, out);
	name = base_name(*buf == '-' ? buf + 1 : buf);
	word = run_find(it, buf, end, &option);
	if (word >= end || (!option && *word == '-'))
		return false;
	str_addf(out, "%.*s %s%s%.*s", WORD_MAX, name, option ?: "", option ? " " : "", WORD_MAX,
		base_name(word));
	return true;
}

/* "64m"; where it has no unit, of so many bytes each. 0: it is none. */
static u64 size_of(const char *text, u64 unit)
{
	size_t n = strlen(text);
	u64 v;

	if (!n || parse_size(text, &v))
		return 0;
	return text[n - 1] > '9' ? v : __builtin_mul_overflow(v, unit, &v) ? 0 : v;
}

/* What one word allows the heap; 0: it says nothing of it. */
static u64 limit_of(const char *word)
{
	static const struct {
		const char *option;
		u64 unit;
	} options[] = {{"-Xmx", 1}, {"-XX:MaxHeapSize=", 1}, {"--max-old-space-size=", 1 << 20},
		{"--max_old_space_size=", 1 << 20}};

	for (size_t i = 0; i < ARRAY_SIZE(options); i++)
		if (begins_with(word, options[i].option))
			return size_of(word + strlen(options[i].option), options[i].unit);
	return 0;
}

u64 proc_heap_limit(const char *comm, const char *buf, size_t n)
{
	const struct interpreter *it = interpreter_of(comm);
	const char *end, *option;
	u64 limit = 0;

	if (!it || !n || buf[n - 1])
		return 0;
	end = run_find(it, buf, buf + n, &option);
	/* The last one holds. */
	for (const char *word = buf; word < end; word += strlen(word) + 1)
		limit = limit_of(word) ?: limit;
	return limit;
}

#define OPTION_MAX 64

/* The words of one variable. */
static u64 words_limit(const char *text)
{
	u64 limit = 0;

	while (*text) {
		size_t len = strcspn(text, " \t");
		char word[OPTION_MAX];

		if (len < sizeof(word)) {
			snprintf(word, sizeof(word), "%.*s", (int)len, text);
			limit = limit_of(word) ?: limit;
		}
		text += len + strspn(text + len, " \t");
	}
	return limit;
}

u64 proc_heap_limit_environ(const char *comm, const char *buf, size_t n)
{
	static const struct {
		const char *comm, *name;
	} variables[] = {{"java", "JAVA_TOOL_OPTIONS="}, {"java", "JDK_JAVA_OPTIONS="},
		{"node", "NODE_OPTIONS="}};
	const struct interpreter *it = interpreter_of(comm);
	u64 limit = 0;

	if (!it || !n || buf[n - 1])
		return 0;
	for (const char *word = buf; word < buf + n; word += strlen(word) + 1)
		for (size_t i = 0; i < ARRAY_SIZE(variables); i++)
			if (!strcmp(it->name, variables[i].comm) &&
				begins_with(word, variables[i].name))
				limit = words_limit(word + strlen(variables[i].name)) ?: limit;
	return limit;
}

u64 proc_heap_limit_go(const char *buf, size_t n)
{
	static const char name[] = "GOMEMLIMIT=";

	if (!n || buf[n - 1])
		return 0;
	for (const char *word = buf; word < buf + n; word += strlen(word) + 1)
		if (begins_with(word, name))
			return size_of(word + strlen(name), 1);
	return 0;
}

/* Of HotSpot, whose serial collector is its "VM Thread", and of .NET; the kernel keeps 15 letters.
 */
static bool is_collector(const char *comm)
{
	static const char *const names[] = {"GC Thread#", "G1 Conc#", "G1 Main Marker", "VM Thread",
		"ZWorker", "ZDriver", "Shenandoah GC", ".NET Server GC", ".NET BGC"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (begins_with(comm, names[i]))
			return true;
	return false;
}

/* They are among the first that a runtime starts. */
#define COLLECTOR_THREADS 256

u64 proc_collector_ticks(const char *comm, int pid)
{
	_cleanup_proc_iter_ struct proc_iter it = {};
	struct proc_stat st;
	u64 ticks = 0;
	int tid;

	if ((strcmp(comm, "java") && strcmp(comm, "dotnet")) || proc_iter_open_tasks(pid, &it))
		return 0;
	for (int i = 0; i < COLLECTOR_THREADS && proc_iter_next(&it, &tid); i++)
		if (!proc_task_stat_read(pid, tid, &st) && is_collector(st.comm))
			ticks += st.utime_ticks + st.stime_ticks;
	return ticks;
}

int proc_label_read(u32 pid, struct str *out)
{
	_cleanup_str_ struct str args = {};
	char comm[PROC_COMM_MAX];
	int rc = proc_comm_read((int)pid, comm);

	str_clear(out);
	if (rc)
		return rc;
	if (!proc_may_have_program(comm) || sys_read(&args, "/proc/%u/cmdline", pid) ||
		!proc_program_name(comm, str_get(&args), args.len, out))
		str_add(out, comm);
	return 0;
}
