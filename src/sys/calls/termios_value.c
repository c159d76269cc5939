/* See syscall_value.h. Numbers of asm-generic/termbits.h, which x86-64 has. */
#include "sys/calls/syscall_value.h"

#include <string.h>

#include "sys/calls/flags.h"

/* In the order of strace. */
static const struct flag input_flags[] = {{0x1, 0x1, "IGNBRK"}, {0x2, 0x2, "BRKINT"},
	{0x4, 0x4, "IGNPAR"}, {0x8, 0x8, "PARMRK"}, {0x10, 0x10, "INPCK"}, {0x20, 0x20, "ISTRIP"},
	{0x40, 0x40, "INLCR"}, {0x80, 0x80, "IGNCR"}, {0x100, 0x100, "ICRNL"},
	{0x200, 0x200, "IUCLC"}, {0x400, 0x400, "IXON"}, {0x800, 0x800, "IXANY"},
	{0x1000, 0x1000, "IXOFF"}, {0x2000, 0x2000, "IMAXBEL"}, {0x4000, 0x4000, "IUTF8"}, {}};
static const struct flag output_flags[] = {{0x1, 0x1, "OPOST"}, {0x2, 0x2, "OLCUC"},
	{0x4, 0x4, "ONLCR"}, {0x8, 0x8, "OCRNL"}, {0x10, 0x10, "ONOCR"}, {0x20, 0x20, "ONLRET"},
	{0x40, 0x40, "OFILL"}, {0x80, 0x80, "OFDEL"}, {}};
static const struct flag control_flags[] = {{0x40, 0x40, "CSTOPB"}, {0x80, 0x80, "CREAD"},
	{0x100, 0x100, "PARENB"}, {0x200, 0x200, "PARODD"}, {0x400, 0x400, "HUPCL"},
	{0x800, 0x800, "CLOCAL"}, {0x40000000, 0x40000000, "CMSPAR"},
	{0x80000000, 0x80000000, "CRTSCTS"}, {}};
static const struct flag local_flags[] = {{0x1, 0x1, "ISIG"}, {0x2, 0x2, "ICANON"},
	{0x4, 0x4, "XCASE"}, {0x8, 0x8, "ECHO"}, {0x10, 0x10, "ECHOE"}, {0x20, 0x20, "ECHOK"},
	{0x40, 0x40, "ECHONL"}, {0x80, 0x80, "NOFLSH"}, {0x8000, 0x8000, "IEXTEN"},
	{0x200, 0x200, "ECHOCTL"}, {0x400, 0x400, "ECHOPRT"}, {0x800, 0x800, "ECHOKE"},
	{0x1000, 0x1000, "FLUSHO"}, {0x4000, 0x4000, "PENDIN"}, {0x100, 0x100, "TOSTOP"},
	{0x10000, 0x10000, "EXTPROC"}, {}};

/* CBAUD of 0 to 15, and of 0x1001 to 0x100f. */
static const u32 speeds[] = {0, 50, 75, 110, 134, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600,
	19200, 38400, 57600, 115200, 230400, 460800, 500000, 576000, 921600, 1000000, 1152000,
	1500000, 2000000, 2500000, 3000000, 3500000, 4000000};

#define OUTPUT_DELAYS 0xff00U
#define CBAUD 0x100fU
#define CBAUDEX 0x1000U
#define CSIZE 0x30U

static void rest_add(struct str *s, const struct flag *flags, u32 v)
{
	if (!v)
		return;
	str_addc(s, '|');
	flags_add(s, flags, v);
}

static void output_add(struct str *s, u32 v)
{
	u32 tab = v >> 11 & 3;

	str_addf(s, ", c_oflag=NL%u|CR%u|", v >> 8 & 1, v >> 9 & 3);
	str_addf(s, tab == 3 ? "XTABS" : "TAB%u", tab);
	str_addf(s, "|BS%u|VT%u|FF%u", v >> 13 & 1, v >> 14 & 1, v >> 15 & 1);
	rest_add(s, output_flags, v & ~OUTPUT_DELAYS);
}

static void control_add(struct str *s, u32 v)
{
	u32 speed = v & 15, rest = v & ~(CBAUD | CSIZE);

	if (v & CBAUDEX && !speed) /* BOTHER: the speed is in another field */
		rest |= CBAUDEX;
	else if (v & CBAUDEX)
		speed += 15;
	str_addf(s, ", c_cflag=B%u|CS%u", speeds[speed], 5 + (v >> 4 & 3));
	rest_add(s, control_flags, rest);
}

void termios_add(struct str *s, const void *bytes)
{
	u32 v[TERMIOS_FLAGS / sizeof(u32)];

	memcpy(v, bytes, sizeof(v));
	str_add(s, "{c_iflag=");
	flags_add(s, input_flags, v[0]);
	output_add(s, v[1]);
	control_add(s, v[2]);
	str_add(s, ", c_lflag=");
	flags_add(s, local_flags, v[3]);
	str_add(s, ", ...}");
}
