/* Leases host uids to this runner, so that no two slots of the machine have the same ones.
 *
 * The kernel counts some resources for each uid (pages of pipes, pending signals, inotify and epoll
 * watches): a slot could use up the quota of another slot that has its uid. Each slot of the
 * machine is a byte of one file, and the runner holds a lock on the bytes of its slots. Its
 * spawners have the same open file, so the lease ends with the last process that has these uids. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <unistd.h>

#include "slot.h"

#define LEASE_FILE "/run/deemster-uids" /* in a directory that only root may write to */

int lease_uids(struct options *options, struct fault *fault)
{
    int file = open(LEASE_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0)
        return fail(fault, "lease-uids");
    for (off_t first = 0; first + options->slots <= LEASED_SLOTS;) {
        struct flock lock = {.l_type = F_WRLCK, .l_start = first, .l_len = options->slots};
        if (fcntl(file, F_OFD_SETLK, &lock) == 0) {
            options->uid_base = (uid_t)(UID_BASE + 2 * first);
            return 0; /* the file stays open, in every spawner, too */
        }
        if ((errno != EAGAIN && errno != EACCES) || fcntl(file, F_OFD_GETLK, &lock))
            break;
        if (lock.l_type != F_UNLCK)
            first = lock.l_start + lock.l_len;
        errno = EUSERS;
    }
    return fail(fault, "lease-uids");
}
