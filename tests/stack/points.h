/* A point at which a stack is taken: see points.c. */
#ifndef POINTS_H
#define POINTS_H

#ifdef __cplusplus
extern "C" {
#endif
void point(const char *name);
void points_throw(void);
void points_lib(void (*callback)(const char *), const char *name);
#ifdef __cplusplus
}
#endif

#endif
