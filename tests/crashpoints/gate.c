/* Points around the port calls of one processor. */
#include "tests/crashpoints/gate.h"

#include "common/error.h"

#include <string.h>

/* False: the processor is dead. */
static bool pass(gate *own)
{
    pthread_mutex_lock(&own->lock);
    if (own->next++ == own->stop_at && !own->dead) {
        own->stopped = true;
        pthread_cond_broadcast(&own->changed);
        while (!own->released)
            pthread_cond_wait(&own->changed, &own->lock);
        own->stopped = false;
    }
    bool alive = !own->dead;
    pthread_mutex_unlock(&own->lock);
    return alive;
}

static kedge_status dead(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable", "the processor is dead");
}

#define CALL(forget, call)                                                                         \
    gate *own = self;                                                                              \
    if (!pass(own)) return dead(error);                                                            \
    kedge_status status = (call);                                                                  \
    if (!pass(own)) {                                                                              \
        if (status == KEDGE_OK) forget;                                                            \
        return dead(error);                                                                        \
    }                                                                                              \
    return status

#define RECORDS (own->store_records)
#define BLOBS   (own->store_blobs)
#define QUEUE   (own->store_queue)
#define STREAM  (own->store_stream)

static kedge_status get(void *self, const kedge_record_key *key, bool consistent,
                        kedge_record_set *set, kedge_error *error)
{
    CALL(kedge_record_set_free(set),
         RECORDS->vtable->get(RECORDS->self, key, consistent, set, error));
}

static kedge_status batch_get(void *self, const kedge_record_key *keys, size_t count,
                              bool consistent, kedge_record_set *set, kedge_error *error)
{
    CALL(kedge_record_set_free(set),
         RECORDS->vtable->batch_get(RECORDS->self, keys, count, consistent, set, error));
}

static kedge_status query(void *self, const kedge_records_query *wanted, kedge_record_set *set,
                          kedge_error *error)
{
    CALL(kedge_record_set_free(set), RECORDS->vtable->query(RECORDS->self, wanted, set, error));
}

static kedge_status write(void *self, const kedge_record_write *wanted, kedge_error *error)
{
    CALL((void)0, RECORDS->vtable->write(RECORDS->self, wanted, error));
}

static kedge_status transact(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error)
{
    CALL((void)0, RECORDS->vtable->transact(RECORDS->self, writes, count, error));
}

/* One by one: between any two of them it may be stopped. */
static kedge_status put_many(void *self, const kedge_record_write *writes, size_t count,
                             kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++)
        status = write(self, &writes[i], error);
    return status;
}

static kedge_status put_if_absent(void *self, kedge_bytes key, kedge_bytes bytes,
                                  kedge_error *error)
{
    CALL((void)0, BLOBS->vtable->put_if_absent(BLOBS->self, key, bytes, error));
}

static kedge_status put_tagged(void *self, kedge_bytes key, kedge_bytes bytes,
                               const kedge_blob_tag *wanted, kedge_error *error)
{
    CALL((void)0, BLOBS->vtable->put_tagged(BLOBS->self, key, bytes, wanted, error));
}

static kedge_status get_blob(void *self, kedge_bytes key, kedge_buffer *out, kedge_error *error)
{
    size_t start = out->size;
    CALL(kedge_buffer_truncate(out, start), BLOBS->vtable->get(BLOBS->self, key, out, error));
}

static kedge_status remove_blob(void *self, kedge_bytes key, kedge_error *error)
{
    CALL((void)0, BLOBS->vtable->remove(BLOBS->self, key, error));
}

static kedge_status list_blobs(void *self, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                               kedge_blob_list *list, kedge_error *error)
{
    CALL(kedge_blob_list_free(list),
         BLOBS->vtable->list(BLOBS->self, prefix, after, limit, list, error));
}

static kedge_status tag(void *self, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                        kedge_error *error)
{
    CALL((void)0, BLOBS->vtable->tag(BLOBS->self, key, name, value, error));
}

