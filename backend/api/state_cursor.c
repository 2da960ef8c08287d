/* A cursor over a state in key order: the project record, then the items by (collection, id). */
#include "backend/api/state_cursor.h"
#include "backend/versioned/model/version.h"

kedge_api_cursor kedge_api_cursor_from_start(kedge_state *state)
{
    const kedge_version *version = kedge_state_version(state);
    return (kedge_api_cursor){.state = state,
                              .version = version,
                              .at_project = version->project_record.size > 0,
                              .from_start = true};
}

kedge_api_cursor kedge_api_cursor_behind(kedge_state *state, kedge_bytes collection, kedge_bytes id)
{
    kedge_api_cursor cursor = kedge_api_cursor_from_start(state);
    const kedge_version *version = cursor.version;
    cursor.at_project = false;
    while (cursor.collection < version->collection_count &&
           kedge_bytes_compare(version->collections[cursor.collection].name, collection) < 0) {
        cursor.collection++;
    }
    bool inside = cursor.collection < version->collection_count &&
                  kedge_bytes_equal(version->collections[cursor.collection].name, collection);
    if (inside) {
        cursor.from_start = false;
        cursor.after = id;
    }
    return cursor;
}

static kedge_status next_item(kedge_api_cursor *cursor, kedge_bytes *collection, kedge_entry *entry,
                              kedge_error *error)
{
    while (cursor->collection < cursor->version->collection_count) {
        kedge_bytes name = cursor->version->collections[cursor->collection].name;
        kedge_status status =
            kedge_state_next(cursor->state, name, cursor->from_start, cursor->after, entry, error);
        if (status == KEDGE_OK) {
            *collection = name;
            cursor->from_start = false;
            cursor->after = entry->id;
            return KEDGE_OK;
        }
        if (status == KEDGE_CORRUPT && cursor->damage != NULL && !cursor->begun) {
            kedge_api_damage_collection(cursor->damage, name,
                                        cursor->version->collections[cursor->collection].items,
                                        error);
        } else if (status != KEDGE_DONE) {
            return status;
        }
        cursor->collection++;
        cursor->from_start = true;
        cursor->begun = false;
    }
    return KEDGE_DONE;
}

kedge_status kedge_api_cursor_next(kedge_api_cursor *cursor, kedge_bytes *collection,
                                   kedge_entry *entry, kedge_error *error)
{
    if (!cursor->at_project) return next_item(cursor, collection, entry, error);
    cursor->at_project = false;
    kedge_bytes record = cursor->version->project_record;
    *collection = (kedge_bytes){NULL, 0};
    *entry = (kedge_entry){.size = (int64_t)record.size, .body = record};
    return KEDGE_OK;
}
