/* A call as strace has it. See maps_words.h. */
#include <errno.h>
#include <string.h>

#include "probes/maps/maps_words.h"
#include "sys/calls/flags.h"

/* How an argument is written. */
enum arg {
	ARG_END,
	ARG_ADDRESS,
	ARG_SIZE,
	ARG_NUMBER, /* an int */
	ARG_FILE,   /* a descriptor, with the name of its file */
	ARG_OFFSET,
	ARG_NAME, /* a string that was read: without the directory of shared memory objects */
	ARG_KEY,
	ARG_PROT,
	ARG_MAP,
	ARG_MREMAP,
	ARG_ADVICE,
	ARG_MEMFD,
	ARG_SHMGET,
	ARG_SHMAT,
	ARG_SHMCTL,
	ARG_OPEN,
	ARG_MODE, /* only where a file may be made */
	ARG_MLOCK2,
	ARG_MLOCKALL,
	ARG_MOVED,    /* the new address of mremap, only with MREMAP_FIXED or DONTUNMAP */
	ARG_NO_OTHER, /* not an argument of the call as it is written */
};

static const u8 args_of[MAPS_CALL_N][7] = {
	[MAPS_MMAP] = {ARG_ADDRESS, ARG_SIZE, ARG_PROT, ARG_MAP, ARG_FILE, ARG_OFFSET},
	[MAPS_MUNMAP] = {ARG_ADDRESS, ARG_SIZE},
	[MAPS_MREMAP] = {ARG_ADDRESS, ARG_SIZE, ARG_SIZE, ARG_MREMAP, ARG_MOVED},
	[MAPS_BRK] = {ARG_ADDRESS},
	[MAPS_MPROTECT] = {ARG_ADDRESS, ARG_SIZE, ARG_PROT},
	[MAPS_PKEY_MPROTECT] = {ARG_ADDRESS, ARG_SIZE, ARG_PROT, ARG_NUMBER},
	[MAPS_MADVISE] = {ARG_ADDRESS, ARG_SIZE, ARG_ADVICE},
	[MAPS_PROCESS_MADVISE] = {ARG_NUMBER, ARG_ADDRESS, ARG_SIZE, ARG_ADVICE, ARG_NUMBER},
	[MAPS_REMAP_FILE_PAGES] = {ARG_ADDRESS, ARG_SIZE, ARG_PROT, ARG_SIZE, ARG_MAP},
	[MAPS_MEMFD_CREATE] = {ARG_NAME, ARG_MEMFD},
	[MAPS_SHMGET] = {ARG_KEY, ARG_SIZE, ARG_SHMGET},
	[MAPS_SHMAT] = {ARG_NUMBER, ARG_ADDRESS, ARG_SHMAT},
	[MAPS_SHMDT] = {ARG_ADDRESS},
	[MAPS_SHMCTL] = {ARG_NUMBER, ARG_SHMCTL, ARG_ADDRESS},
	[MAPS_SHM_OPEN] = {ARG_NO_OTHER, ARG_NAME, ARG_OPEN, ARG_MODE},
	[MAPS_SHM_UNLINK] = {ARG_NO_OTHER, ARG_NAME},
	[MAPS_MLOCK] = {ARG_ADDRESS, ARG_SIZE},
	[MAPS_MLOCK2] = {ARG_ADDRESS, ARG_SIZE, ARG_MLOCK2},
	[MAPS_MUNLOCK] = {ARG_ADDRESS, ARG_SIZE},
	[MAPS_MLOCKALL] = {ARG_MLOCKALL},
};

/* uapi/asm-generic/fcntl.h */
#define OPEN_CREAT 0100
#define OPEN_TMPFILE 020000000

static const struct flag open_flags[] = {{3, 0, "O_RDONLY"}, {3, 1, "O_WRONLY"}, {3, 2, "O_RDWR"},
	{0100, 0100, "O_CREAT"}, {0200, 0200, "O_EXCL"}, {01000, 01000, "O_TRUNC"},
	{02000, 02000, "O_APPEND"}, {04000, 04000, "O_NONBLOCK"}, {0200000, 0200000, "O_DIRECTORY"},
	{0400000, 0400000, "O_NOFOLLOW"}, {02000000, 02000000, "O_CLOEXEC"},
	{010000000, 010000000, "O_PATH"}, {OPEN_TMPFILE, OPEN_TMPFILE, "O_TMPFILE"}, FLAG_END};

static void address_add(struct str *out, u64 v)
{
	if (v)
		str_addf(out, "0x%llx", v);
	else
		str_add(out, "NULL");
}

