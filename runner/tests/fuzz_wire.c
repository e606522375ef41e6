/* Fuzz target: whatever the request parser accepts must satisfy these conditions. */
#include <stdlib.h>
#include <string.h>

#include "wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

static void check_strings(char **strings, uint32_t count, const char *from, const char *to)
{
    for (uint32_t i = 0; i < count; i++)
        if (strings[i] < from || strings[i] + strlen(strings[i]) >= to)
            abort();
    if (strings[count])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct request out;
    char *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, bytes);
    if (!wire_parse_request(copy, bytes, &out)) {
        check_strings(out.argv, out.head.argc, copy, copy + bytes);
        check_strings(out.envp, out.head.envc, copy, copy + bytes);
        if (out.argv[0][0] != '/' || out.head.memory_bytes < WIRE_MIN_MEMORY)
            abort();
        const uint32_t flags = out.head.flags;
        if (flags & ~(uint32_t)REQUEST_FLAGS_KNOWN ||
            (flags & REQUEST_CODE && flags & REQUEST_SAME_CODE) ||
            (flags & REQUEST_DATA && flags & REQUEST_SAME_DATA) ||
            (flags & REQUEST_PAIRED && flags & REQUEST_TERMINAL) ||
            (flags & REQUEST_STAGE && flags & REQUEST_AWAIT_EVENT))
            abort();
    }
    free(copy);
    return 0;
}
