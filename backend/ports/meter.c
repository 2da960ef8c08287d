/* See meter.h. */
#include "backend/ports/meter.h"

#include "common/error.h"
#include "common/utf8.h"

#include <stdatomic.h>
#include <string.h>

/* Dead letters are for tools, and counted roughly: a look receives and gives back ten at a time, a
 * redrive looks, sends and deletes. */
#define LOOK_LETTERS     10
#define REDRIVE_REQUESTS 4

typedef struct queue_behind {
    kedge_meter *meter;
    kedge_queue queue;
} queue_behind;

struct kedge_meter {
    const kedge_allocator *allocator;
    kedge_records records;
    kedge_blobs blobs;
    queue_behind queue;
    queue_behind snapshots;
    kedge_stream stream;
    kedge_blobs_vtable blobs_vtable; /* what may be missing is missing here, too */
    atomic_uint_fast64_t totals[KEDGE_COST_KINDS];
};

static _Thread_local kedge_cost thread_cost;

static void count(kedge_meter *meter, kedge_cost_kind kind, uint64_t amount)
{
    thread_cost.of[kind] += amount;
    atomic_fetch_add_explicit(&meter->totals[kind], amount, memory_order_relaxed);
}

static bool is_charged(kedge_status status)
{
    return status == KEDGE_OK || status == KEDGE_CONFLICT || status == KEDGE_NOT_FOUND ||
           status == KEDGE_UNAVAILABLE || status == KEDGE_CORRUPT;
}

/* Also after KEDGE_UNAVAILABLE: it may have been stored. */
static bool is_stored(kedge_status status)
{
    return status == KEDGE_OK || status == KEDGE_UNAVAILABLE;
}

/* ---- records ---- */

static void count_stored(kedge_meter *meter, const kedge_record_write *writes, size_t write_count)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < write_count; i++)
        if (writes[i].kind == KEDGE_WRITE_PUT) bytes += kedge_cost_item_bytes(&writes[i].record);
    count(meter, KEDGE_COST_BYTES_STORED, bytes);
}

static size_t set_bytes(const kedge_record_set *set)
{
    size_t bytes = 0;
    for (size_t i = 0; i < set->count; i++)
        bytes += kedge_cost_item_bytes(&set->records[i]);
    return bytes;
}

static kedge_status get(void *self, const kedge_record_key *key, bool consistent,
                        kedge_record_set *set, kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_records *records = &meter->records;
    kedge_status status = records->vtable->get(records->self, key, consistent, set, error);
    if (is_charged(status)) {
        size_t bytes = status == KEDGE_OK ? set_bytes(set) : 0;
        count(meter, KEDGE_COST_READ_HALVES, kedge_cost_read_halves(bytes, consistent));
    }
    return status;
}

static kedge_status batch_get(void *self, const kedge_record_key *keys, size_t key_count,
                              bool consistent, kedge_record_set *set, kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_records *records = &meter->records;
    kedge_status status =
        records->vtable->batch_get(records->self, keys, key_count, consistent, set, error);
    if (is_charged(status)) {
        size_t found = status == KEDGE_OK ? set->count : 0;
        uint64_t halves = (key_count - found) * kedge_cost_read_halves(0, consistent);
        for (size_t i = 0; i < found; i++) {
            size_t bytes = kedge_cost_item_bytes(&set->records[i]);
            halves += kedge_cost_read_halves(bytes, consistent);
        }
        count(meter, KEDGE_COST_READ_HALVES, halves);
    }
    return status;
}

/* DynamoDB sums the sizes up before it rounds. */
static kedge_status query(void *self, const kedge_records_query *wanted, kedge_record_set *set,
                          kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_records *records = &meter->records;
    kedge_status status = records->vtable->query(records->self, wanted, set, error);
    if (is_charged(status)) {
        size_t bytes = status == KEDGE_OK ? set_bytes(set) : 0;
        count(meter, KEDGE_COST_READ_HALVES, kedge_cost_read_halves(bytes, wanted->consistent));
    }
    return status;
}

