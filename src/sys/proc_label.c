/* See proc_label.h. */
#include "sys/proc_label.h"

#include <errno.h>
#include <string.h>

#include "sys/proc.h"
#include "sys/root.h"

/* Programs that run what an argument names; a version may follow ("python3.11"). */
static const char *const runners[] = {"python", "perl", "ruby", "node", "php", "java", "bash", "sh",
	"dash", "zsh", "lua", "Rscript", "julia", "beam.smp", "erl", "mono", "dotnet", "guile"};

/* Options of theirs whose value is an argument of its own. */
static const char *const with_value[] = {"-W", "-X", "-cp", "-classpath", "--class-path", "-I",
	"-r", "--require", "-p", "--module-path"};

static bool is_runner(const char *program)
{
	const char *name = path_name(program);

	for (size_t i = 0; i < ARRAY_SIZE(runners); i++) {
		size_t n = strlen(runners[i]);

		if (!strncmp(name, runners[i], n) && !name[n + strspn(name + n, "0123456789.")])
			return true;
	}
	return false;
}

static bool takes_value(const char *option)
{
	for (size_t i = 0; i < ARRAY_SIZE(with_value); i++)
		if (!strcmp(option, with_value[i]))
			return true;
	return false;
}

/* The argument that names what is run: the first that is no option; of "-m" and "-jar" the value.
 */
static const char *subject_find(const char *args, size_t n)
{
	const char *p = args, *end = args + n;
	bool value = false;

	for (p += strnlen(p, n) + 1; p < end; p += strnlen(p, (size_t)(end - p)) + 1) {
		size_t length = strnlen(p, (size_t)(end - p));

		if (!length || p + length == end || !strcmp(p, "-c"))
			return NULL;
		if (p[0] != '-' && !value)
			return p;
		value = !value && takes_value(p);
	}
	return NULL;
}

void proc_label(const char *comm, const char *args, size_t n, struct str *out)
{
	const char *subject = NULL;

	str_clear(out);
	str_add(out, comm);
	if (n && args[n - 1] == '\0' && is_runner(args))
		subject = subject_find(args, n);
	if (subject && strcmp(path_name(subject), comm))
		str_addf(out, " %.60s", path_name(subject));
}

int proc_label_read(u32 pid, struct str *out)
{
	_cleanup_str_ struct str args = {};
	char comm[PROC_COMM_MAX];
	int rc = proc_comm_read((int)pid, comm);

	str_clear(out);
	if (rc)
		return rc;
	rc = sys_read(&args, "/proc/%u/cmdline", pid);
	proc_label(comm, rc ? "" : str_get(&args), rc ? 0 : args.len, out);
	return 0;
}
