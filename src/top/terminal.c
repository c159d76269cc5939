/*
 * Which terminal this is. Owns a description of the plainest one that is common today, for systems
 * without a database of terminals: a static program is also run where there is none. See
 * terminal.h.
 */
#include "top/terminal.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>
#include <term.h>

#define PLAIN "memwhy-ansi"

/*
 * As `tic -x` compiles and `infocmp -Q2` prints:
 *
 * memwhy-ansi|plain ECMA-48 terminal with 16 colours,
 *     am, mir, msgr, xenl, km,
 *     cols#80, lines#24, colors#8, pairs#64, it#8,
 *     bel=^G, cr=\r, ind=\n, ht=^I,
 *     clear=\E[H\E[2J, el=\E[K, el1=\E[1K, ed=\E[J,
 *     cup=\E[%i%p1%d;%p2%dH, home=\E[H,
 *     cuu=\E[%p1%dA, cud=\E[%p1%dB, cuf=\E[%p1%dC, cub=\E[%p1%dD,
 *     cuu1=\E[A, cud1=\n, cuf1=\E[C, cub1=^H,
 *     hpa=\E[%i%p1%dG, vpa=\E[%i%p1%dd,
 *     smcup=\E[?1049h, rmcup=\E[?1049l, civis=\E[?25l, cnorm=\E[?25h,
 *     bold=\E[1m, rev=\E[7m, smul=\E[4m, rmul=\E[24m, smso=\E[7m, rmso=\E[27m,
 *     sgr0=\E[m, op=\E[39;49m, setaf=\E[3%p1%dm, setab=\E[4%p1%dm,
 *     kcuu1=\E[A, kcud1=\E[B, kcuf1=\E[C, kcub1=\E[D,
 *     khome=\E[H, kend=\E[F, kpp=\E[5~, knp=\E[6~, kbs=^?,
 *     kf1=\EOP, kf2=\EOQ, kf3=\EOR, kf4=\EOS, kf5=\E[15~, kf6=\E[17~,
 *     kf7=\E[18~, kf8=\E[19~, kf9=\E[20~, kf10=\E[21~,
 */
static const char plain[] =
	"b64:GgEzAA8ADwBpATEBbWVtd2h5LWFuc2l8cGxhaW4gRUNNQS00OCB0ZXJtaW5hbCB3aXRoIDE2IGNvbG91"
	"cnMAAAEAAAEAAAABAAAAAAEBUAAIABgA__________________________8IAEAA__8AAAIA_____wQADAAQ"
	"ABQA__8fADAAMgA2AD0A__8_AEYA__9KAP__________________TgBTAP____________9cAGEAZgD_____"
	"awBvAP____94AH4A__________________________-EAP____________-GAP__________igCOAJQAmACc"
	"AKAApgCsALIAuAC-AP_____CAP__xgDLANAA________1AD_____________________________________"
	"_____________9gA________4QDqAP__8wD________________________________8AP__BwH_________"
	"_wkB_____________________________________________________________________________wsB"
	"____________________________________________________________________________________"
	"____________________________________________________________________________________"
	"____________________________________________________________________________________"
	"_________________________w8B________________________________________________________"
	"________________FAH_________________________________________________________________"
	"____________________________________________________________________________________"
	"_____________x0BJwEHAA0AG1tIG1sySgAbW0sAG1tKABtbJWklcDElZEcAG1slaSVwMSVkOyVwMiVkSAAK"
	"ABtbSAAbWz8yNWwACAAbWz8yNWgAG1tDABtbQQAbWzFtABtbPzEwNDloABtbN20AG1s3bQAbWzRtABtbbQAb"
	"Wz8xMDQ5bAAbWzI3bQAbWzI0bQB_ABtbQgAbT1AAG1syMX4AG09RABtPUgAbT1MAG1sxNX4AG1sxN34AG1sx"
	"OH4AG1sxOX4AG1syMH4AG1tIABtbRAAbWzZ-ABtbNX4AG1tDABtbQQAbWyVwMSVkQgAbWyVwMSVkRAAbWyVw"
	"MSVkQwAbWyVwMSVkQQAbWyVpJXAxJWRkAAoACQAbW0YAG1sxSwAbWzM5OzQ5bQAbWzMlcDElZG0AG1s0JXAx"
	"JWRtAA==";

/* Whose keys and sequences are those of PLAIN, and more. */
static bool is_like_plain(const char *term)
{
	static const char *const begins[] = {"xterm", "screen", "tmux", "rxvt", "linux", "vt100",
		"vt220", "ansi", "alacritty", "foot", "konsole", "gnome", "putty"};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(term, begins[i], strlen(begins[i])))
			return true;
	return false;
}

const char *terminal_find(const char *term)
{
	int why;

	if (!term || !*term || !strcmp(term, "dumb"))
		return NULL;
	if (setupterm(term, STDOUT_FILENO, &why) == OK)
		return cursor_address ? term : NULL;
	if (!is_like_plain(term) || setenv("TERMINFO", plain, 1))
		return NULL;
	return setupterm(PLAIN, STDOUT_FILENO, &why) == OK ? PLAIN : NULL;
}
