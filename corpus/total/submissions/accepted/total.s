        .globl  main
        .text
main:   push    %rbx
        push    %r12
        sub     $24, %rsp
        xor     %ebx, %ebx              # the sum
        call    number
        mov     %rax, %r12              # how many are left
1:      test    %r12, %r12
        jz      2f
        call    number
        add     %rax, %rbx
        dec     %r12
        jmp     1b
2:      lea     answer(%rip), %rdi
        mov     %rbx, %rsi
        xor     %eax, %eax
        call    printf
        xor     %eax, %eax
        add     $24, %rsp
        pop     %r12
        pop     %rbx
        ret

number: sub     $24, %rsp
        lea     format(%rip), %rdi
        lea     8(%rsp), %rsi
        xor     %eax, %eax
        call    scanf
        mov     8(%rsp), %rax
        add     $24, %rsp
        ret

        .section .rodata
format: .asciz  "%ld"
answer: .asciz  "%ld\n"
        .section .note.GNU-stack, "", @progbits
