/* Files that Python puts into the scratch before the program starts. */
#ifndef DEEMSTER_STAGE_H
#define DEEMSTER_STAGE_H

#include <stdint.h>

#include "slot.h"

/* In init: answers the requests on the staging socket until an instruction arrives on the slot's
 * channel, and returns that; 0 if the channel was closed. */
uint32_t stage_files(const struct slot *slot, int socket);

#endif
