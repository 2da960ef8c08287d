/* Blobs: put, read, and marked when they are garbage. */
#include "backend/versioned/versions/blob.h"

#include "backend/base/backend.h"
#include "common/error.h"
#include "common/gzip.h"

#include <stdio.h>
#include <string.h>

_Static_assert(KEDGE_BLOB_BYTES_MAX > KEDGE_LIMIT_ITEM_BYTES + 65536,
               "a blob holds the largest item, also when gzip makes it a little larger");

/* ---- marks of garbage ---- */

#define PREFIX    "Garbage#"
#define SUFFIX    ".json.gz"
#define TRIES_MAX 4

#define FOUND       "found" /* and '-' and a token, but in marks of older versions */
#define TOKEN_BYTES 16

_Static_assert(sizeof FOUND + 1 + 2 * TOKEN_BYTES <= KEDGE_GARBAGE_STATE_SIZE,
               "a state has room for its token");

bool kedge_garbage_key(const kedge_project_ref *ref, kedge_bytes blob, kedge_key *mark)
{
    kedge_key prefix = kedge_key_blobs(ref);
    size_t suffix = strlen(SUFFIX);
    size_t named = KEDGE_SHA256_HEX - 1 + suffix;
    if (!kedge_bytes_start_with(blob, kedge_key_bytes(&prefix)) ||
        blob.size < prefix.size + named + 2 ||
        memcmp(blob.data + blob.size - suffix, SUFFIX, suffix) != 0) {
        return false;
    }
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes hex = {blob.data + blob.size - named, KEDGE_SHA256_HEX - 1};
    if (!kedge_hex_decode(hex, hash, sizeof hash)) return false;
    int size = snprintf(mark->text, sizeof mark->text, PREFIX "%.*s",
                        (int)(blob.size - prefix.size - suffix), blob.data + prefix.size);
    mark->size = (size_t)size;
    return size > 0 && mark->size < sizeof mark->text;
}

bool kedge_garbage_read(const kedge_record *record, kedge_garbage_mark *mark)
{
    const kedge_attribute *since = kedge_record_attribute(record, "since");
    const kedge_attribute *claimed = kedge_record_attribute(record, "claimed");
    const kedge_attribute *state = kedge_record_attribute(record, "state");
    kedge_bytes sort = record->key.sort;
    memset(mark, 0, sizeof *mark);
    if (since == NULL || state == NULL || state->bytes.size >= sizeof mark->state ||
        sort.size >= sizeof mark->key.text) {
        return false;
    }
    memcpy(mark->key.text, sort.data, sort.size);
    mark->key.size = sort.size;
    mark->since_ms = since->number;
    mark->claimed_ms = claimed == NULL ? 0 : claimed->number;
    memcpy(mark->state, state->bytes.data, state->bytes.size);
    return true;
}

bool kedge_garbage_is_claimed(const kedge_garbage_mark *mark, int64_t now_ms)
{
    int64_t age_ms = now_ms - mark->claimed_ms;
    return mark->claimed_ms != 0 && age_ms > -KEDGE_GARBAGE_CLAIM_MS &&
           age_ms < KEDGE_GARBAGE_CLAIM_MS;
}

bool kedge_garbage_is_found(const kedge_garbage_mark *mark)
{
    return strncmp(mark->state, FOUND, sizeof FOUND - 1) == 0;
}

/* ---- changing a mark ---- */

static kedge_status write(const kedge_project *project, const kedge_key *key,
                          const kedge_garbage_mark *before, const kedge_garbage_mark *after,
                          kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_attribute attributes[3];
    kedge_record_write wanted = {
        .kind = after == NULL ? KEDGE_WRITE_DELETE : KEDGE_WRITE_PUT,
        .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(key)}},
        .condition = before == NULL ? KEDGE_IF_ABSENT : KEDGE_IF_EQUAL};
    if (before != NULL) {
        wanted.expected =
            (kedge_attribute){"state", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(before->state), 0};
    }
    if (after != NULL) {
        attributes[0] =
            (kedge_attribute){"since", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, after->since_ms};
        attributes[1] =
            (kedge_attribute){"state", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(after->state), 0};
        attributes[2] =
            (kedge_attribute){"claimed", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, after->claimed_ms};
        wanted.record.attributes = attributes;
        wanted.record.attribute_count = after->claimed_ms == 0 ? 2 : 3;
    }
    const kedge_records *records = project->records;
    return records->vtable->write(records->self, &wanted, error);
}

static int64_t now_of(const kedge_backend *backend)
{
    return backend->environment->now_ms(backend->environment->context);
}

