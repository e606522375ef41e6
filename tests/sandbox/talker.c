/* One side of a conversation. Each argument is an action, performed in action:
 *
 *   write:TEXT         writes a line         read           reads a line; exits with 90 at the end
 *   flood              writes forever        read-all       reads to the end
 *   write-slowly       writes a line now     read-slowly    reads a block now and then, to the end
 *                      and then, forever     echo           writes each line back, to the end
 *   write-all          writes until it fails
 *   write-blocks:N     writes N blocks of 4 KiB; exits with 93 if that fails
 *   ask:N              writes N lines and expects each line back; else exits with 91
 *   close-stdout       closes its stdout     close-stdin    closes its stdin
 *   move-stdout        moves its stdout to another descriptor
 *   leave-child        starts a child that keeps all descriptors and never ends
 *   child-writes:TEXT  closes its stdout; a child writes a line to it and ends
 *   change-pipes       changes mode, size and flags of its pipes
 *   sleep-us:N         sleeps N microseconds sleep          sleeps forever
 *   spin               computes forever      crash          dies of a signal
 *   exit:N             exits with N
 *
 * It ignores SIGPIPE.
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

static void write_line(const char *text)
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

/* Reads single bytes, so that nothing is read ahead. */
static int read_line(char *line, size_t size)
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

static void write_all(void)
{
    while (write(out, block, sizeof block) > 0)
        ;
}

static void write_blocks(int times)
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
        write_line(question);
        if (!read_line(answer, sizeof answer) || strcmp(question, answer) != 0)
            exit(91);
    }
}

static void leave_child(void)
{
    if (fork() == 0)
        for (;;)
            pause();
}

static void write_from_child(const char *text)
{
    if (fork() == 0) {
        write_line(text);
        _exit(0);
    }
    close(out);
    wait(NULL);
}

static void change_pipes(void)
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

static void perform(const char *action)
{
    const char *value = strchr(action, ':');
    char line[256];
    value = value ? value + 1 : "";
    size_t length = strcspn(action, ":");
#define IS(name) (length == sizeof name - 1 && strncmp(action, name, length) == 0)
    if (IS("write"))
        write_line(value);
    else if (IS("read")) {
        if (!read_line(line, sizeof line))
            exit(90);
    } else if (IS("read-all"))
        while (read(0, line, sizeof line) > 0)
            ;
    else if (IS("read-slowly"))
        while (read(0, block, sizeof block) > 0)
            usleep(500);
    else if (IS("write-slowly"))
        for (;; usleep(700))
            write_line("line");
    else if (IS("flood"))
        for (;;)
            write_all();
    else if (IS("write-all"))
        write_all();
    else if (IS("write-blocks"))
        write_blocks(atoi(value));
    else if (IS("echo"))
        while (read_line(line, sizeof line))
            write_line(line);
    else if (IS("ask"))
        ask(atoi(value));
    else if (IS("close-stdout"))
        close(out);
    else if (IS("close-stdin"))
        close(0);
    else if (IS("move-stdout")) {
        out = fcntl(1, F_DUPFD, 10);
        close(1);
    } else if (IS("leave-child"))
        leave_child();
    else if (IS("child-writes"))
        write_from_child(value);
    else if (IS("change-pipes"))
        change_pipes();
    else if (IS("sleep-us"))
        usleep((useconds_t)atoi(value));
    else if (IS("sleep"))
        for (;;)
            pause();
    else if (IS("spin"))
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
        perform(argv[i]);
    return 0;
}
