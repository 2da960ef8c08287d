/* Shared by the files of kedge_inspect. */
#ifndef KEDGE_SDK_STORE_INSPECT_INTERNAL_H
#define KEDGE_SDK_STORE_INSPECT_INTERNAL_H

#include "sdk/store/inspect.h"
#include "sdk/store/store_internal.h"

struct kedge_inspect {
    const kedge_environment *environment;
    char path[KEDGE_STORE_PATH_BYTES - KEDGE_STORE_NAME_BYTES];
    kedge_store_db outbox;
    kedge_store_db cache; /* `handle` NULL: there is none */
    kedge_buffer line;
};

/* One snapshot of both files, and the rows that say where they stand. A cache that is not there
 * stands at version 0 of no client. */
typedef struct kedge_inspect_position {
    kedge_outbox_meta outbox;
    kedge_cache_meta cache;
} kedge_inspect_position;

kedge_status kedge_inspect_begin(kedge_inspect *inspect, kedge_inspect_position *position,
                                 kedge_error *error);
void kedge_inspect_end(kedge_inspect *inspect);

/* Gives the line to the sink and empties it. */
kedge_status kedge_inspect_put(kedge_inspect *inspect, kedge_inspect_sink sink, kedge_error *error);
/* A line with an item, or the project record. An empty value: it was deleted. */
kedge_status kedge_inspect_put_item(kedge_inspect *inspect, kedge_inspect_sink sink,
                                    kedge_bytes collection, const kedge_cache_row *row,
                                    kedge_error *error);

#endif
