/* Tags of an object: GetObjectTagging, PutObjectTagging, DeleteObjectTagging.
 *
 * S3 sets all tags of an object at once, the port one: a change reads them, changes one and writes
 * all. Threads of one port lock a key. Two processes that change tags of one object at the same
 * moment may lose one of the changes: nothing in S3 would notice. What tags are for (marking what a
 * lifecycle rule may remove) is written by one process at a time.
 *
 * AWS accepts letters, digits, spaces and + - = . _ : / @ in tags; anything else it refuses, which
 * is KEDGE_INVALID_ARGUMENT. */
#include "backend/aws/s3_internal.h"
#include "backend/aws/transport.h"
#include "backend/ports/blobs_support.h"
#include "backend/ports/deadline.h"
#include "common/error.h"

#include <string.h>

typedef struct object_tag {
    size_t name_at, name_size; /* in the set's texts */
    size_t value_at, value_size;
} object_tag;

/* All tags of an object, in S3's order. */
typedef struct tag_set {
    object_tag tags[KEDGE_BLOB_TAGS_MAX];
    size_t count;
    kedge_buffer texts;
    object_tag next; /* what was read of a tag that has not ended */
    bool too_many;
    bool whole;
} tag_set;

static kedge_bytes name_of(const tag_set *set, const object_tag *tag)
{
    return (kedge_bytes){set->texts.data + tag->name_at, tag->name_size};
}

static kedge_bytes value_of(const tag_set *set, const object_tag *tag)
{
    return (kedge_bytes){set->texts.data + tag->value_at, tag->value_size};
}

/* NULL: there is no such tag. */
static const object_tag *find(const tag_set *set, kedge_bytes name)
{
    for (size_t i = 0; i < set->count; i++) {
        if (kedge_bytes_equal(name_of(set, &set->tags[i]), name)) return &set->tags[i];
    }
    return NULL;
}

/* ---- reading ---- */

static bool take_element(void *context, const char *path, kedge_bytes text)
{
    tag_set *set = context;
    size_t at = set->texts.size;
    if (strcmp(path, "Tagging/TagSet/Tag/Key") == 0) {
        set->next.name_at = at;
        set->next.name_size = text.size;
        kedge_buffer_append_bytes(&set->texts, text);
    } else if (strcmp(path, "Tagging/TagSet/Tag/Value") == 0) {
        set->next.value_at = at;
        set->next.value_size = text.size;
        kedge_buffer_append_bytes(&set->texts, text);
    } else if (strcmp(path, "Tagging/TagSet/Tag") == 0) {
        if (set->count == KEDGE_BLOB_TAGS_MAX)
            set->too_many = true;
        else
            set->tags[set->count++] = set->next;
        set->next = (object_tag){0};
    } else if (strcmp(path, "Tagging") == 0) {
        set->whole = true;
    }
    return !set->texts.no_memory;
}

