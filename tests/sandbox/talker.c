/* One side of a conversation, spoken as its arguments say, one after the other:
 *
 *   say:TEXT   writes a line            hear        reads a line; exits with 90 at the end
 *   flood      writes for ever          drain       reads up to the end
 *   drip       says a word now and then  sip        reads a block now and then, to the end
 *   push       writes until it fails    echo        answers each line with itself, to the end
 *   tell:N     N blocks of 4 KiB; exits with 93 when they are not wanted
 *   ask:N      N lines, each to be answered with itself; else exits with 91
 *   mute       closes its stdout        deaf        closes its stdin
 *   move       has its stdout elsewhere than at 1
 *   child      leaves a child that keeps all open and never ends
 *   last:TEXT  closes its stdout, after which a child writes a line to it and ends
 *   rebel      does to its ends of the pipes what it can
 *   nap:US     sleeps that long         pause       sleeps for ever
 *   burn       computes for ever        crash       dies of a signal
 *   exit:N
 *
 * A write to nobody is an error, not a signal.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int out = 1;

static void say(const char *text)
{
    char line[256];
    int length = snprintf(line, sizeof line, "%s\n", text);
    for (int done = 0; done < length;) {
        ssize_t count = write(out, line + done, (size_t)(length - done));
        if (count < 0)
            exit(92);
        done += (int)count;
    }
}

/* Byte by byte, so that nothing is read ahead. */
static int hear(char *line, size_t size)
{
    for (size_t length = 0; length < size - 1;) {
        ssize_t count = read(0, line + length, 1);
        if (count <= 0)
            return 0;
        line[++length] = 0;
        if (line[length - 1] == '\n') {
            line[length - 1] = 0;
            return 1;
        }
    }
    return 0;
}

static char block[4096];

static void push(void)
{
    while (write(out, block, sizeof block) > 0)
        ;
}

static void tell(int times)
{
    for (int i = 0; i < times; i++)
        if (write(out, block, sizeof block) != sizeof block)
            exit(93);
}

static void ask(int times)
{
    char question[32], answer[256];
    for (int i = 0; i < times; i++) {
        snprintf(question, sizeof question, "%d", i);
        say(question);
        if (!hear(answer, sizeof answer) || strcmp(question, answer) != 0)
            exit(91);
    }
}

static void leave_child(void)
{
    if (fork() == 0)
        for (;;)
            pause();
}

static void last_word(const char *text)
{
    if (fork() == 0) {
        say(text);
        _exit(0);
    }
    close(out);
    wait(NULL);
}

static void rebel(void)
{
    for (int fd = 0; fd < 2; fd++) {
        char path[32];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        fchmod(fd, 0);
        chmod(path, 0);
        fcntl(fd, F_SETPIPE_SZ, 4096);
        fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC);
        if (open(path, O_RDONLY | O_NONBLOCK) < 0 || open(path, O_WRONLY | O_NONBLOCK) < 0)
            continue;
    }
}

static void obey(const char *order)
{
    const char *value = strchr(order, ':');
    char line[256];
    value = value ? value + 1 : "";
#define IS(word) (strncmp(order, word, strcspn(order, ":")) == 0)
    if (IS("say"))
        say(value);
    else if (IS("hear")) {
        if (!hear(line, sizeof line))
            exit(90);
    } else if (IS("drain"))
        while (read(0, line, sizeof line) > 0)
            ;
    else if (IS("sip"))
        while (read(0, block, sizeof block) > 0)
            usleep(500);
    else if (IS("drip"))
        for (;; usleep(700))
            say("drop");
    else if (IS("flood"))
        for (;;)
            push();
    else if (IS("push"))
        push();
    else if (IS("tell"))
        tell(atoi(value));
    else if (IS("echo"))
        while (hear(line, sizeof line))
            say(line);
    else if (IS("ask"))
        ask(atoi(value));
    else if (IS("mute"))
        close(out);
    else if (IS("deaf"))
        close(0);
    else if (IS("move")) {
        out = fcntl(1, F_DUPFD, 10);
        close(1);
    } else if (IS("child"))
        leave_child();
    else if (IS("last"))
        last_word(value);
    else if (IS("rebel"))
        rebel();
    else if (IS("nap"))
        usleep((useconds_t)atoi(value));
    else if (IS("pause"))
        for (;;)
            pause();
    else if (IS("burn"))
        for (volatile unsigned long i = 0;; i++)
            ;
    else if (IS("crash"))
        kill(getpid(), SIGSEGV);
    else if (IS("exit"))
        exit(atoi(value));
    else
        exit(99);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    for (int i = 1; i < argc; i++)
        obey(argv[i]);
    return 0;
}