kedge_status kedge_garbage_put(const kedge_project *project, const kedge_key *key,
                               const kedge_garbage_mark *before, kedge_error *error)
{
    kedge_garbage_mark found = {.since_ms = now_of(project->backend), .state = FOUND "-"};
    kedge_random_hex(project->environment, TOKEN_BYTES, found.state + sizeof FOUND);
    return write(project, key, before, &found, error);
}

kedge_status kedge_garbage_claim(const kedge_project *project, kedge_garbage_mark *mark,
                                 kedge_error *error)
{
    kedge_garbage_mark claimed = *mark;
    claimed.claimed_ms = now_of(project->backend);
    kedge_random_hex(project->environment, TOKEN_BYTES, claimed.state);
    kedge_status status = write(project, &mark->key, mark, &claimed, error);
    if (status == KEDGE_OK) *mark = claimed;
    return status;
}

kedge_status kedge_garbage_delete(const kedge_project *project, const kedge_garbage_mark *mark,
                                  kedge_error *error)
{
    return write(project, &mark->key, mark, NULL, error);
}

/* ---- writers ---- */

static kedge_status load(const kedge_project *project, const kedge_key *key,
                         kedge_garbage_mark *mark, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_record_key at = {kedge_key_bytes(&partition), kedge_key_bytes(key)};
    const kedge_records *records = project->records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, &at, true, &set, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_garbage_read(&set.records[0], mark)) {
        status =
            kedge_fail(error, KEDGE_CORRUPT, "record-damaged", "the mark %s is damaged", key->text);
    }
    kedge_record_set_free(&set);
    return status;
}

/* A collector has claimed the mark and is at work, or has died. */
static kedge_status take_from_collector(const kedge_project *project,
                                        const kedge_garbage_mark *mark, kedge_error *error)
{
    if (kedge_garbage_is_claimed(mark, now_of(project->backend))) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "blob-being-removed",
                          "a blob that is needed again is being removed; try again");
    }
    return kedge_garbage_delete(project, mark, error);
}

kedge_status kedge_garbage_keep(const kedge_project *project, kedge_bytes blob, bool *kept,
                                kedge_error *error)
{
    kedge_key key;
    kedge_garbage_mark mark;
    *kept = false;
    if (!kedge_garbage_key(&project->ref, blob, &key)) return KEDGE_OK;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        kedge_status status = load(project, &key, &mark, error);
        if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
        if (status != KEDGE_OK) return status;
        bool found = kedge_garbage_is_found(&mark);
        status = found ? kedge_garbage_delete(project, &mark, error)
                       : take_from_collector(project, &mark, error);
        if (status == KEDGE_OK) *kept = found;
        if (status != KEDGE_CONFLICT) return status;
    }
    return kedge_fail(error, KEDGE_UNAVAILABLE, "blob-being-removed",
                      "a blob that is needed again is being removed; try again");
}

/* ---- putting and reading ---- */

/* KEDGE_CONFLICT from a content address means that the blob exists; its mark tells whether it will
 * be removed. Without a mark no collector is going to remove it, but one may have removed it just
 * before the mark was read: a second put that still finds the blob makes sure. */
static kedge_status put(const kedge_project *project, const kedge_key *key, kedge_bytes compressed,
                        bool *existed, kedge_error *error)
{
    const kedge_blobs *blobs = project->blobs;
    *existed = false;
    for (;;) {
        bool kept = false;
        kedge_status status =
            blobs->vtable->put_if_absent(blobs->self, kedge_key_bytes(key), compressed, error);
        if (status != KEDGE_CONFLICT) return status;
        if (*existed) return KEDGE_OK;
        *existed = true;
        status = kedge_garbage_keep(project, kedge_key_bytes(key), &kept, error);
        if (status != KEDGE_OK || kept) return status;
    }
}

kedge_status kedge_blob_put(const kedge_project *project, const kedge_key *key,
                            kedge_bytes compressed, kedge_error *error)
{
    bool existed;
    return put(project, key, compressed, &existed, error);
}

/* Whether the blob is gone, or holds something else. */
static kedge_status look(const kedge_project *project, const kedge_key *key, kedge_bytes plain,
                         bool *damaged, kedge_error *error)
{
    const kedge_blobs *blobs = project->blobs;
    kedge_buffer stored = kedge_buffer_make(project->allocator);
    kedge_buffer found = kedge_buffer_make(project->allocator);
    kedge_error failure = {0};
    *damaged = false;
    kedge_status status = blobs->vtable->get(blobs->self, kedge_key_bytes(key), &stored, &failure);
    if (status == KEDGE_OK) {
        status = kedge_gunzip(kedge_buffer_bytes(&stored), plain.size, &found, &failure);
        *damaged = status == KEDGE_CORRUPT || status == KEDGE_LIMIT_EXCEEDED ||
                   (status == KEDGE_OK && !kedge_bytes_equal(kedge_buffer_bytes(&found), plain));
    } else if (status == KEDGE_NOT_FOUND) {
        *damaged = true;
    }
    kedge_buffer_free(&found);
    kedge_buffer_free(&stored);
    if (*damaged || status == KEDGE_OK) return KEDGE_OK;
    return kedge_fail(error, status, failure.code, "%s", failure.message);
}

