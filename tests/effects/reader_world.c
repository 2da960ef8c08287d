/* See reader_world.h. */
#include "tests/effects/reader_world.h"

#include "tests/support/engines.h"

#include <stdio.h>
#include <string.h>

const stream_implementation *current;

/* ---- faults ---- */

static bool fails(faults *self, bool behind)
{
    if (!behind) self->calls++;
    return self->fail_at == self->calls && self->behind == behind;
}

static kedge_status fail_with(kedge_error *error)
{
    if (error != NULL) *error = (kedge_error){.status = KEDGE_UNAVAILABLE, .code = "fault"};
    return KEDGE_UNAVAILABLE;
}

static kedge_status faulty_query(void *self, const kedge_records_query *query,
                                 kedge_record_set *set, kedge_error *error)
{
    faults *f = self;
    if (fails(f, false) || f->fail_at == f->calls) return fail_with(error);
    return f->records->vtable->query(f->records->self, query, set, error);
}

static kedge_status faulty_write(void *self, const kedge_record_write *write, kedge_error *error)
{
    faults *f = self;
    if (fails(f, false)) return fail_with(error);
    kedge_status status = f->records->vtable->write(f->records->self, write, error);
    return fails(f, true) ? fail_with(error) : status;
}

static kedge_status faulty_transact(void *self, const kedge_record_write *writes, size_t count,
                                    kedge_error *error)
{
    faults *f = self;
    if (fails(f, false)) return fail_with(error);
    kedge_status status = f->records->vtable->transact(f->records->self, writes, count, error);
    return fails(f, true) ? fail_with(error) : status;
}

static kedge_status faulty_shards(void *self, kedge_bytes after, uint32_t limit,
                                  kedge_stream_shards *shards, kedge_error *error)
{
    faults *f = self;
    if (fails(f, false) || f->fail_at == f->calls) return fail_with(error);
    return f->stream->vtable->shards(f->stream->self, after, limit, shards, error);
}

static kedge_status faulty_read(void *self, const kedge_stream_query *query,
                                kedge_stream_batch *batch, kedge_error *error)
{
    faults *f = self;
    if (fails(f, false) || f->fail_at == f->calls) return fail_with(error);
    return f->stream->vtable->read(f->stream->self, query, batch, error);
}

static const kedge_records_vtable faulty_records = {
    .query = faulty_query, .write = faulty_write, .transact = faulty_transact};
static const kedge_stream_vtable faulty_stream = {.shards = faulty_shards, .read = faulty_read};

/* ---- what is written and handled ---- */

void put(fixture *f, int record)
{
    char partition[16];
    snprintf(partition, sizeof partition, PARTITION "%d", record);
    kedge_attribute number = {
        .name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = ++f->written[record]};
    kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_bytes_of(partition), KEDGE_BYTES("s")}, &number, 1}};
    assert_ok(f->ports.records.vtable->write(f->ports.records.self, &write, &f->error));
}

kedge_status handle(void *context, const kedge_stream_change *changes, size_t count,
                    size_t *handled, kedge_error *error)
{
    seen_changes *seen = context;
    for (*handled = 0; *handled < count; ++*handled) {
        const kedge_stream_change *change = &changes[*handled];
        if (seen->fail_behind > 0 && --seen->fail_behind == 0) return fail_with(error);
        int record = change->record.key.partition.data[sizeof PARTITION - 1] - '0';
        int64_t number = kedge_record_attribute(&change->record, "n")->number;
        assert_in_range(record, 0, RECORDS - 1);
        /* In order: none is left out, but some may come again. */
        if (seen->expired == 0) assert_true(number <= seen->newest[record] + 1);
        if (number <= seen->newest[record]) seen->repeated++;
        if (number > seen->newest[record]) seen->newest[record] = number;
        seen->handled++;
    }
    return KEDGE_OK;
}

static void note_expired(void *context, const kedge_stream_expired *expired)
{
    seen_changes *seen = context;
    seen->expired++;
    seen->damaged += expired->damaged;
    seen->expired_since_ms = expired->since_ms;
}

const kedge_stream_pattern pattern = {{PARTITION, sizeof PARTITION - 1}, "n"};

kedge_stream_reader *make_reader(fixture *f)
{
    kedge_stream_reader *reader;
    const kedge_stream_reader_options options = {.environment = &f->around.environment,
                                                 .records = &f->records,
                                                 .stream = &f->stream,
                                                 .name = "test",
                                                 .patterns = &pattern,
                                                 .pattern_count = 1,
                                                 .lease_ms = 1000,
                                                 .batch = f->batch,
                                                 .handle = handle,
                                                 .expired = note_expired,
                                                 .context = &f->seen};
    assert_ok(kedge_stream_reader_new(&options, &reader, &f->error));
    return reader;
}

bool all_seen(const fixture *f)
{
    return memcmp(f->seen.newest, f->written, sizeof f->written) == 0;
}

void read_all(fixture *f, kedge_stream_reader *reader)
{
    kedge_stream_round round;
    for (int i = 0; i < ROUNDS_MAX; i++) {
        kedge_status status = kedge_stream_reader_round(reader, &round, &f->error);
        if (status != KEDGE_OK) print_error("%s: %s\n", f->error.code, f->error.message);
        assert_ok(status);
        if (all_seen(f) && !round.more) return;
    }
    assert_true(all_seen(f));
}

void pass_time(fixture *f, int64_t ms)
{
    f->around.now_ms += ms;
}

size_t count_expired_records(fixture *f)
{
    kedge_record_set set = {0};
    kedge_records_query query = {.partition = KEDGE_BYTES("Stream#test"),
                                 .sort_from = KEDGE_BYTES("Expired#"),
                                 .sort_to = KEDGE_BYTES("Expired$"),
                                 .limit = 100,
                                 .consistent = true};
    assert_ok(f->ports.records.vtable->query(f->ports.records.self, &query, &set, &f->error));
    size_t count = set.count;
    kedge_record_set_free(&set);
    return count;
}

/* ---- running ---- */

int reader_start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    kedge_status status = current->open(&f.around, &f.ports, &f.error);
    if (status != KEDGE_OK) {
        print_error("%s: %s\n", current->name, f.error.message);
        return -1;
    }
    f.faults = (faults){.records = &f.ports.records, .stream = &f.ports.stream};
    f.records = (kedge_records){&faulty_records, &f.faults};
    f.stream = (kedge_stream){&faulty_stream, &f.faults};
    f.batch = 3;
    *state = &f;
    return 0;
}

int reader_end(void **state)
{
    fixture *f = *state;
    current->close(&f->ports);
    world_end(&f->around);
    return 0;
}

int reader_run(const struct CMUnitTest *tests, size_t count)
{
    int failed = 0;
    int missing = stream_engine == NULL ? 0 : engines_missing(stream_engine);
    if (missing != 0) return missing;
    for (const stream_implementation *row = stream_implementations; row->name != NULL; row++) {
        current = row;
        failed += _cmocka_run_group_tests(current->name, tests, count, NULL, NULL);
    }
    return failed == 0 ? 0 : 1;
}
