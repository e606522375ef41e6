/* Creates files in the scratch for Python, before the program starts.
 *
 * The scratch accepts only the ids of its user namespace, so that no user of the host can create
 * a file there. init can: it creates each file under the program's ids and sends Python a
 * descriptor to write to, so that the content is counted as Python's memory, not the program's.
 *
 * No program runs yet, but what Python stages may contain links: no link is followed. */
#define _GNU_SOURCE
#include "stage.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"

static bool is_name(const char *name)
{
    return *name && strcmp(name, ".") && strcmp(name, "..");
}

/* Opens the directory that contains the last part of `path`, to which `name` then points. */
static int open_parent(char *path, char **name)
{
    int dir = open("/work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    *name = path;
    for (char *slash; dir >= 0 && (slash = strchr(*name, '/')); *name = slash + 1) {
        *slash = 0;
        int parent = dir;
        dir = openat(parent, *name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (!is_name(*name)) {
            close(dir);
            dir = -1;
            errno = EINVAL;
        }
        int saved = errno;
        close(parent);
        errno = saved;
    }
    if (dir >= 0 && !is_name(*name)) {
        close(dir);
        errno = EINVAL;
        return -1;
    }
    return dir;
}

static int give_to_program(int fd, mode_t mode)
{
    return fd < 0 || fchown(fd, PROGRAM_ID, PROGRAM_ID) || fchmod(fd, mode) ? -1 : 0;
}

/* Returns a descriptor of the new file for Python, or -1 with `*error` set; for directories and
 * links always -1. */
static int create(struct stage_request *request, int *error)
{
    char *path = request->text, *name;
    const char *target = path + strlen(path) + 1;
    int dir = open_parent(path, &name), fd = -1, failed = dir < 0;
    if (!failed)
        switch (request->kind) {
        case STAGE_FILE:
            fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
            failed = give_to_program(fd, request->mode);
            break;
        case STAGE_DIRECTORY:
            failed = mkdirat(dir, name, 0700);
            if (failed)
                break;
            fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
            failed = give_to_program(fd, request->mode);
            break;
        default:
            failed = symlinkat(target, dir, name) ||
                     fchownat(dir, name, PROGRAM_ID, PROGRAM_ID, AT_SYMLINK_NOFOLLOW);
        }
    *error = failed ? errno : 0;
    if (dir >= 0)
        close(dir);
    if (fd >= 0 && (failed || request->kind != STAGE_FILE)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* Answers one request; -1 if the socket was closed or the request is invalid. */
static int serve(const struct slot *slot, int socket)
{
    struct stage_request request;
    struct iovec part = {&request, sizeof request};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    ssize_t got;
    do
        got = kernel_recvmsg(socket, &message, 0, slot->token);
    while (got < 0 && errno == EINTR);
    if (got < 0 || message.msg_flags & MSG_TRUNC ||
        wire_check_stage_request(&request, (size_t)got))
        return -1;
    struct stage_answer answer = {.magic = WIRE_MAGIC};
    int fd = create(&request, &answer.error);
    int result = kernel_send(socket, &answer, sizeof answer, fd, slot->token);
    if (fd >= 0)
        close(fd);
    return result;
}

uint32_t stage_files(const struct slot *slot, int socket)
{
    struct pollfd watched[] = {{slot->channel, POLLIN, 0}, {socket, POLLIN, 0}};
    for (;;) {
        if (poll(watched, 2, -1) < 0 && errno != EINTR)
            return 0;
        if (watched[1].revents && serve(slot, socket))
            watched[1].fd =
                -1; /* Python has ended its part, or does not keep to the protocol */
        if (watched[0].revents)
            return slot_await_instruction(slot);
    }
}
