/* The views of a slot: what the programs of one language see of the host's files.
 *
 * A view is a directory outside the root of programs. In it is a mount for each top directory (usr,
 * etc), with bind mounts of the host's files below it. A slot builds all views once. A run that
 * needs another view than the run before moves the old mounts back to their directory and the new
 * ones into the root, which takes the same short time however many files a view has. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernel.h"
#include "slot.h"

static const struct {
    const char *path, *text;
} FILES[] = {
    {"etc/passwd", "root:x:0:0:root:/:/usr/sbin/nologin\n"
                   "program:x:1000:1000:program:/work:/usr/sbin/nologin\n"},
    {"etc/group", "root:x:0:\nprogram:x:1000:\n"},
    {"etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"},
    {"etc/hosts", "127.0.0.1 localhost\n"},
    {"etc/hostname", "box\n"},
    {"etc/timezone", "Etc/UTC\n"},
};

/* ---- reading the list ---- */

/* Returns the string at *at and moves *at behind it; NULL if there is none. */
static const char *next_string(char **at, const char *end)
{
    char *text = *at;
    char *stop = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    if (!stop)
        return NULL;
    *at = stop + 1;
    return text;
}

/* Finds a source among the sources of all views, so that each is cloned only once. */
static int source_number(struct views *views, const char *source)
{
    for (int i = views->source_count - 1; i >= 0; i--)
        if (!strcmp(views->sources[i], source))
            return i;
    views->sources[views->source_count] = source;
    return views->source_count++;
}

static int read_entry(struct views *views, char kind, char **at, const char *end)
{
    const char *text = next_string(at, end), *target = next_string(at, end);
    if (!views->count || !text || !target || *target != '/' || !strchr(target + 1, '/') ||
        strlen(target) > MAX_TARGET)
        return -1;
    struct view_entry *entry = &views->entries[views->entry_count++];
    int source = kind == 'b'   ? source_number(views, text)
                 : kind == 'l' ? SHOW_LINK
                               : SHOW_EMPTY;
    *entry = (struct view_entry){text, target, source};
    views->list[views->count - 1].end = views->entry_count;
    return 0;
}

int views_read(int fd, struct views *views)
{
    struct stat status;
    if (fstat(fd, &status) || status.st_size > MAX_VIEW_BYTES)
        return -1;
    size_t bytes = (size_t)status.st_size;
    char *text = malloc(bytes + 1);
    views->entries =
        calloc(bytes / 6 + 1, sizeof *views->entries); /* b, text, /x/y, with NULs */
    views->sources = calloc(bytes / 6 + 1, sizeof *views->sources);
    if (!text || !views->entries || !views->sources ||
        pread(fd, text, bytes, 0) != status.st_size)
        return -1;
    const char *end = text + bytes;
    for (const char *kind; (kind = next_string(&text, end));) {
        if (!strcmp(kind, "view") && views->count < MAX_VIEWS) {
            struct view *view = &views->list[views->count++];
            view->first = view->end = views->entry_count;
        } else if ((strcmp(kind, "bind") && strcmp(kind, "link") && strcmp(kind, "hide")) ||
                   read_entry(views, *kind, &text, end)) {
            return -1;
        }
    }
    return text == end && views->count ? close(fd) : -1;
}

/* ---- building, in the spawner ---- */

int make_parents(const char *path)
{
    char part[PATH_MAX];
    snprintf(part, sizeof part, "%s", path);
    for (char *at = strchr(part, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        if (mkdir(part, 0755) && errno != EEXIST)
            return -1;
        *at = '/';
    }
    return 0;
}

int attach_tree(int tree, const char *path)
{
    struct stat status;
    if (make_parents(path) || fstat(tree, &status))
        return -1;
    int made = S_ISDIR(status.st_mode) ? mkdir(path, 0755) : mknod(path, S_IFREG | 0444, 0);
    if (made && errno != EEXIST)
        return -1;
    return kernel_move_mount(tree, AT_FDCWD, path, 0);
}

int make_mount(const char *path)
{
    int tree = mkdir(path, 0755)
                   ? -1
                   : kernel_open_tree(AT_FDCWD, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
    if (tree < 0)
        return -1;
    if (kernel_move_mount(tree, AT_FDCWD, path, 0)) {
        close(tree);
        return -1;
    }
    return tree;
}

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0)
        return -1;
    int result = write_fd_text(fd, text);
    close(fd);
    return result;
}

