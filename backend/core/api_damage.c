/* Items whose bodies are lost: left out of an answer, and named in it. */
#include "backend/core/api_internal.h"
#include "common/error.h"
#include "wire/key.h"

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

kedge_api_damage_mark kedge_api_damage_now(const kedge_api_damage *damage)
{
    return (kedge_api_damage_mark){damage->count, damage->keys.size, damage->collections.size};
}

void kedge_api_damage_back(kedge_api_damage *damage, kedge_api_damage_mark mark)
{
    damage->count = mark.count;
    kedge_buffer_truncate(&damage->keys, mark.keys);
    kedge_buffer_truncate(&damage->collections, mark.collections);
}

/* An element of a list without its brackets. */
static void add_text(kedge_buffer *list, kedge_bytes text)
{
    kedge_json_writer writer = kedge_json_write(list);
    writer.comma = list->size > 0;
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

static void write_list(kedge_json_writer *writer, const char *name, const kedge_buffer *list)
{
    kedge_json_key(writer, name);
    kedge_json_begin_array(writer);
    if (list->size > 0) kedge_json_raw(writer, kedge_buffer_bytes(list));
    kedge_json_end_array(writer);
}

kedge_status kedge_api_damage_tell(kedge_api_call *call, const kedge_api_damage *damage,
                                   kedge_json_writer *writer)
{
    if (damage->count == 0) return KEDGE_OK;
    call->response->damaged_items = damage->count;
    call->response->cause = damage->cause;
    if (writer == NULL) return KEDGE_OK;
    kedge_json_key(writer, "damaged");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "code");
    kedge_json_chars(writer, "items-damaged");
    kedge_json_key(writer, "count");
    kedge_json_integer(writer, damage->count);
    write_list(writer, "keys", &damage->keys);
    write_list(writer, "collections", &damage->collections);
    kedge_json_end_object(writer);
    bool fine = !damage->keys.no_memory && !damage->collections.no_memory && !damage->key.no_memory;
    return fine ? KEDGE_OK : kedge_fail_no_memory(&call->error);
}
