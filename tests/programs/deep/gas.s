# A million nested calls, each with a return address and a kept register.
    .globl main
    .text
depth:
    test %edi, %edi
    jz end
    push %rdi
    dec %edi
    call depth
    pop %rdi
    inc %eax
    ret
end:
    xor %eax, %eax
    ret

main:
    push %rbx
    mov $1000000, %edi
    call depth
    mov %eax, %esi
    lea format(%rip), %rdi
    xor %eax, %eax
    call printf
    xor %eax, %eax
    pop %rbx
    ret

    .data
format: .asciz "%d\n"

    .section .note.GNU-stack, "", @progbits
