/* Gathers the references to blobs: of the state before the oldest version, of versions, and of
 * checkpoints. */
#include "backend/jobs/gc_references.h"

#include "backend/base/backend.h"
#include "backend/jobs/replay.h"
#include "backend/jobs/visit.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/versions/version_codec.h"
#include "backend/versioned/versions/versions.h"
#include "common/error.h"

#include <string.h>

#define RECORDS_PER_PAGE 16

typedef struct gathering {
    const kedge_project *project;
    kedge_key partition;
    kedge_key_set *references;
    int64_t oldest;
} gathering;

static kedge_status add(gathering *work, const kedge_key *key, kedge_error *error)
{
    return kedge_key_set_add(work->references, kedge_key_bytes(key), NULL, error);
}

static kedge_status add_body(gathering *work, kedge_bytes collection, const kedge_entry *entry,
                             kedge_error *error)
{
    if (entry->body.data != NULL) return KEDGE_OK;
    kedge_key key = kedge_key_body(&work->project->ref, collection, entry->hash);
    return add(work, &key, error);
}

/* ---- versions ---- */

static kedge_status add_version(gathering *work, const kedge_record *record, kedge_error *error)
{
    kedge_version_object *object = NULL;
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; status == KEDGE_OK && kedge_version_part_at(record, i, hash); i++) {
        kedge_key key = kedge_key_version_part(&work->project->ref, hash);
        status = add(work, &key, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_version_decode(work->project, record, KEDGE_VERSION_STATE, &object, error);
    }
    if (status != KEDGE_OK) return status;
    const kedge_version *version = &object->version;
    for (size_t i = 0; i < version->change_count && status == KEDGE_OK; i++) {
        const kedge_version_change *change = &version->changes[i];
        if (change->deleted) continue;
        status = add_body(work, change->collection, &change->entry, error);
    }
    kedge_version_release(version);
    return status;
}

static kedge_status removed_meanwhile(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "version-not-retained",
                      "versions were removed while their blobs were looked for; run it again");
}

static kedge_status add_page(gathering *work, const kedge_record_set *set, int64_t *next,
                             kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < set->count && status == KEDGE_OK; i++) {
        int64_t number = 0;
        kedge_key_read_version(set->records[i].key.sort, &number);
        if (kedge_retained_is_gone(&set->records[i])) return removed_meanwhile(error);
        if (number != *next) {
            return kedge_fail(error, KEDGE_CORRUPT, "version-missing",
                              "version %lld is missing, and so it is unknown which blobs it needs",
                              (long long)*next);
        }
        status = add_version(work, &set->records[i], error);
        ++*next;
    }
    return status;
}

static kedge_status add_versions(gathering *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key to = kedge_key_version(KEDGE_VERSION_NUMBER_MAX);
    int64_t next = work->oldest;
    bool more = true;
    kedge_status status = KEDGE_OK;
    while (more && status == KEDGE_OK) {
        kedge_key from = kedge_key_version(next);
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = RECORDS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        more = set.count > 0;
        status = add_page(work, &set, &next, error);
        kedge_record_set_free(&set);
    }
    return status;
}

/* ---- the state before the oldest version ---- */

static kedge_status add_base(gathering *work, kedge_error *error)
{
    const kedge_version *oldest = NULL;
    kedge_replay base = kedge_replay_make(work->project);
    if (work->oldest == 1) return KEDGE_OK;
    kedge_status status =
        kedge_version_load_detail(work->project, work->oldest, KEDGE_VERSION_STATE, &oldest, error);
    if (status == KEDGE_NOT_FOUND) return removed_meanwhile(error);
    if (status == KEDGE_OK) status = kedge_replay_start(&base, oldest, error);
    for (size_t i = 0; i < base.count && status == KEDGE_OK; i++) {
        kedge_bytes name = kedge_bytes_of(base.collections[i].name);
        const kedge_map *map = &base.collections[i].map;
        const kedge_item *item = kedge_map_next(map, true, (kedge_bytes){NULL, 0});
        while (item != NULL && status == KEDGE_OK) {
            status = add_body(work, name, &item->entry, error);
            item = kedge_map_next(map, false, item->entry.id);
        }
    }
    kedge_version_release(oldest);
    kedge_replay_free(&base);
    return status;
}

/* ---- checkpoints ---- */

static kedge_status add_chunk(void *context, const uint8_t hash[KEDGE_SHA256_SIZE],
                              kedge_error *error)
{
    gathering *work = context;
    kedge_key key = kedge_key_chunk(&work->project->ref, hash);
    return add(work, &key, error);
}

static kedge_status add_checkpoint(void *context, const kedge_record *record, kedge_error *error)
{
    gathering *work = context;
    return kedge_checkpoint_visit_chunks(work->project->allocator, record, add_chunk, work, error);
}

/* Adds the chunks of every checkpoint that has a record, also when no version refers to it. */
static kedge_status add_checkpoints(gathering *work, kedge_error *error)
{
    return kedge_visit_records(work->project, "Collection#", add_checkpoint, work, error);
}

kedge_status kedge_gc_references(const kedge_project *project, kedge_key_set *references,
                                 kedge_error *error)
{
    gathering work = {.project = project,
                      .partition = kedge_key_partition(&project->ref),
                      .references = references};
    kedge_status status = kedge_retained_oldest(project, &work.oldest, error);
    if (status == KEDGE_OK) status = add_base(&work, error);
    if (status == KEDGE_OK) status = add_versions(&work, error);
    if (status == KEDGE_OK) status = add_checkpoints(&work, error);
    return status;
}
