/* Retention: which version is the oldest to be kept, and what must stand for those before it. */
#include "backend/jobs/retention_internal.h"

#include "backend/jobs/rows.h"
#include "backend/versioned/index/index.h"
#include "backend/versioned/state/checkpoint.h"
#include "backend/versioned/versions/blob.h"
#include "backend/versioned/versions/versions.h"
#include "common/error.h"

#include <string.h>

#define RECORDS_PER_PAGE 100

/* ---- the rule ---- */

/* The first version that is not older than the rule allows; the newest when all are. */
static kedge_status find_by_age(retaining *work, int64_t newest, int64_t *oldest,
                                kedge_error *error)
{
    kedge_backend *backend = work->project->backend;
    const kedge_records *records = &backend->options.records;
    int64_t cutoff_ms =
        backend->environment->now_ms(backend->environment->context) - work->rule->age_ms;
    bool found = false;
    *oldest = work->before;
    while (!found && *oldest < newest) {
        kedge_key from = kedge_key_version(*oldest);
        kedge_key to = kedge_key_version(newest - 1);
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = RECORDS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        kedge_status status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        bool empty = set.count == 0;
        for (size_t i = 0; i < set.count && !found; i++) {
            const kedge_attribute *created = kedge_record_attribute(&set.records[i], "created");
            int64_t number = *oldest;
            found = created == NULL || created->number >= cutoff_ms;
            if (kedge_key_read_version(set.records[i].key.sort, &number)) {
                *oldest = found ? number : number + 1;
            }
        }
        kedge_record_set_free(&set);
        if (empty) return KEDGE_OK;
    }
    return KEDGE_OK;
}

static kedge_status choose(retaining *work, int64_t newest, kedge_error *error)
{
    int64_t oldest = newest;
    bool any = work->rule->versions > 0 || work->rule->age_ms > 0;
    if (work->rule->versions > 0) {
        int64_t kept = work->rule->versions < newest ? work->rule->versions : newest;
        oldest = newest - kept + 1;
    }
    if (work->rule->age_ms > 0) {
        int64_t by_age = newest;
        kedge_status status = find_by_age(work, newest, &by_age, error);
        if (status != KEDGE_OK) return status;
        if (by_age < oldest) oldest = by_age;
    }
    if (!any || oldest < work->before) oldest = work->before;
    work->result->oldest = oldest;
    return KEDGE_OK;
}

/* ---- what stands for the older versions: index rows ---- */

static kedge_status mend_row(void *context, const kedge_record_write *wanted,
                             const kedge_record *found, bool same, kedge_error *error)
{
    const retaining *work = context;
    (void)found;
    if (same) return KEDGE_OK;
    const kedge_records *records = work->project->records;
    return records->vtable->write(records->self, wanted, error);
}

/* ---- what stands for the older versions: checkpoints ---- */

/* The lineage of the version that changed the collection last. */
static kedge_status lineage_of(retaining *work, const kedge_version_collection *collection,
                               char lineage[KEDGE_LINEAGE_HEX], kedge_error *error)
{
    const kedge_version *version = NULL;
    kedge_status status = kedge_version_load_detail(work->project, collection->last,
                                                    KEDGE_VERSION_RUNS, &version, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_retained_fail(work->project, work->before, collection->last, error);
    }
    if (status != KEDGE_OK) return status;
    memcpy(lineage, version->lineage, KEDGE_LINEAGE_HEX);
    kedge_version_release(version);
    return KEDGE_OK;
}

/* Whether the collection has a checkpoint of its own number that is the fold. */
static kedge_status has_base(retaining *work, const kedge_version_collection *collection,
                             const kedge_map *fold, bool *has, kedge_error *error)
{
    kedge_map map = {0};
    int64_t version = 0;
    int64_t number = 0;
    bool damaged = false;
    kedge_buffer difference = kedge_buffer_make(work->project->allocator);
    kedge_status status =
        kedge_checkpoint_read(work->project, collection, &map, &version, &number, &damaged, error);
    if (status == KEDGE_OK) {
        *has =
            number == collection->number && !damaged && kedge_replay_same(fold, &map, &difference);
    }
    kedge_map_free(work->project->allocator, &map);
    kedge_buffer_free(&difference);
    return status;
}

