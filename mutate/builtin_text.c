/* kedge.text {collection, id, path, base, text}: an edit of a text that is a member of an item.
 * `base` is the text that the editor saw, `text` what it became. What others changed meanwhile is
 * merged with it (text_merge.h), so that two edits of one text, both made offline, both survive. */
#include "common/error.h"
#include "mutate/builtin_args.h"
#include "mutate/text_merge.h"
#include "mutate/transaction.h"

/* One edit, and the item that it is made to. */
typedef struct text_edit {
    kedge_builtin_item item;
    kedge_json_pointer path;
    kedge_buffer base;
    kedge_buffer text;
    kedge_buffer now;    /* what the member is */
    kedge_buffer merged; /* what it becomes */
    kedge_json_document document;
    kedge_json_place at; /* of the member */
} text_edit;

enum { MEMBER_PATH, MEMBER_BASE, MEMBER_TEXT, MEMBERS };
static const char *const members[MEMBERS] = {"path", "base", "text"};

/* ---- the args ---- */

static kedge_status read_string(kedge_tx *tx, const char *member, kedge_bytes value,
                                kedge_buffer *out, kedge_error *error)
{
    kedge_error why = {0};
    bool string = kedge_json_type_of(value) == KEDGE_JSON_STRING && kedge_json_to_text(value, out);
    if (kedge_buffer_status(out, &why) != KEDGE_OK) return kedge_tx_postpone(tx, &why, error);
    if (string) return KEDGE_OK;
    return kedge_builtin_refuse(tx, error, "args-invalid",
                                "the member \"%s\" of the args must be a string", member);
}

static kedge_status read_args(kedge_tx *tx, kedge_bytes args, text_edit *edit, kedge_error *error)
{
    kedge_bytes values[MEMBERS];
    kedge_error why = {0};
    kedge_status status =
        kedge_builtin_read_members(tx, args, members, MEMBERS, &edit->item, values, error);
    if (status == KEDGE_OK)
        status = read_string(tx, "base", values[MEMBER_BASE], &edit->base, error);
    if (status == KEDGE_OK)
        status = read_string(tx, "text", values[MEMBER_TEXT], &edit->text, error);
    if (status != KEDGE_OK) return status;
    status = kedge_json_pointer_parse(&edit->path, values[MEMBER_PATH], &why);
    if (status == KEDGE_NO_MEMORY) return kedge_tx_postpone(tx, &why, error);
    if (status == KEDGE_OK) return KEDGE_OK;
    return kedge_builtin_refuse(tx, error, "args-invalid",
                                "the member \"path\" of the args must be a JSON Pointer, as in"
                                " \"/text\"; this one %s",
                                why.message);
}

/* ---- the member ---- */

/* Charges what the work on the document has cost so far. */
static kedge_status document_failed(kedge_tx *tx, const text_edit *edit, const kedge_error *why,
                                    kedge_error *error)
{
    if (why->status == KEDGE_LIMIT_EXCEEDED) return kedge_tx_charge(tx, edit->document.cost, error);
    return kedge_tx_postpone(tx, why, error);
}

static kedge_status conflict(kedge_tx *tx, const char *what, kedge_error *error)
{
    return kedge_builtin_refuse(tx, error, "text-conflict",
                                "what the path leads to is %s meanwhile", what);
}

/* A member that is absent is an empty text, for an edit that began with one. */
static kedge_status read_member(kedge_tx *tx, text_edit *edit, kedge_error *error)
{
    kedge_error why = {0};
    const kedge_json_part *value = &edit->at.value;
    kedge_status status = kedge_json_document_find(&edit->document, &edit->path, &edit->at, &why);
    if (status != KEDGE_OK) return document_failed(tx, edit, &why, error);
    if (!edit->at.found) return edit->base.size == 0 ? KEDGE_OK : conflict(tx, "removed", error);
    if (kedge_json_part_type(value) != KEDGE_JSON_STRING) return conflict(tx, "no text", error);
    kedge_json_to_text(kedge_json_part_text(value), &edit->now);
    if (kedge_buffer_status(&edit->now, &why) == KEDGE_OK) return KEDGE_OK;
    return kedge_tx_postpone(tx, &why, error);
}

