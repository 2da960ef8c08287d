/* The tables of implementations that the contract of the blobs port is tested with:
 * blobs_embedded.c, or blobs_s3.c in a program of its own. */
#ifndef KEDGE_TESTS_PORTS_BLOBS_TABLE_H
#define KEDGE_TESTS_PORTS_BLOBS_TABLE_H

#include "tests/ports/world.h"

/* One row an implementation. `open` gives a port without blobs, before each test; `close` may be
 * NULL: then the port's own. */
typedef struct blobs_implementation {
    const char *name;
    kedge_status (*open)(world *around, kedge_blobs *blobs, kedge_error *error);
    void (*close)(kedge_blobs *blobs);
} blobs_implementation;

/* Ends with {0}. */
extern const blobs_implementation blobs_implementations[];
/* The environment variable that names the engine of the table; NULL: it needs none. */
extern const char *const blobs_engine;

#endif