static kedge_status write(void *self, const kedge_record_write *wanted, kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_records *records = &meter->records;
    kedge_status status = records->vtable->write(records->self, wanted, error);
    if (is_charged(status)) {
        bool done = status != KEDGE_CONFLICT;
        count(meter, KEDGE_COST_WRITE_UNITS, kedge_cost_of_write(wanted, done));
    }
    if (is_stored(status)) count_stored(meter, wanted, 1);
    return status;
}

static kedge_status transact(void *self, const kedge_record_write *writes, size_t write_count,
                             kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_records *records = &meter->records;
    kedge_status status = records->vtable->transact(records->self, writes, write_count, error);
    if (is_charged(status)) {
        bool done = status != KEDGE_CONFLICT;
        count(meter, KEDGE_COST_WRITE_UNITS, kedge_cost_of_transaction(writes, write_count, done));
    }
    if (is_stored(status)) count_stored(meter, writes, write_count);
    return status;
}

/* What is behind may do it in transactions: on AWS it would not. */
static kedge_status put_many(void *self, const kedge_record_write *writes, size_t write_count,
                             kedge_error *error)
{
    kedge_meter *meter = self;
    kedge_status status = kedge_records_put_all(&meter->records, writes, write_count, error);
    if (is_charged(status)) {
        for (size_t i = 0; i < write_count; i++)
            count(meter, KEDGE_COST_WRITE_UNITS, kedge_cost_of_write(&writes[i], true));
    }
    if (is_stored(status)) count_stored(meter, writes, write_count);
    return status;
}

static void close_nothing(void *self)
{
    (void)self;
}

static const kedge_records_vtable metered_records = {.get = get,
                                                     .batch_get = batch_get,
                                                     .query = query,
                                                     .write = write,
                                                     .transact = transact,
                                                     .put_many = put_many,
                                                     .close = close_nothing};

/* ---- blobs ---- */

static kedge_status put_if_absent(void *self, kedge_bytes key, kedge_bytes bytes,
                                  kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_blobs *blobs = &meter->blobs;
    kedge_status status = blobs->vtable->put_if_absent(blobs->self, key, bytes, error);
    if (is_charged(status)) {
        count(meter, KEDGE_COST_BLOB_PUTS, kedge_cost_blob_puts(bytes.size));
        count(meter, KEDGE_COST_BLOB_GETS, kedge_cost_blob_gets_of_put(bytes.size));
        count(meter, KEDGE_COST_BLOB_BYTES_PUT, bytes.size);
    }
    if (is_stored(status)) count(meter, KEDGE_COST_BYTES_STORED, bytes.size);
    return status;
}

/* Never in parts. */
static kedge_status put_tagged(void *self, kedge_bytes key, kedge_bytes bytes,
                               const kedge_blob_tag *tag, kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_blobs *blobs = &meter->blobs;
    kedge_status status = blobs->vtable->put_tagged(blobs->self, key, bytes, tag, error);
    if (is_charged(status)) {
        count(meter, KEDGE_COST_BLOB_PUTS, 1);
        count(meter, KEDGE_COST_BLOB_BYTES_PUT, bytes.size);
    }
    if (is_stored(status)) count(meter, KEDGE_COST_BYTES_STORED, bytes.size);
    return status;
}

static kedge_status get_blob(void *self, kedge_bytes key, kedge_buffer *out, kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_blobs *blobs = &meter->blobs;
    size_t before = out->size;
    kedge_status status = blobs->vtable->get(blobs->self, key, out, error);
    if (is_charged(status)) count(meter, KEDGE_COST_BLOB_GETS, 1);
    if (status == KEDGE_OK) count(meter, KEDGE_COST_BLOB_BYTES_GOT, out->size - before);
    return status;
}

/* All tags are read, and written with the one that changed. */
static kedge_status set_tag(void *self, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                            kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_blobs *blobs = &meter->blobs;
    kedge_status status = blobs->vtable->tag(blobs->self, key, name, value, error);
    if (is_charged(status)) count(meter, KEDGE_COST_BLOB_GETS, 1);
    if (is_charged(status) && status != KEDGE_NOT_FOUND) count(meter, KEDGE_COST_BLOB_PUTS, 1);
    return status;
}

