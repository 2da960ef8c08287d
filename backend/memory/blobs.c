/* The blobs port in memory: blobs in order of their keys. */
#include "backend/memory/list.h"
#include "backend/memory/memory_ports.h"
#include "backend/ports/blobs_support.h"
#include "common/error.h"

#include <pthread.h>

typedef struct blob {
    kedge_bytes key, bytes, tags;
    int64_t modified_ms;
} blob; /* and the bytes */

typedef struct memory_blobs {
    const kedge_environment *environment;
    kedge_memory_list blobs;
    pthread_mutex_t mutex;
} memory_blobs;

static int order_of_blobs(const void *at, const void *key)
{
    return kedge_bytes_compare(((const blob *)at)->key, *(const kedge_bytes *)key);
}

static blob *find(const memory_blobs *self, kedge_bytes key, size_t *place)
{
    *place = kedge_memory_list_place(&self->blobs, order_of_blobs, &key);
    if (*place == self->blobs.count) return NULL;
    blob *at = self->blobs.entries[*place];
    return kedge_bytes_equal(at->key, key) ? at : NULL;
}

static blob *make_blob(const kedge_allocator *allocator, const blob *content)
{
    size_t size = content->key.size + content->bytes.size + content->tags.size + 3;
    blob *fresh = kedge_allocate(allocator, sizeof *fresh + size);
    if (fresh == NULL) return NULL;
    char *at = (char *)(fresh + 1);
    fresh->key = kedge_memory_place_bytes(&at, content->key);
    fresh->bytes = kedge_memory_place_bytes(&at, content->bytes);
    fresh->tags = kedge_memory_place_bytes(&at, content->tags);
    fresh->modified_ms = content->modified_ms;
    return fresh;
}

/* ---- put, get, remove, list: with the mutex held ---- */

static kedge_status put(memory_blobs *self, kedge_bytes key, kedge_bytes bytes, kedge_bytes tags,
                        kedge_error *error)
{
    const kedge_environment *environment = self->environment;
    size_t place;
    if (find(self, key, &place) != NULL) return kedge_blob_exists(key, error);
    blob content = {.key = key,
                    .bytes = bytes,
                    .tags = tags,
                    .modified_ms = environment->now_ms(environment->context)};
    if (!kedge_memory_list_reserve(&self->blobs, 1)) return kedge_fail_no_memory(error);
    blob *fresh = make_blob(environment->allocator, &content);
    if (fresh == NULL) return kedge_fail_no_memory(error);
    kedge_memory_list_insert(&self->blobs, place, fresh);
    return KEDGE_OK;
}

static kedge_status get(const memory_blobs *self, kedge_bytes key, kedge_buffer *out,
                        kedge_error *error)
{
    size_t place;
    const blob *found = find(self, key, &place);
    if (found == NULL) return kedge_blob_not_found(key, error);
    kedge_buffer_append_bytes(out, found->bytes);
    return kedge_buffer_status(out, error);
}

static kedge_status list_all(const memory_blobs *self, kedge_bytes prefix, kedge_bytes after,
                             uint32_t limit, kedge_blob_list *list, kedge_error *error)
{
    kedge_bytes start = kedge_bytes_compare(after, prefix) > 0 ? after : prefix;
    kedge_status status = KEDGE_OK;
    size_t i = kedge_memory_list_place(&self->blobs, order_of_blobs, &start);
    for (; i < self->blobs.count && status == KEDGE_OK && !list->more; i++) {
        const blob *at = self->blobs.entries[i];
        if (!kedge_bytes_start_with(at->key, prefix)) break;
        if (kedge_bytes_compare(at->key, after) <= 0) continue;
        status = kedge_blob_list_offer(list, limit, at->key, (int64_t)at->bytes.size,
                                       at->modified_ms, error);
    }
    return status;
}

static kedge_status change_tags(memory_blobs *self, kedge_bytes key, kedge_bytes name,
                                kedge_bytes value, kedge_error *error)
{
    const kedge_allocator *allocator = self->environment->allocator;
    size_t place;
    blob *found = find(self, key, &place);
    if (found == NULL) return kedge_blob_not_found(key, error);
    kedge_buffer tags = kedge_buffer_make(allocator);
    kedge_status status = kedge_blob_tags_set(found->tags, name, value, &tags, error);
    if (status == KEDGE_OK) {
        blob content = *found;
        content.tags = kedge_buffer_bytes(&tags);
        blob *fresh = make_blob(allocator, &content);
        if (fresh == NULL) {
            status = kedge_fail_no_memory(error);
        } else {
            self->blobs.entries[place] = fresh;
            kedge_release(allocator, found);
        }
    }
    kedge_buffer_free(&tags);
    return status;
}

static kedge_status read_tag(const memory_blobs *self, kedge_bytes key, kedge_bytes name,
                             kedge_buffer *value, kedge_error *error)
{
    size_t place;
    kedge_bytes found_value;
    const blob *found = find(self, key, &place);
    if (found == NULL) return kedge_blob_not_found(key, error);
    if (!kedge_blob_tags_get(found->tags, name, &found_value))
        return kedge_blob_tag_not_found(key, name, error);
    kedge_buffer_append_bytes(value, found_value);
    return kedge_buffer_status(value, error);
}

