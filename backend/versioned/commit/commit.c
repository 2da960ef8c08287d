/* The commit of a version. */
#include "backend/versioned/commit/commit.h"

#include "backend/versioned/versions/blob.h"
#include "common/assert.h"
#include "common/error.h"

static kedge_status put_bodies(kedge_backend *backend, const kedge_project_ref *ref,
                               const kedge_slice_body *bodies, size_t count, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        kedge_key key = kedge_key_body(ref, bodies[i].collection, bodies[i].hash);
        status = kedge_blob_put_plain(backend, ref, &key, bodies[i].value, error);
    }
    return status;
}

static kedge_status put_record(kedge_backend *backend, const kedge_project_ref *ref, int64_t number,
                               const kedge_version_record *record, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(ref);
    kedge_key sort = kedge_key_version(number);
    kedge_record_write write = {.kind = KEDGE_WRITE_PUT,
                                .record = {{kedge_key_bytes(&partition), kedge_key_bytes(&sort)},
                                           record->attributes,
                                           record->attribute_count},
                                .condition = KEDGE_IF_ABSENT};
    const kedge_records *records = &backend->options.records;
    return records->vtable->write(records->self, &write, error);
}

kedge_status kedge_commit(kedge_backend *backend, const kedge_project_ref *ref, kedge_state *head,
                          const kedge_version *version, const kedge_slice_body *bodies,
                          size_t body_count, kedge_state **state, kedge_error *error)
{
    kedge_version_record record;
    kedge_state *next = NULL;
    KEDGE_ASSERT(version->number == head->version->number + 1);
    KEDGE_ASSERT(version->lineage[0] != '\0');
    kedge_status status = kedge_state_derive(backend, ref, head, version, &next, error);
    if (status != KEDGE_OK) return status;
    status = kedge_version_encode(backend->allocator, version, &record, error);
    if (status == KEDGE_OK) status = put_bodies(backend, ref, bodies, body_count, error);
    if (status == KEDGE_OK) status = kedge_version_put_parts(backend, ref, &record, error);
    if (status == KEDGE_OK) {
        status = backend->options.cadence == KEDGE_CADENCE_SEED
                     ? kedge_commit_seed(next, &record, error)
                     : put_record(backend, ref, version->number, &record, error);
    }
    kedge_arena_free(&record.arena);
    if (status != KEDGE_OK) {
        kedge_state_close(next);
        return status;
    }
    *state = next;
    return KEDGE_OK;
}
