    global main
    extern malloc, memset
    section .text
main:
    mov edi, 65536
    call malloc
    mov rdi, rax
    mov esi, 1
    mov edx, 65536
    call memset
    jmp main
