/* See page.h. */
#include "wire/page.h"

#include "common/assert.h"
#include "common/percent.h"
#include "wire/response.h"

#include <inttypes.h>

/* ---- writing ---- */

void kedge_wire_page_request_write(int64_t version, kedge_bytes after, kedge_buffer *path)
{
    KEDGE_ASSERT(version >= 0);
    kedge_buffer_append_format(path, "snapshot?version=%" PRId64, version);
    if (after.size == 0) return;
    kedge_buffer_append_text(path, "&after=");
    kedge_percent_encode(after, KEDGE_PERCENT_UNRESERVED, path);
}

void kedge_wire_page_response_begin(kedge_json_writer *writer, int64_t version, const char *lineage)
{
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "version");
    kedge_json_integer(writer, version);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, lineage);
    kedge_json_key(writer, "items");
    kedge_json_begin_array(writer);
}

void kedge_wire_page_response_end(kedge_json_writer *writer, const kedge_bytes *next,
                                  const kedge_wire_damaged *damaged)
{
    kedge_json_end_array(writer);
    kedge_json_key(writer, "next");
    if (next == NULL) {
        kedge_json_null(writer);
    } else {
        kedge_json_text(writer, *next);
    }
    kedge_wire_damaged_write(writer, damaged);
    kedge_json_end_object(writer);
}

/* ---- reading ---- */

static kedge_status read_after(const kedge_wire_member *member, kedge_wire_page_response *out,
                               kedge_error *error)
{
    out->last = kedge_wire_response_is_null(member);
    if (out->last) return KEDGE_OK;
    if (kedge_json_check_string(member->value, NULL) != KEDGE_OK ||
        !kedge_json_to_text(member->value, &out->next_text)) {
        kedge_status status = kedge_buffer_status(&out->next_text, error);
        if (status != KEDGE_OK) return status;
        return kedge_wire_response_fail(KEDGE_WIRE_PLACE(""), member, "a key or null", error);
    }
    out->next = kedge_buffer_bytes(&out->next_text);
    return kedge_buffer_status(&out->next_text, error);
}

kedge_status kedge_wire_page_response_read(const kedge_allocator *allocator, kedge_bytes body,
                                           kedge_wire_page_response *out, kedge_error *error)
{
    enum { VERSION, LINEAGE, ITEMS, NEXT, DAMAGED, MEMBERS };
    kedge_wire_place place = KEDGE_WIRE_PLACE("");
    kedge_wire_member members[MEMBERS] = {[VERSION] = {.name = "version"},
                                          [LINEAGE] = {.name = "lineage"},
                                          [ITEMS] = {.name = "items"},
                                          [NEXT] = {.name = "next"},
                                          [DAMAGED] = {.name = "damaged"}};
    out->items.text = kedge_buffer_make(allocator);
    out->next_text = kedge_buffer_make(allocator);
    kedge_status status = kedge_wire_response_members(place, body, members, MEMBERS, error);
    if (status == KEDGE_OK) {
        status = kedge_wire_response_integer(place, &members[VERSION], 0, &out->version, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_response_lineage(place, &members[LINEAGE], out->lineage, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_wire_patch_read(place, &members[ITEMS], true, &out->items, error);
    }
    if (status == KEDGE_OK) status = read_after(&members[NEXT], out, error);
    if (status == KEDGE_OK)
        status = kedge_wire_damaged_read(&members[DAMAGED], &out->damaged, error);
    if (status == KEDGE_OK && !out->last && out->items.count == 0 && out->damaged.count == 0) {
        status = kedge_wire_response_fail(place, &members[ITEMS], "filled while more pages follow",
                                          error);
    }
    return status;
}

void kedge_wire_page_response_free(kedge_wire_page_response *response)
{
    kedge_wire_patch_free(&response->items);
    kedge_buffer_free(&response->next_text);
}
