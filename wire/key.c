/* See key.h. */
#include "wire/key.h"

#include "common/names.h"

#include <string.h>

void kedge_wire_key_split(kedge_bytes key, kedge_bytes *collection, kedge_bytes *id)
{
    if (kedge_bytes_equal_text(key, "project")) {
        *collection = (kedge_bytes){"", 0};
        *id = (kedge_bytes){"", 0};
        return;
    }
    const char *slash = key.size == 0 ? NULL : memchr(key.data, '/', key.size);
    if (slash != NULL) {
        kedge_bytes before = {key.data, (size_t)(slash - key.data)};
        if (kedge_check_name("collection", before, NULL) == KEDGE_OK) {
            *collection = before;
            *id = (kedge_bytes){slash + 1, key.size - before.size - 1};
            return;
        }
    }
    *collection = KEDGE_BYTES("_");
    *id = key;
}

/* An id of the collection `_` stands for itself unless it would then be read as something else. */
static bool stands_alone(kedge_bytes id)
{
    kedge_bytes collection;
    kedge_bytes rest;
    if (id.size == 0) return false;
    kedge_wire_key_split(id, &collection, &rest);
    return kedge_bytes_equal_text(collection, "_") && rest.size == id.size;
}

void kedge_wire_key_join(kedge_bytes collection, kedge_bytes id, kedge_buffer *out)
{
    if (collection.size == 0) {
        kedge_buffer_append_text(out, "project");
        return;
    }
    if (!kedge_bytes_equal_text(collection, "_") || !stands_alone(id)) {
        kedge_buffer_append_bytes(out, collection);
        kedge_buffer_append_byte(out, '/');
    }
    kedge_buffer_append_bytes(out, id);
}
