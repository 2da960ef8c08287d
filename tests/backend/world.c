/* A world: ports, a backend, pushes. */
#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "backend/sqlite/sqlite_ports.h"
#include "common/error.h"
#include "common/hash.h"
#include "mutate/transaction.h"
#include "tests/backend/stores.h"
#include "tests/backend/world_ports.h"
#include "tests/support/project.h"
#include "tests/support/temporary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const kedge_project_ref notes = {{"acme", 4}, {"notes", 5}};
const kedge_identity ann = {"ann", "writer", "acme", NULL, 0, false};
const kedge_identity bob = {"bob", "writer", "acme", NULL, 0, false};

/* ---- a mutator ---- */

/* Puts `count` items of about 150 bytes, from number `from` on. */
static kedge_status fill(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                         kedge_error *error)
{
    (void)userdata;
    int64_t from = 0;
    int64_t count = 0;
    if (kedge_args_integer(args, args_size, "from", &from, error) != KEDGE_OK ||
        kedge_args_integer(args, args_size, "count", &count, error) != KEDGE_OK) {
        return kedge_tx_reject(tx, "args-wrong", "from and count are integers", error);
    }
    for (int64_t i = from; i < from + count; i++) {
        char id[32];
        char value[256];
        int id_size = snprintf(id, sizeof id, "item-%08" PRId64, i);
        int size = snprintf(value, sizeof value, "{\"n\":%" PRId64 ",\"text\":\"%0120" PRId64 "\"}",
                            i, i * 7919);
        kedge_status status =
            kedge_tx_put(tx, "items", id, (size_t)id_size, value, (size_t)size, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

/* Puts `count` items with a field `text` of 900 digits and letters that hardly compress. */
static kedge_status scatter(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                            kedge_error *error)
{
    (void)userdata;
    int64_t count = 0;
    kedge_status status = kedge_args_integer(args, args_size, "count", &count, error);
    uint64_t seed = (uint64_t)count;
    for (int64_t i = 0; i < count && status == KEDGE_OK; i++) {
        char id[32];
        char value[1024];
        int id_size = snprintf(id, sizeof id, "item-%08" PRId64, i);
        int size = snprintf(value, sizeof value, "{\"text\":\"");
        for (int k = 0; k < 900; k++)
            value[size++] = "0123456789abcdefghijklmnopqrstuvwxyz"[world_random(&seed) % 36];
        size += snprintf(value + size, sizeof value - (size_t)size, "\"}");
        status = kedge_tx_put(tx, "items", id, (size_t)id_size, value, (size_t)size, error);
    }
    return status;
}

/* Reads all items in order, and puts how many there are. */
static kedge_status count_items(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error)
{
    (void)args;
    (void)args_size;
    (void)userdata;
    char number[32];
    const char *id = NULL, *value;
    size_t id_size = 0, value_size;
    int64_t count = 0;
    kedge_status status;
    while ((status = kedge_tx_next(tx, "items", id, id_size, &id, &id_size, &value, &value_size,
                                   error)) == KEDGE_OK)
        count++;
    if (status != KEDGE_DONE) return status;
    int size = snprintf(number, sizeof number, "%" PRId64, count);
    return kedge_tx_put(tx, "counts", "items", 5, number, (size_t)size, error);
}

/* Puts an item whose body is too large for the record: it goes to blobs. */
static kedge_status put_large(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                              kedge_error *error)
{
    char value[20000];
    (void)args;
    (void)args_size;
    (void)userdata;
    memset(value, 'x', sizeof value);
    value[0] = value[sizeof value - 1] = '"';
    return kedge_tx_put(tx, "items", "large", 5, value, sizeof value, error);
}

/* Ends the backend, as a mutator does that brings its process down: from here on no port call takes
 * effect. */
static test_world *running;

static kedge_status die(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                        kedge_error *error)
{
    (void)tx;
    (void)args;
    (void)args_size;
    (void)userdata;
    (void)error;
    running->deaths++;
    world_arm(running, WORLD_FAULT_BEFORE, 1, true, false);
    return KEDGE_OK;
}

/* What the process of an app's mutators says when the deadline stops it, or when it is away. */
static kedge_status wait_for_nothing(kedge_tx *tx, const char *args, size_t args_size,
                                     void *userdata, kedge_error *error)
{
    (void)args;
    (void)args_size;
    (void)userdata;
    if (running->undecided == NULL) return KEDGE_OK;
    running->undecided(running);
    kedge_error why;
    kedge_fail(&why, KEDGE_UNAVAILABLE, "mutators-unavailable", "it did not decide");
    return kedge_tx_postpone(tx, &why, error);
}

static const kedge_mutator mutators[] = {
    {"test.fill", 1, fill, NULL},         {"test.scatter", 1, scatter, NULL},
    {"test.count", 1, count_items, NULL}, {"test.large", 1, put_large, NULL},
    {"test.die", 1, die, NULL},           {"test.wait", 1, wait_for_nothing, NULL},
};

/* ---- making ---- */

static void count_pause(void *context, int64_t ms)
{
    (void)ms;
    atomic_fetch_add(&((test_world *)context)->pauses, 1);
}

kedge_backend *world_new_backend(test_world *world)
{
    kedge_backend_options options = {.environment = &world->environment,
                                     .records = world->records,
                                     .blobs = world->blobs,
                                     .registry = world->registry,
                                     .cadence = world->cadence,
                                     .state_cache_bytes = world->cache_bytes,
                                     .pause = count_pause,
                                     .pause_context = world};
    kedge_backend *backend = NULL;
    if (world->tune != NULL) world->tune(world, &options);
    assert_int_equal(kedge_backend_new(&options, &backend, NULL), KEDGE_OK);
    return backend;
}

void world_restart(test_world *world)
{
    kedge_backend_free(world->backend);
    world->backend = world_new_backend(world);
}

static int finish_setup(test_world *world, void **state)
{
    kedge_error error = {0};
    bool created = false;
    int64_t created_ms = 0;
    running = world;
    world_wrap_ports(world);
    assert_int_equal(kedge_registry_new(world->environment.allocator, mutators,
                                        sizeof mutators / sizeof *mutators, &world->registry,
                                        &error),
                     KEDGE_OK);
    world->backend = world_new_backend(world);
    assert_int_equal(kedge_project_create(NOTES(world), &created, &created_ms, &error), KEDGE_OK);
    *state = world;
    return 0;
}

static test_world *make(void)
{
    test_world *made = calloc(1, sizeof *made);
    assert_non_null(made);
    made->environment = kedge_environment_system(NULL);
    return made;
}

int world_setup_memory(void **state)
{
    test_world *world = make();
    kedge_error error = {0};
    if (stores_open(&world->environment, &world->store_records, &world->store_blobs, &error) !=
        KEDGE_OK) {
        fail_msg("%s: %s", error.code, error.message);
    }
    return finish_setup(world, state);
}

int world_setup_seed(void **state)
{
    int result = world_setup_memory(state);
    ((test_world *)*state)->cadence = KEDGE_CADENCE_SEED;
    world_restart(*state);
    return result;
}

int world_setup_sqlite(void **state)
{
    test_world *world = make();
    kedge_error error = {0};
    char path[128];
    assert_true(temporary_folder(world->folder, sizeof world->folder, "backend"));
    snprintf(path, sizeof path, "%s/records.db", world->folder);
    assert_int_equal(
        kedge_sqlite_records_open(&world->environment, path, &world->store_records, &error),
        KEDGE_OK);
    snprintf(path, sizeof path, "%s/blobs", world->folder);
    assert_int_equal(
        kedge_folder_blobs_open(&world->environment, path, &world->store_blobs, &error), KEDGE_OK);
    return finish_setup(world, state);
}

int world_teardown(void **state)
{
    test_world *world = *state;
    kedge_backend_free(world->backend);
    kedge_registry_free(world->registry);
    if (world->replica.vtable != NULL) world->replica.vtable->close(world->replica.self);
    if (world->folder[0] == '\0') {
        stores_close(&world->store_records, &world->store_blobs);
    } else {
        world->store_records.vtable->close(world->store_records.self);
        world->store_blobs.vtable->close(world->store_blobs.self);
        world_remove_folder(world->folder);
    }
    free(world);
    return 0;
}

/* ---- faults ---- */

void world_arm(test_world *world, world_fault fault, uint64_t at, bool goes_on, bool writes_only)
{
    atomic_store(&world->calls, 0);
    atomic_store(&world->writes, 0);
    atomic_store(&world->transactions, 0);
    world->fault = fault;
    world->fault_at = at;
    world->fault_goes_on = goes_on;
    world->fault_writes_only = writes_only;
    world->faults = 0;
}

void world_disarm(test_world *world)
{
    world->fault = WORLD_FAULT_NONE;
    world->meddle = NULL;
}

/* ---- pushing ---- */

void push_begin(push_builder *builder)
{
    builder->sender = (kedge_push_sender){0};
    builder->push = (kedge_push){0};
    builder->sender.group = KEDGE_BYTES("g1");
    push_set_sender(builder, &ann);
    builder->push.mutations = builder->mutations;
}

void push_add_call(push_builder *builder, const char *client, int64_t id, const char *name,
                   const char *args)
{
    size_t at = builder->push.count++;
    assert_true(at < sizeof builder->mutations / sizeof builder->mutations[0]);
    char *text = builder->texts[at];
    snprintf(text, sizeof builder->texts[at], "%s", args);
    kedge_push_mutation *mutation = &builder->mutations[at];
    *mutation = (kedge_push_mutation){.client = kedge_bytes_of(client), .id = id};
    mutation->name = kedge_bytes_of(name);
    mutation->args = kedge_bytes_of(text);
    mutation->timestamp_ms = 1700000000000 + id;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256(mutation->args, hash);
    memcpy(mutation->digest, hash, sizeof mutation->digest);
}

void push_add(push_builder *builder, const char *client, int64_t id, const char *item, int value)
{
    char args[256];
    snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"%s\",\"value\":{\"v\":%d}}",
             item, value);
    push_add_call(builder, client, id, "kedge.put", args);
}

/* `seed` NULL: a text of one letter. */
static void add_sized(push_builder *builder, const char *client, int64_t id, const char *item,
                      int value, size_t size, uint64_t *seed)
{
    static char texts[3][101000];
    static size_t next;
    char *text = texts[next++ % 3];
    assert_true(size <= 100000);
    int at = snprintf(text, 400,
                      "{\"collection\":\"items\",\"id\":\"%s\",\"value\":{\"v\":%d,\"text\":\"",
                      item, value);
    memset(text + at, 'x', size);
    for (size_t i = 0; seed != NULL && i < size; i++)
        text[(size_t)at + i] =
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_"[world_random(seed) %
                                                                               64];
    snprintf(text + at + (int)size, 16, "\"}}");
    push_add_call(builder, client, id, "kedge.put", "{}");
    kedge_push_mutation *mutation = &builder->mutations[builder->push.count - 1];
    uint8_t hash[KEDGE_SHA256_SIZE];
    mutation->args = kedge_bytes_of(text);
    kedge_sha256(mutation->args, hash);
    memcpy(mutation->digest, hash, sizeof mutation->digest);
}

void push_add_large(push_builder *builder, const char *client, int64_t id, const char *item,
                    int value, size_t size)
{
    add_sized(builder, client, id, item, value, size, NULL);
}

void push_add_dense(push_builder *builder, const char *client, int64_t id, const char *item,
                    int value, size_t size)
{
    uint64_t seed = (uint64_t)value;
    add_sized(builder, client, id, item, value, size, &seed);
}

uint32_t world_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

void push_set_origin(push_builder *builder, const char *client, int64_t id)
{
    kedge_push_mutation *mutation = &builder->mutations[builder->push.count - 1];
    mutation->origin_client = kedge_bytes_of(client);
    mutation->origin_id = id;
}

void push_set_sender(push_builder *builder, const kedge_identity *who)
{
    builder->sender.identity = who;
    builder->push.senders = &builder->sender;
    builder->push.sender_count = 1;
}

kedge_status push_send(push_builder *builder, kedge_backend *backend, const kedge_identity *who,
                       kedge_push_result *result)
{
    kedge_error error = {0};
    push_set_sender(builder, who);
    kedge_status status =
        kedge_processor_push(HANDLE(backend, &notes), &builder->push, result, &error);
    if (status != KEDGE_OK && status != KEDGE_UNAVAILABLE) {
        print_message("push: %s: %s\n", error.code, error.message);
    }
    return status;
}

kedge_push_problem world_try(test_world *world, const char *client, int64_t id, const char *item,
                             int value)
{
    push_builder *builder = malloc(sizeof *builder);
    kedge_push_result result = {0};
    assert_non_null(builder);
    push_begin(builder);
    push_add(builder, client, id, item, value);
    assert_int_equal(push_send(builder, world->backend, &ann, &result), KEDGE_OK);
    free(builder);
    return result.problem;
}

int64_t world_put(test_world *world, const char *client, int64_t id, const char *item, int value)
{
    push_builder *builder = malloc(sizeof *builder);
    kedge_push_result result = {0};
    assert_non_null(builder);
    push_begin(builder);
    push_add(builder, client, id, item, value);
    assert_int_equal(push_send(builder, world->backend, &ann, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    free(builder);
    return result.version;
}
