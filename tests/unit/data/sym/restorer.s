# Built by the tests: what returns from a signal handler, as musl has it, without information for
# unwinding; and a function with it.
	.text
	.globl function
	.type function, @function
function:
	.cfi_startproc
	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rbx, -16
	pop %rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size function, . - function
	.fill 64, 1, 0x90
	.globl restorer
	.type restorer, @function
restorer:
	mov $15, %rax
	syscall
	.size restorer, . - restorer
	.fill 64, 1, 0x90
	.globl _start
_start:
	mov $60, %eax
	xor %edi, %edi
	syscall
	.section .note.GNU-stack,"",@progbits