static kedge_status read_tags(const kedge_s3 *self, kedge_bytes key, tag_set *set,
                              kedge_error *error)
{
    const kedge_aws_parameter query[] = {{KEDGE_BYTES("tagging"), {"", 0}}};
    const kedge_s3_request request = {.action = "s3:GetObjectTagging",
                                      .method = "GET",
                                      .key = key,
                                      .query = query,
                                      .query_count = 1,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    kedge_status status = kedge_s3_call(self, &request, &response, error);
    if (status == KEDGE_OK) {
        status = kedge_s3_read_xml(self, &request, &response, take_element, set, error);
        if (status == KEDGE_OK && (!set->whole || set->too_many))
            status = kedge_s3_response_invalid(&request, "is not a set of tags", error);
    } else if (status == KEDGE_CONFLICT && kedge_s3_is(&response, "NoSuchKey")) {
        status = kedge_blob_not_found(key, error);
    } else if (status == KEDGE_CONFLICT && kedge_s3_is(&response, "NoSuchTagSet")) {
        status = KEDGE_OK;
    } else if (status == KEDGE_CONFLICT) {
        status = kedge_s3_refused(&response, error);
    }
    kedge_aws_response_free(&response);
    return status;
}

kedge_status kedge_s3_get_tag(const kedge_s3 *self, kedge_bytes key, kedge_bytes name,
                              kedge_buffer *value, kedge_error *error)
{
    tag_set set = {.texts =
                       kedge_buffer_make(kedge_aws_client_environment(self->client)->allocator)};
    kedge_status status = read_tags(self, key, &set, error);
    if (status == KEDGE_OK) {
        const object_tag *found = find(&set, name);
        if (found == NULL || found->value_size == 0) { /* the port knows no empty values */
            status = kedge_blob_tag_not_found(key, name, error);
        } else {
            kedge_buffer_append_bytes(value, value_of(&set, found));
            status = kedge_buffer_status(value, error);
        }
    }
    kedge_buffer_free(&set.texts);
    return status;
}

/* ---- writing ---- */

static void write_tag(kedge_bytes name, kedge_bytes value, kedge_buffer *out)
{
    kedge_buffer_append_text(out, "<Tag><Key>");
    kedge_s3_write_xml_text(name, out);
    kedge_buffer_append_text(out, "</Key><Value>");
    kedge_s3_write_xml_text(value, out);
    kedge_buffer_append_text(out, "</Value></Tag>");
}

/* The set with one tag changed, as XML; `count` is how many tags that are. */
static void write_tags(const tag_set *set, kedge_bytes name, kedge_bytes value, size_t *count,
                       kedge_buffer *out)
{
    *count = 0;
    kedge_buffer_append_text(out,
                             "<Tagging xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><TagSet>");
    for (size_t i = 0; i < set->count; i++) {
        kedge_bytes other = name_of(set, &set->tags[i]);
        if (kedge_bytes_equal(other, name)) continue;
        write_tag(other, value_of(set, &set->tags[i]), out);
        ++*count;
    }
    if (value.size > 0) {
        write_tag(name, value, out);
        ++*count;
    }
    kedge_buffer_append_text(out, "</TagSet></Tagging>");
}

static kedge_status put_tags(const kedge_s3 *self, kedge_bytes key, kedge_bytes tags,
                             kedge_error *error)
{
    kedge_s3_sums sums;
    kedge_status status = kedge_s3_sum(self, tags, &sums, error);
    if (status != KEDGE_OK) return status;
    const kedge_aws_parameter query[] = {{KEDGE_BYTES("tagging"), {"", 0}}};
    const kedge_http_header headers[] = {{"Content-Type", "application/xml"},
                                         {"Content-MD5", sums.md5},
                                         {KEDGE_S3_CHECKSUM_HEADER, sums.sha256}};
    bool none = tags.size == 0;
    const kedge_s3_request request = {.action =
                                          none ? "s3:DeleteObjectTagging" : "s3:PutObjectTagging",
                                      .method = none ? "DELETE" : "PUT",
                                      .key = key,
                                      .query = query,
                                      .query_count = 1,
                                      .headers = headers,
                                      .header_count = none ? 0 : sizeof headers / sizeof headers[0],
                                      .body = tags,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    status = kedge_s3_call(self, &request, &response, error);
    if (status == KEDGE_CONFLICT && kedge_s3_is(&response, "NoSuchKey"))
        status = kedge_blob_not_found(key, error);
    else if (status == KEDGE_CONFLICT && response.status == 400 && !response.earlier_unknown)
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "invalid-tag",
                            "S3 refused the tag: %s %s", response.code, response.message);
    else if (status == KEDGE_CONFLICT)
        status = kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    return status;
}

static kedge_status change_tag(const kedge_s3 *self, kedge_bytes key, kedge_bytes name,
                               kedge_bytes value, tag_set *set, kedge_buffer *body,
                               kedge_error *error)
{
    size_t count;
    kedge_status status = read_tags(self, key, set, error);
    if (status != KEDGE_OK) return status;
    const object_tag *found = find(set, name);
    if (found == NULL ? value.size == 0 : kedge_bytes_equal(value_of(set, found), value))
        return KEDGE_OK;
    write_tags(set, name, value, &count, body);
    status = kedge_buffer_status(body, error);
    if (status != KEDGE_OK) return status;
    if (count > KEDGE_BLOB_TAGS_MAX)
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-tags",
                          "a blob has at most %d tags", KEDGE_BLOB_TAGS_MAX);
    return put_tags(self, key, count == 0 ? (kedge_bytes){0} : kedge_buffer_bytes(body), error);
}

/* ---- locks ---- */

void kedge_s3_tag_locks_open(kedge_s3_tag_locks *locks)
{
    pthread_condattr_t monotonic;
    *locks = (kedge_s3_tag_locks){.taken = {false}};
    pthread_mutex_init(&locks->mutex, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&locks->unlocked, &monotonic);
    pthread_condattr_destroy(&monotonic);
}

void kedge_s3_tag_locks_close(kedge_s3_tag_locks *locks)
{
    pthread_cond_destroy(&locks->unlocked);
    pthread_mutex_destroy(&locks->mutex);
}

/* FNV-1a: which lock a key has. */
static size_t lock_of(kedge_bytes key)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < key.size; i++)
        hash = (hash ^ (unsigned char)key.data[i]) * 16777619u;
    return hash % KEDGE_S3_TAG_LOCKS;
}

/* Waits until the deadline of this thread at most. */
static kedge_status take_lock(kedge_s3_tag_locks *locks, size_t lock, kedge_error *error)
{
    int64_t left_ms = kedge_deadline_left_ms(INT64_MAX);
    bool unbounded = left_ms == INT64_MAX;
    struct timespec until = kedge_aws_after(unbounded ? 0 : left_ms);
    int result = 0;
    pthread_mutex_lock(&locks->mutex);
    while (locks->taken[lock] && result == 0)
        result = unbounded ? pthread_cond_wait(&locks->unlocked, &locks->mutex)
                           : pthread_cond_timedwait(&locks->unlocked, &locks->mutex, &until);
    bool mine = !locks->taken[lock];
    if (mine) locks->taken[lock] = true;
    pthread_mutex_unlock(&locks->mutex);
    if (mine) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "deadline-exceeded",
                      "other changes of tags took until the end of the request's time");
}

static void unlock(kedge_s3_tag_locks *locks, size_t lock)
{
    pthread_mutex_lock(&locks->mutex);
    locks->taken[lock] = false;
    pthread_cond_broadcast(&locks->unlocked);
    pthread_mutex_unlock(&locks->mutex);
}

kedge_status kedge_s3_tag(kedge_s3 *self, kedge_bytes key, kedge_bytes name, kedge_bytes value,
                          kedge_error *error)
{
    const kedge_allocator *allocator = kedge_aws_client_environment(self->client)->allocator;
    tag_set set = {.texts = kedge_buffer_make(allocator)};
    kedge_buffer body = kedge_buffer_make(allocator);
    size_t lock = lock_of(key);
    kedge_status status = take_lock(&self->tag_locks, lock, error);
    if (status == KEDGE_OK) {
        status = change_tag(self, key, name, value, &set, &body, error);
        unlock(&self->tag_locks, lock);
    }
    kedge_buffer_free(&set.texts);
    kedge_buffer_free(&body);
    return status;
}
