/* See delete.h. The order is that of a crash:
 *
 *   1. the project's record goes, and the record that takes the name comes, in one transaction:
 *      an import that is being discarded, whose id says what it is
 *   2. logs: entries, pending snapshots, segments, and last the record that names the log; how far
 *      their entries were gone through again
 *   3. blobs of logs
 *   4. the project's settings and its access list, with all their versions
 *   5. the marker of its organization, if that has no other project
 *   6. discarding the import removes versions and their blobs, and gives the name back
 *
 * Whoever finds the record of 1 gives it a token of its own, and begins with 2. A process that
 * slept meanwhile finds another token, or none: 2 to 4 remove nothing then, and neither does 6, but
 * for the one blob before which it slept. */
#include "backend/jobs/delete.h"

#include "backend/base/backend.h"
#include "backend/jobs/import_internal.h"
#include "backend/log/layout.h"
#include "backend/ports/records_support.h"
#include "backend/resource/keys.h"
#include "backend/resource/settings.h"
#include "backend/versioned/projects/name_claim.h"
#include "backend/versioned/projects/organizations.h"
#include "common/error.h"

#include <string.h>

#define RECORDS_PER_PAGE 90
#define BLOBS_PER_PAGE   1000
#define LOGS_PER_PAGE    100
/* What is deleted at once; a larger record goes by itself. */
#define BYTES_PER_TRANSACTION 131072

/* ---- records ---- */

/* The front part of a page, from `*at` on, in one transaction. */
static kedge_status delete_some(const importing *work, const kedge_record_set *set, size_t *at,
                                kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key claim;
    kedge_record_write writes[RECORDS_PER_PAGE + 1];
    size_t count = 0;
    size_t bytes = 0;
    writes[count++] = import_claim_check(work, &claim);
    for (; *at < set->count; ++*at) {
        const kedge_record *record = &set->records[*at];
        bytes += kedge_record_bytes(record);
        if (count > 1 && bytes > BYTES_PER_TRANSACTION) break;
        writes[count++] =
            (kedge_record_write){.kind = KEDGE_WRITE_DELETE, .record = {.key = record->key}};
    }
    kedge_status status = records->vtable->transact(records->self, writes, count, error);
    return status == KEDGE_CONFLICT ? import_raced(error) : status;
}

static kedge_status delete_partition(const importing *work, kedge_bytes partition,
                                     kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        kedge_records_query query = {
            .partition = partition, .limit = RECORDS_PER_PAGE, .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        more = status == KEDGE_OK && set.count > 0;
        for (size_t at = 0; at < set.count && status == KEDGE_OK;)
            status = delete_some(work, &set, &at, error);
        kedge_record_set_free(&set);
    }
    return status;
}

static kedge_status delete_record(const importing *work, const kedge_record_key *key,
                                  kedge_error *error)
{
    kedge_record record = {.key = *key};
    const kedge_record_set set = {.records = &record, .count = 1};
    size_t at = 0;
    return delete_some(work, &set, &at, error);
}

/* ---- the name ---- */

/* Under the condition that the project is still the one that was read. */
static kedge_status take_name(importing *work, const kedge_record *found, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_random_hex(work->project->environment, (KEDGE_LINEAGE_HEX - 1) / 2, work->token);
    kedge_key claim = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_attribute attributes[] = {
        {"importing", KEDGE_ATTRIBUTE_TEXT, KEDGE_BYTES(KEDGE_IMPORT_ID_DELETED), 0},
        import_token(work),
        {"discarding", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1}};
    const kedge_attribute *lineage = kedge_record_attribute(found, "lineage");
    kedge_record_write writes[] = {
        {.kind = KEDGE_WRITE_PUT,
         .record = {{kedge_key_bytes(&work->partition), kedge_key_bytes(&claim)}, attributes, 3},
         .condition = KEDGE_IF_ABSENT},
        {.kind = KEDGE_WRITE_DELETE, .record = {.key = found->key}}};
    if (lineage != NULL) {
        writes[1].condition = KEDGE_IF_EQUAL;
        writes[1].expected = *lineage;
    }
    return records->vtable->transact(records->self, writes, 2, error);
}

/* The name becomes this process's. */
static kedge_status begin(importing *work, kedge_error *error)
{
    kedge_name_claim claim;
    kedge_record_set set = {0};
    const kedge_project *project = work->project;
    kedge_key partition = kedge_key_organization(project->ref.organization);
    kedge_key sort = kedge_key_project(project->ref.project);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    kedge_status status = kedge_name_claim_read(project, &claim, error);
    if (status != KEDGE_OK) return status;
    if (claim.importing && strcmp(claim.id, work->id) == 0) {
        memcpy(work->token, claim.token, sizeof work->token);
        return import_take_over(work, error);
    }
    if (claim.importing) {
        return kedge_fail(error, KEDGE_CONFLICT, "import-under-way",
                          "an import is under way under this name: complete it, or discard it");
    }
    status = project->records->vtable->get(project->records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "project-not-found", "there is no such project");
    }
    if (status != KEDGE_OK) return status;
    status = take_name(work, &set.records[0], error);
    kedge_record_set_free(&set);
    return status;
}

