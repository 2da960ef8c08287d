/* What a test of a port stands in: a fresh folder, a clock that only the test moves, randomness
 * from a seed; and short forms of the ports' calls. */
#ifndef KEDGE_TESTS_PORTS_WORLD_H
#define KEDGE_TESTS_PORTS_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/ports/blobs.h"
#include "backend/ports/queue.h"
#include "backend/ports/records.h"
#include "common/environment.h"

#include <stdatomic.h>

#define WORLD_START_MS 1700000000000

typedef struct world {
    kedge_environment environment;
    _Atomic int64_t now_ms;
    _Atomic uint64_t randomness;
    char folder[64];
} world;

/* Makes the world, with a fresh folder. The struct must not move afterwards. */
void world_make(world *self, const kedge_allocator *allocator);
void world_end(world *self); /* removes the folder */
/* A path in the folder, until the next call. */
const char *world_path(const world *self, const char *name, char path[128]);

/* Runs the thread function on `count` threads at once and waits for all of them. */
void world_run_threads(void *(*run)(void *argument), void *argument, size_t count);

#define assert_ok(call)               assert_int_equal((call), KEDGE_OK)
#define assert_status(call, expected) assert_int_equal((call), (expected))
#define assert_bytes(actual, text)    assert_true(kedge_bytes_equal_text((actual), (text)))

#endif
