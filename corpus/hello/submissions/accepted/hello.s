        .globl  _start
        .text
_start: mov     $1, %eax                # write
        mov     $1, %edi
        lea     text(%rip), %rsi
        mov     $length, %edx
        syscall
        mov     $60, %eax               # exit
        xor     %edi, %edi
        syscall

        .section .rodata
text:   .ascii  "Hello, World!\n"
        .set    length, . - text
