        .globl  _start
        .text
_start: xor     %ecx, %ecx
        xor     %edx, %edx
        mov     $1, %eax
        div     %ecx                    # SIGFPE
