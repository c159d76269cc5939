/*
 * The names compilers give to C++ and Rust functions, back to how they are written in the source.
 * Without the parameters: in a stack the qualified name with its template arguments is what
 * distinguishes functions, and parameter lists push it off the screen. Overloads then look alike;
 * the source line distinguishes them.
 */
#ifndef MEMWHY_SYM_DEMANGLE_H
#define MEMWHY_SYM_DEMANGLE_H

#include "base/util.h"

/* Longer names stay as they are, and so does one whose readable form is longer than that. */
#define DEMANGLE_IN_MAX 4096
#define DEMANGLE_OUT_MAX 16384

/* malloc()ed; NULL when the name is none of C++ or Rust, or beyond the limits. */
char *demangle(const char *mangled);

#endif
