/* One run over a log and what follows its writes. */
#include "tests/crashpoints/effects_run.h"

#include "backend/api/api.h"
#include "backend/effects/apply.h"
#include "backend/effects/consume.h"
#include "backend/effects/make.h"
#include "backend/effects/reader.h"
#include "backend/effects/reprocess.h"
#include "backend/log/body.h"
#include "backend/log/snapshot.h"
#include "backend/memory/memory_ports.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELIVERIES 1000
#define ROUNDS_MAX 100
#define LEASE_MS   10000
#define BODY_BYTES 20000
#define NUMBERS    5 /* of the story's log: 0 Snapshot, 1 put, 2 Snapshot, 3 put, 4 Snapshot */
#define PREFIX     "acme/logs/logs/l/"

const char *const effects_check_names[EFFECTS_CHECKS] = {"I5", "I14", "I15", "I16", "I17"};

typedef enum role { READER, WORKER, REPROCESS } role;

/* What a reader of the stream has done before: the requests are there. */
typedef enum read_before { READ_NOTHING, READ_HALF, READ_ALL } read_before;

typedef struct effects_story {
    read_before read;
    role first;
    role second;
} effects_story;

static const effects_story stories_of_effects[] = {
    {READ_NOTHING, READER, READER},       {READ_ALL, WORKER, WORKER},
    {READ_HALF, READER, WORKER},          {READ_NOTHING, READER, REPROCESS},
    {READ_NOTHING, REPROCESS, REPROCESS}, {READ_ALL, WORKER, REPROCESS},
};
const char *const effects_story_names[] = {
    "two read the stream",
    "two make snapshots",
    "one reads the stream, another makes snapshots",
    "one reads the stream, another goes through the logs",
    "two go through the logs",
    "one makes snapshots, another goes through the logs",
};
const size_t effects_story_count = sizeof stories_of_effects / sizeof stories_of_effects[0];

/* What works on the ports: of a processor by its gate, else the stores themselves. */
typedef struct hands {
    kedge_backend *backend;
    kedge_records records;
    kedge_queue queue;
    kedge_stream stream;
    const kedge_environment *environment;
    atomic_int_fast64_t *clock_ms;
} hands;

static void pass_time(const hands *own, int64_t ms)
{
    atomic_fetch_add(own->clock_ms, ms);
}

typedef struct processor {
    actor actor;
    hands hands;
    role role;
} processor;

typedef struct effects_run {
    world *here;
    suite_checks *all;
    kedge_environment environment; /* with a clock of its own, for leases and visibilities */
    atomic_int_fast64_t clock_ms;
    kedge_records records;
    kedge_blobs blobs;
    kedge_queue queue;
    kedge_stream stream;
    hands hands; /* of who looks, and does what is left */
    kedge_project project;
    kedge_log log;
    char set[NUMBERS][KEDGE_SHA256_HEX]; /* snapshots that were seen */
    processor first;
    processor second;
} effects_run;

static void holds(effects_run *at, effects_check check, bool right, const char *what, int64_t value)
{
    at->all->evaluated[check]++;
    if (right) return;
    if (at->all->violated[check]++ == 0 && at->all->first[0] == '\0')
        snprintf(at->all->first, sizeof at->all->first, "%s: %" PRId64 " %s",
                 effects_check_names[check], value, what);
}

/* ---- what each role does ---- */

static kedge_effects effects_of(const hands *own)
{
    return (kedge_effects){.backend = own->backend, .queue = own->queue};
}

static kedge_status read_stream(const hands *own)
{
    kedge_stream_reader *reader;
    kedge_stream_round round = {.more = true};
    kedge_effects effects = effects_of(own);
    const kedge_stream_reader_options options = {.environment = own->environment,
                                                 .records = &own->records,
                                                 .stream = &own->stream,
                                                 .name = "logs",
                                                 .patterns = &kedge_effects_pattern,
                                                 .pattern_count = 1,
                                                 .lease_ms = LEASE_MS,
                                                 .batch = 2,
                                                 .handle = kedge_effects_handle,
                                                 .context = &effects};
    if (kedge_stream_reader_new(&options, &reader, NULL) != KEDGE_OK) abort();
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && (round.more || round.shards == 0)) {
        status = kedge_stream_reader_round(reader, &round, NULL);
        /* The lease of a reader that is stopped or dead ends. */
        if (round.shards == 0) pass_time(own, 2 * LEASE_MS);
    }
    kedge_stream_reader_free(reader);
    return status;
}

