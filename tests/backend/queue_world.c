/* A world with a queue. */
#include "tests/backend/queue_world.h"

#include "backend/memory/memory_ports.h"
#include "common/error.h"
#include "tests/backend/world_ports.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRAIN_ROUNDS_MAX 200
#define PASS_MS          130000 /* longer than a message is ever left alone */

static int64_t clock_ms;

static int64_t now(void *context)
{
    (void)context;
    return INT64_C(1790000000000) + clock_ms;
}

void queue_world_pass(int64_t ms)
{
    clock_ms += ms;
}

/* ---- the queue behind faults ---- */

static kedge_status refuse(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable", "a fault of the test");
}

#define PASS(is_write, forget, call)                                                               \
    queue_world *world = self;                                                                     \
    const kedge_queue *store = &world->store;                                                      \
    world_fault fault = world_next_call(world->base, is_write);                                    \
    if (fault == WORLD_FAULT_BEFORE) return refuse(error);                                         \
    kedge_status status = (call);                                                                  \
    if (fault == WORLD_FAULT_AFTER && status == KEDGE_OK) {                                        \
        forget;                                                                                    \
        return refuse(error);                                                                      \
    }                                                                                              \
    return status

static kedge_status faulty_send(void *self, kedge_bytes owner, kedge_bytes group,
                                kedge_bytes deduplication, kedge_bytes body, kedge_error *error)
{
    size_t bytes_max = ((queue_world *)self)->queue_bytes_max;
    if (bytes_max != 0 && body.size > bytes_max) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "message-too-large", "the queue is small");
    }
    PASS(true, (void)0, store->vtable->send(store->self, owner, group, deduplication, body, error));
}

static kedge_status faulty_receive(void *self, uint32_t count, int64_t visibility_ms,
                                   int64_t wait_ms, const kedge_queue_admission *admission,
                                   kedge_queue_batch *batch, kedge_error *error)
{
    PASS(true, kedge_queue_batch_free(batch),
         store->vtable->receive(store->self, count, visibility_ms, wait_ms, admission, batch,
                                error));
}

static kedge_status faulty_extend(void *self, const char *receipt, int64_t visibility_ms,
                                  kedge_error *error)
{
    PASS(true, (void)0, store->vtable->extend(store->self, receipt, visibility_ms, error));
}

static kedge_status faulty_done(void *self, const char *receipt, kedge_error *error)
{
    PASS(true, (void)0, store->vtable->done(store->self, receipt, error));
}

static kedge_status faulty_dead_letters(void *self, uint32_t count, kedge_queue_batch *batch,
                                        kedge_error *error)
{
    PASS(false, kedge_queue_batch_free(batch),
         store->vtable->dead_letters(store->self, count, batch, error));
}

static kedge_status faulty_redrive(void *self, const char *receipt, kedge_error *error)
{
    PASS(true, (void)0, store->vtable->redrive(store->self, receipt, error));
}

static void close_nothing(void *self)
{
    (void)self;
}

static const kedge_queue_vtable faulty = {.send = faulty_send,
                                          .receive = faulty_receive,
                                          .extend = faulty_extend,
                                          .done = faulty_done,
                                          .dead_letters = faulty_dead_letters,
                                          .redrive = faulty_redrive,
                                          .close = close_nothing};

/* ---- making ---- */

static void note_failure(void *context, const kedge_queued_failure *failure)
{
    queue_world *world = context;
    world->failures++;
    (void)snprintf(world->failure, sizeof world->failure, "%s", failure->error->code);
}

static void note_call(void *context, kedge_queued_call call, const kedge_error *error)
{
    queue_world *world = context;
    assert_int_not_equal(error->status, KEDGE_OK);
    world->call_failures[call]++;
}

