/*
 * What somebody who watches is looking at, and how keys change it. It draws on a canvas and knows
 * no terminal, no socket and no session: tests give it frames and keys, and look at the canvas.
 */
#ifndef MEMWHY_TOP_UI_H
#define MEMWHY_TOP_UI_H

#include "top/canvas.h"
#include "top/closer.h"
#include "top/history.h"

enum ui_mode {
	UI_PROCESSES,
	UI_GROUPS,
	UI_USERS,
	UI_FINDINGS,
	UI_FINDING, /* one of them */
	UI_DETAIL,  /* one process */
	UI_LOOK,    /* what a closer look says */
	UI_SORT,    /* which column */
	UI_HELP,
};

enum ui_prompt { UI_NO_PROMPT, UI_FILTER, UI_JUMP, UI_AGREE };

/* Keys that are no characters. */
enum ui_key {
	UI_KEY_UP = 0x110000,
	UI_KEY_DOWN,
	UI_KEY_LEFT,
	UI_KEY_RIGHT,
	UI_KEY_PAGE_UP,
	UI_KEY_PAGE_DOWN,
	UI_KEY_HOME,
	UI_KEY_END,
	UI_KEY_ENTER,
	UI_KEY_ESCAPE,
	UI_KEY_BACKSPACE,
	UI_KEY_F1, /* F2 is the next, and so on */
	UI_KEY_F10 = UI_KEY_F1 + 9,
	UI_KEY_WHEEL_UP,
	UI_KEY_WHEEL_DOWN,
	UI_KEY_CLICK, /* at click_x, click_y */
};

/* A list of lines with a cursor. */
struct ui_list {
	size_t n, at, first; /* first: on the screen */
	int rows;            /* of the screen, as last drawn */
	int y;               /* … its first line there */
};

struct ui_line {
	u8 style;
	char *text;
};

/* How a table is shown. */
struct ui_table {
	size_t sort; /* column */
	bool ascending;
	bool tree; /* groups in the order of their paths */
	struct ui_list list;
	VEC(size_t) order; /* its rows, sorted and filtered */
};

#define UI_TRENDS 16

/* All columns of one process over the last intervals, the one that is shown last. NAN: not known.
 */
struct ui_trends {
	u32 pid;
	u64 end_ns; /* of the last one; 0: none were taken */
	double v[TOP_PROCESS_COLUMNS][UI_TRENDS];
};

#define UI_WORD 64
#define UI_WORD_RECORD 'r'  /* begin to record, or end it */
#define UI_WORD_CLOSELY 'P' /* look at page tables, or no longer */

struct ui {
	struct history history;
	struct scene scene;
	bool has_scene;
	size_t at;               /* the frame that is shown */
	bool follows;            /* the latest is shown as it comes */
	bool replay, over;       /* of a recording; all of it was read */
	u64 play_ns;             /* of a replay: when the next frame is due; 0: it is paused */
	u64 late_ns;             /* so old is what is shown as live; 0: it is not */
	enum ui_mode mode, back; /* back: where Escape leads to from help and sorting */
	struct ui_table processes, groups, users;
	struct ui_list findings, pager, columns;
	struct finding finding;     /* that is looked at, also where an interval has it no more */
	struct arena finding_texts; /* … which are its */
	u64 finding_ns, finding_wall_ns; /* the end of the interval that had it last */
	u32 pid;                         /* the process that the cursor is on */
	u32 detail;                      /* … that is looked into */
	struct ui_trends trends;
	char group[512];    /* path: only processes of it and those below; "": all */
	char user[UI_WORD]; /* only his processes; "": all */
	char filter[UI_WORD];
	enum ui_prompt prompt;
	char typed[UI_WORD];
	char said[128];            /* in the last line, until the next key */
	VEC(struct ui_line) lines; /* of the pager */
	const char *fields;        /* --fields; NULL: as fits */
	int click_x, click_y;
	int cols;              /* of the screen, as last drawn */
	struct closer_ask ask; /* of the closer look that is, or was, made last */
	bool asks, looking;    /* it is to be sent; its answer is yet to come */
	u8 look;               /* index */
	u64 look_ns;           /* when it began */
	char *looked;          /* the answer */
	enum ui_mode look_from;
	char word;           /* for who looks at the machine (screen.h); 0: none */
	bool closely;        /* page tables are looked at */
	char recording[128]; /* file; "": none */
	bool quits, interrupted;
};

