/* kedge.restore {changes: [{collection, id, path, expected, value, text}, …]}: puts values back,
 * for an undo. A change is made where the value at `path` still is `expected`; elsewhere somebody
 * has changed it since, and what is there stays. Without `expected`, nothing must be there; without
 * `value`, what is there is removed. With `text` true, both are strings, and what others changed in
 * the text is merged with the way back. `add`, an integer, is added to another integer than
 * `expected`; without `expected` and `value`, to any integer. A restore that finds no change to
 * make is rejected (restore-conflict).
 *
 * Changes of one item that follow each other are made to one document, which is written once. */
#include "common/error.h"
#include "common/names.h"
#include "mutate/builtin_args.h"
#include "mutate/text_merge.h"
#include "mutate/transaction.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CHANGE_COST 64 /* bytes, beside those of its text */

typedef struct change {
    size_t index;                                /* in the args, from 0 */
    char collection[KEDGE_LIMIT_NAME_BYTES + 1]; /* "": the project record */
    char id[KEDGE_LIMIT_ITEM_ID_BYTES + 1];
    kedge_json_pointer path;
    kedge_bytes expected; /* empty: none; so is `value` */
    kedge_bytes value;
    bool text;
    double add;
    bool adds;
    bool only_adds; /* there is neither `expected` nor `value` */
} change;

typedef struct restore {
    kedge_tx *tx;
    kedge_error *error; /* the mutator's */
    change at;
    /* The item that is being changed. */
    char collection[KEDGE_LIMIT_NAME_BYTES + 1];
    char id[KEDGE_LIMIT_ITEM_ID_BYTES + 1];
    bool loaded;
    bool present;
    bool changed;
    kedge_json_document document;
    size_t made; /* changes */
} restore;

/* ---- failures ---- */

static kedge_status invalid(const restore *work, const char *what)
{
    return kedge_builtin_refuse(work->tx, work->error, "args-invalid", "change %zu: %s",
                                work->at.index, what);
}

static kedge_status failed(const restore *work, const kedge_error *why)
{
    if (why->status == KEDGE_LIMIT_EXCEEDED)
        return kedge_tx_charge(work->tx, work->document.cost, work->error);
    return kedge_tx_postpone(work->tx, why, work->error);
}

/* ---- reading a change ---- */

