/* Import: taking the name, versions under it, and the commit. */
#include "backend/jobs/import_internal.h"

#include "backend/versioned/projects/organizations.h"
#include "backend/versioned/versions/version_codec.h"
#include "backend/versioned/versions/versions.h"
#include "common/error.h"

#include <string.h>

static kedge_status versions_there(const importing *work, int64_t number, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CONFLICT, "version-exists",
                      "the name \"%.*s\" has a version %lld that is not of this export, although "
                      "there is no such project; import under another name",
                      (int)work->project->ref.project.size, work->project->ref.project.data,
                      (long long)number);
}

/* ---- the record above all versions ---- */

static kedge_status get(importing *work, const kedge_record_key *key, kedge_record_set *set,
                        kedge_error *error)
{
    const kedge_records *records = work->project->records;
    return records->vtable->get(records->self, key, true, set, error);
}

kedge_attribute import_token(const importing *work)
{
    return (kedge_attribute){"token", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->token), 0};
}

/* A project of this name that was imported from the same export, or another. */
static kedge_status read_project(importing *work, bool *done, kedge_error *error)
{
    kedge_key organization = kedge_key_organization(work->project->ref.organization);
    kedge_key project = kedge_key_project(work->project->ref.project);
    kedge_record_key key = {kedge_key_bytes(&organization), kedge_key_bytes(&project)};
    kedge_record_set set = {0};
    kedge_status status = get(work, &key, &set, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    const kedge_attribute *imported = kedge_record_attribute(&set.records[0], "imported");
    *done = imported != NULL && kedge_bytes_equal_text(imported->bytes, work->id);
    kedge_record_set_free(&set);
    if (*done) return KEDGE_OK;
    return kedge_fail(error, KEDGE_CONFLICT, "project-exists",
                      "the project \"%.*s\" exists; import under another name",
                      (int)work->project->ref.project.size, work->project->ref.project.data);
}

/* The versions of an earlier try: one after the other, from the oldest on. */
static kedge_status find_newest(importing *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key from = kedge_key_version(0);
    kedge_key to = kedge_key_version(KEDGE_VERSION_IMPORTING - 1);
    kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                 .sort_from = kedge_key_bytes(&from),
                                 .sort_to = kedge_key_bytes(&to),
                                 .descending = true,
                                 .limit = 1,
                                 .consistent = true};
    kedge_record_set set = {0};
    kedge_status status = records->vtable->query(records->self, &query, &set, error);
    if (status != KEDGE_OK) return status;
    if (set.count > 0) {
        const kedge_attribute *lineage = kedge_record_attribute(&set.records[0], "lineage");
        kedge_key_read_version(set.records[0].key.sort, &work->there);
        if (lineage != NULL && lineage->bytes.size < sizeof work->there_lineage) {
            memcpy(work->there_lineage, lineage->bytes.data, lineage->bytes.size);
        }
    }
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

kedge_status import_check_there(const importing *work, kedge_bytes lineage, kedge_error *error)
{
    bool same = kedge_bytes_equal_text(lineage, work->there_lineage);
    return same ? KEDGE_OK : versions_there(work, work->there, error);
}

/* Under the condition that there is no such project, nor another import. The token is new: a
 * process of an import that was discarded since does not take this one for its own. */
static kedge_status put_guard(importing *work, kedge_error *error)
{
    kedge_random_hex(work->project->environment, (KEDGE_LINEAGE_HEX - 1) / 2, work->token);
    kedge_key organization = kedge_key_organization(work->project->ref.organization);
    kedge_key project = kedge_key_project(work->project->ref.project);
    kedge_key sort = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_attribute attributes[] = {
        {"importing", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->id), 0}, import_token(work)};
    kedge_record_write writes[] = {
        {.kind = KEDGE_WRITE_CHECK,
         .record = {.key = {kedge_key_bytes(&organization), kedge_key_bytes(&project)}},
         .condition = KEDGE_IF_ABSENT},
        {.kind = KEDGE_WRITE_PUT,
         .record = {{kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)}, attributes, 2},
         .condition = KEDGE_IF_ABSENT}};
    const kedge_records *records = work->project->records;
    return records->vtable->transact(records->self, writes, 2, error);
}

/* Nobody makes versions under the name: there is neither a project nor an import. */
static kedge_status begin_anew(importing *work, bool *done, kedge_error *error)
{
    kedge_name_claim claim;
    kedge_status status = find_newest(work, error);
    if (status == KEDGE_OK) status = read_project(work, done, error);
    if (status != KEDGE_OK || *done) return status;
    if (work->there > 0) {
        status = kedge_name_claim_read(work->project, &claim, error);
        if (status != KEDGE_OK) return status;
        return claim.importing ? import_raced(error) : versions_there(work, work->there, error);
    }
    status = put_guard(work, error);
    if (status != KEDGE_CONFLICT) return status;
    return kedge_fail(error, KEDGE_CONFLICT, "project-exists",
                      "the project \"%.*s\" was made at this moment",
                      (int)work->project->ref.project.size, work->project->ref.project.data);
}