struct ui_options {
	bool replay;
	const char *sort, *fields, *input; /* NULL: none */
};

/* The column of such a name ("-rss" too); `otherwise`: there is none. */
size_t ui_column(enum top_table which, const char *name, size_t otherwise);
int ui_init(struct ui *ui, const struct ui_options *o);
void ui_free(struct ui *ui);
/* A frame came. -EBADMSG, -ENOMEM. */
int ui_frame(struct ui *ui, const void *packed, size_t n);
/* The answer to a closer look. */
void ui_closer_take(struct ui *ui, const char *text, size_t n);
/* A key, or a character of Unicode. */
void ui_key(struct ui *ui, u32 key);
/* Time went on. Returns when it wants to be asked again; UINT64_MAX: never. */
u64 ui_tick(struct ui *ui, u64 now_ns);
void ui_draw(struct ui *ui, struct canvas *c);

/* Private to the parts of it. */

/* Shows frame i. (ui.c) */
void ui_show(struct ui *ui, size_t i);
void ui_mode_go(struct ui *ui, enum ui_mode mode);
void ui_say(struct ui *ui, const char *fmt, ...) _printf_(2, 3);
/* Which table is listed, or would be behind what is shown. */
enum top_table ui_which(const struct ui *ui);
/* The table that is listed; NULL: none is. */
struct ui_table *ui_table(struct ui *ui, const struct table **ret_rows);
/* The cursor of the processes is on another one now. */
void ui_pid_take(struct ui *ui);
/* Sorts and filters it anew. (ui_list.c) */
void ui_order(struct ui *ui);
void ui_list_move(struct ui_list *l, s64 by);
void ui_list_fit(struct ui_list *l, int rows);
void ui_list_draw(struct ui *ui, struct canvas *c, int y);
/* The column of the table whose title is drawn there; SIZE_MAX: none. */
size_t ui_list_column(struct ui *ui, int x);
/* A cell as the screen has it: large counts as 12.3 k, none of a rate or share as 0. */
void ui_cell_add(struct str *out, const struct column *c, const struct cell *v);
/* As "12:30:05"; "": not known. (ui_head.c) */
void ui_clock(u64 wall_ns, char ret[16]);
/* The head; returns the line below it. */
int ui_head_draw(const struct ui *ui, struct canvas *c);
void ui_foot_draw(const struct ui *ui, struct canvas *c);
/* A bar for each number, between the least and the most of them; NAN: a blank. (ui_trends.c) */
void ui_spark(struct str *out, const double *v, size_t n);
/* The trends of a process, up to the interval that is shown. */
const struct ui_trends *ui_trends(struct ui *ui, u32 pid);
/* Closer looks. (ui_closer.c) */
bool ui_closer_key(struct ui *ui, u32 key);
void ui_closer_agreed(struct ui *ui, bool yes);
void ui_closer_escape(struct ui *ui);
void ui_closer_prompt(const struct ui *ui, struct str *s);
void ui_closer_fill(struct ui *ui);
void ui_closer_list(struct ui *ui, int width);
/* The finding that is looked at becomes this one of the scene. (ui_findings.c) */
void ui_finding_take(struct ui *ui, const struct finding *f);
/* … what the scene says of it; where it says nothing the last one stays: somebody is reading it. */
void ui_finding_follow(struct ui *ui);
/* The cursor goes to where its finding is in the next scene; where that has it not it stays. */
void ui_findings_keep(struct ui *ui, const struct scene *next);
/* Pages of text. (ui_pages.c) */
void ui_line_add(struct ui *ui, enum style style, const char *text, size_t n, int indent);
/* A text behind a word, wrapped. */
void ui_text_add(struct ui *ui, int width, const char *word, const char *text);
void ui_page_fill(struct ui *ui, int width);
void ui_page_draw(struct ui *ui, struct canvas *c, int y);
/* Where there is no finding. (ui_head.c) */
const char *ui_nothing(const struct ui *ui, bool brief);
void ui_findings_draw(struct ui *ui, struct canvas *c, int y);
void ui_columns_draw(struct ui *ui, struct canvas *c, int y);

#endif
