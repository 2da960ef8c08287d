/* kedge.apply {reads, ops}: writes what an edit has written elsewhere, provided that all it has
 * read there is the same here. Otherwise it is rejected as "conflict". So an edit can be made by
 * code that the server does not have. The form of the args: apply.h. */
#include "common/json.h"
#include "common/names.h"
#include "mutate/apply.h"
#include "mutate/builtin_args.h"
#include "mutate/transaction.h"

#include <string.h>

/* An id, or a bound of a piece of a collection. */
typedef struct apply_text {
    bool given;
    char text[KEDGE_LIMIT_ITEM_ID_BYTES + 1];
} apply_text;

/* One element of `reads` or of `ops`. */
typedef struct apply_part {
    const char *of;
    size_t index;
    bool project;
    bool has_collection;
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    apply_text id, after, through;
    kedge_bytes hash, op, value, patch; /* empty: left out */
} apply_part;

static kedge_status wrong(kedge_tx *tx, const apply_part *part, const char *allowed,
                          kedge_error *error)
{
    return kedge_builtin_refuse(tx, error, "args-invalid", "\"%s\", element %zu: %s", part->of,
                                part->index, allowed);
}

static bool read_text(kedge_bytes value, apply_text *out)
{
    out->given = true;
    return kedge_json_to_chars(value, out->text, sizeof out->text);
}

static bool read_member(kedge_bytes key, kedge_bytes value, apply_part *part)
{
    if (kedge_json_text_equals(key, "collection")) {
        part->has_collection = true;
        return kedge_json_to_chars(value, part->collection, sizeof part->collection) &&
               kedge_check_name("collection", kedge_bytes_of(part->collection), NULL) == KEDGE_OK;
    }
    if (kedge_json_text_equals(key, "id")) return read_text(value, &part->id);
    if (kedge_json_text_equals(key, "after")) return read_text(value, &part->after);
    if (kedge_json_text_equals(key, "through")) return read_text(value, &part->through);
    if (kedge_json_text_equals(key, "project"))
        return kedge_json_to_boolean(value, &part->project) && part->project;
    kedge_bytes *place = kedge_json_text_equals(key, "hash")    ? &part->hash
                         : kedge_json_text_equals(key, "op")    ? &part->op
                         : kedge_json_text_equals(key, "value") ? &part->value
                         : kedge_json_text_equals(key, "patch") ? &part->patch
                                                                : NULL;
    if (place) *place = value;
    return place != NULL;
}

/* Whether all needed members are there, and no others than the allowed ones. A letter is the first
 * of a member's name; P is the patch. */
static bool has_exactly(const apply_part *part, const char *needed, const char *allowed)
{
    const struct {
        char letter;
        bool there;
    } members[] = {
        {'c', part->has_collection}, {'i', part->id.given},       {'a', part->after.given},
        {'t', part->through.given},  {'p', part->project},        {'h', part->hash.size > 0},
        {'o', part->op.size > 0},    {'v', part->value.size > 0}, {'P', part->patch.size > 0}};
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        if (members[i].there ? !strchr(allowed, members[i].letter)
                             : strchr(needed, members[i].letter) != NULL)
            return false;
    }
    return true;
}

static kedge_status read_part(kedge_tx *tx, kedge_bytes object, const char *of, size_t index,
                              apply_part *part, kedge_error *error)
{
    kedge_bytes key, value;
    *part = (apply_part){.of = of, .index = index};
    if (kedge_json_type_of(object) != KEDGE_JSON_OBJECT)
        return wrong(tx, part, "it must be an object", error);
    kedge_json_iterator members = kedge_json_iterate(object);
    while (kedge_json_next_member(&members, &key, &value))
        if (!read_member(key, value, part))
            return wrong(tx, part, "a member is unknown, or has a value that is not allowed",
                         error);
    return KEDGE_OK;
}

/* ---- reads ---- */

static bool is_hash(kedge_bytes value)
{
    char hex[KEDGE_DIGEST_HEX];
    uint8_t hash[KEDGE_DIGEST_SIZE];
    return kedge_json_to_chars(value, hex, sizeof hex) &&
           kedge_hex_decode(kedge_bytes_of(hex), hash, sizeof hash);
}

static kedge_status conflict(kedge_tx *tx, const apply_part *part, kedge_error *error)
{
    if (part->project)
        return kedge_builtin_refuse(tx, error, KEDGE_APPLY_CONFLICT,
                                    "the project record was changed since the edit has read it");
    return kedge_builtin_refuse(tx, error, KEDGE_APPLY_CONFLICT,
                                "%s%s%s was changed since the edit has read it", part->collection,
                                part->id.given ? "/" : "", part->id.given ? part->id.text : "");
}