/* To it every other worker that is at an item has ended. */
static kedge_status make_snapshots(const hands *own)
{
    const kedge_snapshot_worker worker = {
        .backend = own->backend, .make = kedge_effects_make, .run_max_ms = -1, .reserve_ms = 10};
    const kedge_snapshot_consumer consumer = {
        .worker = &worker, .queue = &own->queue, .visibility_ms = 0, .work_ms = 600000};
    kedge_status status = KEDGE_OK;
    bool received = true, done;
    for (int rounds = 0; rounds < ROUNDS_MAX && received && status == KEDGE_OK; rounds++)
        status = kedge_snapshot_round(&consumer, 0, &received, &done, NULL);
    return status;
}

static kedge_status go_through(const hands *own)
{
    const kedge_project_ref ref = {KEDGE_BYTES("acme"), KEDGE_BYTES("logs")};
    kedge_project project = kedge_project_of(own->backend, &ref);
    kedge_effects effects = effects_of(own);
    kedge_reprocess_result result;
    return kedge_reprocess_logs(&effects, &project, 1, &result, NULL);
}

static kedge_status do_role(const hands *own, role wanted)
{
    return wanted == READER   ? read_stream(own)
           : wanted == WORKER ? make_snapshots(own)
                              : go_through(own);
}

static void act(void *context)
{
    processor *own = context;
    (void)do_role(&own->hands, own->role);
}

/* ---- the log ---- */

static kedge_status append(effects_run *at, const char *type, const char *body)
{
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = kedge_bytes_of(type),
                                              .version = 1,
                                              .body = kedge_bytes_of(body),
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    return kedge_log_append(&at->log, &request, &result, NULL);
}

/* As the body was before its entry was put. */
static kedge_status tag_bodies(effects_run *at)
{
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &at->blobs;
    kedge_status status = blobs->vtable->list(blobs->self, KEDGE_BYTES(PREFIX "bodies/"),
                                              (kedge_bytes){NULL, 0}, 1000, &list, NULL);
    for (size_t i = 0; i < list.count && status == KEDGE_OK; i++)
        status = blobs->vtable->tag(blobs->self, kedge_bytes_of(list.blobs[i].key),
                                    KEDGE_BYTES(KEDGE_BLOB_DISCARD_TAG),
                                    KEDGE_BYTES(KEDGE_BLOB_DISCARD_VALUE), NULL);
    kedge_blob_list_free(&list);
    return status;
}

static void write_put(char *text, size_t size, const char *id, size_t value_size)
{
    int head = snprintf(text, size, "{\"collection\":\"c\",\"id\":\"%s\",\"value\":\"", id);
    memset(text + head, 'x', value_size);
    snprintf(text + head + value_size, size - (size_t)head - value_size, "\"}");
}

static kedge_status prepare(effects_run *at, const effects_story *told)
{
    bool created;
    char text[BODY_BYTES + 100];
    kedge_status status = kedge_log_create(&at->log, &created, NULL);
    write_put(text, sizeof text, "a", 1);
    if (status == KEDGE_OK) status = append(at, "kedge.put", text);
    if (status == KEDGE_OK) status = append(at, KEDGE_LOG_SNAPSHOT, "");
    if (status == KEDGE_OK && told->read == READ_HALF) status = read_stream(&at->hands);
    write_put(text, sizeof text, "b", BODY_BYTES);
    if (status == KEDGE_OK) status = append(at, "kedge.put", text);
    if (status == KEDGE_OK) status = append(at, KEDGE_LOG_SNAPSHOT, "");
    if (status == KEDGE_OK && told->read == READ_ALL) status = read_stream(&at->hands);
    return status == KEDGE_OK ? tag_bodies(at) : status;
}

/* ---- looking ---- */

/* Entries in their order; a snapshot that was set stays. */
static void look_at(effects_run *at, effects_check check)
{
    kedge_log_reader reader;
    kedge_log_page page = kedge_log_page_make(at->here->environment.allocator);
    if (kedge_log_query(&at->log, KEDGE_LOG_FROM_START, 0, false, &reader, NULL) != KEDGE_OK ||
        kedge_log_read(&reader, 100, &page, NULL) != KEDGE_OK)
        abort();
    for (size_t i = 0; i < page.count && i < NUMBERS; i++) {
        kedge_bytes found = page.entries[i].snapshot;
        if (at->set[i][0] != '\0')
            holds(at, check, kedge_bytes_equal_text(found, at->set[i]),
                  "is an entry whose snapshot has changed", (int64_t)i);
        if (found.size > 0 && found.size < sizeof at->set[i])
            snprintf(at->set[i], sizeof at->set[i], "%.*s", (int)found.size, found.data);
    }
    kedge_log_page_free(&page);
}

