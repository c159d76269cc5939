/* See maps_looks.h. The columns are those of mmapsnoop.py and brkstack.bt of "BPF Performance
 * Tools", and of bcc's shmsnoop. */
#include "probes/maps/maps_looks.h"

#include <stdlib.h>

#include "base/vec.h"
#include "probes/maps/maps_words.h"
#include "sys/calls/flags.h"

const char mmapsnoop_head[] = "PID    COMM           PROT MAP   OFFS(KB) SIZE(KB) FILE";
const char shmsnoop_head[] = "PID    COMM                SYS              RET ARGs";

static void letters_add(char *to, u64 flags, const u64 *bits, const char *letters)
{
	for (; *letters; letters++, bits++)
		*to++ = flags & *bits ? *letters : '-';
	*to = '\0';
}

/* mmapsnoop knows mappings of files alone, and prints what was asked for. */
void mmapsnoop_line(const struct maps_event *e, struct str *out)
{
	static const u64 prots[] = {1, 2, 4}, flags[] = {1, 2, 0x10, 0x20};
	_cleanup_str_ struct str comm = {};
	char name[MAPS_NAME_LEN], prot[5], map[5], cut[COMM_LEN];

	if (e->call != MAPS_MMAP || !(e->flags & MAPS_NAMED))
		return;
	snprintf(cut, sizeof(cut), "%.14s", e->comm);
	str_add_escaped(&comm, cut);
	letters_add(prot, e->args[2], prots, "RWE");
	letters_add(map, e->args[3], flags, "SPFA");
	str_addf(out, "%-6u %-14s %-4s %-5s %-8llu %-8llu ", e->tgid, str_get(&comm), prot, map,
		e->args[5] / 1024, e->args[1] / 1024);
	maps_event_name(e, name);
	str_add_escaped(out, name);
	str_addc(out, '\n');
}

/* A flag word as shmsnoop has it: "0x3b6 (IPC_CREAT|0666)", what has no name in octal. */
static void shm_flags_add(struct str *out, const struct flag *table, u64 flags)
{
	const char *between = "";

	str_addf(out, "0x%llx", flags);
	if (!flags)
		return;
	str_add(out, " (");
	for (const struct flag *f = table; f->name; f++) {
		if ((flags & f->mask) != f->value)
			continue;
		str_addf(out, "%s%s", between, f->name);
		between = "|";
		flags &= ~f->mask;
	}
	if (flags)
		str_addf(out, "%s0%llo", between, flags);
	str_addc(out, ')');
}

void shmsnoop_line(const struct maps_event *e, struct str *out)
{
	static const char *const names[MAPS_CALL_N] = {
		[MAPS_SHMGET] = "SHMGET",
		[MAPS_SHMAT] = "SHMAT",
		[MAPS_SHMDT] = "SHMDT",
		[MAPS_SHMCTL] = "SHMCTL",
	};
	_cleanup_str_ struct str comm = {};
	char cut[COMM_LEN + 1];

	if (e->call >= MAPS_CALL_N || !names[e->call])
		return;
	snprintf(cut, sizeof(cut), "%.*s", COMM_LEN, e->comm);
	str_add_escaped(&comm, cut);
	str_addf(out, "%-6u %-16s %6s %16llx ", e->tgid, str_get(&comm), names[e->call],
		(u64)e->result);
	if (e->call == MAPS_SHMGET) {
		str_addf(out, "key: 0x%llx, size: %llu, shmflg: ", e->args[0], e->args[1]);
		shm_flags_add(out, shmget_flags, e->args[2]);
	} else if (e->call == MAPS_SHMAT) {
		str_addf(out, "shmid: 0x%llx, shmaddr: 0x%llx, shmflg: ", e->args[0], e->args[1]);
		shm_flags_add(out, shmat_flags, e->args[2]);
	} else if (e->call == MAPS_SHMDT) {
		str_addf(out, "shmaddr: 0x%llx", e->args[0]);
	} else {
		str_addf(out, "shmid: 0x%llx, cmd: %llu, buf: 0x%llx", e->args[0], e->args[1],
			e->args[2]);
	}
	str_addc(out, '\n');
}

struct brkstack_row {
	const struct brkstack_key *key;
	u64 calls;
};

static int by_calls(const void *a, const void *b)
{
	const struct brkstack_row *x = a, *y = b;

	return x->calls < y->calls ? -1 : x->calls > y->calls;
}

/* bpftrace's indents frames by four, and has their offset in the function. */
static void maps_looks_frame_add(void *arg, const struct stack_line *l)
{
	_cleanup_str_ struct str s = {};

	if (l->function)
		str_addf(&s, "%s+%llu", l->function, l->offset);
	else
		str_addf(&s, "0x%llx", l->address);
	str_add(arg, "    ");
	str_add_escaped(arg, str_get(&s));
	str_addc(arg, '\n');
}

void brkstack_lines(const struct groups *g, struct report *r, struct str *out)
{
	VEC(struct brkstack_row) rows = {};

	for (size_t i = 0; i < g->n; i++) {
		struct brkstack_row row = {groups_key(g, i), *(u64 *)groups_value(g, i)};

		if (vec_push(&rows, row))
			break;
	}
	if (rows.n)
		qsort(rows.v, rows.n, sizeof(rows.v[0]), by_calls);
	vec_each (row, &rows) {
		char comm[COMM_LEN + 1];

		snprintf(comm, sizeof(comm), "%.*s", COMM_LEN, row->key->comm);
		str_add(out, "@[\n");
		stack_each(r->stream, (u32)row->key->stack, maps_looks_frame_add, out);
		str_add(out, ", ");
		str_add_escaped(out, comm);
		str_addf(out, "]: %llu\n", row->calls);
	}
	vec_free(&rows);
}
