/*
 * Samples, see record.h. Fields come in the order of the kernel's perf_output_sample()
 * (kernel/events/core.c), which is not that of the bits of sample_type.
 */
#include "perfdata/record.h"

void read_parse(u64 format, struct cursor *c, struct perfdata_read *ret)
{
	unsigned int words = 1U + !!(format & PERFDATA_READ_ID) + !!(format & PERFDATA_READ_LOST);
	struct perfdata_read r = {.format = format, .n = 1};

	if (format & PERFDATA_READ_GROUP)
		r.n = cursor_u64(c);
	else
		r.values = cursor_array(c, 1); /* what follows an only one comes behind the times */
	if (format & PERFDATA_READ_ENABLED)
		r.enabled_ns = cursor_u64(c);
	if (format & PERFDATA_READ_RUNNING)
		r.running_ns = cursor_u64(c);
	if (r.n > c->left / 8 + 1)
		c->bad = true;
	else if (format & PERFDATA_READ_GROUP)
		r.values = cursor_array(c, r.n * words);
	else if (words > 1)
		(void)cursor_array(c, words - 1);
	*ret = r;
}

u64 perfdata_read_value(const struct perfdata_read *r, u64 i, u64 *ret_id, u64 *ret_lost)
{
	unsigned int has_id = !!(r->format & PERFDATA_READ_ID);
	unsigned int has_lost = !!(r->format & PERFDATA_READ_LOST);
	const u64 *v = r->values + i * (1 + has_id + has_lost);
	const u64 *more = v + 1;

	if (!(r->format & PERFDATA_READ_GROUP))
		more += !!(r->format & PERFDATA_READ_ENABLED) +
			!!(r->format & PERFDATA_READ_RUNNING);
	*ret_id = has_id ? more[0] : 0;
	*ret_lost = has_lost ? more[has_id] : 0;
	return v[0];
}

static void identity_parse(u64 t, struct cursor *c, struct perfdata_record *r)
{
	struct perfdata_where *w = &r->where;
	struct perfdata_sample *s = &r->sample;

	if (t & PERFDATA_IDENTIFIER)
		w->id = cursor_u64(c);
	if (t & PERFDATA_IP)
		s->ip = cursor_u64(c);
	if (t & PERFDATA_TID) {
		w->pid = cursor_u32(c);
		w->tid = cursor_u32(c);
	}
	if (t & PERFDATA_TIME)
		w->time = cursor_u64(c);
	if (t & PERFDATA_ADDR)
		s->addr = cursor_u64(c);
	if (t & PERFDATA_ID)
		w->id = cursor_u64(c);
	if (t & PERFDATA_STREAM_ID)
		w->stream_id = cursor_u64(c);
	if (t & PERFDATA_CPU) {
		w->cpu = cursor_u32(c);
		(void)cursor_u32(c);
	}
	if (t & PERFDATA_PERIOD)
		s->period = cursor_u64(c);
	w->have = t & (PERFDATA_IDENTIFIER | PERFDATA_TID | PERFDATA_TIME | PERFDATA_ID |
			      PERFDATA_STREAM_ID | PERFDATA_CPU);
}

static void raw_parse(struct cursor *c, struct perfdata_sample *s)
{
	s->raw_size = cursor_u32(c);
	s->raw = cursor_take(c, s->raw_size);
}

static void branches_parse(u64 type, struct cursor *c, struct perfdata_sample *s)
{
	u64 n = cursor_u64(c);

	if (type & PERFDATA_BRANCH_HW_INDEX)
		s->branch_index = cursor_u64(c);
	if (n > c->left / sizeof(*s->branches)) {
		c->bad = true;
		return;
	}
	s->n_branches = n;
	s->branches = (const struct perfdata_branch *)cursor_array(c, 3 * n);
	if (type & PERFDATA_BRANCH_COUNTERS)
		s->branch_counters = cursor_array(c, n);
}

static void regs_parse(u64 mask, struct cursor *c, struct perfdata_regs *r)
{
	r->abi = cursor_u64(c);
	if (!r->abi)
		return;
	r->n = (u32)__builtin_popcountll(mask);
	r->v = cursor_array(c, r->n);
}

/* Without a stack there is no word for how much of it is good. */
static void stack_parse(struct cursor *c, struct perfdata_sample *s)
{
	s->stack_size = cursor_u64(c);
	if (!s->stack_size)
		return;
	s->stack = cursor_take(c, s->stack_size);
	s->stack_used = cursor_u64(c);
	if (s->stack_used > s->stack_size)
		c->bad = true;
}

