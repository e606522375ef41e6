/* Rules: X4
 * Attack: looks for values that the runner left in registers, such as the filter's token.
 * Machine: x86_64
 * Compile: -nostartfiles -mno-sse
 * Expect: ok
 */
#include <sys/syscall.h>

static long call(long number, long first, const void *second, long third)
{
    long result;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(number), "D"(first), "S"(second), "d"(third)
                     : "rcx", "r11", "memory");
    return result;
}

__attribute__((used)) static void look(const unsigned long *saved)
{
    call(SYS_write, 1, "started\n", 8);
    for (int i = 0; i < 14; i++)
        if (saved[i]) {
            call(SYS_write, 1, "got through: a register\n", 24);
            call(SYS_exit_group, 1, 0, 0);
        }
    call(SYS_write, 1, "held\n", 5);
    call(SYS_exit_group, 0, 0, 0);
}

__asm__(".globl _start\n"
        "_start:\n"
        "    push %rax; push %rbx; push %rcx; push %rdx; push %rsi; push %rdi; push %rbp\n"
        "    push %r8; push %r9; push %r10; push %r12; push %r13; push %r14; push %r15\n"
        "    mov %rsp, %rdi\n"
        "    and $-16, %rsp\n"
        "    call look\n");
