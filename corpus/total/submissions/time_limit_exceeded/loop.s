        .globl  _start
        .text
_start: mov     $0, %eax                # read
        xor     %edi, %edi
        lea     text(%rip), %rsi
        mov     $3, %edx
        syscall
1:      jmp     1b

        .bss
text:   .skip   8
