; A million nested calls, each with a return address and a kept register.
    global main
    extern printf
    section .text
depth:
    test edi, edi
    jz .end
    push rdi
    dec edi
    call depth
    pop rdi
    inc eax
    ret
.end:
    xor eax, eax
    ret

main:
    push rbx
    mov edi, 1000000
    call depth
    mov esi, eax
    mov rdi, format
    xor eax, eax
    call printf
    xor eax, eax
    pop rbx
    ret

    section .data
format: db "%d", 10, 0
