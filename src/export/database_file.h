/* The one file that SQLite may use: a descriptor. Private to database.c. */
#ifndef MEMWHY_EXPORT_DATABASE_FILE_H
#define MEMWHY_EXPORT_DATABASE_FILE_H

#define DATABASE_FILE "memwhy" /* name of the VFS */

/* From now on DATABASE_FILE is this descriptor. SQLITE_OK or an error of SQLite. */
int database_file_use(int fd);

#endif
