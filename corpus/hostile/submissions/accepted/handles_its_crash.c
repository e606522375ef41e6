#include <setjmp.h>
#include <signal.h>
#include <stdio.h>

static sigjmp_buf back;

static void caught(int signal) { siglongjmp(back, signal); }

int main(void) {
    int a, b;
    scanf("%d %d", &a, &b);
    signal(SIGSEGV, caught);
    if (sigsetjmp(back, 1) == 0) *(volatile int *)8 = 1;
    printf("%d %d\n", a + b, a - b);
    return 0;
}
