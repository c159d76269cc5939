/* What the kernel's verifier says of a program that it refuses, out of libbpf's messages. */
#ifndef MEMWHY_CAPTURE_VERIFIER_H
#define MEMWHY_CAPTURE_VERIFIER_H

#include <stdbool.h>

struct verifier_said {
	char program[32]; /* "": it refused none */
	char words[128];  /* the last of its log: what is wrong */
};

/* Is this message the verifier's log of a program? Fills in what it says. */
bool verifier_read(const char *message, struct verifier_said *ret);

#endif
