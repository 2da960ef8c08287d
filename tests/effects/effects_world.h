/* Logs of a world with what follows their writes: a stream, its reader, a queue, a worker. */
#ifndef KEDGE_TESTS_EFFECTS_EFFECTS_WORLD_H
#define KEDGE_TESTS_EFFECTS_EFFECTS_WORLD_H

#include "tests/log/log_world.h"

#include "backend/effects/apply.h"
#include "backend/effects/reader.h"

typedef struct effects_world {
    test_world *world;
    kedge_environment environment; /* of the queue and the readers */
    kedge_stream stream;
    kedge_queue queue;
    kedge_effects effects;
    int completed; /* snapshots that the worker's function made */
    int passed;    /* records that were passed over */
    int expired;
} effects_world;

/* Opens the stream over the world's records, so that it has every change from now on. */
void effects_begin(effects_world *effects, test_world *world);
void effects_end(effects_world *effects);
/* The same backend as the world has now, after a restart. */
void effects_rebind(effects_world *effects);

/* The options of a reader of the world's stream, by its records with the faults. */
kedge_stream_reader_options effects_reader_options(effects_world *effects);
/* Another reader reads all that there is; must succeed. */
void effects_read(effects_world *effects);
/* A worker for which every other one that is at an item has ended. */
kedge_snapshot_worker effects_worker(effects_world *effects);
/* Works off the queue's messages; must succeed. How many there were. */
int effects_work(effects_world *effects);
/* Trims the changes that there are, all but a few that no reader looks at. */
void effects_expire(effects_world *effects);

/* Appends an entry of the type Snapshot; gives its number. */
int64_t effects_ask(const kedge_log *log);
/* A body that is a blob. */
const char *effects_large(void);
/* The blobs of the journal that carry the tag of a discardable write. */
size_t effects_tagged(effects_world *effects);
/* The entries of a log as "number type", with "*" after those that have the snapshot that is made
 * for them; then "pending" when one is. Lives until the next call but 3. */
const char *effects_text(const kedge_log *log);

#endif