static kedge_status get_tag(void *self, kedge_bytes key, kedge_bytes name, kedge_buffer *value,
                            kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_blobs *blobs = &meter->blobs;
    kedge_status status = blobs->vtable->get_tag(blobs->self, key, name, value, error);
    if (is_charged(status)) count(meter, KEDGE_COST_BLOB_GETS, 1);
    return status;
}

static kedge_status remove_blob(void *self, kedge_bytes key, kedge_error *error)
{
    const kedge_blobs *blobs = &((kedge_meter *)self)->blobs;
    return blobs->vtable->remove(blobs->self, key, error);
}

static kedge_status list(void *self, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                         kedge_blob_list *found, kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_blobs *blobs = &meter->blobs;
    kedge_status status = blobs->vtable->list(blobs->self, prefix, after, limit, found, error);
    if (is_charged(status)) count(meter, KEDGE_COST_BLOB_PUTS, 1);
    return status;
}

/* Counts the upload that follows: it goes to the store past the meter. */
static kedge_status presign_put(void *self, const kedge_blob_upload *upload,
                                kedge_blob_grant *grant, kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_blobs *blobs = &meter->blobs;
    kedge_status status = blobs->vtable->presign_put(blobs->self, upload, grant, error);
    if (status == KEDGE_OK) {
        count(meter, KEDGE_COST_BLOB_PUTS, 1);
        count(meter, KEDGE_COST_BLOB_BYTES_PUT, (uint64_t)upload->size_bytes);
        count(meter, KEDGE_COST_BYTES_STORED, (uint64_t)upload->size_bytes);
    }
    return status;
}

static const kedge_blobs_vtable metered_blobs = {.put_if_absent = put_if_absent,
                                                 .put_tagged = put_tagged,
                                                 .get = get_blob,
                                                 .tag = set_tag,
                                                 .get_tag = get_tag,
                                                 .remove = remove_blob,
                                                 .list = list,
                                                 .presign_put = presign_put,
                                                 .close = close_nothing};

/* ---- queue ---- */

/* What is not text goes as base64. */
static size_t sent_bytes(kedge_bytes body)
{
    bool text = kedge_bytes_are_utf8(body) && memchr(body.data, '\0', body.size) == NULL;
    return text ? body.size : (body.size + 2) / 3 * 4;
}

static kedge_status send(void *self, kedge_bytes owner, kedge_bytes group,
                         kedge_bytes deduplication, kedge_bytes body, kedge_error *error)
{
    const queue_behind *behind = self;
    const kedge_queue *queue = &behind->queue;
    kedge_status status =
        queue->vtable->send(queue->self, owner, group, deduplication, body, error);
    if (is_charged(status)) {
        count(behind->meter, KEDGE_COST_QUEUE_REQUESTS,
              kedge_cost_queue_requests(sent_bytes(body)));
    }
    return status;
}

static kedge_status receive(void *self, uint32_t message_count, int64_t visibility_ms,
                            int64_t wait_ms, const kedge_queue_admission *admission,
                            kedge_queue_batch *batch, kedge_error *error)
{
    const queue_behind *behind = self;
    const kedge_queue *queue = &behind->queue;
    kedge_status status = queue->vtable->receive(queue->self, message_count, visibility_ms, wait_ms,
                                                 admission, batch, error);
    if (is_charged(status)) {
        size_t bytes = 0;
        for (size_t i = 0; status == KEDGE_OK && i < batch->count; i++)
            bytes += sent_bytes(batch->messages[i].body);
        count(behind->meter, KEDGE_COST_QUEUE_REQUESTS, kedge_cost_queue_requests(bytes));
    }
    return status;
}

static kedge_status extend(void *self, const char *receipt, int64_t visibility_ms,
                           kedge_error *error)
{
    const queue_behind *behind = self;
    const kedge_queue *queue = &behind->queue;
    kedge_status status = queue->vtable->extend(queue->self, receipt, visibility_ms, error);
    if (is_charged(status)) count(behind->meter, KEDGE_COST_QUEUE_REQUESTS, 1);
    return status;
}