/* Puts `text`, JSON, at the path. */
static kedge_status set_member(kedge_tx *tx, text_edit *edit, kedge_bytes text, kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status;
    const kedge_json_part value = {NULL, text};
    if (edit->at.found)
        status = kedge_json_document_set(&edit->document, &edit->at, &value, &why);
    else if (edit->at.parent == KEDGE_JSON_OBJECT)
        status = kedge_json_document_insert(&edit->document, &edit->at, 0, &value, &why);
    else
        return conflict(tx, "in no object", error);
    return status == KEDGE_OK ? KEDGE_OK : document_failed(tx, edit, &why, error);
}

/* ---- the edit ---- */

static kedge_status merge(kedge_tx *tx, text_edit *edit, kedge_error *error)
{
    kedge_error why = {0};
    kedge_text_merge_result result;
    kedge_status merged = kedge_text_merge(
        kedge_tx_allocator(tx), kedge_buffer_bytes(&edit->base), kedge_buffer_bytes(&edit->now),
        kedge_buffer_bytes(&edit->text), KEDGE_LIMIT_MUTATION_BYTES, &edit->merged, &result, &why);
    kedge_status status = kedge_tx_charge(tx, result.cost, error);
    if (status != KEDGE_OK || merged == KEDGE_OK) return status;
    return kedge_tx_postpone(tx, &why, error);
}

static kedge_status write_item(kedge_tx *tx, text_edit *edit, kedge_error *error)
{
    kedge_error why = {0};
    kedge_buffer string = kedge_buffer_make(kedge_tx_allocator(tx));
    kedge_json_writer writer = kedge_json_write(&string);
    kedge_json_text(&writer, kedge_buffer_bytes(&edit->merged));
    kedge_status status = kedge_buffer_status(&string, &why);
    if (status != KEDGE_OK)
        status = kedge_tx_postpone(tx, &why, error);
    else
        status = set_member(tx, edit, kedge_buffer_bytes(&string), error);
    if (status == KEDGE_OK) status = kedge_tx_charge(tx, edit->document.cost, error);
    if (status == KEDGE_OK)
        status = kedge_tx_put_document(tx, edit->item.collection, edit->item.id, edit->item.id_size,
                                       &edit->document, error);
    kedge_buffer_free(&string);
    return status;
}

static kedge_status apply(kedge_tx *tx, kedge_bytes args, text_edit *edit, kedge_error *error)
{
    kedge_status status = read_args(tx, args, edit, error);
    if (status == KEDGE_OK)
        status = kedge_tx_get_document(tx, edit->item.collection, edit->item.id, edit->item.id_size,
                                       &edit->document, error);
    if (status == KEDGE_OK) status = read_member(tx, edit, error);
    if (status == KEDGE_OK) status = merge(tx, edit, error);
    if (status != KEDGE_OK) return status;
    bool same =
        kedge_bytes_equal(kedge_buffer_bytes(&edit->merged), kedge_buffer_bytes(&edit->now));
    return same ? KEDGE_OK : write_item(tx, edit, error);
}

kedge_status kedge_builtin_text(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error)
{
    (void)userdata;
    const kedge_allocator *allocator = kedge_tx_allocator(tx);
    text_edit edit = {.path = kedge_json_pointer_make(allocator),
                      .base = kedge_buffer_make(allocator),
                      .text = kedge_buffer_make(allocator),
                      .now = kedge_buffer_make(allocator),
                      .merged = kedge_buffer_make(allocator),
                      .document = {.allocator = allocator}};
    kedge_status status = apply(tx, (kedge_bytes){args, args_size}, &edit, error);
    kedge_json_document_free(&edit.document);
    kedge_buffer_free(&edit.merged);
    kedge_buffer_free(&edit.now);
    kedge_buffer_free(&edit.text);
    kedge_buffer_free(&edit.base);
    kedge_json_pointer_free(&edit.path);
    return status;
}