/* ---- the port ---- */

static kedge_status blobs_put_tagged(void *context, kedge_bytes key, kedge_bytes bytes,
                                     const kedge_blob_tag *tag, kedge_error *error)
{
    memory_blobs *self = context;
    kedge_buffer tags = kedge_buffer_make(self->environment->allocator);
    kedge_status status = kedge_blob_put_tagged_check(key, bytes, tag, error);
    if (status == KEDGE_OK && tag != NULL)
        status = kedge_blob_tags_set((kedge_bytes){NULL, 0}, tag->name, tag->value, &tags, error);
    if (status == KEDGE_OK) {
        pthread_mutex_lock(&self->mutex);
        status = put(self, key, bytes, kedge_buffer_bytes(&tags), error);
        pthread_mutex_unlock(&self->mutex);
    }
    kedge_buffer_free(&tags);
    return status;
}

static kedge_status blobs_put_if_absent(void *context, kedge_bytes key, kedge_bytes bytes,
                                        kedge_error *error)
{
    return blobs_put_tagged(context, key, bytes, NULL, error);
}

static kedge_status blobs_get(void *context, kedge_bytes key, kedge_buffer *out, kedge_error *error)
{
    memory_blobs *self = context;
    kedge_status status = kedge_blob_key_check(key, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    status = get(self, key, out, error);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static kedge_status blobs_tag(void *context, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                              kedge_error *error)
{
    memory_blobs *self = context;
    kedge_status status = kedge_blob_tag_check(key, name, value, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    status = change_tags(self, key, name, value, error);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static kedge_status blobs_get_tag(void *context, kedge_bytes key, kedge_bytes name,
                                  kedge_buffer *value, kedge_error *error)
{
    memory_blobs *self = context;
    kedge_status status = kedge_blob_tag_check(key, name, (kedge_bytes){0}, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    status = read_tag(self, key, name, value, error);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static kedge_status blobs_remove(void *context, kedge_bytes key, kedge_error *error)
{
    memory_blobs *self = context;
    size_t place;
    kedge_status status = kedge_blob_key_check(key, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    if (find(self, key, &place) != NULL)
        kedge_release(self->environment->allocator, kedge_memory_list_take(&self->blobs, place));
    pthread_mutex_unlock(&self->mutex);
    return KEDGE_OK;
}

static kedge_status blobs_list(void *context, kedge_bytes prefix, kedge_bytes after, uint32_t limit,
                               kedge_blob_list *list, kedge_error *error)
{
    memory_blobs *self = context;
    kedge_blob_list found = {.allocator = self->environment->allocator};
    kedge_status status = kedge_blob_list_check(prefix, after, limit, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    status = list_all(self, prefix, after, limit, &found, error);
    pthread_mutex_unlock(&self->mutex);
    if (status == KEDGE_OK)
        *list = found;
    else
        kedge_blob_list_free(&found);
    return status;
}

/* ---- opening, copying ---- */

static void blobs_close(void *context)
{
    memory_blobs *self = context;
    kedge_memory_list_free(&self->blobs);
    pthread_mutex_destroy(&self->mutex);
    kedge_release(self->environment->allocator, self);
}

static const kedge_blobs_vtable vtable = {.put_if_absent = blobs_put_if_absent,
                                          .put_tagged = blobs_put_tagged,
                                          .get = blobs_get,
                                          .tag = blobs_tag,
                                          .get_tag = blobs_get_tag,
                                          .remove = blobs_remove,
                                          .list = blobs_list,
                                          .close = blobs_close};

kedge_status kedge_memory_blobs_open(const kedge_environment *environment, kedge_blobs *blobs,
                                     kedge_error *error)
{
    memory_blobs *self = kedge_allocate(environment->allocator, sizeof *self);
    if (self == NULL) return kedge_fail_no_memory(error);
    self->environment = environment;
    self->blobs.allocator = environment->allocator;
    pthread_mutex_init(&self->mutex, NULL);
    *blobs = (kedge_blobs){&vtable, self};
    return KEDGE_OK;
}

static kedge_status copy_blobs(const kedge_memory_list *from, kedge_memory_list *copy,
                               kedge_error *error)
{
    if (!kedge_memory_list_reserve(copy, from->count)) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < from->count; i++) {
        blob *fresh = make_blob(copy->allocator, from->entries[i]);
        if (fresh == NULL) return kedge_fail_no_memory(error);
        kedge_memory_list_insert(copy, i, fresh);
    }
    return KEDGE_OK;
}

kedge_status kedge_memory_blobs_copy(const kedge_blobs *from, const kedge_blobs *to,
                                     kedge_error *error)
{
    memory_blobs *source = from->self, *target = to->self;
    if (source == target) return KEDGE_OK;
    kedge_memory_list copy = {.allocator = target->environment->allocator};
    pthread_mutex_lock(&source->mutex);
    kedge_status status = copy_blobs(&source->blobs, &copy, error);
    pthread_mutex_unlock(&source->mutex);
    if (status == KEDGE_OK) {
        pthread_mutex_lock(&target->mutex);
        kedge_memory_list old = target->blobs;
        target->blobs = copy;
        copy = old;
        pthread_mutex_unlock(&target->mutex);
    }
    kedge_memory_list_free(&copy);
    return status;
}
