/* What the line `started` of the log tells of an app's mutators. */
#ifndef KEDGE_BACKEND_FRONT_MUTATORS_H
#define KEDGE_BACKEND_FRONT_MUTATORS_H

#include "common/json.h"

#include <kedge/mutator.h>

#define KEDGE_MUTATORS_LOGGED 100

/* The member `mutators`: [{"name","version"},…] of the first KEDGE_MUTATORS_LOGGED. When there are
 * more, `mutators_omitted` tells how many. */
void kedge_mutators_log(kedge_json_writer *json, const kedge_mutator *mutators, size_t count);

#endif
