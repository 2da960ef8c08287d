/* JSON Merge Patch (RFC 7396). Members of canonical objects are sorted, so that two of them are
 * merged like two sorted lists, without a tree. */
#include "mutate/json_merge.h"

#include "mutate/json_members.h"

static void begin_member(kedge_buffer *out, bool *comma, kedge_bytes key)
{
    if (*comma) kedge_buffer_append_byte(out, ',');
    *comma = true;
    kedge_buffer_append_bytes(out, key);
    kedge_buffer_append_byte(out, ':');
}

/* Recurses as deep as the patch is nested: at most KEDGE_LIMIT_JSON_DEPTH. */
void kedge_json_merge(kedge_bytes target, kedge_bytes patch, kedge_buffer *out)
{
    if (kedge_json_type_of(patch) != KEDGE_JSON_OBJECT) {
        kedge_buffer_append_bytes(out, patch);
        return;
    }
    if (kedge_json_type_of(target) != KEDGE_JSON_OBJECT) target = KEDGE_BYTES("{}");

    bool comma = false;
    kedge_json_members old = kedge_json_members_start(target);
    kedge_json_members changes = kedge_json_members_start(patch);
    kedge_buffer_append_byte(out, '{');
    while (old.more || changes.more) {
        int order = !changes.more ? -1
                    : !old.more   ? 1
                                  : kedge_json_key_compare(old.key, changes.key);
        if (order < 0) {
            begin_member(out, &comma, old.key);
            kedge_buffer_append_bytes(out, old.value);
        } else if (kedge_json_type_of(changes.value) != KEDGE_JSON_NULL) {
            begin_member(out, &comma, changes.key);
            kedge_json_merge(order == 0 ? old.value : (kedge_bytes){NULL, 0}, changes.value, out);
        }
        if (order <= 0) kedge_json_members_advance(&old);
        if (order >= 0) kedge_json_members_advance(&changes);
    }
    kedge_buffer_append_byte(out, '}');
}
