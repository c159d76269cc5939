/* See walks.h. */
#include "probes/walks.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "capture/embedded.h"
#include "capture/object.h"
#include "capture/unwind/unwind.h"

/* Of a probe that is everywhere, a program that walks. */
#define SURVEY_PROBE "faults"
#define SURVEY_PROGRAM "fault_minor"

void walk_choose(const struct capture *c, const struct probe *p, struct attach_spec *spec)
{
	char name[64];

	snprintf(name, sizeof(name), "%s_walk", p->name);
	spec->object = embedded_find(c->unwind ? name : p->name);
}

int walk_attach(struct capture *c, const struct probe *p, struct attach_spec *spec,
	struct attached **ret, struct err *err)
{
	const struct embedded *plain = embedded_find(p->name);
	struct err first = {};
	int rc = attach_open(c, spec, ret, &first);

	if (rc && rc != -EPERM && rc != -EINTR && spec->object != plain) {
		struct err second = {};

		spec->object = plain;
		rc = attach_open(c, spec, ret, &second);
		if (!rc)
			capture_note(c, NOTE_WARNING,
				"user stacks are walked by frame pointers, which most programs "
				"lack: this kernel refuses the walk by DWARF unwind tables: %.110s",
				first.msg);
		else
			first = second;
	}
	if (rc && err)
		*err = first;
	return rc;
}

/* Does a program with the walk load here? */
static int survey_load(struct capture *c)
{
	const struct probe of = {.name = SURVEY_PROBE};
	struct bpf_program *prog;
	struct bpf_object *obj;
	struct attach_spec spec;
	int rc;

	walk_choose(c, &of, &spec);
	rc = object_open(spec.object, &obj);
	if (rc)
		return rc;
	prog = bpf_object__find_program_by_name(obj, SURVEY_PROGRAM);
	rc = prog ? bpf_program__set_autoload(prog, true) : -ENOENT;
	if (!rc)
		rc = object_prepare(obj, c);
	if (!rc)
		rc = bpf_object__load(obj);
	bpf_object__close(obj);
	return rc;
}

int walk_survey(struct capture *c)
{
	bool user_stacks = c->opt.user_stacks;
	const char *why = "";
	char by_kernel[64];
	int rc = object_may_load();

	c->probe = "stacks";
	if (rc)
		return capture_not_permitted(c, "user stacks");
	c->opt.user_stacks = true;
	rc = unwind_open(c, &c->unwind, &why);
	if (!rc) {
		rc = survey_load(c);
		why = strerror(-rc);
	}
	unwind_close(c->unwind);
	c->unwind = NULL;
	c->opt.user_stacks = user_stacks;
	snprintf(by_kernel, sizeof(by_kernel), "frame pointers, by the kernel (%.24s)", why);
	return capture_method(
		c, "user stacks", rc ? by_kernel : "DWARF unwind tables, walked in BPF", NULL);
}
