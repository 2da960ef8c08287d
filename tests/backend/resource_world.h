/* Resources in a test_world, written in transactions or in order: short forms of the calls. */
#ifndef KEDGE_TESTS_BACKEND_RESOURCE_WORLD_H
#define KEDGE_TESTS_BACKEND_RESOURCE_WORLD_H

#include "tests/backend/world.h"

#include "backend/resource/resource.h"

/* acme, kind "plan", id "p 1/ü". */
extern const kedge_resource_ref plan;

int resource_setup_memory_in_order(void **state);
int resource_setup_sqlite_in_order(void **state);

#define IN_TRANSACTIONS(test) OVER_BOTH(test)
#define IN_ORDER_OVER(test, stores, name)                                                          \
    {                                                                                              \
#test " (" name ", in order)", test, resource_setup_##stores##_in_order, world_teardown,   \
            NULL                                                                                   \
    }
#ifdef KEDGE_TEST_DYNAMODB
#define IN_ORDER(test) IN_ORDER_OVER(test, memory, STORES_NAME)
#else
#define IN_ORDER(test)                                                                             \
    IN_ORDER_OVER(test, memory, STORES_NAME), IN_ORDER_OVER(test, sqlite, "SQLite")
#endif
#define IN_BOTH_WAYS(test) IN_TRANSACTIONS(test), IN_ORDER(test)

/* Of `plan`, by Ann. `uid`: a digit that fills the whole uid; 0: random. A put gives the version,
 * or minus the status. */
int64_t resource_put(test_world *world, char uid, int64_t expected, const char *value);
int64_t resource_rollback(test_world *world, char uid, int64_t expected, int64_t to);
kedge_status resource_delete(test_world *world, int64_t expected);
/* What failed last. */
const char *resource_code(void);
const char *resource_message(void);

/* "version:value" of a version (0: the latest), or the code of the error. Lives until the next
 * call. */
const char *resource_text(test_world *world, int64_t version);
/* All versions, the newest first, as "3:c 2:b 1:a", after "latest " with the latest one; by pages
 * of `limit`. */
const char *resource_versions(test_world *world, uint32_t limit);

/* What must hold whatever happened: versions are 1, 2, 3…, the list and the single reads agree, and
 * no two versions have one uid. */
void resource_check(test_world *world);

/* The records of the history of `plan` as they stand in the store, open ones with a '?':
 * "1:a 2:b?". */
const char *resource_history(test_world *world);

#endif