/* Adds a mount for the top directory of `path` to the view, unless it has one. */
static int add_part(struct slot *slot, int view, const char *path)
{
    struct view_parts *parts = &slot->views[view];
    size_t length = strcspn(path, "/");
    for (int i = 0; i < parts->count; i++)
        if (strlen(parts->list[i].name) == length &&
            !strncmp(parts->list[i].name, path, length))
            return 0;
    if (parts->count == MAX_VIEW_PARTS || length >= sizeof parts->list->name) {
        errno = E2BIG;
        return -1;
    }
    struct view_part *part = &parts->list[parts->count++];
    memcpy(part->name, path, length);
    char place[PATH_MAX], root[PATH_MAX];
    snprintf(place, sizeof place, "views/%d/%s", view, part->name);
    snprintf(root, sizeof root, "box/%s", part->name);
    if (mkdir(root, 0755) && errno != EEXIST)
        return -1;
    part->mount = make_mount(place);
    return part->mount < 0 ? -1 : 0;
}

static int attach_copy(const char *from, const char *path)
{
    int copy =
        kernel_open_tree(AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
    if (copy < 0)
        return -1;
    int result = attach_tree(copy, path);
    close(copy);
    return result;
}

static int add_entry(struct slot *slot, int view, int number, int *first_use)
{
    const struct views *views = &slot->options->views;
    const struct view_entry *entry = &views->entries[number];
    char path[PATH_MAX], first[PATH_MAX];
    snprintf(path, sizeof path, "views/%d%s", view, entry->target);
    if (add_part(slot, view, entry->target + 1))
        return -1;
    if (entry->source == SHOW_LINK)
        return make_parents(path) || symlink(entry->text, path) ? -1 : 0;
    if (entry->source == SHOW_EMPTY)
        return attach_copy("empty", path);
    if (first_use[entry->source] < 0) {
        first_use[entry->source] = number;
        return attach_tree(slot->trees[entry->source], path);
    }
    int used = first_use[entry->source], owner = 0;
    while (used >= views->list[owner].end)
        owner++;
    snprintf(first, sizeof first, "views/%d%s", owner, views->entries[used].target);
    return attach_copy(first, path);
}

static int add_own_files(int view, const struct view_parts *parts)
{
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
        snprintf(path, sizeof path, "views/%d/%s", view, FILES[i].path);
        if (write_file(path, FILES[i].text))
            return -1;
    }
    snprintf(path, sizeof path, "views/%d/var/tmp", view);
    for (int i = 0; i < parts->count; i++)
        if (!strcmp(parts->list[i].name, "var") && symlink("/work", path))
            return -1;
    return 0;
}

static int build_view(struct slot *slot, int number, int *first_use)
{
    const struct view *view = &slot->options->views.list[number];
    struct view_parts *parts = &slot->views[number];
    char path[64];
    snprintf(path, sizeof path, "views/%d", number);
    if (mkdir(path, 0755) || add_part(slot, number, "usr") || add_part(slot, number, "etc"))
        return -1;
    parts->place = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (parts->place < 0)
        return -1;
    for (int i = view->first; i < view->end; i++)
        if (add_entry(slot, number, i, first_use))
            return -1;
    if (add_own_files(number, parts))
        return -1;
    struct mount_attr attr = {.attr_set =
                                  MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV};
    for (int i = 0; i < parts->count; i++)
        if (kernel_mount_setattr(parts->list[i].mount, "", AT_EMPTY_PATH, &attr))
            return -1;
    return 0;
}

int views_build(struct slot *slot)
{
    const struct views *views = &slot->options->views;
    if (mkdir("empty", 0555))
        return -1;
    int *first_use = malloc(((size_t)views->source_count + 1) * sizeof *first_use);
    if (!first_use)
        return -1;
    for (int i = 0; i < views->source_count; i++)
        first_use[i] = -1;
    int result = 0;
    for (int i = 0; !result && i < views->count; i++)
        result = build_view(slot, i, first_use);
    free(first_use);
    return result;
}

/* ---- using, in an init ---- */

int view_attach(struct slot *slot, unsigned wanted)
{
    struct shared *shared = slot->shared;
    if (shared->view == (int)wanted)
        return 0;
    if (shared->view >= 0) {
        const struct view_parts *old = &slot->views[shared->view];
        for (int i = 0; i < old->count; i++)
            if (kernel_move_mount(old->list[i].mount, old->place, old->list[i].name,
                                  slot->token))
                return -1;
    }
    shared->view = -1;
    const struct view_parts *parts = &slot->views[wanted];
    for (int i = 0; i < parts->count; i++) {
        char path[sizeof parts->list->name + 2];
        snprintf(path, sizeof path, "/%s", parts->list[i].name);
        if (kernel_move_mount(parts->list[i].mount, AT_FDCWD, path, slot->token))
            return -1;
    }
    shared->view = (int)wanted;
    return 0;
}
