/* See recorder.h. */
#include "bench/recorder.h"

#include "common/arena.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

#define ANOTHER "~" /* after a partition: one that nobody else writes */

typedef enum request_kind { GET, BATCH_GET, QUERY, WRITE, TRANSACT, PUT_MANY } request_kind;

typedef struct request {
    request_kind kind;
    kedge_record_key *keys;
    kedge_record_write *writes;
    size_t count;
    kedge_records_query query;
    bool consistent;
    kedge_status status;
} request;

struct bench_log {
    const kedge_allocator *allocator;
    kedge_arena *arena;
    request *requests;
    size_t count;
    size_t capacity;
};

static kedge_records recorded;
static _Thread_local bench_log *current;

/* ---- keeping ---- */

static void *take(bench_log *log, size_t size)
{
    void *bytes = kedge_arena_take(log->arena, size > 0 ? size : 1);
    if (bytes == NULL) abort();
    return bytes;
}

static kedge_bytes kept(bench_log *log, kedge_bytes bytes, const char *more)
{
    size_t size = bytes.size + strlen(more);
    char *copy = take(log, size + 1);
    if (bytes.size > 0) memcpy(copy, bytes.data, bytes.size);
    memcpy(copy + bytes.size, more, strlen(more) + 1);
    return (kedge_bytes){copy, size};
}

static kedge_record_key kept_key(bench_log *log, const kedge_record_key *key)
{
    return (kedge_record_key){kept(log, key->partition, ANOTHER), kept(log, key->sort, "")};
}

static kedge_attribute kept_attribute(bench_log *log, const kedge_attribute *attribute)
{
    kedge_attribute copy = *attribute;
    if (attribute->name != NULL) copy.name = kept(log, kedge_bytes_of(attribute->name), "").data;
    copy.bytes = kept(log, attribute->bytes, "");
    return copy;
}

static kedge_record_write *kept_writes(bench_log *log, const kedge_record_write *writes,
                                       size_t count)
{
    kedge_record_write *copies = take(log, count * sizeof *copies);
    for (size_t i = 0; i < count; i++) {
        const kedge_record *record = &writes[i].record;
        kedge_attribute *attributes = take(log, record->attribute_count * sizeof *attributes);
        for (size_t j = 0; j < record->attribute_count; j++)
            attributes[j] = kept_attribute(log, &record->attributes[j]);
        copies[i] = writes[i];
        copies[i].record.key = kept_key(log, &record->key);
        copies[i].record.attributes = attributes;
        copies[i].expected = kept_attribute(log, &writes[i].expected);
    }
    return copies;
}

static kedge_record_key *kept_keys(bench_log *log, const kedge_record_key *keys, size_t count)
{
    kedge_record_key *copies = take(log, count * sizeof *copies);
    for (size_t i = 0; i < count; i++)
        copies[i] = kept_key(log, &keys[i]);
    return copies;
}

static kedge_status keep(request one)
{
    bench_log *log = current;
    if (log == NULL) return one.status;
    if (log->count == log->capacity) {
        log->capacity = log->capacity == 0 ? 256 : log->capacity * 2;
        log->requests = realloc(log->requests, log->capacity * sizeof *log->requests);
        if (log->requests == NULL) abort();
    }
    if (one.keys != NULL) one.keys = kept_keys(log, one.keys, one.count);
    if (one.writes != NULL) one.writes = kept_writes(log, one.writes, one.count);
    if (one.kind == QUERY) {
        one.query.partition = kept(log, one.query.partition, ANOTHER);
        one.query.sort_from = kept(log, one.query.sort_from, "");
        one.query.sort_to = kept(log, one.query.sort_to, "");
        one.query.after = kept(log, one.query.after, "");
    }
    log->requests[log->count++] = one;
    return one.status;
}

/* ---- the port ---- */

