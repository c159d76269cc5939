/*
 * Fuzzes the command line as far as it goes without opening, writing or running anything: a
 * command's options, what of them its view takes, and --fields, --sort and --table against its
 * tables. The first byte chooses the command, each line of the rest is a word.
 */
#include <stdint.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/own.h"
#include "probes/probe.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 64

static void view_try(const struct probe *p, const struct options *o)
{
	const struct view *v = p->view;
	struct view_options vo = {
		.by = o->by,
		.each = o->each,
		.min_ns = o->min_ns,
		.stacks = o->stacks != NULL,
		.opts = own_of(o, p),
		.operands = o->operands,
		.n_operands = (u32)o->n_operands,
	};
	void *state = calloc(1, v->size);
	struct report r;
	struct stream stream;
	struct err err = {};

	if (!state || stream_init(&stream))
		abort();
	if (!v->init(state, &vo, &err)) {
		report_init(&r, "fuzz", &stream);
		r.fields = o->fields;
		r.sort = o->sort;
		r.only = o->table;
		if (v->report(state, &r))
			abort();
		report_check(&r, &err);
		report_destroy(&r);
		v->destroy(state);
	}
	stream_destroy(&stream);
	free(state);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct options o = options_default;
	const struct command *cmd, *all;
	char *argv[WORDS + 2] = {"fuzz"}, *text, *save;
	struct err err = {};
	int argc = 1, rest;
	size_t n;

	if (!size)
		return 0;
	all = commands(&n);
	cmd = &all[data[0] % n];
	text = strndup((const char *)data + 1, size - 1);
	if (!text)
		abort();
	for (char *w = strtok_r(text, "\n", &save); w && argc <= WORDS;
		w = strtok_r(NULL, "\n", &save))
		argv[argc++] = w;
	if (own_alloc(&o))
		abort();
	if (!opt_parse(options_of(cmd, o.own), options_all(), &o, argc, argv, &o.n_operands, &rest,
		    &err)) {
		const struct probe *p = probe_find(cmd->name);

		if (rest > argc || o.n_operands >= argc)
			abort();
		o.operands = argv + 1;
		if (p && p->view && (u32)o.n_operands <= cmd->n_operands && !own_check(&o, p, &err))
			view_try(p, &o);
	} else if (!err.msg[0]) {
		abort(); /* an error says what is wrong */
	}
	own_free(&o);
	free(text);
	return 0;
}
