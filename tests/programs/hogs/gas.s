    .globl main
    .text
main:
    mov $65536, %edi
    call malloc
    mov %rax, %rdi
    mov $1, %esi
    mov $65536, %edx
    call memset
    jmp main

    .section .note.GNU-stack, "", @progbits
