/* Unit tests of the request parser: each of its checks fails once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire.h"

static int failures;

#define EXPECT(condition)                                                                      \
    do {                                                                                       \
        if (!(condition)) {                                                                    \
            printf("FAILED %s:%d: %s\n", __FILE__, __LINE__, #condition);                      \
            failures++;                                                                        \
        }                                                                                      \
    } while (0)

static const char TEXT[] =
    "/bin/true\0one\0HOME=/work"; /* the literal's own NUL ends the last string */

/* Makes a packet on the heap of exactly the stated length, so that the sanitizer detects reads
 * beyond it. */
static char *packet(struct request_head *head, size_t *bytes)
{
    *bytes = sizeof *head + sizeof TEXT;
    char *out = malloc(*bytes);
    if (!out)
        abort();
    memcpy(out, head, sizeof *head);
    memcpy(out + sizeof *head, TEXT, sizeof TEXT);
    return out;
}

static struct request_head valid_head(void)
{
    return (struct request_head){
        .magic = WIRE_MAGIC,
        .instruction = INSTRUCTION_RUN,
        .cpu_ns = 1,
        .wall_ns = 1,
        .memory_bytes = 64 << 20,
        .file_bytes = 1,
        .scratch_bytes = 1,
        .scratch_inodes = 1,
        .processes = 1,
        .open_files = 64,
        .argc = 2,
        .envc = 1,
        .text_bytes = sizeof TEXT,
    };
}

static const char *parse(struct request_head head, long cut)
{
    static struct request out;
    size_t bytes;
    char *copy = packet(&head, &bytes);
    const char *wrong = wire_parse_request(copy, (size_t)((long)bytes - cut), &out);
    free(copy);
    return wrong;
}

static void accepts_a_valid_request(void)
{
    struct request_head head = valid_head();
    static struct request out;
    size_t bytes;
    char *copy = packet(&head, &bytes);
    EXPECT(wire_parse_request(copy, bytes, &out) == NULL);
    EXPECT(!strcmp(out.argv[0], "/bin/true") && !strcmp(out.argv[1], "one") && !out.argv[2]);
    EXPECT(!strcmp(out.envp[0], "HOME=/work") && !out.envp[1]);
    free(copy);
}

#define REFUSES(change)                                                                        \
    do {                                                                                       \
        struct request_head head = valid_head();                                               \
        change;                                                                                \
        EXPECT(parse(head, 0) != NULL);                                                        \
    } while (0)

static void refuses_each_wrong_field(void)
{
    REFUSES(head.magic = 0);
    REFUSES(head.instruction = INSTRUCTION_CANCEL);
    REFUSES(head.flags = 1u << 31);
    REFUSES(head.flags = REQUEST_FLAGS_KNOWN + 1);
    REFUSES(head.flags = REQUEST_CODE | REQUEST_SAME_CODE);
    REFUSES(head.flags = REQUEST_DATA | REQUEST_SAME_DATA);
    REFUSES(head.flags = REQUEST_PAIRED | REQUEST_TERMINAL);
    REFUSES(head.flags = REQUEST_STAGE | REQUEST_AWAIT_EVENT);
    REFUSES(head.argc = 0);
    REFUSES(head.argc = WIRE_MAX_STRINGS + 1);
    REFUSES(head.envc = WIRE_MAX_STRINGS + 1);
    REFUSES(head.envc = UINT32_MAX);
    REFUSES(head.argc = 1);     /* strings left over */
    REFUSES(head.argc = 3);     /* one too few for the environment */
    REFUSES(head.text_bytes--); /* differs from the packet */
    REFUSES(head.text_bytes = UINT32_MAX);
    REFUSES(head.cpu_ns = 0);
    REFUSES(head.wall_ns = 0);
    REFUSES(head.memory_bytes = 0);
    REFUSES(head.memory_bytes = WIRE_MIN_MEMORY - 1);
    REFUSES(head.memory_bytes = UINT64_MAX);
    REFUSES(head.cpu_ns = UINT64_MAX);
    REFUSES(head.wall_ns = UINT64_MAX);
    REFUSES(head.stack_bytes = UINT64_MAX);
    REFUSES(head.file_bytes = UINT64_MAX);
    REFUSES(head.scratch_bytes = UINT64_MAX);
    REFUSES(head.scratch_bytes = 0);
    REFUSES(head.scratch_inodes = 0);
    REFUSES(head.processes = 0);
    REFUSES(head.open_files = WIRE_MIN_FILES - 1);
}

static void accepts_each_known_flag(void)
{
    for (uint32_t flag = 1; flag & REQUEST_FLAGS_KNOWN; flag <<= 1) {
        struct request_head head = valid_head();
        head.flags = flag;
        EXPECT(parse(head, 0) == NULL);
    }
}

static void refuses_a_cut_packet(void)
{
    size_t whole = sizeof(struct request_head) + sizeof TEXT;
    for (size_t cut = 1; cut <= whole; cut++)
        EXPECT(parse(valid_head(), (long)cut) != NULL);
}

static void refuses_a_relative_program(void)
{
    struct request_head head = valid_head();
    static struct request out;
    size_t bytes;
    char *copy = packet(&head, &bytes);
    copy[sizeof head] = 'x';
    EXPECT(wire_parse_request(copy, bytes, &out) != NULL);
    free(copy);
}

static void refuses_text_without_an_end(void)
{
    struct request_head head = valid_head();
    static struct request out;
    size_t bytes;
    char *copy = packet(&head, &bytes);
    copy[bytes - 1] = 'x';
    EXPECT(wire_parse_request(copy, bytes, &out) != NULL);
    free(copy);
}

static const char *check_stage(uint32_t kind, uint32_t mode, const char *text, size_t bytes)
{
    struct stage_request *request = calloc(1, sizeof *request);
    if (!request)
        abort();
    request->magic = WIRE_MAGIC;
    request->kind = kind;
    request->mode = mode;
    request->text_bytes = (uint32_t)bytes;
    memcpy(request->text, text, bytes);
    const char *wrong =
        wire_check_stage_request(request, offsetof(struct stage_request, text) + bytes);
    free(request);
    return wrong;
}

static void checks_requests_to_stage(void)
{
    EXPECT(check_stage(STAGE_FILE, 0644, "a/b", 4) == NULL);
    EXPECT(check_stage(STAGE_LINK, 0, "a\0/b", 5) == NULL);
    EXPECT(check_stage(STAGE_FILE, 0644, "a/b", 3) != NULL);  /* no end */
    EXPECT(check_stage(STAGE_FILE, 0644, "a\0b", 4) != NULL); /* one string too many */
    EXPECT(check_stage(STAGE_LINK, 0, "a", 2) != NULL);       /* no target */
    EXPECT(check_stage(STAGE_FILE, 04755, "a", 2) != NULL);
    EXPECT(check_stage(0, 0644, "a", 2) != NULL);
    EXPECT(check_stage(STAGE_LINK + 1, 0644, "a", 2) != NULL);
    EXPECT(check_stage(STAGE_FILE, 0644, "", 0) != NULL);
}

int main(void)
{
    accepts_a_valid_request();
    checks_requests_to_stage();
    refuses_each_wrong_field();
    accepts_each_known_flag();
    refuses_a_cut_packet();
    refuses_a_relative_program();
    refuses_text_without_an_end();
    printf("wire: %d failed\n", failures);
    return failures != 0;
}
