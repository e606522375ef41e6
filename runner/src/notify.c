/* Answers the system calls that the notify filter passes on to a run's init. */
#define _GNU_SOURCE
#include <linux/seccomp.h>
#include <sys/ioctl.h>

#include "init.h"
#include "kernel.h"

/* Looks up a system call in the program's profile. */
static uint16_t profile_answer(const struct run *run, const struct seccomp_data *call)
{
    const struct profile *profile = &run->slot->options->profiles[run->request.head.profile];
    bool foreign = call->arch != run->slot->options->arch;
    return foreign || call->nr < 0 || call->nr >= PROFILE_CALLS ? 0
                                                                : profile->answers[call->nr];
}

bool notify_answer(struct run *run, int trusted)
{
    union {
        struct seccomp_notif notice;
        char buffer[1024]; /* a newer kernel may use a larger struct */
    } call = {0};
    union {
        struct seccomp_notif_resp answer;
        char buffer[1024];
    } reply = {0};
    const struct slot *slot = run->slot;
    if (kernel_ioctl(slot->listener, SECCOMP_IOCTL_NOTIF_RECV, &call, slot->token))
        return false; /* the caller was killed in the meantime */
    uint16_t answer =
        call.notice.data.nr == trusted ? PROFILE_ALLOW : profile_answer(run, &call.notice.data);
    if (!answer) {
        run->report->arch = call.notice.data.arch;
        run->report->end = END_FORBIDDEN;
        run->report->code = call.notice.data.nr;
        return true;
    }
    reply.answer.id = call.notice.id;
    if (answer == PROFILE_ALLOW)
        reply.answer.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else
        reply.answer.error = -(int)answer;
    /* Fails if the caller was killed. */
    kernel_ioctl(slot->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply, slot->token);
    return false;
}
