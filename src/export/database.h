/*
 * Records as an SQLite database: one table a kind, made from its schema, with views that have names
 * in place of numbers. It is written into an open file, and opens none.
 */
#ifndef MEMWHY_EXPORT_DATABASE_H
#define MEMWHY_EXPORT_DATABASE_H

#include "base/err.h"
#include "event/schema.h"
#include "event/sink.h"

#define DATABASE_VERSION 1 /* PRAGMA user_version */

struct database;

/* fd: an empty file that can be read and written, borrowed. The schema must outlive it. Memory is
 * bounded, whatever is put. One at a time. */
int database_begin(int fd, const struct schema *schema, struct database **ret, struct err *err);
/* Records of kinds that are not in the schema are left out. */
struct sink *database_sink(struct database *d);
/* Frees d in any case. */
int database_end(struct database *d, struct err *err);

#endif