static bool is_member(kedge_bytes key)
{
    static const char *const known[] = {"collection", "id",   "path", "expected",
                                        "value",      "text", "add"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (kedge_json_text_equals(key, known[i])) return true;
    return false;
}

static kedge_status read_key(restore *work, kedge_bytes object)
{
    change *at = &work->at;
    if (!kedge_json_member_chars(object, "collection", at->collection, sizeof at->collection) ||
        !kedge_json_member_chars(object, "id", at->id, sizeof at->id))
        return invalid(work, "\"collection\" and \"id\" must be strings, of at most 64 and 512"
                             " bytes");
    if (at->collection[0] == '\0') {
        if (at->id[0] == '\0') return KEDGE_OK;
        return invalid(work, "the project record has the \"id\" \"\"");
    }
    kedge_error why = {0};
    kedge_status status = kedge_check_name("collection", kedge_bytes_of(at->collection), &why);
    return status == KEDGE_OK ? KEDGE_OK : invalid(work, why.message);
}

static kedge_status read_path(restore *work, kedge_bytes object)
{
    kedge_bytes path;
    kedge_error why = {0};
    if (!kedge_json_member(object, "path", &path)) return invalid(work, "\"path\" is missing");
    kedge_status status = kedge_json_pointer_parse(&work->at.path, path, &why);
    if (status == KEDGE_NO_MEMORY) return kedge_tx_postpone(work->tx, &why, work->error);
    return status == KEDGE_OK ? KEDGE_OK : invalid(work, "\"path\" must be a JSON Pointer");
}

static kedge_status read_values(restore *work, kedge_bytes object)
{
    kedge_bytes value;
    change *at = &work->at;
    bool expected = kedge_json_member(object, "expected", &at->expected);
    bool given = kedge_json_member(object, "value", &at->value);
    at->text = kedge_json_member(object, "text", &value);
    if (at->text && !kedge_json_to_boolean(value, &at->text))
        return invalid(work, "\"text\" must be true or false");
    if (at->text && (kedge_json_type_of(at->expected) != KEDGE_JSON_STRING ||
                     kedge_json_type_of(at->value) != KEDGE_JSON_STRING))
        return invalid(work, "with \"text\", \"expected\" and \"value\" must be strings");
    at->adds = kedge_json_member(object, "add", &value);
    at->only_adds = at->adds && !expected && !given;
    if (!at->adds) return KEDGE_OK;
    if (!kedge_json_to_number(value, &at->add)) return invalid(work, "\"add\" must be a number");
    return expected && given
               ? invalid(work, "\"add\" stands with one of \"expected\" and \"value\" at most")
               : KEDGE_OK;
}

static kedge_status read_change(restore *work, kedge_bytes object)
{
    kedge_bytes key, value;
    work->at.expected = work->at.value = (kedge_bytes){NULL, 0};
    if (kedge_json_type_of(object) != KEDGE_JSON_OBJECT) return invalid(work, "must be an object");
    kedge_json_iterator members = kedge_json_iterate(object);
    while (kedge_json_next_member(&members, &key, &value))
        if (!is_member(key))
            return invalid(work, "has an unknown member; allowed are collection, id, path,"
                                 " expected, value, text and add");
    kedge_status status = kedge_tx_charge(work->tx, CHANGE_COST + object.size, work->error);
    if (status == KEDGE_OK) status = read_key(work, object);
    if (status == KEDGE_OK) status = read_path(work, object);
    return status == KEDGE_OK ? read_values(work, object) : status;
}

/* ---- items ---- */

static kedge_status load_project(restore *work)
{
    kedge_bytes text;
    kedge_status status = kedge_tx_get_project(work->tx, &text.data, &text.size, work->error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_make_document(work->tx, text, &work->document, work->error);
}

/* An item that is absent is a document without a value, which nothing reads. */
static kedge_status load(restore *work)
{
    const change *at = &work->at;
    memcpy(work->collection, at->collection, sizeof work->collection);
    memcpy(work->id, at->id, sizeof work->id);
    work->document =
        kedge_json_document_make(kedge_tx_allocator(work->tx), NULL, KEDGE_LIMIT_MUTATION_BYTES);
    kedge_status status = at->collection[0] == '\0'
                              ? load_project(work)
                              : kedge_tx_get_document(work->tx, at->collection, at->id,
                                                      strlen(at->id), &work->document, work->error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    work->present = status == KEDGE_OK;
    work->loaded = true;
    work->changed = false;
    return KEDGE_OK;
}

static kedge_status write_project(restore *work)
{
    kedge_error why = {0};
    kedge_buffer text = kedge_buffer_make(kedge_tx_allocator(work->tx));
    kedge_json_rope_append(work->document.rope, &text);
    kedge_status status = kedge_buffer_status(&text, &why);
    status = status == KEDGE_OK ? kedge_tx_put_project(work->tx, text.data, text.size, work->error)
                                : kedge_tx_postpone(work->tx, &why, work->error);
    kedge_buffer_free(&text);
    return status;
}

static kedge_status store_item(restore *work)
{
    size_t id_size = strlen(work->id);
    kedge_status status = kedge_tx_charge(work->tx, work->document.cost, work->error);
    if (status != KEDGE_OK || !work->changed) return status;
    if (!work->present)
        return kedge_tx_delete(work->tx, work->collection, work->id, id_size, work->error);
    if (work->collection[0] == '\0') return write_project(work);
    return kedge_tx_put_document(work->tx, work->collection, work->id, id_size, &work->document,
                                 work->error);
}

static void unload(restore *work)
{
    if (work->loaded) kedge_json_document_free(&work->document);
    work->loaded = false;
}

static kedge_status go_to_item(restore *work)
{
    if (work->loaded && strcmp(work->collection, work->at.collection) == 0 &&
        strcmp(work->id, work->at.id) == 0)
        return KEDGE_OK;
    kedge_status status = work->loaded ? store_item(work) : KEDGE_OK;
    unload(work);
    return status == KEDGE_OK ? load(work) : status;
}

/* ---- making a change; `why` is of the document ---- */

/* What is at the path now. */
static kedge_status read_place(restore *work, kedge_json_place *at, kedge_error *why)
{
    *at = (kedge_json_place){.around = &work->document.top};
    if (!work->present) return KEDGE_OK;
    kedge_status status = kedge_json_document_find(&work->document, &work->at.path, at, why);
    if (status != KEDGE_OK || !at->found) return status;
    return kedge_json_document_read(&work->document, at, why);
}

static kedge_status count_change(restore *work, kedge_status status)
{
    if (status != KEDGE_OK) return status;
    work->changed = true;
    work->made++;
    return KEDGE_OK;
}

/* `value` is empty: nothing shall be there. A place whose container is gone is not changed. */
static kedge_status change_place(restore *work, kedge_json_place *at, kedge_bytes value,
                                 kedge_error *why)
{
    bool root = work->at.path.count == 0;
    if (root && work->collection[0] == '\0' && value.size == 0)
        value = KEDGE_BYTES("{}"); /* a project record stays */
    kedge_status status = KEDGE_OK;
    const kedge_json_part part = {NULL, value};
    bool there = at->found, wanted = value.size > 0;
    if (root) work->present = wanted;
    if (wanted && (there || root))
        status = kedge_json_document_set(&work->document, at, &part, why);
    else if (there != wanted && !root && at->parent != KEDGE_JSON_OBJECT)
        return KEDGE_OK;
    else if (wanted)
        status = kedge_json_document_insert(&work->document, at, 0, &part, why);
    else if (there && !root)
        status = kedge_json_document_remove(&work->document, at, why);
    return count_change(work, status);
}

/* Sets a text that was made here, which costs its size. */
static kedge_status set_made(restore *work, const kedge_json_place *at, kedge_bytes text,
                             kedge_error *why)
{
    const kedge_json_part value = {NULL, text};
    kedge_status status = kedge_json_document_charge(&work->document, text.size, why);
    if (status == KEDGE_OK) status = kedge_json_document_set(&work->document, at, &value, why);
    return count_change(work, status);
}

static kedge_status add_number(restore *work, const kedge_json_place *at, kedge_error *why)
{
    double number;
    char text[KEDGE_JSON_NUMBER_SIZE];
    if (!at->found || !kedge_json_to_number(kedge_json_part_text(&at->value), &number))
        return KEDGE_OK;
    number += work->at.add;
    if (!kedge_json_is_integer(number)) return KEDGE_OK;
    size_t size = kedge_json_format_number(number, text);
    return set_made(work, at, (kedge_bytes){text, size}, why);
}

/* Texts, decoded: the base, theirs, ours, and the merge, which is then quoted in [0]. */
static kedge_status merge_decoded(restore *work, kedge_buffer texts[4], bool *merged,
                                  kedge_error *why)
{
    kedge_text_merge_result result;
    kedge_status merges = kedge_text_merge(
        work->document.allocator, kedge_buffer_bytes(&texts[0]), kedge_buffer_bytes(&texts[1]),
        kedge_buffer_bytes(&texts[2]), KEDGE_LIMIT_MUTATION_BYTES, &texts[3], &result, why);
    kedge_status status = kedge_json_document_charge(&work->document, result.cost, why);
    if (status == KEDGE_OK) status = merges;
    if (status != KEDGE_OK) return status;
    *merged = result.overlaps == 0 &&
              !kedge_bytes_equal(kedge_buffer_bytes(&texts[3]), kedge_buffer_bytes(&texts[1]));
    kedge_buffer_clear(&texts[0]);
    kedge_json_writer writer = kedge_json_write(&texts[0]);
    kedge_json_text(&writer, kedge_buffer_bytes(&texts[3]));
    return kedge_buffer_status(&texts[0], why);
}

static kedge_status merge_text(restore *work, const kedge_json_place *at, kedge_error *why)
{
    bool merged = false;
    kedge_buffer texts[4];
    const kedge_bytes given[3] = {work->at.expected, kedge_json_part_text(&at->value),
                                  work->at.value};
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < 4; i++)
        texts[i] = kedge_buffer_make(work->document.allocator);
    for (size_t i = 0; i < 3 && status == KEDGE_OK; i++) {
        kedge_json_to_text(given[i], &texts[i]);
        status = kedge_buffer_status(&texts[i], why);
    }
    if (status == KEDGE_OK) status = merge_decoded(work, texts, &merged, why);
    if (status == KEDGE_OK && merged)
        status = set_made(work, at, kedge_buffer_bytes(&texts[0]), why);
    for (size_t i = 0; i < 4; i++)
        kedge_buffer_free(&texts[i]);
    return status;
}

static kedge_status make_change(restore *work)
{
    kedge_json_place now;
    kedge_error why = {0};
    const change *at = &work->at;
    kedge_status status = read_place(work, &now, &why);
    if (status != KEDGE_OK) return failed(work, &why);
    bool fits =
        now.found ? kedge_json_part_equals(&now.value, at->expected) : at->expected.size == 0;
    if (fits && !at->only_adds)
        status = change_place(work, &now, at->value, &why);
    else if (at->adds)
        status = add_number(work, &now, &why);
    else if (at->text && now.found && kedge_json_part_type(&now.value) == KEDGE_JSON_STRING)
        status = merge_text(work, &now, &why);
    return status == KEDGE_OK ? KEDGE_OK : failed(work, &why);
}

/* ---- the mutator ---- */

static kedge_status make_changes(restore *work, kedge_bytes changes)
{
    kedge_bytes object;
    kedge_status status = KEDGE_OK;
    kedge_json_iterator all = kedge_json_iterate(changes);
    for (; status == KEDGE_OK && kedge_json_next_element(&all, &object); work->at.index++) {
        status = read_change(work, object);
        if (status == KEDGE_OK) status = go_to_item(work);
        if (status == KEDGE_OK) status = make_change(work);
    }
    if (status == KEDGE_OK && work->loaded) status = store_item(work);
    unload(work);
    kedge_tx_pass_over(work->tx, work->at.index - work->made);
    if (status == KEDGE_OK && work->made == 0 && work->at.index > 0)
        status = kedge_builtin_refuse(work->tx, work->error, "restore-conflict",
                                      "all of the %zu places were changed since", work->at.index);
    return status;
}

kedge_status kedge_builtin_restore(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                   kedge_error *error)
{
    (void)userdata;
    kedge_bytes key, changes = {NULL, 0};
    restore work = {.tx = tx, .error = error};
    kedge_bytes object = {args, args_size};
    bool known = kedge_json_type_of(object) == KEDGE_JSON_OBJECT;
    kedge_json_iterator members = kedge_json_iterate(object);
    while (known && kedge_json_next_member(&members, &key, &changes))
        known = kedge_json_text_equals(key, "changes");
    if (!known || kedge_json_type_of(changes) != KEDGE_JSON_ARRAY)
        return kedge_builtin_refuse(tx, error, "args-invalid",
                                    "the args must be an object {\"changes\"}, an array");
    work.at.path = kedge_json_pointer_make(kedge_tx_allocator(tx));
    kedge_status status = make_changes(&work, changes);
    kedge_json_pointer_free(&work.at.path);
    return status;
}
