/* A state as what a mutator's transaction reads. */
#include "backend/versioned/state/state_internal.h"

static kedge_status read_item(void *context, kedge_bytes collection, kedge_bytes id,
                              kedge_buffer *value, kedge_error *error)
{
    kedge_state *state = context;
    if (collection.size == 0) {
        kedge_bytes record = state->version->project_record;
        if (record.size == 0) return KEDGE_NOT_FOUND;
        kedge_buffer_append_bytes(value, record);
        return kedge_buffer_status(value, error);
    }
    kedge_entry entry;
    kedge_status status = kedge_state_find(state, collection, id, &entry, error);
    if (status != KEDGE_OK) return status;
    return kedge_state_body(state, collection, &entry, value, error);
}

static kedge_status read_next(void *context, kedge_bytes collection, bool from_start,
                              kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                              kedge_error *error)
{
    kedge_state *state = context;
    kedge_entry entry;
    kedge_status status = kedge_state_next(state, collection, from_start, after, &entry, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_append_bytes(id, entry.id);
    status = kedge_buffer_status(id, error);
    if (status != KEDGE_OK) return status;
    return kedge_state_body(state, collection, &entry, value, error);
}

kedge_state_reader kedge_state_reader_of(kedge_state *state)
{
    return (kedge_state_reader){state, read_item, read_next};
}