/* A single read that went wrong does not remove a blob. */
static kedge_status remove_damaged(const kedge_project *project, const kedge_key *key,
                                   kedge_bytes plain, bool *damaged, kedge_error *error)
{
    const kedge_blobs *blobs = project->blobs;
    kedge_status status = look(project, key, plain, damaged, error);
    if (status == KEDGE_OK && *damaged) status = look(project, key, plain, damaged, error);
    if (status != KEDGE_OK || !*damaged) return status;
    return blobs->vtable->remove(blobs->self, kedge_key_bytes(key), error);
}

kedge_status kedge_blob_put_checked(const kedge_project *project, const kedge_key *key,
                                    kedge_bytes plain, bool quick, kedge_error *error)
{
    bool existed = false, damaged = false;
    kedge_buffer compressed = kedge_buffer_make(project->allocator);
    kedge_status status =
        quick ? kedge_gzip_quick(plain, &compressed, error) : kedge_gzip(plain, &compressed, error);
    if (status == KEDGE_OK)
        status = put(project, key, kedge_buffer_bytes(&compressed), &existed, error);
    if (status == KEDGE_OK && existed)
        status = remove_damaged(project, key, plain, &damaged, error);
    if (status == KEDGE_OK && damaged)
        status = kedge_blob_put(project, key, kedge_buffer_bytes(&compressed), error);
    kedge_buffer_free(&compressed);
    return status;
}

kedge_status kedge_blob_put_plain(const kedge_project *project, const kedge_key *key,
                                  kedge_bytes plain, kedge_error *error)
{
    kedge_buffer compressed = kedge_buffer_make(project->allocator);
    kedge_status status = kedge_gzip(plain, &compressed, error);
    if (status == KEDGE_OK) {
        status = kedge_blob_put(project, key, kedge_buffer_bytes(&compressed), error);
    }
    kedge_buffer_free(&compressed);
    return status;
}

static kedge_status check(kedge_bytes compressed, kedge_bytes collection,
                          const uint8_t hash[KEDGE_SHA256_SIZE], kedge_buffer *plain,
                          kedge_error *error)
{
    size_t start = plain->size;
    uint8_t found[KEDGE_SHA256_SIZE];
    kedge_status status = kedge_gunzip(compressed, KEDGE_LIMIT_ITEM_BYTES, plain, error);
    if (status == KEDGE_OK) {
        kedge_sha256((kedge_bytes){plain->data + start, plain->size - start}, found);
        if (memcmp(found, hash, sizeof found) == 0) return KEDGE_OK;
    }
    kedge_buffer_truncate(plain, start);
    if (status == KEDGE_NO_MEMORY) return status;
    return kedge_fail(error, KEDGE_CORRUPT, "item-body-damaged",
                      "the body of an item in \"%.*s\" is not what its hash says",
                      (int)collection.size, collection.data);
}

kedge_status kedge_blob_body(const kedge_project *project, kedge_bytes collection,
                             const uint8_t hash[KEDGE_SHA256_SIZE], kedge_buffer *stored,
                             kedge_buffer *plain, kedge_error *error)
{
    const kedge_blobs *blobs = project->blobs;
    kedge_key key = kedge_key_body(&project->ref, collection, hash);
    kedge_buffer compressed = kedge_buffer_make(project->allocator);
    kedge_status status =
        blobs->vtable->get(blobs->self, kedge_key_bytes(&key), &compressed, error);
    if (status == KEDGE_NOT_FOUND) {
        status = kedge_fail(error, KEDGE_CORRUPT, "item-body-missing",
                            "the body of an item in \"%.*s\" is no longer in the blobs",
                            (int)collection.size, collection.data);
    }
    if (status == KEDGE_OK) {
        status = check(kedge_buffer_bytes(&compressed), collection, hash, plain, error);
    }
    if (status == KEDGE_OK && stored != NULL) {
        kedge_buffer_append_bytes(stored, kedge_buffer_bytes(&compressed));
        status = kedge_buffer_status(stored, error);
    }
    kedge_buffer_free(&compressed);
    return status;
}