kedge_status import_begin(importing *work, bool *done, kedge_error *error)
{
    kedge_name_claim claim;
    *done = false;
    kedge_status status = kedge_name_claim_read(work->project, &claim, error);
    if (status != KEDGE_OK) return status;
    if (!claim.importing) return begin_anew(work, done, error);
    if (claim.discarding) {
        return kedge_fail(error, KEDGE_CONFLICT, "import-under-way",
                          "an import under this name is being discarded; go on with that first");
    }
    if (strcmp(claim.id, work->id) != 0) {
        return kedge_fail(error, KEDGE_CONFLICT, "import-under-way",
                          "another export is being imported under this name; go on with that one "
                          "or discard it");
    }
    memcpy(work->token, claim.token, sizeof work->token);
    return find_newest(work, error);
}

/* The record is there, put by a try that seemed to fail or by another process that imports the same
 * lines. KEDGE_CONFLICT "version-exists": what is there is another version. */
static kedge_status check_is_put(importing *work, const kedge_record *record, kedge_error *error)
{
    kedge_record_set set = {0};
    kedge_status status = get(work, &record->key, &set, error);
    if (status == KEDGE_NOT_FOUND) return import_raced(error);
    if (status != KEDGE_OK) return status;
    const kedge_attribute *found = kedge_record_attribute(&set.records[0], "lineage");
    const kedge_attribute *wanted = kedge_record_attribute(record, "lineage");
    bool same = found != NULL && wanted != NULL && kedge_bytes_equal(found->bytes, wanted->bytes) &&
                kedge_retained_is_gone(&set.records[0]) == kedge_retained_is_gone(record);
    int64_t number = 0;
    kedge_key_read_version(record->key.sort, &number);
    kedge_record_set_free(&set);
    return same ? KEDGE_OK : versions_there(work, number, error);
}

/* Under the condition that the name is still taken for this import. So a process that was stopped
 * while another one discarded or ended its import puts no version. */
kedge_status import_put_version(importing *work, const kedge_record *record, kedge_error *error)
{
    kedge_key sort = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_name_claim claim;
    kedge_record_write writes[] = {
        {.kind = KEDGE_WRITE_PUT, .record = *record, .condition = KEDGE_IF_ABSENT},
        {.kind = KEDGE_WRITE_CHECK,
         .record = {.key = {kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)}},
         .condition = KEDGE_IF_EQUAL,
         .expected = import_token(work)}};
    const kedge_records *records = work->project->records;
    kedge_status status = records->vtable->transact(records->self, writes, 2, error);
    if (status != KEDGE_CONFLICT) return status;
    status = kedge_name_claim_read(work->project, &claim, error);
    if (status != KEDGE_OK) return status;
    bool ours = claim.importing && strcmp(claim.token, work->token) == 0;
    return ours ? check_is_put(work, record, error) : import_raced(error);
}

/* ---- the commit ---- */

/* In one transaction: the project's record, the record of which versions are kept, and the removal
 * of the record that takes the name, under the condition of its token. So a process that was
 * stopped while another one ended the import changes nothing of the project.
 *
 * The project's record is put without a condition. One may have been made meanwhile by the first
 * use of the name. It has no versions, and no request opens the project while the name is taken. */
kedge_status import_commit(importing *work, kedge_error *error)
{
    kedge_attribute attributes[5] = {
        {"created", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, work->created_ms},
        {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->lineage), 0},
        {"imported", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->id), 0},
        {KEDGE_RECORDS_INVERTED, KEDGE_ATTRIBUTE_TEXT, work->project->ref.project, 0},
        {"forked", KEDGE_ATTRIBUTE_TEXT, kedge_buffer_bytes(&work->forked), 0}};
    kedge_attribute retained[] = {
        {"oldest", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, work->oldest},
        {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(work->oldest_lineage), 0},
        {"gone_through", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, work->oldest - 1}};
    kedge_key organization = kedge_key_organization(work->project->ref.organization);
    kedge_key project = kedge_key_project(work->project->ref.project);
    kedge_key sort = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_key retention = kedge_key_retention();
    kedge_organization_marker marker;
    kedge_record_write writes[] = {
        {.kind = KEDGE_WRITE_PUT,
         .record = {{kedge_key_bytes(&organization), kedge_key_bytes(&project)},
                    attributes,
                    work->forked.size > 0 ? 5 : 4}},
        {.kind = KEDGE_WRITE_DELETE,
         .record = {.key = {kedge_key_bytes(&work->partition), kedge_key_bytes(&sort)}},
         .condition = KEDGE_IF_EQUAL,
         .expected = import_token(work)},
        {.kind = KEDGE_WRITE_DELETE,
         .record = {.key = {kedge_key_bytes(&work->partition), kedge_key_bytes(&retention)}}},
        kedge_organization_mark(work->project->ref.organization, work->token, &marker)};
    /* An export from version 1 on needs no record of what is kept. One that stands there is of an
     * earlier project of this name, and is removed. */
    if (work->oldest > 1) {
        writes[2].kind = KEDGE_WRITE_PUT;
        writes[2].record.attributes = retained;
        writes[2].record.attribute_count = 3;
    }
    const kedge_records *records = work->project->records;
    kedge_status status = records->vtable->transact(records->self, writes, 4, error);
    return status == KEDGE_CONFLICT ? import_raced(error) : status;
}
