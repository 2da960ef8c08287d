/* Removes snapshots of logs, and what was written while they were made. */
#include "backend/log/body.h"
#include "backend/log/record.h"
#include "backend/log/snapshot.h"
#include "common/error.h"
#include "common/json.h"

#include <stdlib.h>
#include <string.h>

static kedge_status remove_blob(const kedge_log *log, kedge_bytes key, kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    return blobs->vtable->remove(blobs->self, key, error);
}

/* Calls `visit` for each blob whose key has the prefix, in order. */
typedef kedge_status (*blob_visit)(void *context, const kedge_blob_info *blob, kedge_bytes rest,
                                   kedge_error *error);
static kedge_status visit_blobs(const kedge_log *log, const kedge_log_key *prefix, blob_visit visit,
                                void *context, kedge_error *error)
{
    const kedge_blobs *blobs = log->project->blobs;
    kedge_buffer after = kedge_buffer_make(log->project->allocator);
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        kedge_blob_list list = {0};
        status = blobs->vtable->list(blobs->self, kedge_log_key_bytes(prefix),
                                     kedge_buffer_bytes(&after), KEDGE_BLOB_LIST_MAX, &list, error);
        more = list.more;
        for (size_t i = 0; i < list.count && status == KEDGE_OK; i++) {
            kedge_bytes key = kedge_bytes_of(list.blobs[i].key);
            kedge_bytes rest = {key.data + prefix->size, key.size - prefix->size};
            kedge_buffer_clear(&after);
            kedge_buffer_append_bytes(&after, key);
            status = visit(context, &list.blobs[i], rest, error);
        }
        kedge_blob_list_free(&list);
        if (status == KEDGE_OK) status = kedge_buffer_status(&after, error);
    }
    kedge_buffer_free(&after);
    return status;
}

/* ---- the parts of one snapshot ---- */

typedef struct tidying {
    const kedge_log *log;
    uint8_t (*named)[KEDGE_SHA256_SIZE]; /* in order */
    size_t count;
} tidying;

static int compare_hashes(const void *a, const void *b)
{
    return memcmp(a, b, KEDGE_SHA256_SIZE);
}

static kedge_status remove_unnamed(void *context, const kedge_blob_info *blob, kedge_bytes rest,
                                   kedge_error *error)
{
    const tidying *work = context;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_bytes name = {rest.data, 2 * KEDGE_SHA256_SIZE};
    if (rest.size < name.size || !kedge_hex_decode(name, hash, sizeof hash)) return KEDGE_OK;
    bool named = work->count > 0 && bsearch(hash, work->named, work->count, sizeof *work->named,
                                            compare_hashes) != NULL;
    return named ? KEDGE_OK : remove_blob(work->log, kedge_bytes_of(blob->key), error);
}

/* The hashes of the rows, in order. A row that is none names nothing. */
static void read_named(kedge_bytes chunks, tidying *work)
{
    kedge_bytes row, hash;
    char hex[KEDGE_SHA256_HEX];
    kedge_json_iterator rows = kedge_json_iterate(chunks);
    while (work->count < KEDGE_LOG_SNAPSHOT_CHUNKS_MAX && kedge_json_next_element(&rows, &row)) {
        kedge_json_iterator fields = kedge_json_iterate(row);
        if (kedge_json_next_element(&fields, &hash) && kedge_json_to_chars(hash, hex, sizeof hex) &&
            kedge_hex_decode(kedge_bytes_of(hex), work->named[work->count], KEDGE_SHA256_SIZE))
            work->count++;
    }
    qsort(work->named, work->count, sizeof *work->named, compare_hashes);
}

kedge_status kedge_log_snapshot_tidy(const kedge_log *log, kedge_bytes id, kedge_bytes text,
                                     kedge_error *error)
{
    kedge_bytes chunks;
    tidying work = {.log = log};
    const kedge_allocator *allocator = log->project->allocator;
    if (kedge_json_member(text, "chunks", &chunks)) {
        work.named = kedge_allocate(allocator, KEDGE_LOG_SNAPSHOT_CHUNKS_MAX * sizeof *work.named);
        if (work.named == NULL) return kedge_fail_no_memory(error);
        read_named(chunks, &work);
    }
    kedge_log_key prefix = kedge_log_key_snapshots(log, id);
    kedge_status status = visit_blobs(log, &prefix, remove_unnamed, &work, error);
    kedge_release(allocator, work.named);
    return status;
}

/* The parts go first: what is left after a crash is found again by the snapshot. */
kedge_status kedge_log_snapshot_discard(const kedge_log *log, kedge_bytes id, kedge_error *error)
{
    kedge_log_key key = kedge_log_key_snapshot(log, id);
    kedge_status status = kedge_log_snapshot_tidy(log, id, (kedge_bytes){"", 0}, error);
    return status == KEDGE_OK ? remove_blob(log, kedge_log_key_bytes(&key), error) : status;
}

/* ---- snapshots ---- */

typedef struct removing {
    const kedge_log *log;
    int64_t before;
    char id[KEDGE_SHA256_HEX]; /* of the last snapshot that was seen */
} removing;

static kedge_status read_number(const kedge_log *log, const char *id, int64_t *number,
                                kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(log->project->allocator);
    kedge_status status = kedge_log_snapshot_read(log, kedge_bytes_of(id), &text, error);
    if (status == KEDGE_OK &&
        !kedge_json_member_integer(kedge_buffer_bytes(&text), "number", number))
        status = KEDGE_CORRUPT;
    kedge_buffer_free(&text);
    return status;
}

static kedge_status remove_old(const removing *work, kedge_error *error)
{
    int64_t number = INT64_MAX;
    kedge_status status = read_number(work->log, work->id, &number, error);
    if (status == KEDGE_NOT_FOUND || status == KEDGE_CORRUPT) return KEDGE_OK;
    if (status != KEDGE_OK || number >= work->before) return status;
    return kedge_log_snapshot_discard(work->log, kedge_bytes_of(work->id), error);
}

/* Keys are {id}.json.gz, and after it those of the snapshot's parts, {id}/{hash}.json.gz. */
static kedge_status look_at_blob(void *context, const kedge_blob_info *blob, kedge_bytes rest,
                                 kedge_error *error)
{
    removing *work = context;
    const size_t digits = KEDGE_SHA256_HEX - 1;
    if (rest.size <= digits) return KEDGE_OK;
    if (rest.data[digits] == '.') {
        memcpy(work->id, rest.data, digits);
        return remove_old(work, error);
    }
    bool complete = memcmp(work->id, rest.data, digits) == 0;
    int64_t age_s = kedge_log_now_s(work->log) - blob->modified_ms / 1000;
    if (complete || age_s <= KEDGE_LOG_DISCARD_S) return KEDGE_OK;
    return remove_blob(work->log, kedge_bytes_of(blob->key), error);
}

kedge_status kedge_log_snapshots_remove(const kedge_log *log, int64_t before, kedge_error *error)
{
    removing work = {.log = log, .before = before};
    kedge_log_key prefix = kedge_log_key_snapshots(log, (kedge_bytes){"", 0});
    return visit_blobs(log, &prefix, look_at_blob, &work, error);
}