/* One request, whose failure is that of each. */
static void extend_all(void *self, const char *const *receipts, size_t receipt_count,
                       int64_t visibility_ms, kedge_error *failures)
{
    const queue_behind *behind = self;
    const kedge_queue *queue = &behind->queue;
    bool charged = false;
    queue->vtable->extend_all(queue->self, receipts, receipt_count, visibility_ms, failures);
    for (size_t i = 0; i < receipt_count; i++)
        charged = charged || is_charged(failures[i].status);
    if (charged) count(behind->meter, KEDGE_COST_QUEUE_REQUESTS, 1);
}

static kedge_status done(void *self, const char *receipt, kedge_error *error)
{
    const queue_behind *behind = self;
    const kedge_queue *queue = &behind->queue;
    kedge_status status = queue->vtable->done(queue->self, receipt, error);
    if (is_charged(status)) count(behind->meter, KEDGE_COST_QUEUE_REQUESTS, 1);
    return status;
}

static kedge_status dead_letters(void *self, uint32_t letter_count, kedge_queue_batch *batch,
                                 kedge_error *error)
{
    const queue_behind *behind = self;
    const kedge_queue *queue = &behind->queue;
    kedge_status status = queue->vtable->dead_letters(queue->self, letter_count, batch, error);
    if (is_charged(status)) {
        size_t found = status == KEDGE_OK ? batch->count : 0;
        size_t rounds = (found + LOOK_LETTERS - 1) / LOOK_LETTERS;
        count(behind->meter, KEDGE_COST_QUEUE_REQUESTS, 2 * rounds + 1);
    }
    return status;
}

static kedge_status redrive(void *self, const char *receipt, kedge_error *error)
{
    const queue_behind *behind = self;
    const kedge_queue *queue = &behind->queue;
    kedge_status status = queue->vtable->redrive(queue->self, receipt, error);
    if (is_charged(status)) count(behind->meter, KEDGE_COST_QUEUE_REQUESTS, REDRIVE_REQUESTS);
    return status;
}

static const kedge_queue_vtable metered_queue = {.send = send,
                                                 .receive = receive,
                                                 .extend = extend,
                                                 .done = done,
                                                 .dead_letters = dead_letters,
                                                 .redrive = redrive,
                                                 .close = close_nothing};

/* Of one that has the calls for several messages. */
static const kedge_queue_vtable metered_queue_of_many = {.send = send,
                                                         .receive = receive,
                                                         .extend = extend,
                                                         .done = done,
                                                         .dead_letters = dead_letters,
                                                         .redrive = redrive,
                                                         .close = close_nothing,
                                                         .extend_all = extend_all};

/* ---- stream ---- */

static kedge_status shards(void *self, kedge_bytes after, uint32_t limit,
                           kedge_stream_shards *found, kedge_error *error)
{
    const kedge_stream *stream = &((kedge_meter *)self)->stream;
    return stream->vtable->shards(stream->self, after, limit, found, error);
}

static kedge_status read_changes(void *self, const kedge_stream_query *wanted,
                                 kedge_stream_batch *batch, kedge_error *error)
{
    kedge_meter *meter = self;
    const kedge_stream *stream = &meter->stream;
    kedge_status status = stream->vtable->read(stream->self, wanted, batch, error);
    if (is_charged(status)) count(meter, KEDGE_COST_STREAM_READS, 1);
    return status;
}

static const kedge_stream_vtable metered_stream = {
    .shards = shards, .read = read_changes, .close = close_nothing};

/* ---- the meter ---- */

