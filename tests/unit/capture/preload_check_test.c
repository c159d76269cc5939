/* Into which programs the loader will preload a library: ELF files and scripts made here. */
#include <elf.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "capture/preload_check.h"
#include "capture/preload_file.h"
#include "data/sym/helpers.h"

#define LOADER "/lib64/ld-linux-x86-64.so.2"

static const char *file_make(const char *name, const void *bytes, size_t size, mode_t mode)
{
	const char *path = in_scratch(name);
	_cleanup_close_ int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	assert_int_equal(fchmod(fd, mode), 0);
	return path;
}

static const char *text_make(const char *name, const char *text)
{
	return file_make(name, text, strlen(text), 0755);
}

/* All that is read of one: the header, one segment, and what that names. */
static struct image {
	Elf64_Ehdr e;
	Elf64_Phdr p;
	char loader[sizeof(LOADER)];
} image_of(u32 type)
{
	struct image f = {
		.e = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
			.e_machine = EM_X86_64,
			.e_phoff = offsetof(struct image, p),
			.e_phentsize = sizeof(Elf64_Phdr),
			.e_phnum = 1},
		.p = {.p_type = type,
			.p_offset = offsetof(struct image, loader),
			.p_filesz = sizeof(LOADER)},
		.loader = LOADER,
	};

	return f;
}

static const char *elf_make(const char *name, u32 type, mode_t mode)
{
	struct image f = image_of(type);

	return file_make(name, &f, sizeof(f), mode);
}

/* What it is said to run, with which loader. */
static void expect(const char *name, enum preload_why why, const char *path, const char *loader)
{
	struct preload_program p = {};

	assert_int_equal(preload_check_command(name, NULL, &p), why);
	assert_string_equal(p.path, path);
	assert_string_equal(p.loader, loader);
}

static void test_elf(void **state)
{
	struct image f = image_of(PT_INTERP);
	const char *path;

	(void)state;
	path = elf_make("dynamic", PT_INTERP, 0755);
	expect(path, PRELOAD_WORKS, path, LOADER);
	path = elf_make("static", PT_LOAD, 0755);
	expect(path, PRELOAD_STATIC, path, "");
	f.e.e_ident[EI_CLASS] = ELFCLASS32;
	path = file_make("class", &f, sizeof(f), 0755);
	expect(path, PRELOAD_CLASS, path, "");
	f = image_of(PT_INTERP);
	f.e.e_machine = EM_AARCH64;
	path = file_make("machine", &f, sizeof(f), 0755);
	expect(path, PRELOAD_CLASS, path, "");
	f = image_of(PT_INTERP);
	f.p.p_filesz = PATH_MAX;
	path = file_make("long", &f, sizeof(f), 0755);
	expect(path, PRELOAD_UNKNOWN, path, "");
	expect(in_scratch("none"), PRELOAD_UNKNOWN, in_scratch("none"), "");
}

static void test_elf_cut(void **state)
{
	struct image f = image_of(PT_INTERP);

	(void)state;
	for (size_t n = 0; n < offsetof(struct image, loader) + sizeof(LOADER); n++) {
		struct preload_program p;

		assert_int_equal(preload_check_command(file_make("cut", &f, n, 0755), NULL, &p),
			PRELOAD_UNKNOWN);
	}
}

static void test_scripts(void **state)
{
	char first[PATH_MAX], text[PATH_MAX + 8];
	const char *path;

	(void)state;
	strcpy(first, elf_make("static", PT_LOAD, 0755));
	snprintf(text, sizeof(text), "#! \t%s -x\n", first);
	expect(text_make("script", text), PRELOAD_STATIC, first, "");
	snprintf(text, sizeof(text), "#!%s", first); /* no end of the line */
	expect(text_make("script", text), PRELOAD_STATIC, first, "");
	/* From here, as the kernel does at exec. */
	assert_int_equal(chdir(scratch), 0);
	expect(text_make("script", "#!static\n"), PRELOAD_STATIC, "static", "");
	expect(text_make("script", "#!nosuch\n"), PRELOAD_UNKNOWN, "nosuch", "");
	/* Those that the kernel does not run are none. */
	path = in_scratch("script");
	text_make("script", "#! \n/bin/sh\n");
	expect(path, PRELOAD_UNKNOWN, path, "");
	text_make("script", "echo\n");
	expect(path, PRELOAD_UNKNOWN, path, "");
	text_make("script", "#!");
	expect(path, PRELOAD_UNKNOWN, path, "");
}

/* A name that ends at the last byte the kernel reads is one, a longer one is not. */
static void test_script_long(void **state)
{
	char text[300], name[300];
	const char *path = in_scratch("script");

	(void)state;
	memset(text, '/', sizeof(text));
	memcpy(text, "#!", 2);
	text[255] = '\n';
	snprintf(name, sizeof(name), "%.253s", text + 2);
	file_make("script", text, sizeof(text), 0755);
	expect(path, PRELOAD_UNKNOWN, name, "");
	text[255] = '/';
	text[256] = '\n';
	file_make("script", text, sizeof(text), 0755);
	expect(path, PRELOAD_UNKNOWN, path, "");
}

static void test_scripts_of_scripts(void **state)
{
	char before[PATH_MAX], first[PATH_MAX], text[PATH_MAX + 8], name[8];
	struct preload_program p;

	(void)state;
	strcpy(first, elf_make("static", PT_LOAD, 0755));
	strcpy(before, first);
	for (int i = 0; i < 6; i++) {
		snprintf(text, sizeof(text), "#!%s\n", before);
		snprintf(name, sizeof(name), "s%d", i);
		strcpy(before, text_make(name, text));
		assert_int_equal(preload_check_command(before, NULL, &p),
			i < 5 ? PRELOAD_STATIC : PRELOAD_UNKNOWN);
	}
}

