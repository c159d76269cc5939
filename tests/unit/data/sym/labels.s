# Built by the tests: symbols as hand-written assembly has them.
	.text
	.globl public_name
	.type public_name, @function
	.type local_alias, @function
	.weak weak_alias
	.type weak_alias, @function
public_name:
local_alias:
weak_alias:
__underscored:
	nop
	nop
inner_label:
	nop
	nop
	.size public_name, . - public_name
	.size local_alias, . - local_alias
	.size weak_alias, . - weak_alias
	.balign 16
	nop
	nop
bare_label:
	nop
	nop
	nop
	nop
	.globl outer
	.type outer, @function
outer:
	nop
	nop
	.globl nested
	.type nested, @function
nested:
	nop
	nop
	.size nested, . - nested
	nop
	nop
	.size outer, . - outer
	.globl _start
	.type _start, @function
_start:
	mov $60, %eax
	xor %edi, %edi
	syscall
	.size _start, . - _start
	.data
in_data:
	.quad 1
	.section .note.GNU-stack,"",@progbits
