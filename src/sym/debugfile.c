/* See debugfile.h. */
#include "sym/debugfile.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/str.h"
#include "sym/debugimage.h"
#include "sym/module.h"

#define DEBUG_DIR "/usr/lib/debug"
#define BUILD_ID_MIN 3
#define CRC_CHUNK 65536

/* What a debug file must be to belong to the program. */
struct proof {
	u8 build_id[BUILD_ID_MAX];
	int build_id_len; /* <= 0: has none */
	bool has_crc;
	u32 crc;
	u64 max_bytes;
};

static int file_crc(int fd, u64 max_bytes, u32 *ret)
{
	_cleanup_free_ u8 *buf = malloc(CRC_CHUNK);
	unsigned long crc = crc32(0, NULL, 0);
	off_t at = 0;
	struct stat st;
	ssize_t n;

	if (!buf)
		return -ENOMEM;
	if (fstat(fd, &st))
		return -errno;
	if ((u64)st.st_size > max_bytes)
		return -EFBIG;
	while ((n = pread(fd, buf, CRC_CHUNK, at)) > 0 && at <= st.st_size) {
		crc = crc32(crc, buf, (unsigned int)n);
		at += n;
	}
	if (n < 0)
		return -errno;
	*ret = (u32)crc;
	return 0;
}

/* A stripped file can be linked to itself by name. */
static bool has_something(const struct elf_file *candidate)
{
	struct elf_section section;

	return debug_image_possible(candidate) ||
	       !elf_section_find_type(candidate, SHT_SYMTAB, &section);
}

/* A build-id on both sides decides alone: tools that rewrite debug files (compressing them, dwz)
 * keep it, and leave the CRC of the link out of date. */
static bool is_proven(const struct elf_file *candidate, const struct proof *proof)
{
	u8 build_id[BUILD_ID_MAX];
	int len = elf_file_build_id(candidate, build_id);
	u32 crc = 0;

	if (len > 0 && proof->build_id_len > 0)
		return len == proof->build_id_len &&
		       !memcmp(build_id, proof->build_id, (size_t)len);
	if (!proof->has_crc || candidate->fd < 0)
		return false;
	return !file_crc(candidate->fd, proof->max_bytes, &crc) && crc == proof->crc;
}

static int candidate_take(int fd, const struct proof *proof, struct elf_file *ret)
{
	_cleanup_elf_file_ struct elf_file file = {.fd = -1};
	int rc = elf_file_open(fd, &file);

	if (rc)
		return rc;
	if (!has_something(&file) || !is_proven(&file, proof))
		return -ESTALE;
	*ret = elf_file_take(&file);
	return 0;
}

static int candidate_open(const struct debug_search *search, bool ours, const char *path,
	const struct proof *proof, struct elf_file *ret)
{
	int fd, rc = search->opener->open(search->opener->arg, ours, path, &fd);

	return rc ? rc : candidate_take(fd, proof, ret);
}

/* Below the root of the process, then below ours. */
static int candidate_open_any(const struct debug_search *search, const char *path,
	const struct proof *proof, struct elf_file *ret)
{
	int rc = candidate_open(search, !search->other_root, path, proof, ret);

	if (rc && search->other_root)
		rc = candidate_open(search, true, path, proof, ret);
	return rc;
}

static int open_by_build_id(
	const struct debug_search *search, const struct proof *proof, struct elf_file *ret)
{
	_cleanup_str_ struct str path = {};

	if (proof->build_id_len < BUILD_ID_MIN)
		return -ENOENT;
	str_addf(&path, DEBUG_DIR "/.build-id/%02x/", proof->build_id[0]);
	for (int i = 1; i < proof->build_id_len; i++)
		str_addf(&path, "%02x", proof->build_id[i]);
	str_add(&path, ".debug");
	if (path.failed)
		return -ENOMEM;
	return candidate_open_any(search, path.buf, proof, ret);
}

