/* See snapshot_hash.h. */
#include "backend/logged/snapshot_hash.h"

#include "backend/versioned/versions/blob.h"
#include "mutate/state_hash.h"

typedef struct hashing {
    const kedge_project *project;
    kedge_bytes collection;
    kedge_state_hash hash;
    kedge_buffer value;
    kedge_status status;
    kedge_error *error;
} hashing;

static bool hash_item(void *context, kedge_item *item)
{
    hashing *to = context;
    const kedge_entry *entry = &item->entry;
    kedge_bytes value = entry->body;
    if (value.data == NULL) {
        kedge_buffer_clear(&to->value);
        to->status =
            kedge_blob_body(to->project, to->collection, entry->hash, NULL, &to->value, to->error);
        value = kedge_buffer_bytes(&to->value);
    }
    if (to->status == KEDGE_OK) kedge_state_hash_add(&to->hash, to->collection, entry->id, value);
    return to->status == KEDGE_OK;
}

kedge_status kedge_snapshot_hash(const kedge_project *project, const kedge_version *version,
                                 const kedge_map *maps, uint8_t hash[KEDGE_SHA256_SIZE],
                                 kedge_error *error)
{
    hashing to = {.project = project,
                  .value = kedge_buffer_make(project->allocator),
                  .status = KEDGE_OK,
                  .error = error};
    kedge_bytes none = {NULL, 0};
    kedge_state_hash_begin(&to.hash);
    if (version->project_record.size > 0)
        kedge_state_hash_add(&to.hash, none, none, version->project_record);
    for (size_t i = 0; i < version->collection_count && to.status == KEDGE_OK; i++) {
        to.collection = version->collections[i].name;
        kedge_map_visit_items(&maps[i], hash_item, &to);
    }
    kedge_state_hash_end(&to.hash, hash);
    kedge_buffer_free(&to.value);
    return to.status;
}
