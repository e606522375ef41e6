/* Rules: X7
 * Attack: groups in the background read and write the terminal and take the foreground.
 * Terminal: yes
 * Expect: ok
 * Without PID: ok
 * Without SECCOMP: ok
 */
#include "attack.h"
#include <termios.h>

/* Waits for the next change of a child, and returns the signal that stopped it. */
static int stop_signal(pid_t child)
{
    int status = 0;
    must_work(waitpid(child, &status, WUNTRACED));
    return WIFSTOPPED(status) ? WSTOPSIG(status) : 0;
}

static pid_t in_background(void (*work)(void))
{
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        work();
        _exit(0);
    }
    must_work(setpgid(child, child) == 0 || errno == EACCES ? 0 : -1);
    return child;
}

static void read_terminal(void)
{
    char byte;
    (void)!read(STDIN_FILENO, &byte, 1);
}

static void change_modes(void)
{
    struct termios modes;
    tcgetattr(STDIN_FILENO, &modes);
    tcsetattr(STDIN_FILENO, TCSANOW, &modes);
}

static void take_foreground(void)
{
    tcsetpgrp(STDIN_FILENO, getpid());
}

static void take_foreground_by_force(void)
{
    signal(SIGTTOU, SIG_IGN);
    tcsetpgrp(STDIN_FILENO, getpid());
    sleep_forever();
}

int main(void)
{
    start();
    pid_t reader = in_background(read_terminal);
    must_be(stop_signal(reader) == SIGTTIN);
    pid_t changer = in_background(change_modes);
    must_be(stop_signal(changer) == SIGTTOU);
    pid_t taker = in_background(take_foreground);
    must_be(stop_signal(taker) == SIGTTOU);
    /* Only a group of this session can be in the foreground. */
    must_fail(tcsetpgrp(STDIN_FILENO, 1), ESRCH, EPERM);
    must_fail(setpgid(0, 1), EPERM, ESRCH);
    must_fail(setsid(), EPERM);
    pid_t robber = in_background(take_foreground_by_force);
    while (tcgetpgrp(STDIN_FILENO) != robber)
        usleep(1000);
    return held(); /* the stopped and the running child are left behind */
}