static void maps_line_name_add(struct str *out, const struct maps_event *e, u64 pointer)
{
	char name[MAPS_NAME_LEN];

	if (!(e->flags & MAPS_NAMED)) {
		address_add(out, pointer);
		return;
	}
	maps_event_name(e, name);
	str_addf(out, "\"%s\"%s", name, strlen(name) == MAPS_NAME_LEN - 1 ? "..." : "");
}

static void maps_line_file_add(struct str *out, const struct maps_event *e, u64 fd)
{
	char name[MAPS_NAME_LEN];

	str_addf(out, "%d", (int)fd);
	maps_event_name(e, name);
	if (name[0])
		str_addf(out, "<%s>", name);
}

/* The mode is the low bits of the flags. */
static void shmget_add(struct str *out, u64 flags)
{
	if (flags & ~0777ULL) {
		flags_add(out, shmget_flags, flags & ~0777ULL);
		str_add(out, "|");
	}
	str_addf(out, "0%02llo", flags & 0777);
}

static const struct flag *maps_line_flags_of(u8 arg)
{
	static const struct flag *const tables[] = {
		[ARG_PROT] = prot_flags,
		[ARG_MAP] = map_flags,
		[ARG_MREMAP] = mremap_flags,
		[ARG_ADVICE] = madvise_advice,
		[ARG_MEMFD] = memfd_flags,
		[ARG_SHMAT] = shmat_flags,
		[ARG_SHMCTL] = shmctl_commands,
		[ARG_OPEN] = open_flags,
		[ARG_MLOCK2] = mlock2_flags,
		[ARG_MLOCKALL] = mlockall_flags,
	};

	return arg < ARRAY_SIZE(tables) ? tables[arg] : NULL;
}

static void arg_add(struct str *out, const struct maps_event *e, u8 arg, u64 v)
{
	const struct flag *table = maps_line_flags_of(arg);

	if (table)
		flags_add(out, table, arg == ARG_PROT || arg == ARG_MAP ? v : (u32)v);
	else if (arg == ARG_ADDRESS || arg == ARG_MOVED)
		address_add(out, v);
	else if (arg == ARG_NUMBER)
		str_addf(out, "%d", (int)v);
	else if (arg == ARG_FILE)
		maps_line_file_add(out, e, v);
	else if (arg == ARG_NAME)
		maps_line_name_add(out, e, v);
	else if (arg == ARG_KEY && !(u32)v)
		str_add(out, "IPC_PRIVATE");
	else if (arg == ARG_KEY)
		str_addf(out, "0x%x", (u32)v);
	else if (arg == ARG_SHMGET)
		shmget_add(out, (u32)v);
	else if (arg == ARG_MODE)
		str_addf(out, "0%02o", (u32)v & 07777);
	else if (arg == ARG_OFFSET && v)
		str_addf(out, "0x%llx", v);
	else
		str_addf(out, "%llu", v);
}

static bool arg_is_there(const struct maps_event *e, u8 arg)
{
	if (arg == ARG_MODE)
		return e->args[2] & OPEN_CREAT || (e->args[2] & OPEN_TMPFILE) == OPEN_TMPFILE;
	if (arg == ARG_MOVED)
		return e->args[3] & 6;
	return arg != ARG_NO_OTHER;
}

static void result_add(struct str *out, const struct maps_event *e)
{
	u32 error = maps_event_error(e);
	const char *name = strerrorname_np((int)error);
	bool is_address = e->call == MAPS_MMAP || e->call == MAPS_MREMAP || e->call == MAPS_BRK ||
			  e->call == MAPS_SHMAT;

	if (error && e->call == MAPS_BRK)
		str_addf(out, " = 0x%llx (refused)", (u64)e->result);
	else if (error && name)
		str_addf(out, " = -1 %s (%s)", name, strerrordesc_np((int)error));
	else if (is_address && !error)
		str_addf(out, " = 0x%llx", (u64)e->result);
	else
		str_addf(out, " = %lld", e->result);
}

void maps_event_line(struct str *out, const struct maps_event *e)
{
	const u8 *args = e->call < MAPS_CALL_N ? args_of[e->call] : args_of[MAPS_NONE];
	const char *between = "";

	str_addf(out, "%s(", maps_call_name(e->call));
	for (size_t i = 0; i < ARRAY_SIZE(e->args) && args[i]; i++) {
		if (!arg_is_there(e, args[i]))
			continue;
		str_add(out, between);
		arg_add(out, e, args[i], e->args[i]);
		between = ", ";
	}
	str_add(out, ")");
	result_add(out, e);
}