static void start(queue_world *world)
{
    kedge_queued_options options = {.environment = &world->base->environment,
                                    .records = world->base->records,
                                    .blobs = world->base->blobs,
                                    .queue = world->queue,
                                    .claim_bytes = 4000,
                                    .failed = note_failure,
                                    .failed_context = world,
                                    .call_failed = note_call,
                                    .call_failed_context = world};
    assert_int_equal(kedge_queued_new(&options, &world->queued, NULL), KEDGE_OK);
    assert_int_equal(
        kedge_consumer_new(world->queued, world->base->backend, &world->consumer, NULL), KEDGE_OK);
}

queue_world *queue_world_new(void)
{
    void *state = NULL;
    queue_world *world = calloc(1, sizeof *world);
    assert_non_null(world);
    assert_int_equal(world_setup_memory(&state), 0);
    world->base = state;
    world->base->environment.now_ms = now;
    assert_int_equal(
        kedge_memory_queue_open(&world->base->environment, QUEUE_DELIVERIES, &world->store, NULL),
        KEDGE_OK);
    world->queue = (kedge_queue){&faulty, world};
    start(world);
    return world;
}

static void stop(queue_world *world)
{
    kedge_consumer_free(world->consumer);
    kedge_queued_free(world->queued);
}

void queue_world_free(queue_world *world)
{
    void *state = world->base;
    stop(world);
    world->store.vtable->close(world->store.self);
    world_teardown(&state);
    free(world);
}

void queue_world_restart(queue_world *world)
{
    stop(world);
    world_restart(world->base);
    start(world);
}

/* ---- sending ---- */

static void append_mutation(kedge_buffer *out, const char *client, int64_t id, const char *name,
                            const char *args)
{
    kedge_buffer_append_format(out,
                               "{\"clientID\":\"%s\",\"id\":%" PRId64
                               ",\"name\":\"%s\",\"args\":%s,\"timestamp\":1,\"uid\":\"%032" PRIx64
                               "\"}",
                               client, id, name, args, (uint64_t)id);
}

static void send(queue_world *world, const kedge_identity *who, const char *group,
                 kedge_buffer *mutations)
{
    kedge_error error = {0};
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&body,
                               "{\"pushVersion\":1,\"clientGroupID\":\"%s\",\"mutations\":[%s]}",
                               group, mutations->data);
    kedge_status status =
        kedge_queued_enqueue(world->queued, KEDGE_BYTES("acme"), KEDGE_BYTES("notes"), who,
                             kedge_buffer_bytes(&body), &error);
    if (status != KEDGE_OK) print_message("enqueue: %s\n", error.message);
    assert_int_equal(status, KEDGE_OK);
    kedge_buffer_free(&body);
    kedge_buffer_free(mutations);
}

void queue_put(queue_world *world, const kedge_identity *who, const char *group, const char *client,
               int64_t first, int64_t last, const char *item)
{
    char args[256];
    kedge_buffer mutations = kedge_buffer_make(&kedge_allocator_default);
    for (int64_t id = first; id <= last; id++) {
        (void)snprintf(args, sizeof args,
                       "{\"collection\":\"items\",\"id\":\"%s\",\"value\":{\"v\":%" PRId64 "}}",
                       item, id);
        if (id > first) kedge_buffer_append_byte(&mutations, ',');
        append_mutation(&mutations, client, id, "kedge.put", args);
    }
    send(world, who, group, &mutations);
}

void queue_put_large(queue_world *world, const char *client, int64_t id, const char *item,
                     size_t size)
{
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer mutations = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(
        &args, "{\"collection\":\"items\",\"id\":\"%s\",\"value\":{\"text\":\"", item);
    for (size_t i = 0; i < size; i++)
        kedge_buffer_append_byte(&args, 'x');
    kedge_buffer_append_format(&args, "\",\"v\":%" PRId64 "}}", id);
    append_mutation(&mutations, client, id, "kedge.put", args.data);
    kedge_buffer_free(&args);
    send(world, &ann, "g1", &mutations);
}