/* A body that stood in a delta and has lost its hash has no size any more (model/version.h). When
 * no repair has put it into blobs, the checkpoint or the args of an old version may have the only
 * copy: they must not be replaced by what the deltas say. */
static kedge_status check_bodies(const retaining *work, kedge_bytes collection,
                                 const kedge_map *fold, kedge_error *error)
{
    kedge_buffer body = kedge_buffer_make(work->project->allocator);
    kedge_status status = KEDGE_OK;
    const kedge_item *item = kedge_map_next(fold, true, (kedge_bytes){NULL, 0});
    while (item != NULL && status == KEDGE_OK) {
        const kedge_entry *entry = &item->entry;
        kedge_error failure = {0};
        if (entry->body.data == NULL && entry->size == 0)
            status = kedge_blob_body(work->project, collection, entry->hash, NULL, &body, &failure);
        if (status != KEDGE_OK)
            kedge_fail(error, status, failure.code,
                       "%s; verify --repair may find it elsewhere: nothing was removed",
                       failure.message);
        kedge_buffer_clear(&body);
        item = kedge_map_next(fold, false, entry->id);
    }
    kedge_buffer_free(&body);
    return status;
}

static kedge_status make_base(retaining *work, const kedge_version_collection *collection,
                              const kedge_map *fold, kedge_error *error)
{
    char lineage[KEDGE_LINEAGE_HEX];
    bool has = false;
    kedge_status status = check_bodies(work, collection->name, fold, error);
    if (status == KEDGE_OK) status = has_base(work, collection, fold, &has, error);
    if (status != KEDGE_OK || has) return status;
    status = lineage_of(work, collection, lineage, error);
    if (status == KEDGE_OK) {
        status = kedge_checkpoint_write_map(work->project, collection, lineage, fold, 0, error);
    }
    if (status == KEDGE_OK) status = has_base(work, collection, fold, &has, error);
    if (status != KEDGE_OK || has) return status;
    return kedge_fail(
        error, KEDGE_CORRUPT, "base-missing",
        "the checkpoint of \"%.*s\" in front of version %lld cannot be read as it was "
        "written; nothing was removed",
        (int)collection->name.size, collection->name.data, (long long)work->oldest->number);
}

static kedge_status make_bases(retaining *work, const kedge_replay *replay, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->oldest->collection_count && status == KEDGE_OK; i++) {
        kedge_version_collection base;
        if (!kedge_replay_before(work->oldest, &work->oldest->collections[i], &base)) continue;
        const kedge_replayed_collection *fold = kedge_replay_find(replay, base.name);
        if (fold == NULL || fold->number != base.number || fold->last != base.last) {
            return kedge_fail(error, KEDGE_CORRUPT, "collection-damaged",
                              "the collection \"%.*s\" is not what the deltas in front of version "
                              "%lld say; nothing was removed",
                              (int)base.name.size, base.name.data, (long long)work->oldest->number);
        }
        base.items = (int64_t)fold->map.count;
        status = make_base(work, &base, &fold->map, error);
    }
    return status;
}

/* ---- from the oldest version until now to the new one ---- */

static kedge_status load(retaining *work, int64_t number, const kedge_version **version,
                         kedge_error *error)
{
    kedge_status status =
        kedge_version_load_detail(work->project, number, KEDGE_VERSION_STATE, version, error);
    if (status != KEDGE_NOT_FOUND) return status;
    return kedge_retained_fail(work->project, number, number, error);
}

/* Folds the deltas in front of the new oldest version, and sees to their versions' rows. */
static kedge_status fold_old_versions(retaining *work, kedge_replay *replay, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (int64_t at = work->before; at < work->result->oldest && status == KEDGE_OK; at++) {
        const kedge_version *version = NULL;
        status = load(work, at, &version, error);
        if (status != KEDGE_OK) return status;
        if (at == work->before && at > 1) status = kedge_replay_start(replay, version, error);
        if (status == KEDGE_OK) status = kedge_replay_take(replay, version, error);
        if (status == KEDGE_OK) {
            status = kedge_rows_compare(work->project, version, mend_row, work, error);
        }
        kedge_version_release(version);
    }
    return status == KEDGE_OK ? load(work, work->result->oldest, &work->oldest, error) : status;
}

