/* One run at work: what run.c, run_options.c and run_take.c share. */
#ifndef MEMWHY_CMD_RUNNING_H
#define MEMWHY_CMD_RUNNING_H

#include <string.h>

#include "cmd/output.h"
#include "cmd/run.h"
#include "record/narrow.h"

struct running {
	struct run *run;
	struct pipeline pipe;
	struct output out;
	struct err err;
	int input;               /* --input, open; 0: none */
	bool unfiltered;         /* see recording_enter */
	size_t each_view;        /* index of the view whose single events are printed */
	const struct look *look; /* --like; NULL: none */
	bool stacks_by_default;  /* nobody asked for them */
	bool own_intervals;      /* those of the recording are as short as was asked for */
	bool by_second;          /* a second of it was an interval */
	bool record_asked;       /* the watcher asked: see record_now.h */
	char recording[40];      /* … its file */
	bool each_is_in_order;   /* single events are one table, in the order they came */
	int (*on_part)(void *arg); /* at each second of a recording; NULL: nobody asks */
	struct report events;    /* the first of them, of a page with a limit; see run.c */
	struct notes_told told;  /* where one report follows another as things come */
	struct str by;           /* what --by is where the format asks for stacks */
	struct schema schema;    /* for `narrow` */
	struct narrow narrow;    /* in front of the pipeline, for a part of a recording */
};

/* A page is one report of everything, at the end. */
static inline bool options_one_page(const struct options *o)
{
	return !strcmp(o->format, "html");
}

/* What the options mean together, before anything is opened. (run_options.c) */
int running_options(struct running *g);

/* The pipeline with its views, and whether they have what --fields, --sort and --table name. */
int running_views(struct running *g);
/* Reads --input. -ENODATA: it is damaged; what could be read was taken. */
int running_input(struct running *g);
/* Single events as one report, which is begun here. */
int running_events_report(struct running *g, struct report *r);
void running_report_begin(struct running *g, struct report *r);
void running_report_end(struct running *g, struct report *r);

#endif
