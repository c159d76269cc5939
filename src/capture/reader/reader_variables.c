/* See reader_variables.h: the side of memwhy. */
#include "capture/reader/reader_variables.h"

#include <errno.h>
#include <string.h>

#include "capture/reader/reader_talk.h"

#define NAMES_MAX (16U << 20)

void reader_variables_free(struct reader_variables *v)
{
	elf_variables_free(&v->variables);
	vec_free(&v->file.segments);
}

static bool error_is_sound(s32 rc)
{
	return rc <= 0 && rc >= -4095;
}

static bool answer_is_sound(const struct reader_variables_answer *a)
{
	return a->segments <= SEGMENTS_MAX && a->n <= READER_VARIABLES_MAX &&
	       a->names <= NAMES_MAX && error_is_sound(a->tls_error) &&
	       error_is_sound(a->word_error);
}

/* What a variable is called is a text that ends among the names. */
static int variable_take(
	struct reader *r, const struct reader_variable *from, u32 names, struct elf_variables *to)
{
	struct elf_variable one = {
		.address = from->address, .size = from->size, .bss = from->bss != 0};

	if (from->name >= names || from->size > ~from->address)
		return reader_bad(r);
	one.name = to->names + from->name;
	return vec_push(&to->list, one);
}

static int list_read(struct reader *r, const struct reader_variables_answer *a, u64 until,
	struct elf_variables *to)
{
	_cleanup_free_ struct reader_variable *list = calloc(a->n + 1, sizeof(*list));
	int rc;

	to->names = malloc(a->names + 1);
	if (!list || !to->names)
		return -ENOMEM;
	rc = reader_read(r, list, a->n * sizeof(*list), until);
	rc = rc ? rc : reader_read(r, to->names, a->names, until);
	to->names[a->names] = '\0';
	for (u32 i = 0; i < a->n && !rc; i++)
		rc = variable_take(r, &list[i], a->names, to);
	return rc;
}

static int reader_variables_answer_read(struct reader *r, u64 until, struct reader_variables *ret)
{
	struct reader_variables_answer a;
	int rc = reader_read(r, &a, sizeof(a), until);

	if (rc)
		return rc;
	if (a.rc)
		return reader_error(r, a.rc);
	if (!answer_is_sound(&a))
		return reader_bad(r);
	reader_spent(r, &a.spent);
	ret->tls = (struct elf_tls){.bytes = a.tls_bytes, .below = a.tls_below};
	ret->tls_error = a.tls_error ? reader_error(r, a.tls_error) : 0;
	ret->word_address = a.word_address;
	ret->word_offset = a.word_offset;
	ret->word_error = a.word_error ? reader_error(r, a.word_error) : 0;
	if (vec_reserve(&ret->file.segments, a.segments))
		return -ENOMEM;
	ret->file.segments.n = a.segments;
	rc = reader_segments(r, ret->file.segments.v, a.segments, until);
	return rc ? rc : list_read(r, &a, until, &ret->variables);
}

int reader_variables(
	struct reader *r, int fd, u32 type, u64 min_bytes, struct reader_variables *ret)
{
	u64 until = clock_mono_ns() + ANSWER_NS;
	struct reader_variables_ask ask = {.type = type, .min_bytes = min_bytes};
	struct reader_variables v = {.file.fd = -1};
	int rc = reader_ask(r, READER_VARIABLES, fd);

	rc = rc ? rc : reader_write(r, &ask, sizeof(ask), until);
	rc = rc ? rc : reader_variables_answer_read(r, until, &v);
	if (rc) {
		if (rc == -ENOMEM) /* the rest of an answer is no beginning of another */
			(void)reader_bad(r);
		reader_variables_free(&v);
		return rc;
	}
	*ret = v;
	return 0;
}
