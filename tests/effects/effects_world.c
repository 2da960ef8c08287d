/* See effects_world.h. */
#include "tests/effects/effects_world.h"

#include "backend/log/body.h"
#include "backend/memory/memory_ports.h"
#include "backend/sqlite/sqlite_ports.h"

#include <stdio.h>
#include <string.h>

#define QUEUE_DELIVERIES 100
#define WORK_MS          60000

/* ---- opening ---- */

static void note_passed(void *context, const kedge_error *error)
{
    effects_world *self = context;
    bool damaged = strcmp(error->code, KEDGE_LOG_CORRUPT) == 0 ||
                   strcmp(error->code, KEDGE_RECORD_CORRUPT) == 0;
    if (!damaged) assert_string_equal(error->code, "log-change-corrupt");
    self->passed++;
}

void effects_rebind(effects_world *self)
{
    self->effects = (kedge_effects){.backend = self->world->backend,
                                    .queue = self->queue,
                                    .passed = note_passed,
                                    .context = self};
}

void effects_begin(effects_world *self, test_world *world)
{
    kedge_error error = {0};
    kedge_status status;
    memset(self, 0, sizeof *self);
    self->world = world;
    self->environment = world->environment;
    if (world->folder[0] == '\0') {
        status = kedge_memory_stream_open(&world->environment, &world->store_records, &self->stream,
                                          &error);
    } else {
        const kedge_sqlite_stream_options options = {.partition_prefix = "E#"};
        status = kedge_sqlite_stream_open(&world->store_records, &options, &self->stream, &error);
    }
    if (status != KEDGE_OK) fail_msg("%s: %s", error.code, error.message);
    assert_int_equal(
        kedge_memory_queue_open(&self->environment, QUEUE_DELIVERIES, &self->queue, NULL),
        KEDGE_OK);
    effects_rebind(self);
}

void effects_end(effects_world *self)
{
    self->queue.vtable->close(self->queue.self);
    self->stream.vtable->close(self->stream.self);
}

/* ---- running ---- */

static void note_expired(void *context, const kedge_stream_expired *expired)
{
    (void)expired;
    kedge_effects *effects = context;
    ((effects_world *)effects->context)->expired++;
}

kedge_stream_reader_options effects_reader_options(effects_world *self)
{
    return (kedge_stream_reader_options){.environment = &self->environment,
                                         .records = &self->world->records,
                                         .stream = &self->stream,
                                         .name = "logs",
                                         .patterns = &kedge_effects_pattern,
                                         .pattern_count = 1,
                                         .lease_ms = 1,
                                         .batch = 4,
                                         .handle = kedge_effects_handle,
                                         .expired = note_expired,
                                         .context = &self->effects};
}

void effects_read(effects_world *self)
{
    kedge_stream_reader *reader;
    kedge_stream_round round = {.more = true};
    kedge_error error = {0};
    const kedge_stream_reader_options options = effects_reader_options(self);
    assert_int_equal(kedge_stream_reader_new(&options, &reader, &error), KEDGE_OK);
    /* A lease of another reader may have to end first: it is over when a round reads a shard. */
    while (round.more || round.shards == 0) {
        kedge_status status = kedge_stream_reader_round(reader, &round, &error);
        if (status != KEDGE_OK) fail_msg("%s: %s", error.code, error.message);
    }
    kedge_stream_reader_free(reader);
}

static kedge_status make(void *context, const kedge_log *log, const kedge_log_place *at,
                         kedge_buffer *progress, bool *complete, kedge_error *error)
{
    (void)error;
    char id[KEDGE_SHA256_HEX];
    kedge_snapshot_id(log, at, id);
    kedge_buffer_clear(progress);
    kedge_buffer_append_text(progress, id);
    ((effects_world *)context)->completed++;
    *complete = true;
    return KEDGE_OK;
}

kedge_snapshot_worker effects_worker(effects_world *self)
{
    return (kedge_snapshot_worker){.backend = self->world->backend,
                                   .make = make,
                                   .context = self,
                                   .run_max_ms = -1,
                                   .reserve_ms = 10};
}

int effects_work(effects_world *self)
{
    const kedge_queue *queue = &self->queue;
    const kedge_environment *environment = &self->world->environment;
    const kedge_snapshot_worker worker = effects_worker(self);
    for (int came = 0;; came++) {
        kedge_queue_batch batch = {0};
        kedge_error error = {0};
        kedge_snapshot_outcome outcome;
        assert_int_equal(queue->vtable->receive(queue->self, 1, 1000, 0, NULL, &batch, NULL),
                         KEDGE_OK);
        if (batch.count == 0) return came;
        int64_t deadline_ms = environment->monotonic_ms(environment->context) + WORK_MS;
        kedge_status status =
            kedge_snapshot_work(&worker, batch.messages[0].body, deadline_ms, &outcome, &error);
        if (status != KEDGE_OK) fail_msg("%s: %s", error.code, error.message);
        assert_int_equal(outcome, KEDGE_SNAPSHOT_DONE);
        assert_int_equal(queue->vtable->done(queue->self, batch.messages[0].receipt, NULL),
                         KEDGE_OK);
        kedge_queue_batch_free(&batch);
    }
}