static void look_before(void *context)
{
    look_at(context, EFFECTS_I17);
}

static void check_blobs(effects_run *at)
{
    size_t snapshots = 0, bodies = 0;
    kedge_blob_list list = {0};
    const kedge_blobs *blobs = &at->blobs;
    if (blobs->vtable->list(blobs->self, KEDGE_BYTES(PREFIX), (kedge_bytes){NULL, 0}, 1000, &list,
                            NULL) != KEDGE_OK)
        abort();
    for (size_t i = 0; i < list.count; i++) {
        kedge_buffer value = kedge_buffer_make(at->here->environment.allocator);
        kedge_status tagged =
            blobs->vtable->get_tag(blobs->self, kedge_bytes_of(list.blobs[i].key),
                                   KEDGE_BYTES(KEDGE_BLOB_DISCARD_TAG), &value, NULL);
        holds(at, EFFECTS_I14, tagged == KEDGE_NOT_FOUND, "is a blob that would be discarded",
              (int64_t)i);
        snapshots +=
            strncmp(list.blobs[i].key, PREFIX "snapshots/", sizeof PREFIX "snapshots/" - 1) == 0;
        bodies += strncmp(list.blobs[i].key, PREFIX "bodies/", sizeof PREFIX "bodies/" - 1) == 0;
        kedge_buffer_free(&value);
    }
    holds(at, EFFECTS_I15, snapshots == 2 && list.count == snapshots + bodies,
          "snapshots are there, and not 2", (int64_t)snapshots);
    holds(at, EFFECTS_I14, bodies == 1, "bodies are there, and not 1", (int64_t)bodies);
    kedge_blob_list_free(&list);
}

/* How many items of the collection the snapshot has: one more with each entry of a mutation. */
static int64_t count_items(effects_run *at, const char *id)
{
    int64_t count = -1;
    kedge_bytes collections, items, key, value;
    kedge_buffer text = kedge_buffer_make(at->here->environment.allocator);
    if (kedge_log_snapshot_read(&at->log, kedge_bytes_of(id), &text, NULL) == KEDGE_OK &&
        kedge_json_member(kedge_buffer_bytes(&text), "collections", &collections) &&
        kedge_json_member(collections, "c", &items)) {
        kedge_json_iterator each = kedge_json_iterate(items);
        for (count = 0; kedge_json_next_member(&each, &key, &value); count++) {
        }
    }
    kedge_buffer_free(&text);
    return count;
}

static void check_log(effects_run *at)
{
    kedge_pending_snapshot pending = {.progress =
                                          kedge_buffer_make(at->here->environment.allocator)};
    kedge_log_summary summary = {.snapshot_entry =
                                     kedge_log_page_make(at->here->environment.allocator)};
    look_at(at, EFFECTS_I17);
    for (int64_t number = 0; number < NUMBERS; number++) {
        char id[KEDGE_SHA256_HEX] = "";
        const kedge_log_place place = {0, number, number};
        if (number == 2 || number == 4) kedge_snapshot_id(&at->log, &place, id);
        holds(at, EFFECTS_I15, strcmp(at->set[number], id) == 0,
              "is an entry without its snapshot, or with another", number);
        if (id[0] != '\0')
            holds(at, EFFECTS_I5, count_items(at, id) == number / 2,
                  "is an entry whose snapshot is not what the entries give", number);
    }
    if (kedge_log_summarize(&at->log, true, &summary, NULL) != KEDGE_OK) abort();
    holds(at, EFFECTS_I15, summary.last_snapshot == 4, "is the last snapshot, and not 4",
          summary.last_snapshot);
    holds(at, EFFECTS_I16,
          kedge_pending_snapshot_first(&at->log, true, &pending, NULL) == KEDGE_NOT_FOUND,
          "is an entry whose snapshot is pending", pending.at.number);
    size_t waiting = kedge_memory_queue_waiting(&at->queue);
    holds(at, EFFECTS_I16, waiting == 0, "messages are waiting", (int64_t)waiting);
    kedge_log_page_free(&summary.snapshot_entry);
    kedge_buffer_free(&pending.progress);
}

