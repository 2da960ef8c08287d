/* The declared metadata of items, which lists show without the bodies.
 *
 * The project record declares it, so that the declaration is part of each version:
 *     "kedge.meta": {"collection": ["field", …], …}
 * A field is a member of the item. Metadata over 1,024 bytes ends before the field that would pass
 * it. An item gets its metadata when it is written; a change of the declaration shows from the next
 * write on. */
#include "backend/versioned/commit/slice.h"

#include "common/error.h"
#include "common/json.h"

#include <string.h>

#define META_BYTES_MAX 1024
#define FIELD_SIZE     129

static bool declared_fields(kedge_bytes project_record, kedge_bytes collection, kedge_bytes *fields)
{
    char name[KEDGE_LIMIT_NAME_BYTES + 1];
    kedge_bytes all;
    if (project_record.size == 0 || collection.size >= sizeof name) return false;
    memcpy(name, collection.data, collection.size);
    name[collection.size] = '\0';
    return kedge_json_member(project_record, "kedge.meta", &all) &&
           kedge_json_type_of(all) == KEDGE_JSON_OBJECT && kedge_json_member(all, name, fields) &&
           kedge_json_type_of(*fields) == KEDGE_JSON_ARRAY;
}

kedge_status kedge_meta_of(kedge_bytes project_record, kedge_bytes collection, kedge_bytes value,
                           kedge_arena *arena, kedge_bytes *meta, kedge_error *error)
{
    kedge_bytes fields;
    *meta = (kedge_bytes){NULL, 0};
    if (kedge_json_type_of(value) != KEDGE_JSON_OBJECT ||
        !declared_fields(project_record, collection, &fields)) {
        return KEDGE_OK;
    }
    kedge_buffer text = kedge_buffer_make(arena->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_iterator names = kedge_json_iterate(fields);
    kedge_bytes name;
    size_t found = 0;
    kedge_json_begin_object(&writer);
    while (kedge_json_next_element(&names, &name)) {
        char field[FIELD_SIZE];
        kedge_bytes content;
        if (!kedge_json_to_chars(name, field, sizeof field) ||
            !kedge_json_member(value, field, &content)) {
            continue;
        }
        if (text.size + content.size + name.size > META_BYTES_MAX) break;
        kedge_json_key(&writer, field);
        kedge_json_raw(&writer, content);
        found++;
    }
    kedge_json_end_object(&writer);
    kedge_buffer canonical = kedge_buffer_make(arena->allocator);
    kedge_status status = kedge_buffer_status(&text, error);
    if (status == KEDGE_OK && found > 0) {
        /* A field that is declared twice would make an invalid object: the item gets no
         * metadata. */
        kedge_error ignored;
        status = kedge_json_normalize(kedge_buffer_bytes(&text), KEDGE_LIMIT_JSON_DEPTH, &canonical,
                                      &ignored);
        if (status == KEDGE_NO_MEMORY ||
            (status == KEDGE_OK &&
             !kedge_arena_copy(arena, kedge_buffer_bytes(&canonical), meta))) {
            status = kedge_fail_no_memory(error);
        } else {
            status = KEDGE_OK;
        }
    }
    kedge_buffer_free(&canonical);
    kedge_buffer_free(&text);
    return status;
}
