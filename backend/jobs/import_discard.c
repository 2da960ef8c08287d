/* Import: discarding.
 *
 * First the record that takes the name gets another token: from then on no process of the import
 * puts a version or commits, and no other process that was discarding it goes on. Then the
 * project's records are removed, under the condition that the token is still this process's.
 * Then the blobs: no store knows such a condition for them, so the token is read before each one is
 * removed. The record that takes the name is removed last, which frees the name. A process that is
 * broken off leaves the record; the next one replaces the token by its own. */
#include "backend/jobs/import_internal.h"

#include "backend/ports/records_support.h"
#include "common/error.h"

#include <string.h>

#define RECORDS_PER_PAGE 90
#define BLOBS_PER_PAGE   1000
/* What is deleted at once; a larger record goes by itself. DynamoDB gives a partition 1,000 units
 * of 1 KB a second, and charges two for each KB in a transaction. */
#define BYTES_PER_TRANSACTION 131072

static kedge_record_write write_of_claim(const importing *work, const kedge_key *sort,
                                         kedge_write_kind kind)
{
    return (kedge_record_write){
        .kind = kind,
        .record = {.key = {kedge_key_bytes(&work->partition), kedge_key_bytes(sort)}},
        .condition = KEDGE_IF_EQUAL,
        .expected = import_token(work)};
}

kedge_status import_take_over(importing *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key sort = kedge_key_version(KEDGE_VERSION_IMPORTING);
    char token[KEDGE_LINEAGE_HEX];
    kedge_random_hex(work->project->environment, (KEDGE_LINEAGE_HEX - 1) / 2, token);
    kedge_attribute attributes[] = {
        {"importing", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->id), 0},
        {"token", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(token), 0},
        {"discarding", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, 1}};
    kedge_record_write write = write_of_claim(work, &sort, KEDGE_WRITE_PUT);
    write.record.attributes = attributes;
    write.record.attribute_count = 3;
    kedge_status status = records->vtable->write(records->self, &write, error);
    if (status == KEDGE_CONFLICT) return import_raced(error);
    if (status == KEDGE_OK) memcpy(work->token, token, sizeof token);
    return status;
}

kedge_record_write import_claim_check(const importing *work, kedge_key *sort)
{
    *sort = kedge_key_version(KEDGE_VERSION_IMPORTING);
    return write_of_claim(work, sort, KEDGE_WRITE_CHECK);
}

kedge_status import_check_ours(const importing *work, kedge_error *error)
{
    kedge_name_claim claim;
    kedge_status status = kedge_name_claim_read(work->project, &claim, error);
    if (status != KEDGE_OK) return status;
    return strcmp(claim.token, work->token) == 0 ? KEDGE_OK : import_raced(error);
}

/* ---- records ---- */

/* The front part of a page, from `*at` on, in one transaction. */
static kedge_status delete_some(importing *work, const kedge_record_set *set, size_t *at,
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
        if (kedge_bytes_equal(record->key.sort, kedge_key_bytes(&claim))) continue;
        bytes += kedge_record_bytes(record);
        if (count > 1 && bytes > BYTES_PER_TRANSACTION) break;
        writes[count++] =
            (kedge_record_write){.kind = KEDGE_WRITE_DELETE, .record = {.key = record->key}};
    }
    if (count == 1) return KEDGE_OK;
    kedge_status status = records->vtable->transact(records->self, writes, count, error);
    return status == KEDGE_CONFLICT ? import_raced(error) : status;
}

static kedge_status delete_records(importing *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key after = {.size = 0};
    kedge_status status = KEDGE_OK;
    bool more = true;
    while (more && status == KEDGE_OK) {
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .after = kedge_key_bytes(&after),
                                     .limit = RECORDS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        more = set.more && set.count > 0;
        if (set.count > 0) {
            kedge_bytes sort = set.records[set.count - 1].key.sort;
            after.size = sort.size < sizeof after.text ? sort.size : sizeof after.text;
            memcpy(after.text, sort.data, after.size);
        }
        for (size_t at = 0; at < set.count && status == KEDGE_OK;)
            status = delete_some(work, &set, &at, error);
        kedge_record_set_free(&set);
    }
    return status;
}

/* ---- blobs ---- */

static kedge_status delete_blobs(importing *work, kedge_error *error)
{
    const kedge_blobs *blobs = work->project->blobs;
    kedge_key prefix = kedge_key_blobs(&work->project->ref);
    kedge_status status = KEDGE_OK;
    bool more = true;
    while (more && status == KEDGE_OK) {
        kedge_blob_list list = {0};
        status = blobs->vtable->list(blobs->self, kedge_key_bytes(&prefix), (kedge_bytes){NULL, 0},
                                     BLOBS_PER_PAGE, &list, error);
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

/* ---- the job ---- */

/* Frees the name, and puts the record by which a writer that has relied on one of the removed blobs
 * finds out that it is gone (name_claim.h). */
static kedge_status give_back(importing *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key claim = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_key discarded = kedge_key_discarded();
    kedge_attribute attributes[] = {import_token(work)};
    kedge_record_write writes[] = {
        write_of_claim(work, &claim, KEDGE_WRITE_DELETE),
        {.kind = KEDGE_WRITE_PUT,
         .record = {
             {kedge_key_bytes(&work->partition), kedge_key_bytes(&discarded)}, attributes, 1}}};
    kedge_status status = records->vtable->transact(records->self, writes, 2, error);
    return status == KEDGE_CONFLICT ? import_raced(error) : status;
}

kedge_status import_discard(importing *work, kedge_error *error)
{
    kedge_status status = delete_records(work, error);
    if (status == KEDGE_OK) status = delete_blobs(work, error);
    return status == KEDGE_OK ? give_back(work, error) : status;
}

kedge_status kedge_import_discard(const kedge_project *project, kedge_error *error)
{
    importing work = {.project = project, .partition = kedge_key_partition(&project->ref)};
    kedge_name_claim claim;
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status == KEDGE_OK) status = kedge_name_claim_read(project, &claim, error);
    if (status != KEDGE_OK) return status;
    if (claim.importing && strcmp(claim.id, KEDGE_IMPORT_ID_DELETED) == 0) {
        return kedge_fail(error, KEDGE_CONFLICT, "project-half-deleted",
                          "the project \"%.*s\" is half deleted: delete-project completes it",
                          (int)project->ref.project.size, project->ref.project.data);
    }
    if (!claim.importing) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "no-import",
                          "no import is under way under the name \"%.*s\"",
                          (int)project->ref.project.size, project->ref.project.data);
    }
    memcpy(work.id, claim.id, sizeof work.id);
    memcpy(work.token, claim.token, sizeof work.token);
    status = import_take_over(&work, error);
    return status == KEDGE_OK ? import_discard(&work, error) : status;
}
