/* JSON as an attribute of a record: text while it is short, else gzip when that is smaller. */
#include "backend/base/packed.h"

#include "common/error.h"
#include "common/gzip.h"

static kedge_status keep(kedge_arena *arena, kedge_bytes bytes, kedge_bytes *kept,
                         kedge_error *error)
{
    return kedge_arena_copy(arena, bytes, kept) ? KEDGE_OK : kedge_fail_no_memory(error);
}

kedge_status kedge_pack(const char *name, kedge_bytes plain, kedge_arena *arena,
                        kedge_attribute *attribute, kedge_error *error)
{
    kedge_buffer compressed = kedge_buffer_make(arena->allocator);
    kedge_attribute packed = {.name = name, .type = KEDGE_ATTRIBUTE_TEXT};
    kedge_bytes smaller = plain;
    kedge_status status = KEDGE_OK;
    if (plain.size > KEDGE_PACK_TEXT_BYTES) {
        status = kedge_gzip(plain, &compressed, error);
        if (status != KEDGE_OK) goto out;
        if (compressed.size < plain.size) {
            packed.type = KEDGE_ATTRIBUTE_BINARY;
            smaller = kedge_buffer_bytes(&compressed);
        }
    }
    status = keep(arena, smaller, &packed.bytes, error);
    if (status == KEDGE_OK) *attribute = packed;
out:
    kedge_buffer_free(&compressed);
    return status;
}

kedge_status kedge_unpack_gzip(kedge_bytes compressed, kedge_arena *arena, kedge_bytes *plain,
                               kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(arena->allocator);
    kedge_status status = kedge_gunzip(compressed, KEDGE_UNPACK_BYTES_MAX, &text, error);
    if (status == KEDGE_OK) status = keep(arena, kedge_buffer_bytes(&text), plain, error);
    kedge_buffer_free(&text);
    return status;
}

kedge_status kedge_unpack(const kedge_attribute *attribute, kedge_arena *arena, kedge_bytes *plain,
                          kedge_error *error)
{
    switch (attribute->type) {
    case KEDGE_ATTRIBUTE_TEXT:
        return keep(arena, attribute->bytes, plain, error);
    case KEDGE_ATTRIBUTE_BINARY:
        return kedge_unpack_gzip(attribute->bytes, arena, plain, error);
    case KEDGE_ATTRIBUTE_NUMBER:
        break;
    }
    return kedge_fail(error, KEDGE_CORRUPT, "record-damaged",
                      "the attribute \"%s\" of a record is a number and should be JSON",
                      attribute->name);
}
