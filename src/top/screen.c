/* See screen.h. */
#include "top/screen.h"

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <term.h>
#include <termios.h>

#include "base/clock.h"
#include "cage/cage.h"
#include "top/preferences.h"
#include "top/terminal.h"

#define ESCAPE_MS 25 /* a lone Esc, or the beginning of a key */
#define REDRAW 12    /* Ctrl-L */
#define OFF "\033[?1000l\033[?1002l\033[?1006l"

struct screen_saved {
	struct termios tty;
	char text[256]; /* leaves the screen, and shows the cursor */
};

static struct screen_saved saved; /* for the handler of signals */
static volatile sig_atomic_t told_to_end;
static const char *terminal; /* its name for ncurses; NULL: see screen_check() */

static bool locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	if (setlocale(LC_CTYPE, "") && !strcmp(nl_langinfo(CODESET), "UTF-8"))
		return true;
	/* the locale may not be installed, or be of no use to a static program */
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *v = getenv(names[i]);

		if (v && *v)
			return (strcasestr(v, "UTF-8") || strcasestr(v, "UTF8")) &&
			       setlocale(LC_CTYPE, "C.UTF-8");
	}
	return false;
}

int screen_check(struct err *err)
{
	const char *term = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		err_set(err, -EINVAL, "top draws on a terminal, but standard %s is not one",
			isatty(STDIN_FILENO) ? "output" : "input");
		return err_hint(err, "for tables: memwhy top --for 1s, with -o json for programs");
	}
	terminal = terminal_find(term);
	if (terminal)
		return 0;
	if (!term || !*term)
		err_set(err, -EINVAL, "TERM is not set: it says which terminal this is");
	else
		err_set(err, -EINVAL, "this system does not know the terminal '%.40s'", term);
	return err_hint(err, "TERM=xterm memwhy top; for tables: memwhy top --for 1s -o wide");
}

static void top_screen_text_add(char *to, size_t size, const char *text)
{
	size_t n = strlen(to);

	if (text)
		snprintf(to + n, size - n, "%s", text);
}

int screen_save(struct screen_saved **ret)
{
	if (tcgetattr(STDIN_FILENO, &saved.tty))
		return -errno;
	saved.text[0] = '\0';
	top_screen_text_add(saved.text, sizeof(saved.text), OFF);
	top_screen_text_add(saved.text, sizeof(saved.text), exit_attribute_mode);
	top_screen_text_add(saved.text, sizeof(saved.text), keypad_local);
	top_screen_text_add(saved.text, sizeof(saved.text), cursor_normal);
	top_screen_text_add(saved.text, sizeof(saved.text), exit_ca_mode);
	*ret = &saved;
	return 0;
}

void screen_restore(const struct screen_saved *s)
{
	if (write(STDOUT_FILENO, s->text, strlen(s->text)) < 0)
		return; /* it is gone */
	tcsetattr(STDIN_FILENO, TCSANOW, &s->tty);
}

static void on_end(int sig)
{
	(void)sig;
	told_to_end = 1;
}

static void on_crash(int sig)
{
	screen_restore(&saved);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void signals_take(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT},
			 crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		sigaction(ends[i], &(struct sigaction){.sa_handler = on_end}, NULL);
#ifndef __SANITIZE_ADDRESS__ /* whose report is wanted */
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		sigaction(crashes[i], &(struct sigaction){.sa_handler = on_crash}, NULL);
#else
	(void)crashes;
	(void)on_crash;
#endif
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTSTP, SIG_IGN); /* the session would go on behind a stopped screen */
}

/* Colours that people with any kind of colour vision can tell apart; of 16, the nearest. */
static const struct {
	short far, near;
} bar_colours[] = {
	{208, COLOR_YELLOW},
	{75, COLOR_CYAN},
	{35, COLOR_GREEN},
	{220, COLOR_WHITE},
	{69, COLOR_BLUE},
	{166, COLOR_RED},
	{175, COLOR_MAGENTA},
	{247, COLOR_WHITE},
	{-1, -1},
};

