/* The commit of a version. */
#include "backend/versioned/commit/commit.h"

#include "backend/versioned/versions/blob.h"
#include "backend/versioned/versions/history.h"
#include "common/assert.h"
#include "common/error.h"

kedge_status kedge_commit_bodies(const kedge_project *project, const kedge_slice_body *bodies,
                                 size_t count, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        kedge_key key = kedge_key_body(&project->ref, bodies[i].collection, bodies[i].hash);
        status = kedge_blob_put_plain(project, &key, bodies[i].value, error);
    }
    return status;
}

static kedge_status put_record(const kedge_project *project, int64_t number,
                               const kedge_version_record *record, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_version(number);
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {{kedge_key_bytes(&partition), kedge_key_bytes(&sort)},
                                           record->attributes,
                                           record->attribute_count},
                                .condition = KEDGE_IF_ABSENT};
    const kedge_records *records = project->records;
    return records->vtable->write(records->self, &write, error);
}

/* The state of such a version is not known here, and has no collections. */
static kedge_status append(const kedge_project *project, kedge_state *head, kedge_version *version,
                           kedge_state **state, kedge_error *error)
{
    kedge_status status = project->history->append(project, head->version, version, error);
    KEDGE_ASSERT(version->collection_count == 0);
    return status == KEDGE_OK ? kedge_state_derive(project, NULL, version, state, error) : status;
}

kedge_status kedge_commit(const kedge_project *project, kedge_state *head, kedge_version *version,
                          const kedge_slice_body *bodies, size_t body_count, kedge_state **state,
                          kedge_error *error)
{
    kedge_version_record record;
    kedge_state *next = NULL;
    KEDGE_ASSERT(version->number == head->version->number + 1);
    KEDGE_ASSERT(version->lineage[0] != '\0');
    if (project->history != NULL) return append(project, head, version, state, error);
    kedge_status status = kedge_state_derive(project, head, version, &next, error);
    if (status != KEDGE_OK) return status;
    status = kedge_version_encode(project->allocator, version, &record, error);
    if (status == KEDGE_OK) status = kedge_commit_bodies(project, bodies, body_count, error);
    if (status == KEDGE_OK) status = kedge_version_put_parts(project, &record, error);
    if (status == KEDGE_OK) {
        status = project->backend->options.cadence == KEDGE_CADENCE_SEED
                     ? kedge_commit_seed(next, &record, error)
                     : put_record(project, version->number, &record, error);
    }
    kedge_arena_free(&record.arena);
    if (status != KEDGE_OK) {
        kedge_state_close(next);
        return status;
    }
    *state = next;
    return KEDGE_OK;
}
