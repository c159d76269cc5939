/* See kallsyms.h. */
#include "sym/kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CHUNK 65536
/* The longest kernel symbol has 511 bytes; a module's name 55. */
#define LINE_MAX_BYTES 1024
#define NAMES_MAX_BYTES (256UL << 20)
/* There are no sizes in kallsyms. Past the last function of a module or of the kernel lies
 * something else, and no function is as long as this. */
#define FUNCTION_MAX_BYTES (1UL << 20)
/* Past the last function of a module there may be code that has no names: of modules that were
 * loaded since, or of the initialisation of one, which the kernel forgets. */
#define LAST_MAX_BYTES 8192UL

static bool is_text(char type)
{
	return type == 't' || type == 'T' || type == 'w' || type == 'W';
}

/* Reads a hexadecimal number of 1 to 16 digits and moves *at behind it. */
static bool hex_read(const char **at, const char *end, u64 *ret)
{
	const char *p = *at;
	u64 value = 0;

	for (; p < end && p - *at < 16; p++) {
		unsigned int digit = (unsigned char)*p;

		if (digit - '0' < 10)
			digit -= '0';
		else if ((digit | 0x20) - 'a' < 6)
			digit = (digit | 0x20) - 'a' + 10;
		else
			break;
		value = value << 4 | digit;
	}
	if (p == *at)
		return false;
	*at = p;
	*ret = value;
	return true;
}

static u32 kallsyms_name_add(struct kallsyms *k, const char *text, size_t n)
{
	size_t at = k->names.len;

	str_addn(&k->names, text, n);
	str_addc(&k->names, '\0');
	return (u32)at;
}

/* Lines of one module follow one another, so only the last one is compared. */
static int module_add(struct kallsyms *k, const char *text, size_t n, u32 *ret)
{
	if (k->last_module) {
		const char *last = k->names.buf + k->modules.v[k->last_module - 1];

		if (strlen(last) == n && !memcmp(last, text, n)) {
			*ret = k->last_module;
			return 0;
		}
	}
	if (vec_push(&k->modules, kallsyms_name_add(k, text, n)))
		return -ENOMEM;
	*ret = k->last_module = (u32)k->modules.n;
	return 0;
}

static const char *word_end(const char *p, const char *end)
{
	while (p < end && *p != ' ' && *p != '\t' && *p != '\n' && *p)
		p++;
	return p;
}

/* "ffffffff81000000 T name[\t[module]]", without the line's end. */
static int kallsyms_line_add(struct kallsyms *k, const char *p, const char *end)
{
	struct kallsym sym = {};
	const char *name, *name_end;
	int rc;

	if (!hex_read(&p, end, &sym.address) || end - p < 4 || p[0] != ' ' || p[2] != ' ')
		goto skip;
	name = p + 3;
	name_end = word_end(name, end);
	if (name_end == name)
		goto skip;
	if (!is_text(p[1]))
		return 0;
	k->text_lines++;
	if (!sym.address)
		return 0;
	if (k->names.len > NAMES_MAX_BYTES)
		return -EFBIG;
	p = name_end;
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	if (p < end && *p == '[') {
		rc = module_add(k, p, (size_t)(word_end(p, end) - p), &sym.module);
		if (rc)
			return rc;
	}
	sym.name = kallsyms_name_add(k, name, (size_t)(name_end - name));
	return k->names.failed ? -ENOMEM : vec_push(&k->list, sym);
skip:
	k->lines_skipped++;
	return 0;
}

/* Text without any line's end, kept until the rest of its line comes. */
static int partial_keep(struct kallsyms *k, const char *text, size_t n)
{
	if (k->overlong || k->partial.len + n > LINE_MAX_BYTES) {
		k->overlong = true;
		str_clear(&k->partial);
		return 0;
	}
	str_addn(&k->partial, text, n);
	return k->partial.failed ? -ENOMEM : 0;
}

/* The end of a line whose beginning came with an earlier chunk. */
static int partial_end(struct kallsyms *k, const char *text, size_t n)
{
	int rc = partial_keep(k, text, n);

	if (rc)
		return rc;
	if (k->overlong)
		k->lines_skipped++;
	else if (k->partial.len)
		rc = kallsyms_line_add(k, k->partial.buf, k->partial.buf + k->partial.len);
	k->overlong = false;
	str_clear(&k->partial);
	return rc;
}

int kallsyms_feed(struct kallsyms *k, const char *text, size_t n)
{
	const char *end = text + n, *p = text;
	int rc = 0;

	while (p < end && !rc) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		if (!eol)
			return partial_keep(k, p, (size_t)(end - p));
		if (k->partial.len || k->overlong)
			rc = partial_end(k, p, (size_t)(eol - p));
		else if (eol - p > LINE_MAX_BYTES)
			k->lines_skipped++;
		else if (eol > p)
			rc = kallsyms_line_add(k, p, eol);
		p = eol + 1;
	}
	return rc;
}

