/* Writing patches and the items of pages; see patch.h. */
#include "wire/patch.h"

#include "common/assert.h"
#include "wire/key.h"

static void write_key(kedge_json_writer *writer, kedge_bytes collection, kedge_bytes id,
                      kedge_buffer *scratch)
{
    kedge_buffer_clear(scratch);
    kedge_wire_key_join(collection, id, scratch);
    kedge_json_key(writer, "key");
    kedge_json_text(writer, kedge_buffer_bytes(scratch));
}

void kedge_wire_operation_begin(kedge_json_writer *writer, kedge_wire_patch_kind kind,
                                kedge_bytes collection, kedge_bytes id, kedge_buffer *scratch)
{
    static const char names[][10] = {
        [KEDGE_WIRE_PATCH_CLEAR] = "clear",
        [KEDGE_WIRE_PATCH_PUT] = "put",
        [KEDGE_WIRE_PATCH_PUT_HASH] = "put",
        [KEDGE_WIRE_PATCH_DELETE] = "del",
    };
    KEDGE_ASSERT((size_t)kind < sizeof names / sizeof names[0]);
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "op");
    kedge_json_chars(writer, names[kind]);
    if (kind != KEDGE_WIRE_PATCH_CLEAR) write_key(writer, collection, id, scratch);
}

void kedge_wire_item_begin(kedge_json_writer *writer, kedge_bytes collection, kedge_bytes id,
                           kedge_buffer *scratch)
{
    kedge_json_begin_object(writer);
    write_key(writer, collection, id, scratch);
}

void kedge_wire_value_write(kedge_json_writer *writer, kedge_bytes value)
{
    kedge_json_key(writer, "value");
    kedge_json_raw(writer, value);
}

void kedge_wire_value_write_hash(kedge_json_writer *writer, const uint8_t hash[KEDGE_SHA256_SIZE],
                                 int64_t size_bytes)
{
    char hex[KEDGE_SHA256_HEX];
    kedge_hex_encode(hash, KEDGE_SHA256_SIZE, hex);
    kedge_json_key(writer, "hash");
    kedge_json_chars(writer, hex);
    kedge_json_key(writer, "size");
    kedge_json_integer(writer, size_bytes);
}

void kedge_wire_damaged_write(kedge_json_writer *writer, const kedge_wire_damaged *damaged)
{
    if (damaged->count == 0) return;
    kedge_json_key(writer, "damaged");
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "code");
    kedge_json_chars(writer, "items-damaged");
    kedge_json_key(writer, "count");
    kedge_json_integer(writer, damaged->count);
    kedge_json_key(writer, "keys");
    kedge_json_raw(writer, damaged->keys);
    kedge_json_key(writer, "collections");
    kedge_json_raw(writer, damaged->collections);
    kedge_json_end_object(writer);
}
