/* Walking a state in key order: the project record, then the items by (collection, id). */
#include "backend/api/call.h"

kedge_api_walk kedge_api_walk_from_start(kedge_state *state)
{
    const kedge_version *version = kedge_state_version(state);
    return (kedge_api_walk){.state = state,
                            .version = version,
                            .at_project = version->project_record.size > 0,
                            .from_start = true};
}

kedge_api_walk kedge_api_walk_behind(kedge_state *state, kedge_bytes collection, kedge_bytes id)
{
    kedge_api_walk walk = kedge_api_walk_from_start(state);
    const kedge_version *version = walk.version;
    walk.at_project = false;
    while (walk.collection < version->collection_count &&
           kedge_bytes_compare(version->collections[walk.collection].name, collection) < 0) {
        walk.collection++;
    }
    bool inside = walk.collection < version->collection_count &&
                  kedge_bytes_equal(version->collections[walk.collection].name, collection);
    if (inside) {
        walk.from_start = false;
        walk.after = id;
    }
    return walk;
}

static kedge_status next_item(kedge_api_walk *walk, kedge_bytes *collection, kedge_entry *entry,
                              kedge_error *error)
{
    while (walk->collection < walk->version->collection_count) {
        kedge_bytes name = walk->version->collections[walk->collection].name;
        kedge_status status =
            kedge_state_next(walk->state, name, walk->from_start, walk->after, entry, error);
        if (status == KEDGE_OK) {
            *collection = name;
            walk->from_start = false;
            walk->after = entry->id;
            return KEDGE_OK;
        }
        if (status == KEDGE_CORRUPT && walk->damage != NULL) {
            kedge_api_damage_collection(walk->damage, name,
                                        walk->version->collections[walk->collection].items, error);
        } else if (status != KEDGE_DONE) {
            return status;
        }
        walk->collection++;
        walk->from_start = true;
    }
    return KEDGE_DONE;
}

kedge_status kedge_api_walk_next(kedge_api_walk *walk, kedge_bytes *collection, kedge_entry *entry,
                                 kedge_error *error)
{
    if (!walk->at_project) return next_item(walk, collection, entry, error);
    walk->at_project = false;
    kedge_bytes record = walk->version->project_record;
    *collection = (kedge_bytes){NULL, 0};
    *entry = (kedge_entry){.size = (int64_t)record.size, .body = record};
    return KEDGE_OK;
}
