/* The implementations of the stream port on which the tests of its contract run. */
#ifndef KEDGE_TESTS_PORTS_STREAM_TABLE_H
#define KEDGE_TESTS_PORTS_STREAM_TABLE_H

#include "backend/ports/stream.h"
#include "tests/ports/world.h"

typedef struct stream_ports {
    kedge_records records;
    kedge_stream stream;
} stream_ports;

/* One row for each implementation. */
typedef struct stream_implementation {
    const char *name;
    kedge_status (*open)(world *around, stream_ports *ports, kedge_error *error);
    void (*close)(stream_ports *ports);
    /* Closes all shards that are open, so that children follow; NULL: it cannot be made to. */
    void (*roll)(world *around, stream_ports *ports);
    /* Trims all changes but the newest one; NULL: it cannot be made to. */
    void (*trim)(world *around, stream_ports *ports);
    /* It may list a shard and still say that the start of the shard is trimmed. */
    bool refuses_starts;
} stream_implementation;

/* The table that the program was linked with; ends with {0}. */
extern const stream_implementation stream_implementations[];
/* The environment variable that names the engine of the table; NULL: it needs none. */
extern const char *const stream_engine;

#endif
