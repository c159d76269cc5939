/*
 * The description of the meta records, see meta.h. It is data only: what the log's schema says
 * about them, and nothing about how they are made or used.
 */
#include "event/meta.h"

#include "base/util.h"

/* A number kept in the flags of the record's head. */
#define FIELD_FLAGS(name_, help_)                                                          \
	{                                                                                  \
		.name = (name_), .offset = offsetof(struct rec, flags), .type = FIELD_U16, \
		.unit = UNIT_ID, .count = 1, .help = (help_)                               \
	}

#define CHARS(type_, member_, help_) \
	FIELD_ARRAY(type_, member_, FIELD_CHARS, UNIT_NONE, sizeof(((type_ *)0)->member_), help_)

static const struct field host_fields[] = {
	FIELD(struct rec_host, cpus, FIELD_U32, UNIT_COUNT, "CPUs online"),
	FIELD(struct rec_host, nodes, FIELD_U32, UNIT_COUNT, "NUMA nodes online"),
	FIELD(struct rec_host, page_bytes, FIELD_U32, UNIT_BYTES, "size of a base page"),
	FIELD(struct rec_host, pageblock_order, FIELD_U32, UNIT_ID,
		"a pageblock is 2^order base pages: the unit of migratetypes"),
	FIELD(struct rec_host, memory_bytes, FIELD_U64, UNIT_BYTES, "memory the kernel manages"),
	FIELD(struct rec_host, huge_page_bytes, FIELD_U64, UNIT_BYTES,
		"size of a transparent huge page mapped by a PMD"),
	CHARS(struct rec_host, kernel, "release of the running kernel (uname -r)"),
};

static const struct field session_fields[] = {
	FIELD(struct rec_session, wall_ns, FIELD_U64, UNIT_NS,
		"time since 1970 (UTC) at the time of this record"),
	CHARS(struct rec_session, command, "the memwhy command that made the stream"),
	CHARS(struct rec_session, scope, "what was observed: system-wide, pid 12, a cgroup, ..."),
	FIELD(struct rec_session, options, FIELD_U32, UNIT_HEX, "1 single events, 2 stacks"),
	CHARS(struct rec_session, by, "keys of --by; empty where that was not said"),
};

static const struct field method_fields[] = {
	CHARS(struct rec_method, probe, "the probe"),
	CHARS(struct rec_method, data, "which part of what the probe tells"),
	CHARS(struct rec_method, method, "how it was obtained; empty: it was not"),
	CHARS(struct rec_method, missing, "when it was not: why, and what would provide it"),
	CHARS(struct rec_method, needs, "what would provide it, alone; empty: not known"),
};

static const struct field loss_fields[] = {
	CHARS(struct rec_loss, probe, "the probe"),
	FIELD(struct rec_loss, seen, FIELD_U64, UNIT_COUNT,
		"events seen in the kernel since the start: delivered + lost"),
	FIELD(struct rec_loss, delivered, FIELD_U64, UNIT_COUNT,
		"events counted or handed on since the start"),
	FIELD(struct rec_loss, lost, FIELD_U64, UNIT_COUNT, "events lost since the start"),
	CHARS(struct rec_loss, reason, "why events were lost, when there are any"),
};

static const struct field cost_fields[] = {
	FIELD(struct rec_cost, cpu_ns, FIELD_U64, UNIT_NS,
		"user and system time of memwhy itself since the start"),
	FIELD(struct rec_cost, bpf_ns, FIELD_U64, UNIT_NS,
		"run time of its BPF programs since the start, paid by the observed tasks"),
	FIELD(struct rec_cost, bpf_runs, FIELD_U64, UNIT_COUNT,
		"runs of its BPF programs since the start"),
	FIELD(struct rec_cost, rss_bytes, FIELD_U64, UNIT_BYTES, "peak RSS of memwhy"),
	FIELD(struct rec_cost, bpf_bytes, FIELD_U64, UNIT_BYTES, "memory of its BPF maps"),
};

static const struct field string_fields[] = {
	FIELD(struct rec_string, id, FIELD_U32, UNIT_STRING, "id by which it is meant; never 0"),
	FIELD(struct rec_string, length, FIELD_U32, UNIT_BYTES, "bytes of text"),
	FIELD_ARRAY(struct rec_string, text, FIELD_TEXT, UNIT_NONE, 0, "the text"),
};

static const struct field task_fields[] = {
	FIELD(struct rec_task, tgid, FIELD_U32, UNIT_ID, "process"),
	FIELD(struct rec_task, tid, FIELD_U32, UNIT_ID, "thread; 0: the process as a whole"),
	FIELD(struct rec_task, cgroup, FIELD_U64, UNIT_CGROUP, "its cgroup"),
	CHARS(struct rec_task, comm, "its name, as in /proc/PID/comm"),
	FIELD(struct rec_task, program, FIELD_U32, UNIT_STRING,
		"of an interpreter: with what it runs; 0: the name will do"),
};

