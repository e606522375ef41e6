        global  _start

        section .text
_start: mov     eax, 1                  ; write
        mov     edi, 1
        mov     rsi, text
        mov     edx, length
        syscall
        mov     eax, 60                 ; exit
        xor     edi, edi
        syscall

        section .rodata
text:   db      "Hello, World!", 10
length: equ     $ - text
