/* The state that a program would inherit from whoever started the service. */
#ifndef DEEMSTER_STATE_H
#define DEEMSTER_STATE_H

#include <stdint.h>

#include "fault.h"

/* In the runner, before anything else. */
int reset_inherited_state(struct fault *fault);
/* In the spawner: replaces the session keyring of whoever started the service. */
int leave_session_keyring(void);
/* Sets the soft and the hard limit; to the old hard limit if that is lower and only root may
 * raise it. */
int set_limit(int resource, uint64_t max);

#endif
