/* See event_model.h. */
#include "probes/heap/events/event_model.h"

#include <errno.h>
#include <stdlib.h>

int event_model_init(struct event_model *m)
{
	*m = (struct event_model){.bits = EVENT_TABLE_FIRST_BITS};
	for (u32 i = 0; i < EVENT_ORDERS; i++) {
		m->after[i] = calloc(1UL << m->bits, sizeof(u64));
		if (!m->after[i])
			return -ENOMEM;
	}
	return 0;
}

void event_model_free(struct event_model *m)
{
	for (u32 i = 0; i < EVENT_ORDERS; i++)
		free(m->after[i]);
	vec_free(&m->threads);
	*m = (struct event_model){};
}

/* A slot is the upper bits of a hash: what was in one is in two next to each other. */
int event_model_grow(struct event_model *m)
{
	size_t n = 1UL << m->bits;

	for (u32 k = 0; k < EVENT_ORDERS; k++) {
		u64 *grown = reallocarray(m->after[k], 2 * n, sizeof(u64));

		if (!grown)
			return -ENOMEM;
		m->after[k] = grown;
		for (size_t i = n; i--;)
			grown[2 * i] = grown[2 * i + 1] = grown[i];
	}
	m->bits++;
	return 0;
}