/* The three numbers are one u64 to either byte order (union perf_sample_weight). */
static void weight_parse(u64 t, struct cursor *c, struct perfdata_sample *s)
{
	u64 v = cursor_u64(c);

	if (t & PERFDATA_WEIGHT) {
		s->weight = v;
		return;
	}
	s->weight = (u32)v;
	s->weight2 = (u16)(v >> 32);
	s->weight3 = (u16)(v >> 48);
}

static void variable_parse(
	const struct perfdata_event *e, struct cursor *c, struct perfdata_sample *s)
{
	u64 t = e->sample_type;

	if (t & PERFDATA_READ_VALUES)
		read_parse(e->read_format, c, &s->read);
	if (t & PERFDATA_CALLCHAIN) {
		s->n_ips = cursor_u64(c);
		s->ips = cursor_array(c, s->n_ips);
	}
	if (t & PERFDATA_RAW)
		raw_parse(c, s);
	if (t & PERFDATA_BRANCH_STACK)
		branches_parse(e->branch_type, c, s);
	if (t & PERFDATA_REGS_USER)
		regs_parse(e->regs_user, c, &s->user);
	if (t & PERFDATA_STACK_USER)
		stack_parse(c, s);
}

static void memory_parse(
	const struct perfdata_event *e, struct cursor *c, struct perfdata_sample *s)
{
	u64 t = e->sample_type;

	if (t & (PERFDATA_WEIGHT | PERFDATA_WEIGHT_STRUCT))
		weight_parse(t, c, s);
	if (t & PERFDATA_DATA_SRC)
		s->data_src = cursor_u64(c);
	if (t & PERFDATA_TRANSACTION)
		s->transaction = cursor_u64(c);
	if (t & PERFDATA_REGS_INTR)
		regs_parse(e->regs_intr, c, &s->intr);
	if (t & PERFDATA_PHYS_ADDR)
		s->phys_addr = cursor_u64(c);
	if (t & PERFDATA_CGROUP_ID)
		s->cgroup = cursor_u64(c);
	if (t & PERFDATA_DATA_PAGE_SIZE)
		s->data_page_size = cursor_u64(c);
	if (t & PERFDATA_CODE_PAGE_SIZE)
		s->code_page_size = cursor_u64(c);
	if (t & PERFDATA_AUX_DATA) {
		s->aux_size = cursor_u64(c);
		s->aux = cursor_take(c, s->aux_size);
	}
}

const char *sample_parse(
	const struct perfdata_event *event, struct cursor *c, struct perfdata_record *ret)
{
	ret->sample = (struct perfdata_sample){};
	if (!(event->flags & PERFDATA_FLAG_FREQ))
		ret->sample.period = event->period; /* the same for all: they need not say it */
	identity_parse(event->sample_type, c, ret);
	variable_parse(event, c, &ret->sample);
	memory_parse(event, c, &ret->sample);
	return c->bad ? "a sample is shorter than its event says" : NULL;
}

static enum perfdata_context mark_context(u64 mark)
{
	switch ((s64)mark) {
	case -32:
		return PERFDATA_CONTEXT_HV;
	case -128:
		return PERFDATA_CONTEXT_KERNEL;
	case -512:
		return PERFDATA_CONTEXT_USER;
	case -640: /* v6.19 */
		return PERFDATA_CONTEXT_DEFERRED;
	case -2048:
		return PERFDATA_CONTEXT_GUEST;
	case -2176:
		return PERFDATA_CONTEXT_GUEST_KERNEL;
	case -2560:
		return PERFDATA_CONTEXT_GUEST_USER;
	default:
		return PERFDATA_CONTEXT_UNKNOWN;
	}
}

bool perfdata_chain_next(
	const struct perfdata_sample *s, u64 *i, enum perfdata_context *context, u64 *ret_ip)
{
	while (*i < s->n_ips) {
		u64 ip = s->ips[(*i)++];

		if (ip >= PERFDATA_MARK_FIRST) {
			*context = mark_context(ip);
			continue;
		}
		if (*context == PERFDATA_CONTEXT_DEFERRED)
			continue;
		*ret_ip = ip;
		return true;
	}
	return false;
}

u64 perfdata_chain_cookie(const struct perfdata_sample *s)
{
	for (u64 i = 0; i + 1 < s->n_ips; i++)
		if (s->ips[i] >= PERFDATA_MARK_FIRST &&
			mark_context(s->ips[i]) == PERFDATA_CONTEXT_DEFERRED)
			return s->ips[i + 1];
	return 0;
}