kedge_status kedge_meter_new(const kedge_allocator *allocator, kedge_records records,
                             kedge_blobs blobs, kedge_queue queue, kedge_stream stream,
                             kedge_meter **meter, kedge_error *error)
{
    kedge_meter *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->records = records;
    made->blobs = blobs;
    made->queue = (queue_behind){made, queue};
    made->stream = stream;
    made->blobs_vtable = metered_blobs;
    if (blobs.vtable == NULL || blobs.vtable->presign_put == NULL) {
        made->blobs_vtable.presign_put = NULL;
    }
    for (size_t i = 0; i < KEDGE_COST_KINDS; i++)
        atomic_init(&made->totals[i], 0);
    *meter = made;
    return KEDGE_OK;
}

void kedge_meter_free(kedge_meter *meter)
{
    if (meter != NULL) kedge_release(meter->allocator, meter);
}

kedge_records kedge_meter_records(kedge_meter *meter)
{
    return (kedge_records){meter->records.vtable == NULL ? NULL : &metered_records, meter};
}

kedge_blobs kedge_meter_blobs(kedge_meter *meter)
{
    return (kedge_blobs){meter->blobs.vtable == NULL ? NULL : &meter->blobs_vtable, meter};
}

static kedge_queue metered(queue_behind *behind)
{
    const kedge_queue_vtable *own = behind->queue.vtable;
    bool of_many = own != NULL && own->extend_all != NULL;
    return (kedge_queue){own == NULL ? NULL
                         : of_many   ? &metered_queue_of_many
                                     : &metered_queue,
                         behind};
}

kedge_queue kedge_meter_queue(kedge_meter *meter)
{
    return metered(&meter->queue);
}

kedge_queue kedge_meter_snapshots(kedge_meter *meter, kedge_queue snapshots)
{
    meter->snapshots = (queue_behind){meter, snapshots};
    return metered(&meter->snapshots);
}

kedge_stream kedge_meter_stream(kedge_meter *meter)
{
    return (kedge_stream){meter->stream.vtable == NULL ? NULL : &metered_stream, meter};
}

kedge_cost kedge_meter_totals(kedge_meter *meter)
{
    kedge_cost totals;
    for (size_t i = 0; i < KEDGE_COST_KINDS; i++)
        totals.of[i] = atomic_load_explicit(&meter->totals[i], memory_order_relaxed);
    return totals;
}

kedge_cost kedge_meter_of_thread(void)
{
    return thread_cost;
}

void kedge_meter_write_metrics(kedge_meter *meter, kedge_buffer *out)
{
    kedge_cost totals = kedge_meter_totals(meter);
    kedge_buffer_append_format(
        out,
        "# TYPE kedge_store_write_units_total counter\nkedge_store_write_units_total %llu\n"
        "# TYPE kedge_store_read_units_total counter\nkedge_store_read_units_total %.1f\n"
        "# TYPE kedge_store_blob_requests_total counter\n"
        "kedge_store_blob_requests_total{class=\"put\"} %llu\n"
        "kedge_store_blob_requests_total{class=\"get\"} %llu\n"
        "# TYPE kedge_store_blob_bytes_total counter\n"
        "kedge_store_blob_bytes_total{class=\"put\"} %llu\n"
        "kedge_store_blob_bytes_total{class=\"get\"} %llu\n"
        "# TYPE kedge_store_queue_requests_total counter\nkedge_store_queue_requests_total %llu\n"
        "# TYPE kedge_store_stream_reads_total counter\nkedge_store_stream_reads_total %llu\n"
        "# TYPE kedge_store_dollars_total counter\nkedge_store_dollars_total %.9f\n",
        (unsigned long long)totals.of[KEDGE_COST_WRITE_UNITS], kedge_cost_read_units(&totals),
        (unsigned long long)totals.of[KEDGE_COST_BLOB_PUTS],
        (unsigned long long)totals.of[KEDGE_COST_BLOB_GETS],
        (unsigned long long)totals.of[KEDGE_COST_BLOB_BYTES_PUT],
        (unsigned long long)totals.of[KEDGE_COST_BLOB_BYTES_GOT],
        (unsigned long long)totals.of[KEDGE_COST_QUEUE_REQUESTS],
        (unsigned long long)totals.of[KEDGE_COST_STREAM_READS], kedge_cost_dollars(&totals));
}