static kedge_status make_sure(retaining *work, kedge_error *error)
{
    kedge_replay replay = kedge_replay_make(work->project);
    kedge_status status = kedge_index_ensure(work->project, error);
    if (status == KEDGE_OK) status = fold_old_versions(work, &replay, error);
    if (status == KEDGE_OK) status = make_bases(work, &replay, error);
    kedge_replay_free(&replay);
    return status;
}

/* ---- the job ---- */

static kedge_status read_record(retaining *work, kedge_error *error)
{
    kedge_key sort = kedge_key_retention();
    kedge_record_key key = {kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)};
    const kedge_records *records = work->project->records;
    kedge_record_set set = {0};
    work->before = 1;
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    const kedge_attribute *oldest = kedge_record_attribute(&set.records[0], "oldest");
    const kedge_attribute *gone = kedge_record_attribute(&set.records[0], "gone_through");
    work->recorded = true;
    work->before = oldest == NULL ? 0 : oldest->number;
    work->gone = gone == NULL ? 0 : gone->number;
    kedge_record_set_free(&set);
    if (work->before >= 1) return KEDGE_OK;
    return kedge_fail(error, KEDGE_CORRUPT, "record-damaged",
                      "the record that tells the oldest version is damaged");
}

static kedge_status tell(const retaining *work, bool removed, const kedge_lines *lines,
                         kedge_error *error)
{
    const kedge_retention_result *result = work->result;
    kedge_buffer text = kedge_buffer_make(work->project->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "retained");
    kedge_json_text(&writer, work->project->ref.project);
    kedge_json_key(&writer, "oldest");
    kedge_json_integer(&writer, result->oldest);
    kedge_json_key(&writer, "newest");
    kedge_json_integer(&writer, result->newest);
    kedge_json_key(&writer, "oldest_before");
    kedge_json_integer(&writer, result->oldest_before);
    kedge_json_key(&writer, "removed");
    kedge_json_boolean(&writer, removed);
    kedge_json_end_object(&writer);
    kedge_status status = kedge_lines_put(lines, &text, error);
    kedge_buffer_free(&text);
    return status;
}

static kedge_status run(retaining *work, const kedge_version *newest, bool remove,
                        kedge_error *error)
{
    kedge_status status = read_record(work, error);
    if (status != KEDGE_OK) return status;
    work->result->oldest_before = work->before;
    work->result->newest = newest->number;
    status = newest->number == 0 ? KEDGE_OK : choose(work, newest->number, error);
    if (newest->number == 0) work->result->oldest = work->before;
    if (status != KEDGE_OK || !remove) return status;
    if (work->result->oldest > work->before) {
        status = make_sure(work, error);
        if (status == KEDGE_OK) status = retention_commit(work, error);
    } else if (work->recorded) {
        /* What was broken off, if anything was. */
        status = load(work, work->before, &work->oldest, error);
    }
    if (status == KEDGE_OK && work->oldest != NULL) status = retention_remove(work, error);
    return status;
}

kedge_status kedge_retention_run(const kedge_project *project, const kedge_retention_rule *rule,
                                 bool remove, const kedge_lines *lines,
                                 kedge_retention_result *result, kedge_error *error)
{
    const kedge_version *newest = NULL;
    retaining work = {.project = project,
                      .partition = kedge_key_partition(&project->ref),
                      .rule = rule,
                      .result = result};
    memset(result, 0, sizeof *result);
    kedge_status status =
        kedge_version_load_detail(project, 0, KEDGE_VERSION_STATE, &newest, error);
    if (status == KEDGE_OK) status = run(&work, newest, remove, error);
    if (status == KEDGE_OK) status = tell(&work, remove, lines, error);
    kedge_version_release(work.oldest);
    kedge_version_release(newest);
    return status;
}
