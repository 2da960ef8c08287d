/* Items whose bodies are lost: left out of a response, and named in it. */
#include "backend/api/damage.h"
#include "common/error.h"
#include "common/json.h"
#include "wire/key.h"
#include "wire/patch.h"

kedge_api_damage kedge_api_damage_make(const kedge_allocator *allocator)
{
    return (kedge_api_damage){.keys = kedge_buffer_make(allocator),
                              .collections = kedge_buffer_make(allocator),
                              .key = kedge_buffer_make(allocator)};
}

void kedge_api_damage_free(kedge_api_damage *damage)
{
    kedge_buffer_free(&damage->keys);
    kedge_buffer_free(&damage->collections);
    kedge_buffer_free(&damage->key);
}

kedge_api_damage_mark kedge_api_damage_position(const kedge_api_damage *damage)
{
    return (kedge_api_damage_mark){damage->count, damage->keys.size, damage->collections.size};
}

void kedge_api_damage_roll_back(kedge_api_damage *damage, kedge_api_damage_mark mark)
{
    damage->count = mark.count;
    kedge_buffer_truncate(&damage->keys, mark.keys);
    kedge_buffer_truncate(&damage->collections, mark.collections);
}

static void add_text(kedge_buffer *list, kedge_bytes text)
{
    kedge_json_writer writer = kedge_json_write(list);
    writer.comma = list->size > 0;
    if (list->size == 0) kedge_json_begin_array(&writer);
    kedge_json_text(&writer, text);
}

void kedge_api_damage_item(kedge_api_damage *damage, kedge_bytes collection, kedge_bytes id,
                           const kedge_error *cause)
{
    damage->cause = *cause;
    if (damage->count++ >= KEDGE_API_DAMAGED_MAX) return;
    kedge_buffer_clear(&damage->key);
    kedge_wire_key_join(collection, id, &damage->key);
    add_text(&damage->keys, kedge_buffer_bytes(&damage->key));
}

void kedge_api_damage_collection(kedge_api_damage *damage, kedge_bytes collection, int64_t items,
                                 const kedge_error *cause)
{
    damage->cause = *cause;
    damage->count += items;
    add_text(&damage->collections, collection);
}

static kedge_bytes end_list(kedge_buffer *list)
{
    kedge_buffer_append_text(list, list->size == 0 ? "[]" : "]");
    return kedge_buffer_bytes(list);
}

kedge_status kedge_api_damage_tell(kedge_api_response *response, kedge_api_damage *damage,
                                   kedge_wire_damaged *told, kedge_error *error)
{
    *told = (kedge_wire_damaged){.count = damage->count};
    if (damage->count == 0) return KEDGE_OK;
    response->damaged_items = damage->count;
    response->cause = damage->cause;
    told->keys = end_list(&damage->keys);
    told->collections = end_list(&damage->collections);
    bool fine = !damage->keys.no_memory && !damage->collections.no_memory && !damage->key.no_memory;
    return fine ? KEDGE_OK : kedge_fail_no_memory(error);
}