/* Of several names for one address the first in the text comes first: it is the one that the
 * kernel prints in its own stacks. */
static int sym_compare(const void *pa, const void *pb)
{
	const struct kallsym *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->name < b->name ? -1 : a->name > b->name;
}

static void list_sort(struct kallsyms *k)
{
	bool sorted = true;
	size_t kept = 0;

	for (size_t i = 1; i < k->list.n && sorted; i++)
		sorted = k->list.v[i - 1].address <= k->list.v[i].address;
	if (!sorted)
		qsort(k->list.v, k->list.n, sizeof(*k->list.v), sym_compare);
	for (size_t i = 0; i < k->list.n; i++) {
		if (!kept || k->list.v[i].address != k->list.v[kept - 1].address)
			k->list.v[kept++] = k->list.v[i];
	}
	k->list.n = kept;
}

/* Gives back what growing by doubling took too much. */
static void list_trim(struct kallsyms *k)
{
	void *list = reallocarray(k->list.v, k->list.n, sizeof(*k->list.v));
	char *names = realloc(k->names.buf, k->names.len + 1);

	if (list) {
		k->list.v = list;
		k->list.cap = k->list.n;
	}
	if (names) {
		k->names.buf = names;
		k->names.cap = k->names.len + 1;
	}
}

int kallsyms_finish(struct kallsyms *k, struct err *err)
{
	bool hidden;
	int rc = partial_end(k, "", 0);

	str_free(&k->partial);
	hidden = k->text_lines && !k->list.n;
	if (!rc && k->list.n) {
		list_sort(k);
		list_trim(k);
		return 0;
	}
	kallsyms_free(k);
	if (rc)
		return err_errno(err, rc, "cannot read the kernel's symbols");
	if (!hidden)
		return err_set(err, -ENOENT, "the kernel's symbol table holds no functions");
	err_set(err, -EPERM, "the kernel hides the addresses of its functions from this user");
	err_hint(err, "run it as root (sudo), or with CAP_SYSLOG and kernel.kptr_restrict below 2");
	return -EPERM;
}

int kallsyms_load_fd(struct kallsyms *k, int fd, struct err *err)
{
	_cleanup_free_ char *buf = malloc(CHUNK);
	ssize_t n = 0;
	int rc = buf ? 0 : -ENOMEM;

	*k = (struct kallsyms){};
	while (!rc && (n = read(fd, buf, CHUNK)) != 0) {
		if (n > 0)
			rc = kallsyms_feed(k, buf, (size_t)n);
		else if (errno != EINTR)
			rc = -errno;
	}
	if (rc) {
		kallsyms_free(k);
		return err_errno(err, rc, "cannot read the kernel's symbols");
	}
	return kallsyms_finish(k, err);
}

int kallsyms_load(struct kallsyms *k, struct err *err)
{
	_cleanup_close_ int fd = open("/proc/kallsyms", O_RDONLY | O_CLOEXEC);

	*k = (struct kallsyms){};
	if (fd < 0)
		return err_errno(err, -errno, "cannot open /proc/kallsyms");
	return kallsyms_load_fd(k, fd, err);
}

/* Names that mark where the text of the kernel ends, not functions. */
static bool is_end_marker(const char *name)
{
	return !strcmp(name, "_etext") || !strcmp(name, "_einittext");
}

static bool is_last_of_module(const struct kallsyms *k, size_t i)
{
	u32 module = k->list.v[i].module;

	return module && (i + 1 == k->list.n || k->list.v[i + 1].module != module) &&
	       strcmp(k->names.buf + k->modules.v[module - 1], "[bpf]") != 0;
}

int kallsyms_find(const struct kallsyms *k, u64 address, struct kallsyms_hit *ret)
{
	size_t lo = 0, hi = k->list.n;
	const struct kallsym *sym;
	const char *name;
	u64 most;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (k->list.v[mid].address > address)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (!lo)
		return -ENOENT;
	sym = &k->list.v[lo - 1];
	name = k->names.buf + sym->name;
	most = is_last_of_module(k, lo - 1) ? LAST_MAX_BYTES : FUNCTION_MAX_BYTES;
	if (address - sym->address >= most || is_end_marker(name))
		return -ENOENT;
	*ret = (struct kallsyms_hit){
		.name = name,
		.module = sym->module ? k->names.buf + k->modules.v[sym->module - 1] : NULL,
		.offset = address - sym->address,
	};
	return 0;
}

void kallsyms_free(struct kallsyms *k)
{
	vec_free(&k->list);
	vec_free(&k->modules);
	str_free(&k->names);
	str_free(&k->partial);
	*k = (struct kallsyms){};
}
