/* Watches of the status and of the inbox: which of them is due.
 *
 * The worker looks at the status in each round, and marks the watches that it differs for. */
#ifndef KEDGE_SDK_RUNTIME_SYNC_WATCHES_H
#define KEDGE_SDK_RUNTIME_SYNC_WATCHES_H

#include "sdk/runtime/due_watches.h"
#include <kedge/sync.h>

/* All but `due` is the worker's. */
typedef struct kedge_sync_watches {
    kedge_due_watches due;
    bool seen_once;
    kedge_sync_status seen;
    bool inbox_touched; /* nobody was told yet */
} kedge_sync_watches;

/* A round of the worker. `inbox_touched`: the inbox may have changed although its count has not.
 * Returns when to look again, monotonic; 0: when something has changed. */
int64_t kedge_sync_watches_look(kedge_sync_watches *watches, bool inbox_touched);

#endif
