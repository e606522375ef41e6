/* Limits how fast the programs of a slot read from disks, by its control group. Programs write only
 * to memory (the scratch is a tmpfs), so reading is all that they can do to a disk. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cgroup.h"
#include "kernel.h"

/* Whether a block device keeps its data in memory. */
static bool is_memory(const char *name)
{
    return !strncmp(name, "ram", 3) || !strncmp(name, "zram", 4);
}

static void limit_disk(int group, int version, const char *name, uint64_t bytes_per_s)
{
    char path[512], device[64], text[128];
    snprintf(path, sizeof path, "/sys/block/%s/dev", name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    const ssize_t got = read_fd_text(file, device, sizeof device);
    close(file);
    if (got <= 0)
        return;
    device[strcspn(device, "\n")] = 0;
    snprintf(text, sizeof text, version == 1 ? "%s %" PRIu64 : "%s rbps=%" PRIu64, device,
             bytes_per_s);
    /* Fails if the kernel can't limit reads, or not those of this device. */
    write_text(group, version == 1 ? "blkio.throttle.read_bps_device" : "io.max", text);
}

void limit_reads(int group, int version, uint64_t bytes_per_s)
{
    DIR *disks = opendir("/sys/block");
    if (!disks)
        return;
    for (struct dirent *entry; (entry = readdir(disks));)
        if (*entry->d_name != '.' && !is_memory(entry->d_name))
            limit_disk(group, version, entry->d_name, bytes_per_s);
    closedir(disks);
}
