/* See cookie.h. */
#include "wire/cookie.h"

#include "common/assert.h"

#include <string.h>

#define ORDER_MAX 4503599627370496 /* 2^52: half of what a number counts exactly */

kedge_wire_cookie kedge_wire_cookie_of(int64_t version, const char *lineage)
{
    kedge_wire_cookie cookie = {.order = version, .version = version};
    size_t size = strlen(lineage);
    KEDGE_ASSERT(size < sizeof cookie.lineage);
    cookie.kind = size == 0 ? KEDGE_WIRE_COOKIE_NULL : KEDGE_WIRE_COOKIE_OURS;
    cookie.ordered = size > 0;
    memcpy(cookie.lineage, lineage, size + 1);
    return cookie;
}

void kedge_wire_cookie_write(kedge_json_writer *writer, const kedge_wire_cookie *cookie)
{
    KEDGE_ASSERT(cookie->kind != KEDGE_WIRE_COOKIE_OTHER);
    if (cookie->kind == KEDGE_WIRE_COOKIE_NULL) {
        kedge_json_null(writer);
        return;
    }
    kedge_json_begin_object(writer);
    kedge_json_key(writer, "order");
    kedge_json_integer(writer, cookie->order);
    kedge_json_key(writer, "lineage");
    kedge_json_chars(writer, cookie->lineage);
    if (cookie->order != cookie->version) {
        kedge_json_key(writer, "version");
        kedge_json_integer(writer, cookie->version);
    }
    kedge_json_end_object(writer);
}

static void read_order(kedge_bytes value, kedge_wire_cookie *out)
{
    double order;
    if (!kedge_json_to_number(value, &order)) return;
    out->ordered = order >= -(double)ORDER_MAX && order < (double)ORDER_MAX;
    if (out->ordered) out->order = (int64_t)order;
}

/* Without a member `version` it is the order. */
static void read_object(kedge_bytes object, kedge_wire_cookie *out)
{
    kedge_bytes value;
    if (!kedge_json_member(object, "order", &value)) return;
    read_order(value, out);
    bool ours = out->ordered && kedge_json_to_integer(value, &out->version) &&
                kedge_json_member_chars(object, "lineage", out->lineage, sizeof out->lineage);
    if (ours && kedge_json_member(object, "version", &value)) {
        ours = kedge_json_to_integer(value, &out->version);
    }
    ours = ours && out->version >= 0 && out->version <= out->order;
    if (ours) out->kind = KEDGE_WIRE_COOKIE_OURS;
}

bool kedge_wire_cookie_read(kedge_bytes value, kedge_wire_cookie *out)
{
    *out = (kedge_wire_cookie){.kind = KEDGE_WIRE_COOKIE_OTHER};
    switch (kedge_json_type_of(value)) {
    case KEDGE_JSON_NULL:
        out->kind = KEDGE_WIRE_COOKIE_NULL;
        return true;
    case KEDGE_JSON_OBJECT:
        read_object(value, out);
        return true;
    case KEDGE_JSON_NUMBER:
        read_order(value, out);
        return true;
    case KEDGE_JSON_STRING:
        return true;
    default:
        return false;
    }
}