/* Of what has ended, as far as its file is still the one that ran. */
static void test_file(void **state)
{
	struct stat st;
	char path[PATH_MAX];

	(void)state;
	strcpy(path, elf_make("dynamic", PT_INTERP, 0755));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(preload_check_file(path, st.st_ino, true), PRELOAD_CLEARED);
	assert_int_equal(preload_check_file(path, st.st_ino + 1, true), PRELOAD_MISSED);
	assert_int_equal(preload_check_file(path, st.st_ino + 1, false), PRELOAD_STATIC);
	assert_int_equal(preload_check_file("", 0, false), PRELOAD_SHORT);
	strcpy(path, elf_make("static", PT_LOAD, 0755));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(preload_check_file(path, st.st_ino, true), PRELOAD_STATIC);
	strcpy(path, text_make("text", "no program"));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(preload_check_file(path, st.st_ino, true), PRELOAD_MISSED);
	assert_int_equal(stat("/dev/null", &st), 0);
	assert_int_equal(preload_check_file("/dev/null", st.st_ino, true), PRELOAD_MISSED);
}

/* The mode counts of what the kernel runs: of a script's interpreter, and of nothing else. */
static void test_privileged(void **state)
{
	char own[PATH_MAX], text[PATH_MAX + 8];
	struct preload_program p;
	const char *path;

	(void)state;
	strcpy(own, elf_make("setuid", PT_INTERP, 04755));
	expect(own, PRELOAD_WORKS, own, LOADER); /* of ours: it gains nothing */
	if (geteuid())
		skip_because("needs root to give files to another user");
	assert_int_equal(chown(own, 1, 1), 0);
	assert_int_equal(chmod(own, 04755), 0);
	expect(own, PRELOAD_PRIVILEGED, own, LOADER);
	assert_int_equal(chmod(own, 02755), 0);
	expect(own, PRELOAD_PRIVILEGED, own, LOADER);
	assert_int_equal(chmod(own, 02745), 0); /* a mandatory lock, as it once was */
	expect(own, PRELOAD_WORKS, own, LOADER);
	assert_int_equal(chmod(own, 04755), 0);
	assert_int_equal(preload_check_command(own, &(struct sys_user){.uid = 1, .gid = 1}, &p),
		PRELOAD_WORKS);
	snprintf(text, sizeof(text), "#!%s\n", own);
	expect(text_make("script", text), PRELOAD_PRIVILEGED, own, LOADER);
	snprintf(text, sizeof(text), "#!%s\n", elf_make("dynamic", PT_INTERP, 0755));
	path = text_make("script", text);
	assert_int_equal(chown(path, 1, 1), 0);
	assert_int_equal(chmod(path, 04755), 0);
	expect(path, PRELOAD_WORKS, in_scratch("dynamic"), LOADER);
	path = text_make("shell", "echo\n");
	assert_int_equal(chown(path, 1, 1), 0);
	assert_int_equal(chmod(path, 04755), 0);
	expect(path, PRELOAD_UNKNOWN, path, "");
}

static void test_words(void **state)
{
	(void)state;
	for (int why = PRELOAD_WORKS; why <= PRELOAD_CLEARED; why++)
		assert_true(preload_why_text((enum preload_why)why)[0] != '\0');
	assert_true(preload_is_in_vain(PRELOAD_STATIC));
	assert_true(preload_is_in_vain(PRELOAD_PRIVILEGED));
	assert_false(preload_is_in_vain(PRELOAD_WORKS));
	assert_false(preload_is_in_vain(PRELOAD_UNKNOWN));
	assert_false(preload_is_in_vain(PRELOAD_CLASS));
}

/* What others may write to can be theirs later, sticky or not. */
static void test_safe_paths(UNUSED void **state)
{
	assert_true(preload_path_is_safe("/proc", getuid()));
	assert_false(preload_path_is_safe("proc", getuid()));
	assert_false(preload_path_is_safe("/proc/none", getuid()));
	assert_false(preload_path_is_safe("/proc/self", getuid())); /* a link */
	assert_false(preload_path_is_safe("/dev/null", getuid()));
	assert_false(preload_path_is_safe("/dev/shm", getuid()));
}

#define USERS 4
#define ROUNDS 200

/* Each makes the directory and the file where they are not, and the last to end removes both. */
static int opens_and_closes(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct preload_file f;
		struct err err = {};
		int rc = preload_file_open(&f, &err);

		if (rc)
			fprintf(stderr, "round %d: %s\n", i, err.msg);
		preload_file_close(&f);
		if (rc)
			return 1;
	}
	return 0;
}

static void users_do_not_take_it_from_each_other(void **state)
{
	pid_t users[USERS];

	(void)state;
	for (int i = 0; i < USERS; i++) {
		users[i] = fork();
		assert_true(users[i] >= 0);
		if (!users[i])
			_exit(opens_and_closes());
	}
	for (int i = 0; i < USERS; i++) {
		int status = -1;

		assert_int_equal(waitpid(users[i], &status, 0), users[i]);
		assert_int_equal(status, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(users_do_not_take_it_from_each_other),
		cmocka_unit_test(test_elf),
		cmocka_unit_test(test_elf_cut),
		cmocka_unit_test(test_scripts),
		cmocka_unit_test(test_script_long),
		cmocka_unit_test(test_scripts_of_scripts),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_privileged),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_safe_paths),
	};

	return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
