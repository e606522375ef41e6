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

/* Operations per MiB of the limit: small reads at random places keep a disk busy long before they reach
 * the limit in bytes. The kernel reads files in pieces of 128 KiB, of which 8 are in a MiB. */
#define READS_PER_MIB 16

/* Whether a block device keeps its data in memory. */
static bool is_memory(const char *name)
{
    return !strncmp(name, "ram", 3) || !strncmp(name, "zram", 4);
}

static void limit_disk(int group, int version, const char *name, uint64_t bytes_per_s)
{
    char path[512], device[64], text[256];
    snprintf(path, sizeof path, "/sys/block/%s/dev", name);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return;
    const ssize_t got = read_fd_text(file, device, sizeof device);
    close(file);
    if (got <= 0)
        return;
    device[strcspn(device, "\n")] = 0;
    const uint64_t reads_per_s = (bytes_per_s >> 20) * READS_PER_MIB;
    /* Each write fails if the kernel can't limit reads, or not those of this device. */
    if (version == 1) {
        snprintf(text, sizeof text, "%s %" PRIu64, device, bytes_per_s);
        write_text(group, "blkio.throttle.read_bps_device", text);
        snprintf(text, sizeof text, "%s %" PRIu64, device, reads_per_s);
        write_text(group, "blkio.throttle.read_iops_device", text);
        return;
    }
    snprintf(text, sizeof text, "%s rbps=%" PRIu64 " riops=%" PRIu64, device, bytes_per_s,
             reads_per_s);
    write_text(group, "io.max", text);
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