static attr_t styles[STYLES];

static void styles_plain(void)
{
	styles[STYLE_DIM] = A_DIM;
	styles[STYLE_BOLD] = A_BOLD;
	styles[STYLE_HEAD] = A_REVERSE;
	styles[STYLE_SORTED] = A_REVERSE | A_BOLD;
	styles[STYLE_CHOSEN] = A_REVERSE;
	styles[STYLE_WARN] = A_BOLD;
	styles[STYLE_BAD] = A_BOLD | A_UNDERLINE;
	styles[STYLE_KEY] = A_REVERSE;
}

static void pair_make(enum style style, short colour, short back, attr_t more)
{
	init_pair((short)(style + 1), colour, back);
	styles[style] = (attr_t)COLOR_PAIR(style + 1) | more;
}

static void styles_make(void)
{
	const char *no = getenv("NO_COLOR");
	bool far;

	styles_plain();
	if ((no && *no) || !has_colors() || start_color() == ERR || COLORS < 8 ||
		COLOR_PAIRS <= STYLES)
		return;
	use_default_colors();
	far = COLORS >= 256;
	pair_make(STYLE_GOOD, far ? 35 : COLOR_GREEN, -1, 0);
	pair_make(STYLE_WARN, far ? 214 : COLOR_YELLOW, -1, 0);
	pair_make(STYLE_BAD, far ? 203 : COLOR_RED, -1, A_BOLD);
	pair_make(STYLE_HEAD, COLOR_BLACK, far ? 250 : COLOR_WHITE, 0);
	pair_make(STYLE_SORTED, COLOR_BLACK, far ? 75 : COLOR_CYAN, 0);
	pair_make(STYLE_CHOSEN, COLOR_BLACK, far ? 75 : COLOR_CYAN, 0);
	pair_make(STYLE_KEY, COLOR_BLACK, far ? 75 : COLOR_CYAN, 0);
	if (far)
		pair_make(STYLE_DIM, 245, -1, 0);
	for (size_t i = 0; i < ARRAY_SIZE(bar_colours); i++) {
		short colour = far ? bar_colours[i].far : bar_colours[i].near;

		pair_make(STYLE_BAR + (enum style)i, colour < 0 ? -1 : COLOR_BLACK, colour, 0);
	}
}

/* attrset() would bring functions for soft keys, boxes and input along. */
static void style_set(attr_t style)
{
	attr_off(A_ATTRIBUTES, NULL);
	attr_on(style, NULL);
}

static void line_blit(const struct canvas *c, int y)
{
	_cleanup_str_ struct str run = {};
	int x = 0;

	while (x < c->cols) {
		const struct canvas_cell *cells = &c->cells[y * c->cols];
		u8 style = cells[x].style;
		int from = x;

		str_clear(&run);
		for (; x < c->cols && cells[x].style == style; x++)
			str_add(&run, cells[x].text);
		style_set(styles[style]);
		mvaddstr(y, from, str_get(&run));
	}
}

static void canvas_blit(const struct canvas *c)
{
	for (int y = 0; y < c->rows; y++)
		line_blit(c, y);
	style_set(A_NORMAL);
	refresh();
}

/* Keys of ncurses that have one of ours. */
static const struct {
	int curses;
	u32 ours;
} keys[] = {
	{KEY_UP, UI_KEY_UP},
	{KEY_DOWN, UI_KEY_DOWN},
	{KEY_LEFT, UI_KEY_LEFT},
	{KEY_RIGHT, UI_KEY_RIGHT},
	{KEY_PPAGE, UI_KEY_PAGE_UP},
	{KEY_NPAGE, UI_KEY_PAGE_DOWN},
	{KEY_HOME, UI_KEY_HOME},
	{KEY_END, UI_KEY_END},
	{KEY_ENTER, UI_KEY_ENTER},
	{KEY_BACKSPACE, UI_KEY_BACKSPACE},
};

