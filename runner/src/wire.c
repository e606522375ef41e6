/* Parses requests from Python, which it does not trust to be well-formed. */
#include "wire.h"

#include <string.h>

_Static_assert(sizeof(struct request_head) == 96,
               "src/deemster/sandbox/wire.py unpacks this layout");
_Static_assert(sizeof(struct report) == 96, "src/deemster/sandbox/wire.py unpacks this layout");
_Static_assert(sizeof(struct event) == 56, "src/deemster/sandbox/wire.py unpacks this layout");
_Static_assert(offsetof(struct stage_request, text) == 16,
               "src/deemster/sandbox/wire.py packs this layout");

/* Splits `count` strings off *text, which has *left bytes. */
static int split_strings(char **text, size_t *left, uint32_t count, char **out)
{
    for (uint32_t i = 0; i < count; i++) {
        char *end = memchr(*text, 0, *left);
        if (!end)
            return -1;
        out[i] = *text;
        *left -= (size_t)(end + 1 - *text);
        *text = end + 1;
    }
    out[count] = NULL;
    return 0;
}

const char *wire_parse_request(char *packet, size_t bytes, struct request *out)
{
    struct request_head *head = &out->head;
    if (bytes < sizeof *head)
        return "shorter than its head";
    if (bytes > WIRE_MAX_REQUEST)
        return "longer than a request may be";
    memcpy(head, packet, sizeof *head);
    if (head->magic != WIRE_MAGIC || head->instruction != INSTRUCTION_RUN)
        return "not a run request";
    if (head->flags & ~(uint32_t)REQUEST_FLAGS_KNOWN)
        return "unknown flags";
    if ((head->flags & REQUEST_CODE && head->flags & REQUEST_SAME_CODE) ||
        (head->flags & REQUEST_DATA && head->flags & REQUEST_SAME_DATA) ||
        (head->flags & REQUEST_PAIRED && head->flags & REQUEST_TERMINAL) ||
        (head->flags & REQUEST_STAGE && head->flags & REQUEST_AWAIT_EVENT))
        return "flags that exclude each other";
    if (head->argc < 1 || head->argc > WIRE_MAX_STRINGS || head->envc > WIRE_MAX_STRINGS)
        return "too few or too many strings";
    if (head->text_bytes != bytes - sizeof *head)
        return "the text has another length";
    if (!head->cpu_ns || !head->wall_ns || !head->memory_bytes || !head->processes ||
        !head->scratch_inodes || !head->scratch_bytes)
        return "a limit is missing";
    if (head->memory_bytes < WIRE_MIN_MEMORY || head->open_files < WIRE_MIN_FILES)
        return "a limit is too low to start anything";
    if (head->memory_bytes > INT64_MAX / 2 || head->scratch_bytes > INT64_MAX / 2 ||
        head->file_bytes > INT64_MAX / 2 || head->stack_bytes > INT64_MAX / 2 ||
        head->cpu_ns > INT64_MAX / 2 || head->wall_ns > INT64_MAX / 2)
        return "a limit is out of range";
    char *text = packet + sizeof *head;
    size_t left = head->text_bytes;
    if (split_strings(&text, &left, head->argc, out->argv) ||
        split_strings(&text, &left, head->envc, out->envp) || left)
        return "strings don't fill the text";
    if (out->argv[0][0] != '/')
        return "the program's path is not absolute";
    return NULL;
}

const char *wire_check_stage_request(const struct stage_request *request, size_t bytes)
{
    const size_t head = offsetof(struct stage_request, text);
    if (bytes <= head || bytes > sizeof *request)
        return "too short or too long";
    if (request->magic != WIRE_MAGIC || request->kind < STAGE_FILE ||
        request->kind > STAGE_LINK)
        return "not a request to stage";
    if (request->mode & ~(uint32_t)0777)
        return "more than permissions in the mode";
    if (request->text_bytes != bytes - head)
        return "the text has another length";
    size_t left = request->text_bytes;
    const char *text = request->text;
    for (unsigned strings = request->kind == STAGE_LINK ? 2 : 1; strings; strings--) {
        const char *end = memchr(text, 0, left);
        if (!end)
            return "a string does not end";
        left -= (size_t)(end + 1 - text);
        text = end + 1;
    }
    return left ? "strings don't fill the text" : NULL;
}
