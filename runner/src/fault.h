/* A failure of the sandbox: the name of the step that failed, and its errno. */
#ifndef DEEMSTER_FAULT_H
#define DEEMSTER_FAULT_H

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "wire.h"

struct fault {
    int error;
    char step[WIRE_STEP_BYTES];
};

/* Records the step that failed with the current errno; returns -1 so that callers can
 * `return fail(…)`. */
static inline int fail(struct fault *fault, const char *step)
{
    fault->error = errno ? errno : EPROTO;
    snprintf(fault->step, sizeof fault->step, "%s", step);
    return -1;
}

static inline int fail_with(struct fault *fault, const char *step, int error)
{
    errno = error;
    return fail(fault, step);
}

static inline void report_put_fault(struct report *report, const struct fault *fault)
{
    report->end = END_FAULT;
    report->error = fault->error;
    memcpy(report->step, fault->step, sizeof report->step);
}

#endif
