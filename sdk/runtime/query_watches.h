/* Watches of queries: which of them a commit concerns. */
#ifndef KEDGE_SDK_RUNTIME_QUERY_WATCHES_H
#define KEDGE_SDK_RUNTIME_QUERY_WATCHES_H

#include "sdk/store/store.h"
#include <kedge/watch.h>

/* Marks the watches whose queries read what was changed; any thread. NULL: anything may have
 * changed. */
void kedge_query_watches_mark(kedge_db *db, const kedge_change_set *changes);

#endif