static kedge_status get_tag(void *self, kedge_bytes key, kedge_bytes name, kedge_buffer *value,
                            kedge_error *error)
{
    size_t before = value->size;
    CALL(kedge_buffer_truncate(value, before),
         BLOBS->vtable->get_tag(BLOBS->self, key, name, value, error));
}

static kedge_status send(void *self, kedge_bytes owner, kedge_bytes group,
                         kedge_bytes deduplication, kedge_bytes body, kedge_error *error)
{
    CALL((void)0, QUEUE->vtable->send(QUEUE->self, owner, group, deduplication, body, error));
}

static kedge_status receive(void *self, uint32_t count, int64_t visibility_ms, int64_t wait_ms,
                            const kedge_queue_admission *admission, kedge_queue_batch *batch,
                            kedge_error *error)
{
    CALL(kedge_queue_batch_free(batch), QUEUE->vtable->receive(QUEUE->self, count, visibility_ms,
                                                               wait_ms, admission, batch, error));
}

static kedge_status extend(void *self, const char *receipt, int64_t visibility_ms,
                           kedge_error *error)
{
    CALL((void)0, QUEUE->vtable->extend(QUEUE->self, receipt, visibility_ms, error));
}

static kedge_status done(void *self, const char *receipt, kedge_error *error)
{
    CALL((void)0, QUEUE->vtable->done(QUEUE->self, receipt, error));
}

static kedge_status shards(void *self, kedge_bytes after, uint32_t limit,
                           kedge_stream_shards *found, kedge_error *error)
{
    CALL(kedge_stream_shards_free(found),
         STREAM->vtable->shards(STREAM->self, after, limit, found, error));
}

static kedge_status read_changes(void *self, const kedge_stream_query *wanted,
                                 kedge_stream_batch *batch, kedge_error *error)
{
    CALL(kedge_stream_batch_free(batch), STREAM->vtable->read(STREAM->self, wanted, batch, error));
}

static void close_nothing(void *self)
{
    (void)self;
}

static const kedge_records_vtable gated_records = {get,      batch_get, query,        write,
                                                   transact, put_many,  close_nothing};
static const kedge_blobs_vtable gated_blobs = {put_if_absent, put_tagged, get_blob,
                                               tag,           get_tag,    remove_blob,
                                               list_blobs,    NULL,       close_nothing};

static const kedge_queue_vtable gated_queue = {
    .send = send, .receive = receive, .extend = extend, .done = done, .close = close_nothing};
static const kedge_stream_vtable gated_stream = {
    .shards = shards, .read = read_changes, .close = close_nothing};

void gate_make(gate *made, const kedge_records *records, const kedge_blobs *blobs)
{
    memset(made, 0, sizeof *made);
    made->store_records = records;
    made->store_blobs = blobs;
    made->records = (kedge_records){&gated_records, made};
    made->blobs = (kedge_blobs){&gated_blobs, made};
    made->stop_at = GATE_NEVER;
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
}

void gate_add(gate *made, const kedge_queue *queue, const kedge_stream *stream)
{
    made->store_queue = queue;
    made->store_stream = stream;
    made->queue = (kedge_queue){&gated_queue, made};
    made->stream = (kedge_stream){&gated_stream, made};
}

void gate_free(gate *gone)
{
    pthread_cond_destroy(&gone->changed);
    pthread_mutex_destroy(&gone->lock);
}

bool gate_wait(gate *watched)
{
    pthread_mutex_lock(&watched->lock);
    while (!watched->stopped && !watched->ended)
        pthread_cond_wait(&watched->changed, &watched->lock);
    bool waits = watched->stopped;
    pthread_mutex_unlock(&watched->lock);
    return waits;
}

void gate_release(gate *watched, bool dies)
{
    pthread_mutex_lock(&watched->lock);
    watched->dead = dies;
    watched->released = true;
    pthread_cond_broadcast(&watched->changed);
    pthread_mutex_unlock(&watched->lock);
}

void gate_end(gate *own)
{
    pthread_mutex_lock(&own->lock);
    own->ended = true;
    pthread_cond_broadcast(&own->changed);
    pthread_mutex_unlock(&own->lock);
}