/* ---- logs ---- */

static kedge_status delete_entries(const importing *work, const kedge_log *log, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_log_key segments = kedge_log_key_segments(log);
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        kedge_records_query query = {
            .partition = kedge_log_key_bytes(&segments), .limit = 1, .consistent = true};
        kedge_record_set set = {0};
        int64_t segment;
        status = records->vtable->query(records->self, &query, &set, error);
        more = status == KEDGE_OK && set.count > 0;
        if (more && kedge_log_key_read_num(set.records[0].key.sort, &segment)) {
            kedge_log_key entries = kedge_log_key_entries(log, segment);
            status = delete_partition(work, kedge_log_key_bytes(&entries), error);
        }
        if (more && status == KEDGE_OK) status = delete_record(work, &set.records[0].key, error);
        kedge_record_set_free(&set);
    }
    return status;
}

static kedge_status delete_log(const importing *work, const kedge_log *log, kedge_error *error)
{
    kedge_log_key pending = kedge_log_key_pending(log);
    kedge_log_key logs = kedge_log_key_logs(&log->project->ref);
    kedge_record_key key = {kedge_log_key_bytes(&logs), log->name};
    kedge_status status = delete_partition(work, kedge_log_key_bytes(&pending), error);
    if (status == KEDGE_OK) status = delete_entries(work, log, error);
    return status == KEDGE_OK ? delete_record(work, &key, error) : status;
}

static kedge_status delete_logs(const importing *work, kedge_error *error)
{
    const kedge_project *project = work->project;
    kedge_log_key partition = kedge_log_key_logs(&project->ref);
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        kedge_records_query query = {.partition = kedge_log_key_bytes(&partition),
                                     .limit = LOGS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = project->records->vtable->query(project->records->self, &query, &set, error);
        more = status == KEDGE_OK && set.count > 0;
        for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
            kedge_log log = kedge_log_of(project, set.records[i].key.sort);
            status = delete_log(work, &log, error);
        }
        kedge_record_set_free(&set);
    }
    return status;
}

/* What a reprocessing that was broken off has left. */
static kedge_status delete_progress(const importing *work, kedge_error *error)
{
    kedge_log_key partition = kedge_log_key_reprocess(&work->project->ref);
    return delete_partition(work, kedge_log_key_bytes(&partition), error);
}

static kedge_status delete_blobs_of_logs(const importing *work, kedge_error *error)
{
    const kedge_blobs *blobs = work->project->blobs;
    kedge_log_key prefix = kedge_log_key_blobs(&work->project->ref);
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        kedge_blob_list list = {0};
        status = blobs->vtable->list(blobs->self, kedge_log_key_bytes(&prefix),
                                     (kedge_bytes){NULL, 0}, BLOBS_PER_PAGE, &list, error);
        if (status != KEDGE_OK) return status;
        more = list.count > 0;
        for (size_t i = 0; i < list.count && status == KEDGE_OK; i++) {
            status = import_check_ours(work, error);
            if (status != KEDGE_OK) break;
            status = blobs->vtable->remove(blobs->self, kedge_bytes_of(list.blobs[i].key), error);
        }
        kedge_blob_list_free(&list);
    }
    return status;
}

/* ---- resources ---- */

/* The latest version goes first: without it there is no such resource. */
static kedge_status delete_resource(const importing *work, const kedge_resource_ref *ref,
                                    kedge_error *error)
{
    kedge_resource_key latest;
    kedge_resource_key history;
    kedge_resource_key_latest(ref, &latest);
    kedge_resource_key_history(ref, 1, &history);
    kedge_status status = delete_record(work, &latest.key, error);
    return status == KEDGE_OK ? delete_partition(work, history.key.partition, error) : status;
}

static kedge_status delete_resources(const importing *work, kedge_error *error)
{
    const kedge_project *project = work->project;
    char settings_id[KEDGE_RESOURCE_NAMED_ID];
    char access_id[KEDGE_RESOURCE_NAMED_ID];
    const kedge_resource_ref refs[] = {
        kedge_resource_of_settings(project->ref.organization, project->ref.project, settings_id),
        kedge_resource_of_access(&project->ref, access_id)};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < 2 && status == KEDGE_OK; i++)
        status = delete_resource(work, &refs[i], error);
    return status;
}

kedge_status kedge_project_delete(const kedge_project *project, kedge_error *error)
{
    importing work = {.project = project, .id = KEDGE_IMPORT_ID_DELETED};
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status != KEDGE_OK) return status;
    work.partition = kedge_key_partition(&project->ref);
    status = begin(&work, error);
    if (status == KEDGE_OK) status = delete_logs(&work, error);
    if (status == KEDGE_OK) status = delete_progress(&work, error);
    if (status == KEDGE_OK) status = delete_blobs_of_logs(&work, error);
    if (status == KEDGE_OK) status = delete_resources(&work, error);
    if (status == KEDGE_OK) status = kedge_organization_unmark(project, error);
    return status == KEDGE_OK ? import_discard(&work, error) : status;
}
