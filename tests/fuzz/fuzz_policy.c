/*
 * Fuzzes what reads calls on memory policy: their names, errors and problems in words, `policy
 * show`, and the head of /proc/kcore. The first byte chooses; the rest is a record, arguments, or
 * the file.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "probes/policy/policy_judge.h"
#include "probes/policy/policy_tables.h"
#include "probes/policy/policy_words.h"
#include "sys/calls/mempolicy.h"
#include "sys/kernel/kcore.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const u32 calls[] = {CALL_MBIND, CALL_SET_MEMPOLICY, CALL_GET_MEMPOLICY, CALL_MIGRATE_PAGES,
	CALL_MOVE_PAGES, CALL_HOME_NODE};

static void fuzz_call(const uint8_t *data, size_t size)
{
	static const struct policy_config config = {.nodes = 2, .node_pages = {100, 100}};
	_cleanup_str_ struct str s = {};
	struct policy_call e = {};

	memcpy((char *)&e + sizeof(e.h), data, MIN(size, sizeof(e) - sizeof(e.h)));
	if (e.tgid & 1)
		e.call = calls[e.tid % ARRAY_SIZE(calls)];
	e.warnings |= policy_judge(&e, &config);
	policy_placed(&e);
	policy_call_add(&s, &e);
	policy_result_add(&s, &e);
	policy_effect_add(&s, &e);
	for (u32 i = 0; i < 32; i++)
		policy_problem_add(&s, &e, e.warnings & 1U << i);
	if (policy_error_text(&e))
		str_add(&s, policy_error_text(&e));
	if (s.failed || strlen(str_get(&s)) != s.len)
		abort();
}

static void fuzz_error(const uint8_t *data, size_t size)
{
	struct mempolicy_args a = {};
	_cleanup_str_ struct str s = {};

	/* all but the bool at its end */
	memcpy(&a, data, MIN(size, offsetof(struct mempolicy_args, cut)));
	a.cut = size & 1;
	a.call = calls[a.call % ARRAY_SIZE(calls)];
	for (int error = 0; error < 140; error++)
		mempolicy_error(&a, error);
	flags_add(&s, mempolicy_modes, a.mode);
	flags_add(&s, mempolicy_get_flags, a.flags);
	if (!mempolicy_error(&a, EINVAL) || !mempolicy_error(&a, EPERM))
		abort();
}

static void fuzz_show(const uint8_t *data, size_t size)
{
	static const u16 kinds[] = {REC_POLICY_MAPPING, REC_POLICY_THREAD, REC_POLICY_NODE};
	static const size_t sizes[] = {sizeof(struct policy_mapping), sizeof(struct policy_thread),
		sizeof(struct policy_node)};
	struct policy_show s = {};
	struct stream stream;
	struct report r;

	policy_show_init(&s);
	if (stream_init(&stream))
		abort();
	while (size > 2) {
		size_t which = data[0] % 3, given = MIN((size_t)data[1], size - 2);
		size_t n = (MAX(sizes[which], sizeof(struct rec) + given) + 7) & ~7UL;
		struct rec *rec = calloc(1, n);

		if (!rec)
			abort();
		memcpy(rec + 1, data + 2, given);
		rec->size = (u32)n;
		rec->kind = kinds[which];
		if (policy_show_feed(&s, rec))
			abort();
		free(rec);
		data += 2 + given;
		size -= 2 + given;
	}
	report_init(&r, "policy", &stream);
	if (policy_show_report(&s, &r))
		abort();
	report_destroy(&r);
	policy_show_free(&s);
	stream_destroy(&stream);
}

static void fuzz_kcore(const uint8_t *data, size_t size)
{
	void *exact = malloc(size ? size : 1); /* so the sanitizer sees a byte too far */
	struct kcore k;

	if (!exact)
		abort();
	memcpy(exact, data, size);
	if (!kcore_parse(exact, size, &k) && (!k.page_offset || k.page_offset % (1UL << 30)))
		abort();
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const targets[])(const uint8_t *, size_t) = {
		fuzz_call, fuzz_error, fuzz_show, fuzz_kcore};

	if (size)
		targets[data[0] % ARRAY_SIZE(targets)](data + 1, size - 1);
	return 0;
}