/* In SQLite a stream that is allowed one byte trims what is there with the next change. */
void effects_expire(effects_world *self)
{
    if (self->world->folder[0] == '\0') {
        kedge_memory_stream_trim(&self->stream, 0);
        return;
    }
    kedge_sqlite_stream_options options = {.partition_prefix = "E#", .keep_bytes = 1};
    const kedge_records *records = &self->world->store_records;
    kedge_attribute number = {.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = 1};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("E#filling"), KEDGE_BYTES("s")}, &number, 1}};
    self->stream.vtable->close(self->stream.self);
    assert_int_equal(kedge_sqlite_stream_open(records, &options, &self->stream, NULL), KEDGE_OK);
    for (int i = 0; i < 64; i++) {
        number.number++;
        assert_int_equal(records->vtable->write(records->self, &write, NULL), KEDGE_OK);
    }
    self->stream.vtable->close(self->stream.self);
    options.keep_bytes = 0;
    assert_int_equal(kedge_sqlite_stream_open(records, &options, &self->stream, NULL), KEDGE_OK);
}

/* ---- logs ---- */

int64_t effects_ask(const kedge_log *log)
{
    kedge_log_append_result result;
    const kedge_log_append_request request = {.type = KEDGE_BYTES(KEDGE_LOG_SNAPSHOT),
                                              .version = KEDGE_LOG_SYSTEM_VERSION,
                                              .expected = KEDGE_LOG_AT_END,
                                              .since = -1};
    assert_int_equal(kedge_log_append(log, &request, &result, NULL), KEDGE_OK);
    return result.at.number;
}

const char *effects_large(void)
{
    static char text[20001];
    memset(text, 'x', sizeof text - 1);
    text[0] = text[sizeof text - 2] = '"';
    return text;
}

size_t effects_tagged(effects_world *self)
{
    kedge_blob_list list = {0};
    size_t count = 0;
    const kedge_blobs *blobs = &self->world->store_blobs;
    assert_int_equal(blobs->vtable->list(blobs->self, KEDGE_BYTES("acme/logs/notes/"),
                                         (kedge_bytes){NULL, 0}, 1000, &list, NULL),
                     KEDGE_OK);
    for (size_t i = 0; i < list.count; i++) {
        kedge_buffer value = kedge_buffer_make(self->environment.allocator);
        if (blobs->vtable->get_tag(blobs->self, kedge_bytes_of(list.blobs[i].key),
                                   KEDGE_BYTES(KEDGE_BLOB_DISCARD_TAG), &value, NULL) == KEDGE_OK)
            count++;
        kedge_buffer_free(&value);
    }
    kedge_blob_list_free(&list);
    return count;
}

static size_t write_entry(const kedge_log *log, const kedge_log_entry *entry, char *text,
                          size_t room)
{
    char id[KEDGE_SHA256_HEX];
    kedge_snapshot_id(log, &entry->at, id);
    const char *mark = entry->snapshot.size == 0                     ? ""
                       : kedge_bytes_equal_text(entry->snapshot, id) ? "*"
                                                                     : "?";
    return (size_t)snprintf(text, room, "%s%lld %.*s%s", entry->at.number == 0 ? "" : "|",
                            (long long)entry->at.number, (int)entry->type.size, entry->type.data,
                            mark);
}

const char *effects_text(const kedge_log *log)
{
    static char texts[4][4096];
    static unsigned next;
    char *text = texts[next++ % 4];
    size_t size = 0;
    kedge_log_reader reader;
    kedge_pending_snapshot pending = {.progress = kedge_buffer_make(log->project->allocator)};
    text[0] = '\0';
    assert_int_equal(kedge_log_query(log, KEDGE_LOG_FROM_START, 0, false, &reader, NULL), KEDGE_OK);
    while (!reader.ended) {
        kedge_log_page page = kedge_log_page_make(log->project->allocator);
        assert_int_equal(kedge_log_read(&reader, 100, &page, NULL), KEDGE_OK);
        for (size_t i = 0; i < page.count; i++)
            size += write_entry(log, &page.entries[i], text + size, sizeof texts[0] - size);
        assert_true(size < sizeof texts[0]);
        kedge_log_page_free(&page);
    }
    if (kedge_pending_snapshot_first(log, true, &pending, NULL) == KEDGE_OK)
        snprintf(text + size, sizeof texts[0] - size, " pending");
    kedge_buffer_free(&pending.progress);
    return text;
}
