/* Backends over one pair of ports, in SQLite and a folder or elsewhere, with faults put between
 * them and the backend: what the tests of the processor share. */
#ifndef KEDGE_TESTS_BACKEND_WORLD_H
#define KEDGE_TESTS_BACKEND_WORLD_H

/* cmocka.h wants these in front of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/versioned/commit/processor.h"
#include "backend/versioned/projects/projects.h"
#include "mutate/overlay.h"
#include "tests/backend/stores.h"
#include "tests/support/sampling.h"

#include <stdatomic.h>

/* What happens at a port call. Calls are counted from 1 over records and blobs together. */
typedef enum world_fault {
    WORLD_FAULT_NONE,
    WORLD_FAULT_BEFORE, /* the call fails and does nothing */
    WORLD_FAULT_AFTER   /* the call does its work and fails: timed out but done */
} world_fault;

typedef struct test_world {
    kedge_environment environment;
    kedge_records store_records; /* the real ones */
    kedge_blobs store_blobs;
    kedge_records records; /* with the faults in front */
    kedge_blobs blobs;
    kedge_registry *registry;
    kedge_backend *backend;
    kedge_cadence cadence;
    size_t cache_bytes;
    /* Changes the options of the backends that are made from then on; may be NULL. */
    void (*tune)(struct test_world *world, kedge_backend_options *options);
    char folder[64]; /* "": stores of tests/backend/stores.h */
    atomic_ullong calls;
    atomic_ullong writes; /* puts, deletes and transactions among them */
    atomic_ullong transactions;
    bool weighs;             /* looks up what transactions delete */
    size_t weight_bytes_max; /* the most that one has deleted besides its largest record */
    uint64_t fault_at;
    bool fault_goes_on; /* every call from fault_at on, as after a crash */
    bool fault_writes_only;
    world_fault fault;
    uint64_t faults;
    atomic_ullong pauses;
    uint64_t deaths; /* by the mutator test.die */
    /* Run by the mutator test.wait, which is then stopped undecided. NULL: it does nothing. */
    void (*undecided)(struct test_world *world);
    /* In memory: while `stale`, reads that are not consistent see what was there at the last
     * world_lag. */
    bool stale;
    kedge_records replica;
    bool blobs_away;  /* every call of the blobs fails */
    bool stores_away; /* … and of the records */
    /* Run in front of call number `meddle_at`, which is then taken back. */
    uint64_t meddle_at;
    void (*meddle)(struct test_world *world);
} test_world;

/* The setups that are not SQLite's stand on tests/backend/stores.h. */
int world_setup_memory(void **state);
int world_setup_sqlite(void **state);
int world_setup_seed(void **state); /* the seed cadence */
int world_teardown(void **state);

#define OVER_MEMORY(test)                                                                          \
    {                                                                                              \
#test " (" STORES_NAME ")", test, world_setup_memory, world_teardown, NULL                 \
    }
#define OVER_SQLITE(test)                                                                          \
    {                                                                                              \
#test " (SQLite)", test, world_setup_sqlite, world_teardown, NULL                          \
    }
#define OVER_SEED(test)                                                                            \
    {                                                                                              \
#test " (" STORES_NAME ", seed cadence)", test, world_setup_seed, world_teardown, NULL     \
    }
#ifdef KEDGE_TEST_DYNAMODB
#define WORLD_STRIDE    11 /* loops over all port calls take every so manyth on a real engine */
#define OVER_BOTH(test) OVER_MEMORY(test)
#else
#define WORLD_STRIDE    SAMPLING_FEWER
#define OVER_BOTH(test) OVER_MEMORY(test), OVER_SQLITE(test)
#endif
#define OVER_ALL(test) OVER_BOTH(test), OVER_SEED(test)

/* The project acme/notes, made by the setup; Ann and Bob. */
extern const kedge_project_ref notes;
extern const kedge_identity ann, bob;

/* Another backend over the same ports, as after a crash or in another process. */
kedge_backend *world_new_backend(test_world *world);
void world_restart(test_world *world); /* replaces world->backend, nothing cached */

void world_arm(test_world *world, world_fault fault, uint64_t at, bool goes_on, bool writes_only);
void world_disarm(test_world *world);
/* From now on reads that are not consistent see the records as they are now. */
void world_lag(test_world *world);

/* ---- pushing ---- */

typedef struct push_builder {
    kedge_push_mutation mutations[512];
    char texts[512][1024];
    kedge_push_sender sender;
    kedge_push push;
} push_builder;

/* In the group "g1". Adds kedge.put of {"v":value} under items/id; the digest is of its args. */
void push_begin(push_builder *builder);
void push_add(push_builder *builder, const char *client, int64_t id, const char *item, int value);
/* Any mutation; the args are copied. */
void push_add_call(push_builder *builder, const char *client, int64_t id, const char *name,
                   const char *args);
/* A kedge.put of {"v":value,"text":"xxx…"} with `size` bytes of text, for bodies that go to blobs.
 * `size` is at most 100,000; three at once. */
void push_add_large(push_builder *builder, const char *client, int64_t id, const char *item,
                    int value, size_t size);
/* The same of a text that hardly compresses, and that `value` makes: from 12,000 bytes on args go
 * to blobs, too. */
void push_add_dense(push_builder *builder, const char *client, int64_t id, const char *item,
                    int value, size_t size);
void push_set_origin(push_builder *builder, const char *client, int64_t id);
/* Of the whole push. */
void push_set_sender(push_builder *builder, const kedge_identity *who);
kedge_status push_send(push_builder *builder, kedge_backend *backend, const kedge_identity *who,
                       kedge_push_result *result);

/* Random numbers that are the same in every run. */
uint32_t world_random(uint64_t *seed);

/* One put by Ann, which must end well; gives the version. */
int64_t world_put(test_world *world, const char *client, int64_t id, const char *item, int value);
/* One push of one put by Ann: its problem. */
kedge_push_problem world_try(test_world *world, const char *client, int64_t id, const char *item,
                             int value);

/* ---- reading, by a backend of its own that has nothing in memory ---- */

int64_t world_head(test_world *world);
int64_t world_lmid(test_world *world, const char *client);
/* The value under items/id at the head as text, or "absent". Lives until the next call. */
const char *world_value(test_world *world, const char *item);
/* Checks I1, I2, I3 and I5 over everything that is stored, in full. */
void world_check(test_world *world);
/* The head's state as one text: the project record, then every item in order. For comparing. */
void world_dump(test_world *world, int64_t version, kedge_buffer *out);
/* The same of other projects. */
void world_check_project(test_world *world, const kedge_project_ref *ref);
void world_dump_project(test_world *world, const kedge_project_ref *ref, int64_t version,
                        kedge_buffer *out);

/* Deletes every record that is not a version or a project: index rows and checkpoints. */
void world_delete_derived(test_world *world);
void world_delete_derived_of(test_world *world, const kedge_project_ref *ref);
/* What the largest record of a project counts for. */
size_t world_largest_record(test_world *world, const kedge_project_ref *ref);
/* The first blob with this prefix, which must be there. */
void world_remove_one_blob(test_world *world, const char *prefix);
void world_remove_folder(const char *path);
size_t world_count_records(test_world *world, const char *prefix);

#endif
