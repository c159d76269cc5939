/*
 * The description of the meta records, see meta.h. It is data only: what the log's schema says
 * about them, and nothing about how they are made or used.
 */
#include "event/meta.h"

#include "base/util.h"

static const struct field string_fields[] = {
	FIELD(struct rec_string, id, FIELD_U32, UNIT_STRING, "id by which it is meant; never 0"),
	FIELD(struct rec_string, length, FIELD_U32, UNIT_BYTES, "bytes of text"),
	FIELD_ARRAY(struct rec_string, text, FIELD_TEXT, UNIT_NONE, 0, "the text"),
};

static const struct field cgroup_fields[] = {
	FIELD(struct rec_cgroup, id, FIELD_U64, UNIT_CGROUP,
		"kernfs id: the inode number of its directory"),
	FIELD(struct rec_cgroup, length, FIELD_U32, UNIT_BYTES, "bytes of path"),
	FIELD_ARRAY(struct rec_cgroup, path, FIELD_TEXT, UNIT_NONE, 0,
		"its directory, from the root of the hierarchy"),
};

static const struct field symbol_fields[] = {
	FIELD(struct rec_symbol, frame, FIELD_U32, UNIT_ID, "the frame it names"),
	FIELD(struct rec_symbol, n, FIELD_U32, UNIT_COUNT,
		"functions at this address: the inlined ones, and the one that was called"),
	FIELD_ARRAY(struct rec_symbol, lines, FIELD_U32S, UNIT_NONE, 0,
		"four numbers a function, innermost first: its name and its file (strings), the "
		"line, and the offset from the start of the function (in the last one only)"),
};

const char *stack_method_text(u16 flags)
{
	/* By enum cfi_stop. */
	static const char *const cuts[] = {
		[2] = "cut: code without call-frame information",
		[3] = "cut: call-frame information of an unknown form",
		[4] = "cut: a register that is needed is not known",
		[5] = "cut: the stack could not be read",
		[6] = "cut: the next frame is not above the last",
		[7] = "cut: a return address that is not in code",
		[8] = "cut: more than 127 frames",
	};
	static const char *const fallbacks[] = {
		[STACK_KERNEL] = "frame pointers",
		[STACK_NOT_READY] = "frame pointers: tables not ready yet",
		[STACK_NO_ROOM] = "frame pointers: no room for tables",
		[STACK_BUSY] = "frame pointers: another walk was going on",
		[STACK_OTHER_CODE] = "frame pointers: 32-bit code",
	};
	u32 detail = flags >> 8;

	switch (flags & 0xff) {
	case STACK_EXACT:
		return "exact";
	case STACK_GUESSED:
		return "complete, some by frame pointer";
	case STACK_CUT:
		return detail < ARRAY_SIZE(cuts) && cuts[detail] ? cuts[detail] : "cut";
	case STACK_BY_FRAME_POINTERS:
		return detail < ARRAY_SIZE(fallbacks) ? fallbacks[detail] : fallbacks[0];
	}
	return "unknown";
}

static const struct field stack_fields[] = {
	FIELD_FLAGS("method", UNIT_ID,
		"how its user part was obtained: 0 exact, 1 some frames by frame "
		"pointer, 2 cut, 3 by "
		"frame pointers; the upper byte says why"),
	FIELD(struct rec_stack, id, FIELD_U32, UNIT_STACK, "id by which it is meant; never 0"),
	FIELD(struct rec_stack, n, FIELD_U32, UNIT_COUNT, "frames"),
	FIELD_ARRAY(struct rec_stack, frames, FIELD_U32S, UNIT_ID, 0,
		"its frames, innermost first: kernel frames, then user frames"),
};

const struct kind meta_kinds[] = {
	RECORD_KIND(REC_HOST, struct rec_host, "host", REC_HOST_FIELDS,
		"the machine that was observed"),
	RECORD_KIND(REC_SESSION, struct rec_session, "session", REC_SESSION_FIELDS,
		"start of the observation: what was asked, and the time of day; of a command a "
		"second one when it was let go"),
	RECORD_KIND(REC_METHOD, struct rec_method, "method", REC_METHOD_FIELDS,
		"how a probe obtained a part of its data, or why it did not"),
	RECORD_KIND(REC_LOSS, struct rec_loss, "loss", REC_LOSS_FIELDS,
		"events of a probe, cumulative: the last record of a probe counts"),
	RECORD_KIND(REC_COST, struct rec_cost, "cost", REC_COST_FIELDS,
		"what the observation cost, cumulative: the last record counts"),
	{.kind = REC_TICK,
		.size = sizeof(struct rec_tick),
		.name = "tick",
		.help = "end of one interval, and start of the next"},
	{.kind = REC_END,
		.size = sizeof(struct rec_tick),
		.name = "end",
		.help = "end of the observation; without it the stream is not complete"},
	KIND(REC_STRING, struct rec_string, "string", string_fields,
		"a text that others mean by id"),
	RECORD_KIND(REC_TASK, struct rec_task, "task", REC_TASK_FIELDS,
		"name and cgroup of a process or thread; the last record of one counts"),
	KIND(REC_CGROUP, struct rec_cgroup, "cgroup", cgroup_fields, "path of a cgroup"),
	RECORD_KIND_FLAGS(REC_FRAME, struct rec_frame, "frame", REC_FRAME_FIELDS,
		"one code address", "space", UNIT_ID, "0: user, 1: kernel"),
	RECORD_KIND(REC_MODULE, struct rec_module, "module", REC_MODULE_FIELDS,
		"a file with code, as it was when its symbols were read"),
	KIND(REC_SYMBOL, struct rec_symbol, "symbol", symbol_fields, "the functions at a frame"),
	KIND(REC_STACK, struct rec_stack, "stack", stack_fields, "a call stack"),
	RECORD_KIND(REC_ENUM, struct rec_enum, "enum", REC_ENUM_FIELDS,
		"a name the running kernel gives to a number"),
	RECORD_KIND_FLAGS(REC_NOTE, struct rec_note, "note", REC_NOTE_FIELDS,
		"a remark for the reader of the report", "level", UNIT_ID,
		"0: a note, 1: something that was not looked at, 2: a warning"),
	RECORD_KIND(REC_EXIT, struct rec_exit, "exit", REC_EXIT_FIELDS,
		"how the command that was run ended"),
};

const size_t meta_kinds_n = ARRAY_SIZE(meta_kinds);