static int open_from_servers(
	const struct debug_search *search, const struct proof *proof, struct elf_file *ret)
{
	const struct debug_opener *opener = search->opener;
	int fd, rc = -ENOENT;

	if (opener->fetch && proof->build_id_len >= BUILD_ID_MIN)
		rc = opener->fetch(opener->arg, proof->build_id, (size_t)proof->build_id_len, &fd);
	return rc ? rc : candidate_take(fd, proof, ret);
}

/* prefix + the directory of a file + infix + name, opened. */
static int open_beside(const struct debug_search *search, const char *file, const char *prefix,
	const char *infix, const char *name, const struct proof *proof, struct elf_file *ret)
{
	const char *slash = strrchr(file, '/');
	_cleanup_str_ struct str path = {};

	if (!slash)
		return -ENOENT;
	str_add(&path, prefix);
	str_addn(&path, file, (size_t)(slash - file) + 1);
	str_add(&path, infix);
	str_add(&path, name);
	if (path.failed)
		return -ENOMEM;
	return candidate_open_any(search, path.buf, proof, ret);
}

static int open_by_link(const struct debug_search *search, const struct elf_file *program,
	struct proof *proof, struct elf_file *ret)
{
	static const struct {
		const char *prefix, *infix;
	} places[] = {{"", ""}, {"", ".debug/"}, {DEBUG_DIR, ""}};
	char name[NAME_MAX + 1];
	int rc = elf_file_debuglink(program, name, &proof->crc);

	if (rc)
		return rc;
	proof->has_crc = true;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		rc = open_beside(
			search, search->path, places[i].prefix, places[i].infix, name, proof, ret);
		if (!rc)
			return 0;
	}
	return -ENOENT;
}

int debugfile_open(
	const struct debug_search *search, const struct elf_file *program, struct elf_file *ret)
{
	struct proof proof = {.max_bytes = search->max_bytes};
	int rc;

	proof.build_id_len = elf_file_build_id(program, proof.build_id);
	rc = open_by_build_id(search, &proof, ret);
	if (rc)
		rc = open_by_link(search, program, &proof, ret);
	if (rc)
		rc = open_from_servers(search, &proof, ret);
	return rc ? -ENOENT : 0;
}

/* .gnu_debugaltlink: a path, NUL, the build-id of the file it names. */
static int altlink_read(const struct elf_file *debug, const char **ret_path, struct proof *proof)
{
	struct elf_section section;
	Elf_Data *data;
	size_t len;
	int rc = elf_section_find(debug, ".gnu_debugaltlink", &section);

	if (!rc)
		rc = elf_section_data(&section, PATH_MAX + BUILD_ID_MAX, &data);
	if (rc)
		return rc;
	len = strnlen(data->d_buf, data->d_size);
	if (!len || len >= data->d_size || data->d_size - len - 1 > BUILD_ID_MAX)
		return -ENOEXEC;
	proof->build_id_len = (int)(data->d_size - len - 1);
	memcpy(proof->build_id, (char *)data->d_buf + len + 1, (size_t)proof->build_id_len);
	*ret_path = data->d_buf;
	return 0;
}

/* A debug file found by its build-id may be a link to elsewhere. */
static int open_relative(const struct debug_search *search, const struct elf_file *debug,
	const char *name, const struct proof *proof, struct elf_file *ret)
{
	char path[PATH_MAX];
	int rc = search->opener->where(search->opener->arg, debug->fd, path);

	if (!rc)
		rc = open_beside(search, path, "", "", name, proof, ret);
	return rc ? open_beside(search, search->path, "", "", name, proof, ret) : 0;
}

int debugfile_open_alt(
	const struct debug_search *search, const struct elf_file *debug, struct elf_file *ret)
{
	struct proof proof = {.max_bytes = search->max_bytes};
	const char *path;
	int rc = altlink_read(debug, &path, &proof);

	if (rc)
		return -ENOENT;
	rc = open_by_build_id(search, &proof, ret);
	if (rc && path[0] == '/')
		rc = candidate_open_any(search, path, &proof, ret);
	else if (rc)
		rc = open_relative(search, debug, path, &proof, ret);
	if (rc)
		rc = open_from_servers(search, &proof, ret);
	return rc ? -ENOENT : 0;
}