void queue_call(queue_world *world, const char *client, int64_t id, const char *name,
                const char *args)
{
    kedge_buffer mutations = kedge_buffer_make(&kedge_allocator_default);
    append_mutation(&mutations, client, id, name, args);
    send(world, &ann, "g1", &mutations);
}

void queue_raw(queue_world *world, const char *body)
{
    static uint64_t sent;
    char name[32];
    kedge_key group = kedge_message_group(&notes);
    (void)snprintf(name, sizeof name, "raw-%" PRIu64, ++sent);
    assert_int_equal(world->store.vtable->send(world->store.self, notes.organization,
                                               kedge_key_bytes(&group), kedge_bytes_of(name),
                                               kedge_bytes_of(body), NULL),
                     KEDGE_OK);
}

/* ---- consuming ---- */

round_result queue_round(queue_world *world)
{
    kedge_error error = {0};
    round_result result = {.status = KEDGE_OK};
    result.status =
        kedge_consumer_round(world->consumer, 0, &result.received, &result.left, &error);
    return result;
}

size_t queue_drain(queue_world *world)
{
    size_t rounds = 0;
    for (size_t empty = 0; empty < 2 && rounds < DRAIN_ROUNDS_MAX;) {
        round_result result = queue_round(world);
        assert_int_equal(result.status, KEDGE_OK);
        empty = result.received == 0 ? empty + 1 : 0;
        rounds += result.received > 0;
        if (result.left > 0 || result.received == 0) queue_world_pass(PASS_MS);
    }
    assert_true(rounds < DRAIN_ROUNDS_MAX);
    return rounds;
}

size_t queue_dead_letter_count(queue_world *world)
{
    kedge_queue_batch batch = {0};
    assert_int_equal(world->store.vtable->dead_letters(world->store.self, 100, &batch, NULL),
                     KEDGE_OK);
    size_t count = batch.count;
    kedge_queue_batch_free(&batch);
    return count;
}

const char *queue_dead_letter_code(queue_world *world)
{
    static char code[64];
    kedge_queue_batch batch = {0};
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_json_writer writer = kedge_json_write(&text);
    assert_int_equal(world->store.vtable->dead_letters(world->store.self, 1, &batch, NULL),
                     KEDGE_OK);
    assert_int_equal(batch.count, 1);
    assert_int_equal(kedge_dead_letter_write(world->queued, batch.messages, &writer, NULL),
                     KEDGE_OK);
    code[0] = '\0';
    (void)kedge_json_member_chars(kedge_buffer_bytes(&text), "code", code, sizeof code);
    kedge_buffer_free(&text);
    kedge_queue_batch_free(&batch);
    return code;
}

size_t queue_reasons(queue_world *world)
{
    const kedge_records *records = &world->base->store_records;
    kedge_records_query query = {
        .partition = KEDGE_BYTES("DeadLetters#acme"), .limit = 1000, .consistent = true};
    kedge_record_set set = {0};
    assert_int_equal(records->vtable->query(records->self, &query, &set, NULL), KEDGE_OK);
    size_t count = set.count;
    kedge_record_set_free(&set);
    return count;
}

int64_t queue_metric(queue_world *world, const char *name)
{
    char line[128];
    kedge_buffer text = kedge_buffer_make(&kedge_allocator_default);
    kedge_queued_write_metrics(world->queued, &text);
    (void)snprintf(line, sizeof line, "\n%s ", name);
    const char *at = strstr(text.data, line);
    int64_t value = at == NULL ? 0 : strtoll(at + strlen(line), NULL, 10);
    kedge_buffer_free(&text);
    return value;
}

size_t queue_claims(queue_world *world)
{
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &world->base->store_blobs;
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/projects/notes/pushes/"),
                                         (kedge_bytes){NULL, 0}, 100, &list, NULL),
                     KEDGE_OK);
    size_t count = list.count;
    kedge_blob_list_free(&list);
    return count;
}