static kedge_status check_value(kedge_tx *tx, const apply_part *part, kedge_error *error)
{
    char hex[KEDGE_DIGEST_HEX] = "";
    kedge_bytes found = {NULL, 0};
    kedge_status status =
        part->project ? kedge_tx_get_project(tx, &found.data, &found.size, error)
                      : kedge_tx_get(tx, part->collection, part->id.text, strlen(part->id.text),
                                     &found.data, &found.size, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    bool expected = kedge_json_type_of(part->hash) != KEDGE_JSON_NULL;
    if (status == KEDGE_OK) kedge_apply_hash(found, hex);
    bool same =
        (status == KEDGE_OK) == expected && (!expected || kedge_json_text_equals(part->hash, hex));
    return same ? KEDGE_OK : conflict(tx, part, error);
}

static kedge_status check_piece(kedge_tx *tx, const apply_part *part, kedge_error *error)
{
    char hex[KEDGE_DIGEST_HEX];
    kedge_sha256_stream piece;
    kedge_bytes id = {part->after.given ? part->after.text : NULL, strlen(part->after.text)};
    kedge_bytes end = kedge_bytes_of(part->through.text), value;
    kedge_apply_hash_begin(&piece);
    kedge_status status;
    while ((status = kedge_tx_next(tx, part->collection, id.data, id.size, &id.data, &id.size,
                                   &value.data, &value.size, error)) == KEDGE_OK) {
        if (part->through.given && kedge_bytes_compare(id, end) > 0) break;
        kedge_apply_hash_add(&piece, id, value);
    }
    if (status != KEDGE_OK && status != KEDGE_DONE) return status;
    kedge_apply_hash_end(&piece, hex);
    return kedge_json_text_equals(part->hash, hex) ? KEDGE_OK : conflict(tx, part, error);
}

static kedge_status check_read(kedge_tx *tx, const apply_part *part, kedge_error *error)
{
    bool absent = kedge_json_type_of(part->hash) == KEDGE_JSON_NULL;
    if (has_exactly(part, "cih", "cih") || has_exactly(part, "ph", "ph")) {
        if (absent || is_hash(part->hash)) return check_value(tx, part, error);
    } else if (has_exactly(part, "ch", "chat") && is_hash(part->hash)) {
        return check_piece(tx, part, error);
    }
    return wrong(tx, part,
                 "it must be {\"collection\", \"id\", \"hash\"}, {\"project\": true, \"hash\"} or "
                 "{\"collection\", \"after\", \"through\", \"hash\"}, with 32 digits, or null for "
                 "what is absent, as the hash",
                 error);
}

/* ---- ops ---- */

static kedge_status merge(kedge_tx *tx, const apply_part *part, kedge_error *error)
{
    kedge_builtin_item item = {.id_size = strlen(part->id.text), .extra = part->patch};
    memcpy(item.collection, part->collection, sizeof item.collection);
    memcpy(item.id, part->id.text, sizeof item.id);
    return kedge_builtin_merge_item(tx, &item, error);
}

static kedge_status run_op(kedge_tx *tx, const apply_part *part, kedge_error *error)
{
    size_t id_size = strlen(part->id.text);
    if (kedge_json_text_equals(part->op, "put") && has_exactly(part, "ociv", "ociv"))
        return kedge_tx_put(tx, part->collection, part->id.text, id_size, part->value.data,
                            part->value.size, error);
    if (kedge_json_text_equals(part->op, "merge") && has_exactly(part, "ociP", "ociP"))
        return merge(tx, part, error);
    if (kedge_json_text_equals(part->op, "delete") && has_exactly(part, "oci", "oci"))
        return kedge_tx_delete(tx, part->collection, part->id.text, id_size, error);
    if (kedge_json_text_equals(part->op, "put-project") && has_exactly(part, "ov", "ov"))
        return kedge_tx_put_project(tx, part->value.data, part->value.size, error);
    return wrong(tx, part,
                 "\"op\" must be \"put\" with collection, id, value; \"merge\" with collection, "
                 "id, patch; \"delete\" with collection, id; or \"put-project\" with value",
                 error);
}

/* ---- all ---- */

static kedge_status for_each(kedge_tx *tx, kedge_bytes args, const char *of,
                             kedge_status (*use)(kedge_tx *, const apply_part *, kedge_error *),
                             kedge_error *error)
{
    kedge_bytes array, object;
    apply_part part;
    if (!kedge_json_member(args, of, &array) || kedge_json_type_of(array) != KEDGE_JSON_ARRAY)
        return kedge_builtin_refuse(tx, error, "args-invalid", "the args must have an array \"%s\"",
                                    of);
    kedge_status status = KEDGE_OK;
    kedge_json_iterator elements = kedge_json_iterate(array);
    for (size_t i = 0; status == KEDGE_OK && kedge_json_next_element(&elements, &object); i++) {
        status = read_part(tx, object, of, i, &part, error);
        if (status == KEDGE_OK) status = use(tx, &part, error);
    }
    return status;
}

kedge_status kedge_builtin_apply(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    kedge_bytes text = {args, args_size}, key, value;
    size_t members = 0;
    kedge_json_iterator iterator = kedge_json_iterate(text);
    bool object = kedge_json_type_of(text) == KEDGE_JSON_OBJECT;
    kedge_apply_made made;
    bool valid = true;
    size_t expected = object && kedge_apply_read_made(text, &made, &valid) ? 3 : 2;
    while (object && kedge_json_next_member(&iterator, &key, &value))
        members++;
    if (members != expected || !valid)
        return kedge_builtin_refuse(tx, error, "args-invalid",
                                    "the args must be an object {\"reads\", \"ops\"}, and may have "
                                    "\"made\" with the name and the args of a mutator");
    kedge_status status = for_each(tx, text, "reads", check_read, error);
    return status == KEDGE_OK ? for_each(tx, text, "ops", run_op, error) : status;
}
