/* Finds the functions and types of CPython in a process. */
#define _GNU_SOURCE
#include "python.h"

#include <dlfcn.h>
#include <string.h>

static bool known_version(const char *version)
{
    return (!strncmp(version, "3.11.", 5) || !strncmp(version, "3.12.", 5) ||
            !strncmp(version, "3.13.", 5)) &&
           !strstr(version, "free-threading");
}

bool find_python(struct python *python)
{
#define FIND(name)                                                                             \
    *(void **)&python->name = dlsym(RTLD_DEFAULT, #name);                                      \
    if (!python->name)                                                                         \
        return false;
#define FIND_FUNCTION(result, name, parameters) FIND(name)
    FUNCTIONS(FIND_FUNCTION)
    TYPES(FIND)
    return known_version(python->Py_GetVersion());
}

struct link *previous(const struct link *link)
{
    return (struct link *)(link->previous & ~LINK_FLAGS);
}

struct collector *find_collector(const struct python *python)
{
    struct object *list = python->PyList_New(0); /* is now the last of the youngest objects */
    if (!list)
        return NULL;
    struct link *link = (struct link *)list - 1;
    struct collector *collector = (struct collector *)link->next;
    const struct link *youngest = &collector->generations[0].first;
    const bool right = collector->youngest == youngest && previous(youngest) == link;
    python->Py_DecRef(list);
    return right ? collector : NULL;
}

static void append_all(struct link *list, struct link *added)
{
    if (added->next == added)
        return;
    struct link *first = added->next, *last = previous(added), *before = previous(list);
    before->next = first;
    first->previous = (first->previous & LINK_FLAGS) | (uintptr_t)before;
    last->next = list;
    list->previous = (uintptr_t)last;
    added->next = added;
    added->previous = (uintptr_t)added;
}

void make_objects_old(struct collector *collector)
{
    struct link *oldest = &collector->generations[GENERATIONS - 1].first;
    for (size_t i = GENERATIONS - 1; i-- > 0;)
        append_all(oldest, &collector->generations[i].first);
}
