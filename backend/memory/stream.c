/* The stream port over the records in memory. */
#include "backend/memory/changes.h"
#include "backend/memory/memory_ports.h"
#include "backend/ports/stream_support.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

static kedge_memory_shard *shard_at(const kedge_memory_changes *self, size_t i)
{
    return self->shards.entries[i];
}

/* The place after the shard of this id; 0: there is none. */
static size_t place_behind(const kedge_memory_changes *self, kedge_bytes id)
{
    for (size_t i = 0; i < self->shards.count; i++) {
        if (kedge_bytes_equal_text(id, shard_at(self, i)->id)) return i + 1;
    }
    return 0;
}

/* ---- shards ---- */

static kedge_status add_shard(const kedge_memory_shard *shard, kedge_shard_page *page,
                              kedge_error *error)
{
    char start[KEDGE_STREAM_SEQUENCE_SIZE];
    kedge_stream_sequence_write(shard->start, start);
    kedge_stream_shard shown = {shard->id, shard->parent, start, shard->closed};
    return kedge_shard_page_add(page, &shown, error);
}

static kedge_status stream_shards(void *context, kedge_bytes after, uint32_t limit,
                                  kedge_stream_shards *shards, kedge_error *error)
{
    kedge_memory_changes *self = context;
    kedge_shard_page page = {.allocator = self->environment->allocator};
    kedge_status status = kedge_stream_shards_check(after, limit, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(self->mutex);
    size_t i = place_behind(self, after);
    for (; i < self->shards.count && page.count < limit && status == KEDGE_OK; i++)
        status = add_shard(shard_at(self, i), &page, error);
    bool more = i < self->shards.count;
    pthread_mutex_unlock(self->mutex);
    if (status == KEDGE_OK) status = kedge_shard_page_finish(&page, more, shards, error);
    kedge_shard_page_free(&page);
    return status;
}

/* ---- reading ---- */

static kedge_status add_change(const kedge_memory_change *change, const kedge_stream_query *query,
                               kedge_stream_page *page, kedge_error *error)
{
    char position[KEDGE_STREAM_SEQUENCE_SIZE];
    kedge_stream_sequence_write(change->sequence, position);
    kedge_status status =
        kedge_record_page_add(&page->records, &change->key, change->attributes, error);
    return status == KEDGE_OK ? kedge_stream_page_add(page, query, change->kind, change->at_ms,
                                                      kedge_bytes_of(position), error)
                              : status;
}

static kedge_status fill_page(const kedge_memory_changes *self, const kedge_memory_shard *shard,
                              const kedge_stream_query *query, uint64_t behind,
                              kedge_stream_page *page, bool *ended, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    size_t i = 0;
    for (; i < shard->changes.count && status == KEDGE_OK; i++) {
        const kedge_memory_change *change = shard->changes.entries[i];
        if (change->sequence <= behind) continue;
        if (change->sequence > self->visible_through || page->looked_at == query->limit ||
            page->records.bytes >= KEDGE_STREAM_READ_BYTES)
            break;
        status = add_change(change, query, page, error);
    }
    *ended = shard->closed && i == shard->changes.count;
    return status;
}

/* With the mutex held. */
static kedge_status read_shard(const kedge_memory_changes *self, const kedge_stream_query *query,
                               kedge_stream_page *page, bool *ended, kedge_error *error)
{
    size_t place = place_behind(self, kedge_bytes_of(query->shard));
    if (place == 0) return kedge_stream_fail_trimmed(query->shard, query->position, error);
    const kedge_memory_shard *shard = shard_at(self, place - 1);
    uint64_t behind = 0;
    if (query->position.size > 0 && !kedge_stream_sequence_read(query->position, &behind))
        return kedge_stream_invalid_position(query->position, error);
    if (query->position.size > 0 && behind < shard->trimmed_through)
        return kedge_stream_fail_trimmed(query->shard, query->position, error);
    /* The newest place has a name, so that what comes next is not passed over as well. */
    if (query->newest) {
        behind = self->sequence < self->visible_through ? self->sequence : self->visible_through;
        kedge_stream_sequence_write(behind, page->next);
    }
    return fill_page(self, shard, query, behind, page, ended, error);
}

static kedge_status stream_read(void *context, const kedge_stream_query *query,
                                kedge_stream_batch *batch, kedge_error *error)
{
    kedge_memory_changes *self = context;
    kedge_stream_page page = {.records = {.allocator = self->environment->allocator}};
    bool ended = false;
    kedge_status status = kedge_stream_query_check(query, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(self->mutex);
    status = read_shard(self, query, &page, &ended, error);
    pthread_mutex_unlock(self->mutex);
    if (status == KEDGE_OK) status = kedge_stream_page_finish(&page, query, ended, batch, error);
    kedge_stream_page_free(&page);
    return status;
}

/* ---- opening ---- */

/* The changes belong to the records. */
static void stream_close(void *context)
{
    (void)context;
}

static const kedge_stream_vtable vtable = {
    .shards = stream_shards, .read = stream_read, .close = stream_close};

kedge_status kedge_memory_stream_open(const kedge_environment *environment,
                                      const kedge_records *records, kedge_stream *stream,
                                      kedge_error *error)
{
    kedge_memory_changes *changes;
    kedge_status status = kedge_memory_records_changes(environment, records, &changes, error);
    if (status == KEDGE_OK) *stream = (kedge_stream){&vtable, changes};
    return status;
}

/* ---- what a test does to it ---- */

static kedge_memory_shard *make_child(const kedge_memory_changes *self,
                                      const kedge_memory_shard *parent, uint32_t side)
{
    kedge_memory_shard *child = kedge_allocate(self->environment->allocator, sizeof *child);
    if (child == NULL) return NULL;
    memcpy(child->parent, parent->id, sizeof child->parent);
    snprintf(child->id, sizeof child->id, "shard-%u", self->made + 1 + side);
    child->depth = parent->depth + 1;
    child->bits = parent->bits | (side << parent->depth);
    child->start = self->sequence;
    child->changes.allocator = self->environment->allocator;
    return child;
}

bool kedge_memory_stream_split(const kedge_stream *stream, const char *shard)
{
    kedge_memory_changes *self = stream->self;
    bool split = false;
    pthread_mutex_lock(self->mutex);
    size_t place = place_behind(self, kedge_bytes_of(shard));
    kedge_memory_shard *parent = place == 0 ? NULL : shard_at(self, place - 1);
    if (parent != NULL && !parent->closed && parent->depth < 16 &&
        kedge_memory_list_reserve(&self->shards, 2)) {
        kedge_memory_shard *left = make_child(self, parent, 0);
        kedge_memory_shard *right = make_child(self, parent, 1);
        split = left != NULL && right != NULL;
        parent->closed = split;
        if (split) {
            self->made += 2;
            kedge_memory_list_insert(&self->shards, self->shards.count, left);
            kedge_memory_list_insert(&self->shards, self->shards.count, right);
        } else {
            kedge_release(self->environment->allocator, left);
            kedge_release(self->environment->allocator, right);
        }
    }
    pthread_mutex_unlock(self->mutex);
    return split;
}

/* A closed shard without changes is gone from the list. */
static void trim_shard(kedge_memory_changes *self, size_t place, uint64_t through)
{
    kedge_memory_shard *shard = shard_at(self, place);
    const kedge_allocator *allocator = self->environment->allocator;
    while (shard->changes.count > 0) {
        const kedge_memory_change *oldest = shard->changes.entries[0];
        if (oldest->sequence > through) break;
        shard->trimmed_through = oldest->sequence;
        kedge_release(allocator, kedge_memory_list_take(&shard->changes, 0));
    }
    if (!shard->closed || shard->changes.count > 0 || shard->start >= through) return;
    kedge_memory_list_free(&shard->changes);
    kedge_release(allocator, kedge_memory_list_take(&self->shards, place));
}

void kedge_memory_stream_trim(const kedge_stream *stream, uint64_t keep)
{
    kedge_memory_changes *self = stream->self;
    pthread_mutex_lock(self->mutex);
    uint64_t through = self->sequence > keep ? self->sequence - keep : 0;
    for (size_t i = self->shards.count; i > 0; i--)
        trim_shard(self, i - 1, through);
    pthread_mutex_unlock(self->mutex);
}

void kedge_memory_stream_hide(const kedge_stream *stream, uint64_t count)
{
    kedge_memory_changes *self = stream->self;
    pthread_mutex_lock(self->mutex);
    uint64_t hidden = count < self->sequence ? count : self->sequence;
    self->visible_through = count == 0 ? UINT64_MAX : self->sequence - hidden;
    pthread_mutex_unlock(self->mutex);
}