static kedge_status make(const request *one, kedge_records records, kedge_record_set *set,
                         kedge_error *error)
{
    const kedge_records_vtable *calls = records.vtable;
    switch (one->kind) {
    case GET:
        return calls->get(records.self, one->keys, one->consistent, set, error);
    case BATCH_GET:
        return calls->batch_get(records.self, one->keys, one->count, one->consistent, set, error);
    case QUERY:
        return calls->query(records.self, &one->query, set, error);
    case WRITE:
        return calls->write(records.self, one->writes, error);
    case TRANSACT:
        return calls->transact(records.self, one->writes, one->count, error);
    case PUT_MANY:
        return kedge_records_put_all(&records, one->writes, one->count, error);
    }
    abort();
}

static kedge_status make_and_keep(request one, kedge_record_set *set, kedge_error *error)
{
    one.status = make(&one, recorded, set, error);
    return keep(one);
}

static kedge_status get(void *self, const kedge_record_key *key, bool consistent,
                        kedge_record_set *set, kedge_error *error)
{
    kedge_record_key one = *key;
    (void)self;
    return make_and_keep((request){.kind = GET, .keys = &one, .count = 1, .consistent = consistent},
                         set, error);
}

static kedge_status batch_get(void *self, const kedge_record_key *keys, size_t count,
                              bool consistent, kedge_record_set *set, kedge_error *error)
{
    kedge_record_key all[KEDGE_BATCH_GET_KEYS_MAX];
    (void)self;
    if (count > KEDGE_BATCH_GET_KEYS_MAX) abort();
    memcpy(all, keys, count * sizeof *keys);
    return make_and_keep(
        (request){.kind = BATCH_GET, .keys = all, .count = count, .consistent = consistent}, set,
        error);
}

static kedge_status query(void *self, const kedge_records_query *wanted, kedge_record_set *set,
                          kedge_error *error)
{
    (void)self;
    return make_and_keep((request){.kind = QUERY, .query = *wanted}, set, error);
}

static kedge_status writes_of(request_kind kind, const kedge_record_write *writes, size_t count,
                              kedge_error *error)
{
    kedge_record_write all[KEDGE_TRANSACT_WRITES_MAX];
    if (count > KEDGE_TRANSACT_WRITES_MAX) abort();
    memcpy(all, writes, count * sizeof *writes);
    return make_and_keep((request){.kind = kind, .writes = all, .count = count}, NULL, error);
}

static kedge_status write(void *self, const kedge_record_write *wanted, kedge_error *error)
{
    (void)self;
    return writes_of(WRITE, wanted, 1, error);
}

static kedge_status transact(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error)
{
    (void)self;
    return writes_of(TRANSACT, writes, count, error);
}

static kedge_status put_many(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error)
{
    (void)self;
    return writes_of(PUT_MANY, writes, count, error);
}

static void close_nothing(void *self)
{
    (void)self;
}

static const kedge_records_vtable recording = {.get = get,
                                               .batch_get = batch_get,
                                               .query = query,
                                               .write = write,
                                               .transact = transact,
                                               .put_many = put_many,
                                               .close = close_nothing};

kedge_records bench_recorder(kedge_records records)
{
    recorded = records;
    return (kedge_records){&recording, NULL};
}

void bench_record_to(bench_log *log)
{
    current = log;
}

/* ---- logs ---- */

bench_log *bench_log_make(const kedge_allocator *allocator)
{
    bench_log *log = calloc(1, sizeof *log);
    if (log == NULL) abort();
    log->allocator = allocator;
    log->arena = kedge_arena_new(allocator);
    if (log->arena == NULL) abort();
    return log;
}

void bench_log_free(bench_log *log)
{
    kedge_arena_delete(log->arena);
    free(log->requests);
    free(log);
}

size_t bench_log_count(const bench_log *log)
{
    return log->count;
}

size_t bench_replay(const bench_log *log, kedge_records records)
{
    size_t others = 0;
    for (size_t i = 0; i < log->count; i++) {
        kedge_record_set set = {0};
        if (make(&log->requests[i], records, &set, NULL) != log->requests[i].status) others++;
        kedge_record_set_free(&set);
    }
    return others;
}