/* Others take over from whoever died, and end. A message that was given back comes later. */
static void do_again(effects_run *at, role wanted)
{
    kedge_status status = KEDGE_UNAVAILABLE;
    bool left = true;
    for (int tries = 0; tries < ROUNDS_MAX && (status != KEDGE_OK || left); tries++) {
        pass_time(&at->hands, KEDGE_SNAPSHOT_AGAIN_MAX_MS);
        status = do_role(&at->hands, wanted);
        left = wanted == WORKER && kedge_memory_queue_waiting(&at->queue) > 0;
    }
    holds(at, EFFECTS_I16, status == KEDGE_OK, "is a role that does not come to its end",
          (int64_t)wanted);
    look_at(at, EFFECTS_I17);
}

static void check_all(effects_run *at)
{
    do_again(at, READER);
    do_again(at, WORKER);
    check_log(at);
    check_blobs(at);
    do_again(at, REPROCESS);
    do_again(at, WORKER);
    check_log(at);
    check_blobs(at);
}

/* ---- the run ---- */

/* Each look at it takes a millisecond. */
static int64_t clock_ms(void *context)
{
    return atomic_fetch_add(&((effects_run *)context)->clock_ms, 1);
}

static void draw_random(void *context, void *bytes, size_t size)
{
    const kedge_environment *environment = &((effects_run *)context)->here->environment;
    environment->random(environment->context, bytes, size);
}

static void open_stores(effects_run *at)
{
    const kedge_environment *environment = &at->environment;
    at->environment =
        (kedge_environment){at->here->environment.allocator, clock_ms, clock_ms, draw_random, at};
    atomic_init(&at->clock_ms, 1000000);
    if (kedge_memory_records_open(environment, &at->records, NULL) != KEDGE_OK ||
        kedge_memory_blobs_open(environment, &at->blobs, NULL) != KEDGE_OK ||
        kedge_memory_queue_open(environment, DELIVERIES, &at->queue, NULL) != KEDGE_OK ||
        kedge_memory_stream_open(environment, &at->records, &at->stream, NULL) != KEDGE_OK)
        abort();
}

static void close_stores(effects_run *at)
{
    at->stream.vtable->close(at->stream.self);
    at->queue.vtable->close(at->queue.self);
    at->blobs.vtable->close(at->blobs.self);
    at->records.vtable->close(at->records.self);
}

static void make_processor(effects_run *at, processor *made, role wanted)
{
    gate *ports = &made->actor.ports;
    gate_make(ports, &at->records, &at->blobs);
    gate_add(ports, &at->queue, &at->stream);
    made->actor.act = act;
    made->actor.context = made;
    made->role = wanted;
    made->hands = (hands){world_plain_backend(at->here, false, &ports->records, &ports->blobs),
                          ports->records,
                          ports->queue,
                          ports->stream,
                          &at->environment,
                          &at->clock_ms};
}

static void free_processor(processor *gone)
{
    kedge_backend_free(gone->hands.backend);
    gate_free(&gone->actor.ports);
}

kedge_status effects_run_once(world *here, size_t place, bool turned, const run_points *points,
                              run_reached *reached, suite_checks *all, kedge_error *error)
{
    (void)error;
    const effects_story *told = &stories_of_effects[place];
    const kedge_project_ref ref = {KEDGE_BYTES("acme"), KEDGE_BYTES("logs")};
    effects_run *at = calloc(1, sizeof *at);
    if (at == NULL) abort();
    at->here = here;
    at->all = all;
    open_stores(at);
    at->hands = (hands){world_plain_backend(here, false, &at->records, &at->blobs),
                        at->records,
                        at->queue,
                        at->stream,
                        &at->environment,
                        &at->clock_ms};
    at->project = kedge_project_of(at->hands.backend, &ref);
    at->log = kedge_log_of(&at->project, KEDGE_BYTES("l"));
    make_processor(at, &at->first, turned ? told->second : told->first);
    make_processor(at, &at->second, turned ? told->first : told->second);
    kedge_status status = prepare(at, told);
    if (status == KEDGE_OK) {
        actors_run(&at->first.actor, &at->second.actor, points, reached, look_before, look_before,
                   at);
        check_all(at);
    }
    free_processor(&at->first);
    free_processor(&at->second);
    kedge_backend_free(at->hands.backend);
    close_stores(at);
    free(at);
    return status;
}