static const struct field cgroup_fields[] = {
	FIELD(struct rec_cgroup, id, FIELD_U64, UNIT_CGROUP,
		"kernfs id: the inode number of its directory"),
	FIELD(struct rec_cgroup, length, FIELD_U32, UNIT_BYTES, "bytes of path"),
	FIELD_ARRAY(struct rec_cgroup, path, FIELD_TEXT, UNIT_NONE, 0,
		"its directory, from the root of the hierarchy"),
};

static const struct field frame_fields[] = {
	FIELD_FLAGS("space", "0: user, 1: kernel"),
	FIELD(struct rec_frame, id, FIELD_U32, UNIT_ID, "id by which it is meant in stacks"),
	FIELD(struct rec_frame, module, FIELD_U32, UNIT_STRING,
		"file or kernel module of the code; 0: unknown"),
	FIELD(struct rec_frame, offset, FIELD_U64, UNIT_HEX, "address within the module"),
	FIELD(struct rec_frame, address, FIELD_U64, UNIT_HEX,
		"virtual address seen first; 0: the process had ended"),
};

static const struct field module_fields[] = {
	FIELD(struct rec_module, path, FIELD_U32, UNIT_STRING, "the file, as frames have it"),
	FIELD(struct rec_module, length, FIELD_U32, UNIT_BYTES, "bytes of its build id"),
	FIELD_ARRAY(struct rec_module, build_id, FIELD_U8, UNIT_HEX, MODULE_BUILD_ID,
		"its build id (the note NT_GNU_BUILD_ID)"),
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
	FIELD_FLAGS("method", "how its user part was obtained: 0 exact, 1 some frames by frame "
			      "pointer, 2 cut, 3 by "
			      "frame pointers; the upper byte says why"),
	FIELD(struct rec_stack, id, FIELD_U32, UNIT_STACK, "id by which it is meant; never 0"),
	FIELD(struct rec_stack, n, FIELD_U32, UNIT_COUNT, "frames"),
	FIELD_ARRAY(struct rec_stack, frames, FIELD_U32S, UNIT_ID, 0,
		"its frames, innermost first: kernel frames, then user frames"),
};

static const struct field enum_fields[] = {
	CHARS(struct rec_enum, set, "what the number is: migratetype, gfp, zone, ..."),
	FIELD(struct rec_enum, value, FIELD_U64, UNIT_HEX, "the number"),
	CHARS(struct rec_enum, name, "the name the running kernel gives to it"),
};

static const struct field note_fields[] = {
	FIELD_FLAGS("level", "0: a note, 1: something that was not looked at, 2: a warning"),
	CHARS(struct rec_note, probe, "the probe; empty: none in particular"),
	CHARS(struct rec_note, text, "what the reader of the numbers should know"),
};

static const struct field exit_fields[] = {
	FIELD(struct rec_exit, status, FIELD_U32, UNIT_ID,
		"its exit status; of one that was killed 128 + the signal"),
	FIELD(struct rec_exit, signal, FIELD_U32, UNIT_ID, "the signal that killed it; 0: none"),
};

const struct kind meta_kinds[] = {
	KIND(REC_HOST, struct rec_host, "host", host_fields, "the machine that was observed"),
	KIND(REC_SESSION, struct rec_session, "session", session_fields,
		"start of the observation: what was asked, and the time of day; of a command a "
		"second one when it was let go"),
	KIND(REC_METHOD, struct rec_method, "method", method_fields,
		"how a probe obtained a part of its data, or why it did not"),
	KIND(REC_LOSS, struct rec_loss, "loss", loss_fields,
		"events of a probe, cumulative: the last record of a probe counts"),
	KIND(REC_COST, struct rec_cost, "cost", cost_fields,
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
	KIND(REC_TASK, struct rec_task, "task", task_fields,
		"name and cgroup of a process or thread; the last record of one counts"),
	KIND(REC_CGROUP, struct rec_cgroup, "cgroup", cgroup_fields, "path of a cgroup"),
	KIND(REC_FRAME, struct rec_frame, "frame", frame_fields, "one code address"),
	KIND(REC_MODULE, struct rec_module, "module", module_fields,
		"a file with code, as it was when its symbols were read"),
	KIND(REC_SYMBOL, struct rec_symbol, "symbol", symbol_fields, "the functions at a frame"),
	KIND(REC_STACK, struct rec_stack, "stack", stack_fields, "a call stack"),
	KIND(REC_ENUM, struct rec_enum, "enum", enum_fields,
		"a name the running kernel gives to a number"),
	KIND(REC_NOTE, struct rec_note, "note", note_fields,
		"a remark for the reader of the report"),
	KIND(REC_EXIT, struct rec_exit, "exit", exit_fields, "how the command that was run ended"),
};

const size_t meta_kinds_n = ARRAY_SIZE(meta_kinds);
