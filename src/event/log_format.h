/*
 * The bytes of the event log, shared by its writer and its reader and nobody else.
 * docs/event-log.md says the same for other programs: change both, and the version where an
 * older reader would misread the result.
 *
 *	head   "MEMWHY", u16 version
 *	block  schema
 *	block  records ...            an index block after every LOG_INDEX_BLOCKS of them
 *	block  index                  the last one has the totals by kind
 *	block  end                    where the last index is; absent: not closed in order
 */
#ifndef MEMWHY_EVENT_LOG_FORMAT_H
#define MEMWHY_EVENT_LOG_FORMAT_H

#include "base/arena.h"
#include "base/str.h"
#include "event/schema.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the log is written as it is in memory");

#define LOG_MAGIC "MEMWHY"
#define LOG_VERSION 1
#define LOG_BLOCK_MAGIC 0x4b42574dU /* "MWBK" */

#define LOG_FLUSH_BYTES (256U << 10) /* of records in a block, at most, as written here */
#define LOG_BLOCK_MAX (1U << 20)     /* bytes of a block, as read: before or after decompression */
#define LOG_INDEX_BLOCKS 4096
#define LOG_TEXT_MAX 0xffffU /* bytes of a name or help text in the schema */

struct log_head {
	char magic[6];
	u16 version;
};

enum log_block_type {
	LOG_SCHEMA = 1,
	LOG_RECORDS = 2,
	LOG_INDEX = 3,
	LOG_END = 4,
};

enum log_codec {
	LOG_PLAIN = 0,
	LOG_ZSTD = 1, /* one frame */
};

struct log_block {
	u32 magic;
	u16 type;   /* enum log_block_type; readers skip what they do not know */
	u16 codec;  /* enum log_codec */
	u32 stored; /* bytes that follow this head */
	u32 raw;    /* bytes after decompression */
	u32 number; /* of the block in the file, from 0 */
	u32 records;
	u64 first_ns; /* least and greatest time of its records, those at 0 left out; 0: none */
	u64 last_ns;
	u64 data_hash; /* XXH64, seed 0, of the stored bytes */
	u64 head_hash; /* XXH64, seed 0, of the 48 bytes before */
};

/* The first field lets a reader walk all index blocks from the last one backwards. */
struct log_index {
	u64 previous; /* offset of the index block before this one, 0: none */
	u32 blocks;   /* struct log_index_block each: record blocks since the one before */
	u32 kinds;    /* struct log_index_kind each: totals of the file, in the last index only */
};

struct log_index_block {
	u64 offset; /* of the block's head in the file */
	u32 number;
	u32 records;
	u64 first_ns;
	u64 last_ns;
};

struct log_index_kind {
	u16 kind;
	u16 reserved[3];
	u64 records;
};

/* Stored plain, so that it is the last LOG_END_BYTES of the file. */
struct log_end {
	u64 index; /* offset of the last index block */
	u64 records;
};

#define LOG_END_BYTES (sizeof(struct log_block) + sizeof(struct log_end))

_Static_assert(sizeof(struct log_head) == 8, "on disk");
_Static_assert(sizeof(struct log_block) == 56, "on disk");
_Static_assert(sizeof(struct log_index) == 16, "on disk");
_Static_assert(sizeof(struct log_index_block) == 32, "on disk");
_Static_assert(sizeof(struct log_index_kind) == 16, "on disk");
_Static_assert(sizeof(struct log_end) == 16, "on disk");

/*
 * The schema block: u32 number of kinds, then for each struct log_kind, its name, its help and
 * its fields; for each of them struct log_field, its name and its help. A text is a u16 length
 * and that many bytes. `bytes` counts the whole entry, so that entries can grow at their end.
 */
struct log_kind {
	u32 bytes;
	u16 kind;
	u16 size;
	u16 fields;
	u16 reserved;
};

struct log_field {
	u32 bytes;
	u16 offset;
	u16 count;
	u8 type;
	u8 unit;
	u16 reserved;
};

_Static_assert(sizeof(struct log_kind) == 12, "on disk");
_Static_assert(sizeof(struct log_field) == 12, "on disk");

/* Appends the schema block's bytes to out. -E2BIG if a text or the whole is too long. */
int log_schema_encode(const struct schema *s, struct str *out);
/*
 * Adds the kinds described in data to s; their memory is the arena's. What does not fit (fields
 * outside their record, types not known here, numbers out of range or taken) is left out.
 * -EBADMSG where entries overrun the data: kinds before that are kept. -ENOMEM.
 */
int log_schema_decode(const void *data, size_t n, struct arena *arena, struct schema *s);

#endif