struct screen {
	struct ui ui;
	struct canvas canvas;
	struct str in;     /* of the socket, not yet taken */
	struct str answer; /* of a closer look, in part */
	int socket, closer;
	bool dirty;
};

static void mouse_take(struct screen *s)
{
	MEVENT e;

	if (getmouse(&e) != OK)
		return;
	if (e.bstate & BUTTON4_PRESSED)
		ui_key(&s->ui, UI_KEY_WHEEL_UP);
	else if (e.bstate & BUTTON5_PRESSED)
		ui_key(&s->ui, UI_KEY_WHEEL_DOWN);
	else if (e.bstate & (BUTTON1_PRESSED | BUTTON1_CLICKED)) {
		s->ui.click_x = e.x;
		s->ui.click_y = e.y;
		ui_key(&s->ui, UI_KEY_CLICK);
	}
}

static void key_take(struct screen *s, int got, wint_t key)
{
	if (got == OK && key == REDRAW) {
		clearok(curscr, TRUE);
	} else if (got == OK) {
		ui_key(&s->ui, key == '\r' || key == '\n' ? UI_KEY_ENTER
			       : key == 27                ? UI_KEY_ESCAPE
			       : key == 127 || key == 8   ? UI_KEY_BACKSPACE
							  : key);
	}
	if (got == OK)
		return;
	if (key == KEY_MOUSE)
		mouse_take(s);
	if (key >= KEY_F(1) && key <= KEY_F(10))
		ui_key(&s->ui, UI_KEY_F1 + key - KEY_F(1));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if ((int)key == keys[i].curses)
			ui_key(&s->ui, keys[i].ours);
}

static void keys_take(struct screen *s)
{
	wint_t key;
	int got;

	while (!s->ui.quits && (got = get_wch(&key)) != ERR) {
		key_take(s, got, key);
		s->dirty = true;
	}
}

/* Whole messages out of what came. */
static void messages_take(struct screen *s)
{
	size_t at = 0;
	struct screen_head h;

	while (s->in.len - at >= sizeof(h)) {
		memcpy(&h, s->in.buf + at, sizeof(h));
		if (h.bytes > FRAME_MAX) {
			s->ui.quits = true; /* it cannot be told where the next one begins */
			return;
		}
		if (s->in.len - at - sizeof(h) < h.bytes)
			break;
		at += sizeof(h);
		if (h.what == SCREEN_FRAME && ui_frame(&s->ui, s->in.buf + at, h.bytes))
			ui_say(&s->ui, "an interval was lost: it could not be read");
		if (h.what == SCREEN_OVER)
			s->ui.over = true;
		if (h.what == SCREEN_SAY)
			ui_say(&s->ui, "%.*s", (int)MIN(h.bytes, 127U), s->in.buf + at);
		if (h.what == SCREEN_RECORDING)
			snprintf(s->ui.recording, sizeof(s->ui.recording), "%.*s",
				(int)MIN(h.bytes, 127U), s->in.buf + at);
		at += h.bytes;
		s->dirty = true;
	}
	memmove(s->in.buf, s->in.buf + at, s->in.len - at);
	s->in.len -= at;
}

/* False: nobody sends any more. */
static bool socket_take(struct screen *s)
{
	char buf[65536];
	ssize_t n = read(s->socket, buf, sizeof(buf));

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	str_addn(&s->in, buf, (size_t)n);
	if (s->in.failed)
		return false;
	messages_take(s);
	return true;
}

/* What the keys asked others for. */
static void words_send(struct screen *s)
{
	if (s->ui.asks && write(s->closer, &s->ui.ask, sizeof(s->ui.ask)) != sizeof(s->ui.ask))
		ui_closer_take(&s->ui, "nobody is there to look closer", 30);
	s->ui.asks = false;
	if (s->ui.word && write(s->socket, &s->ui.word, 1) != 1)
		ui_say(&s->ui, "nobody is there to record");
	s->ui.word = 0;
}

