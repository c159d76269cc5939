/*
 * The DWARF expressions that compilers, linkers and libraries put into call-frame information of
 * x86-64, told by their form. Nothing is evaluated. No libc.
 */
#ifndef MEMWHY_CFI_EXPRESSION_H
#define MEMWHY_CFI_EXPRESSION_H

#include "cfi/bytes.h"

enum cfi_form {
	CFI_FORM_OTHER,
	CFI_FORM_REGISTER, /* reg + offset */
	CFI_FORM_DEREF,    /* *(reg + offset) + add */
	CFI_FORM_PLT,      /* sp + 8, and 8 more where (ip & 15) >= add: linkers say so of .plt */
};

struct cfi_expression {
	u8 form;
	u8 reg;
	s64 offset;
	s64 add;
};

/* Takes the block (a length, and the expression) off the bytes. */
void cfi_expression_read(struct cfi_bytes *b, struct cfi_expression *ret);

#endif