/* False: nobody looks any more. */
static bool closer_take(struct screen *s)
{
	char buf[4096];
	ssize_t n = read(s->closer, buf, sizeof(buf));
	u32 bytes;

	if (n <= 0)
		return n < 0 && errno == EINTR;
	str_addn(&s->answer, buf, (size_t)n);
	if (s->answer.failed || s->answer.len < sizeof(bytes))
		return !s->answer.failed;
	memcpy(&bytes, s->answer.buf, sizeof(bytes));
	if (s->answer.len - sizeof(bytes) < bytes)
		return true;
	ui_closer_take(&s->ui, s->answer.buf + sizeof(bytes), bytes);
	str_clear(&s->answer);
	s->dirty = true;
	return true;
}

static int wait_ms(struct screen *s)
{
	u64 now = clock_mono_ns(), next = ui_tick(&s->ui, now);

	if (next == UINT64_MAX)
		return -1;
	s->dirty = true;
	return next > now ? (int)MIN((next - now) / NSEC_PER_MSEC + 1, 60000ULL) : 0;
}

static void draw(struct screen *s)
{
	int rows, cols;

	getmaxyx(stdscr, rows, cols);
	if ((rows != s->canvas.rows || cols != s->canvas.cols) &&
		canvas_size(&s->canvas, rows, cols))
		return;
	ui_draw(&s->ui, &s->canvas);
	canvas_blit(&s->canvas);
	s->dirty = false;
}

static void screen_loop(struct screen *s)
{
	struct pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN},
		{.fd = s->socket, .events = POLLIN}, {.fd = s->closer, .events = POLLIN}};

	while (!s->ui.quits && !told_to_end) {
		int ms = wait_ms(s);

		if (s->dirty)
			draw(s);
		if (poll(fds, ARRAY_SIZE(fds), ms) < 0 && errno != EINTR)
			return;
		if (fds[1].revents && !socket_take(s)) {
			if (!s->ui.replay || !s->ui.over)
				return; /* what went on has ended, and says why itself */
			fds[1].fd = -1;
		}
		if (fds[2].revents && !closer_take(s))
			fds[2].fd = -1;
		keys_take(s); /* also one that says that the size is another */
		words_send(s);
		if (fds[0].revents & (POLLHUP | POLLERR | POLLNVAL))
			return; /* the terminal is gone */
	}
}

static bool terminal_begin(struct screen *s)
{
	SCREEN *term;

	s->canvas.ascii = !locale_is_utf8();
	set_escdelay(ESCAPE_MS);
	term = newterm(terminal, stdout, stdin);
	if (!term)
		return false;
	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	mouseinterval(0);
	mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
	styles_make();
	return true;
}

int screen_run(int socket, int closer, const struct ui_options *o)
{
	struct screen s = {.socket = socket, .closer = closer, .dirty = true};
	struct err err = {};
	struct kept kept;
	char word;
	int rc;

	if (ui_init(&s.ui, o) || !terminal_begin(&s))
		return 1;
	signals_take();
	kept_open(&kept);
	kept_apply(&kept, o, &s.ui);
	rc = cage_enter(CAGE_SCREEN, &err);
	if (!rc || rc == -EOPNOTSUPP)
		screen_loop(&s);
	move(LINES - 1, 0); /* of a terminal without a second screen, the shell's line comes here */
	clrtoeol();
	refresh();
	endwin();
	kept_close(&kept, &s.ui);
	word = s.ui.interrupted || told_to_end ? SCREEN_INTERRUPTED : SCREEN_QUITS;
	if ((s.ui.quits || told_to_end) && write(socket, &word, 1) != 1)
		rc = 0; /* nobody waits for it any more */
	ui_free(&s.ui);
	canvas_free(&s.canvas);
	str_free(&s.in);
	str_free(&s.answer);
	return rc && rc != -EOPNOTSUPP;
}
