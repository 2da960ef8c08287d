/* The calls of a mutator, over the overlay and the reader: <kedge/mutator.h>, and what only Kedge's
 * own mutators call. */
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "mutate/transaction_internal.h"

#include <kedge/limits.h>

#include <string.h>

static const kedge_bytes none = {NULL, 0};

/* ---- failures: each is remembered, since a mutator may pass no error ---- */

static kedge_status failed(kedge_tx *tx, const kedge_error *cause, kedge_error *error)
{
    tx->last = *cause;
    if (error != NULL) *error = *cause;
    return cause->status;
}

kedge_status kedge_tx_postpone(kedge_tx *tx, const kedge_error *cause, kedge_error *error)
{
    tx->postponed = *cause;
    /* These would be taken for a decision. */
    if (cause->status == KEDGE_OK || cause->status == KEDGE_REJECTED) {
        tx->postponed.status = KEDGE_INTERNAL;
    }
    return failed(tx, &tx->postponed, error);
}

static kedge_status over(kedge_tx *tx, kedge_error *error)
{
    return failed(tx, &tx->over, error);
}

kedge_status kedge_tx_charge(kedge_tx *tx, uint64_t bytes, kedge_error *error)
{
    uint64_t left = KEDGE_LIMIT_MUTATION_BYTES - tx->bytes;
    if (bytes > left) {
        kedge_fail(&tx->over, KEDGE_LIMIT_EXCEEDED, "mutation-too-costly",
                   "the mutation reads and writes more than %d bytes", KEDGE_LIMIT_MUTATION_BYTES);
        return over(tx, error);
    }
    tx->bytes += bytes;
    return KEDGE_OK;
}

/* Every call comes through here first. */
static kedge_status begin_call(kedge_tx *tx, kedge_error *error)
{
    if (tx->postponed.status != KEDGE_OK) return failed(tx, &tx->postponed, error);
    if (tx->over.status != KEDGE_OK) return over(tx, error);
    if (tx->operations >= KEDGE_LIMIT_MUTATION_OPERATIONS) {
        kedge_fail(&tx->over, KEDGE_LIMIT_EXCEEDED, "mutation-too-costly",
                   "the mutation makes more than %d calls on its transaction",
                   KEDGE_LIMIT_MUTATION_OPERATIONS);
        return over(tx, error);
    }
    tx->operations++;
    return KEDGE_OK;
}

static kedge_status refuse_call(kedge_tx *tx, const char *code, kedge_error *why,
                                kedge_error *error)
{
    kedge_error cause = {0};
    kedge_fail(&cause, KEDGE_INVALID_ARGUMENT, code, "%s", why->message);
    return failed(tx, &cause, error);
}

static kedge_status begin_collection(kedge_tx *tx, const char *collection, kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status = begin_call(tx, error);
    if (status != KEDGE_OK) return status;
    if (kedge_check_name("collection", kedge_bytes_of(collection), &why) == KEDGE_OK) {
        return KEDGE_OK;
    }
    return refuse_call(tx, "collection-invalid", &why, error);
}

static kedge_status begin_item(kedge_tx *tx, const char *collection, kedge_bytes id,
                               kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status = begin_collection(tx, collection, error);
    if (status != KEDGE_OK) return status;
    if (kedge_check_item_id(id, &why) == KEDGE_OK) return KEDGE_OK;
    return refuse_call(tx, "item-id-invalid", &why, error);
}

/* A tree that kedge_tx_edit_json gave is written last and would undo another write of its item. */
static kedge_status begin_write(kedge_tx *tx, const char *collection, kedge_bytes id,
                                kedge_error *error)
{
    kedge_error cause = {0};
    kedge_status status = begin_item(tx, collection, id, error);
    if (status != KEDGE_OK) return status;
    for (const kedge_json_edit *edit = tx->edits; edit != NULL; edit = edit->next) {
        if (strcmp(edit->collection, collection) != 0 ||
            !kedge_bytes_equal(kedge_bytes_of(edit->id), id))
            continue;
        kedge_fail(&cause, KEDGE_INVALID_ARGUMENT, "item-edited",
                   "kedge_tx_edit_json gave the tree of %s/%s, which is written at the end: change "
                   "that, or read the item with kedge_tx_get_json",
                   edit->collection, edit->id);
        return failed(tx, &cause, error);
    }
    return KEDGE_OK;
}

/* ---- reads ---- */

/* The buffers that the call before did not give away. */
static void take_turn(kedge_tx *tx)
{
    tx->turn = 1 - tx->turn;
    kedge_buffer_clear(&tx->ids[tx->turn]);
    kedge_buffer_clear(&tx->values[tx->turn]);
}

/* Reads a key: from the overlay without a copy, else through the reader. */
static kedge_status read_key(kedge_tx *tx, kedge_bytes collection, kedge_bytes id,
                             kedge_bytes *value, kedge_error *error)
{
    kedge_overlay_entry entry;
    if (kedge_overlay_get(tx->overlay, collection, id, &entry)) {
        *value = entry.value;
        return entry.deleted ? KEDGE_NOT_FOUND : KEDGE_OK;
    }
    kedge_error why = {0};
    take_turn(tx);
    kedge_buffer *read = &tx->values[tx->turn];
    kedge_status status = tx->view.below.get(tx->view.below.context, collection, id, read, &why);
    if (status == KEDGE_NOT_FOUND) return status;
    if (status == KEDGE_OK) status = kedge_buffer_status(read, &why);
    if (status != KEDGE_OK) {
        why.status = status;
        return kedge_tx_postpone(tx, &why, error);
    }
    *value = kedge_buffer_bytes(read);
    return KEDGE_OK;
}

static kedge_status absent(kedge_tx *tx, const char *what, const char *collection, kedge_bytes id,
                           kedge_error *error)
{
    kedge_error cause = {0};
    kedge_fail(&cause, KEDGE_NOT_FOUND, "item-not-found", "there is no %s%s%s%.*s", what,
               collection, collection[0] == '\0' ? "" : "/", (int)id.size,
               id.size == 0 ? "" : id.data);
    return failed(tx, &cause, error);
}

static kedge_status give(kedge_tx *tx, kedge_bytes found, const char **value, size_t *value_size,
                         kedge_error *error)
{
    kedge_status status = kedge_tx_charge(tx, found.size, error);
    if (status != KEDGE_OK) return status;
    *value = found.data;
    *value_size = found.size;
    return KEDGE_OK;
}

const kedge_caller *kedge_tx_caller(kedge_tx *tx)
{
    return &tx->call->caller;
}

kedge_status kedge_tx_get(kedge_tx *tx, const char *collection, const char *id, size_t id_size,
                          const char **value, size_t *value_size, kedge_error *error)
{
    kedge_bytes key = {id, id_size};
    kedge_bytes found = none;
    kedge_status status = begin_item(tx, collection, key, error);
    if (status == KEDGE_OK) status = read_key(tx, kedge_bytes_of(collection), key, &found, error);
    if (status == KEDGE_NOT_FOUND) return absent(tx, "item ", collection, key, error);
    if (status != KEDGE_OK) return status;
    return give(tx, found, value, value_size, error);
}

kedge_status kedge_tx_get_project(kedge_tx *tx, const char **value, size_t *value_size,
                                  kedge_error *error)
{
    kedge_bytes found = none;
    kedge_status status = begin_call(tx, error);
    if (status == KEDGE_OK) status = read_key(tx, none, none, &found, error);
    if (status == KEDGE_NOT_FOUND) return absent(tx, "project record", "", none, error);
    if (status != KEDGE_OK) return status;
    return give(tx, found, value, value_size, error);
}

kedge_status kedge_tx_next(kedge_tx *tx, const char *collection, const char *after,
                           size_t after_size, const char **id, size_t *id_size, const char **value,
                           size_t *value_size, kedge_error *error)
{
    kedge_status status = begin_collection(tx, collection, error);
    if (status != KEDGE_OK) return status;

    kedge_error why = {0};
    kedge_state_reader reader = kedge_overlay_reader(&tx->view);
    take_turn(tx);
    kedge_buffer *next = &tx->ids[tx->turn];
    kedge_buffer *read = &tx->values[tx->turn];
    status = reader.next(reader.context, kedge_bytes_of(collection), after == NULL,
                         (kedge_bytes){after, after_size}, next, read, &why);
    if (status == KEDGE_DONE) return KEDGE_DONE;
    if (status == KEDGE_OK) status = kedge_buffer_status(next, &why);
    if (status == KEDGE_OK) status = kedge_buffer_status(read, &why);
    if (status != KEDGE_OK) {
        why.status = status;
        return kedge_tx_postpone(tx, &why, error);
    }
    status = kedge_tx_charge(tx, next->size, error);
    if (status == KEDGE_OK) {
        status = give(tx, kedge_buffer_bytes(read), value, value_size, error);
    }
    if (status != KEDGE_OK) return status;
    *id = next->size == 0 ? "" : next->data;
    *id_size = next->size;
    return KEDGE_OK;
}

/* ---- writes ---- */

static kedge_status count_change(kedge_tx *tx, kedge_status written, const kedge_error *why,
                                 kedge_error *error)
{
    if (written != KEDGE_OK) return kedge_tx_postpone(tx, why, error);
    if (kedge_overlay_changes_since(tx->overlay, tx->mark) <= KEDGE_LIMIT_MUTATION_CHANGES) {
        return KEDGE_OK;
    }
    kedge_fail(&tx->over, KEDGE_LIMIT_EXCEEDED, "too-many-changes",
               "the mutation changes more than %d items", KEDGE_LIMIT_MUTATION_CHANGES);
    return over(tx, error);
}

static kedge_status check_size(kedge_tx *tx, size_t size, size_t size_max, const char *what,
                               const char *too_large, kedge_error *error)
{
    kedge_error why = {0};
    if (size <= size_max) return KEDGE_OK;
    kedge_fail(&why, KEDGE_LIMIT_EXCEEDED, too_large,
               "the %s is %zu bytes as canonical JSON; at most %zu are allowed", what, size,
               size_max);
    return failed(tx, &why, error);
}

/* Into tx->canonical. `size_max` is asked of the canonical form. */
static kedge_status canonical_value(kedge_tx *tx, kedge_bytes value, size_t size_max,
                                    const char *what, const char *too_large, kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status = kedge_tx_charge(tx, value.size, error);
    if (status != KEDGE_OK) return status;
    kedge_buffer_clear(&tx->canonical);
    status = kedge_json_normalize(value, KEDGE_LIMIT_JSON_DEPTH, &tx->canonical, &why);
    if (status == KEDGE_NO_MEMORY) return kedge_tx_postpone(tx, &why, error);
    if (status != KEDGE_OK) return failed(tx, &why, error);
    return check_size(tx, tx->canonical.size, size_max, what, too_large, error);
}

#define ITEM KEDGE_LIMIT_ITEM_BYTES, "item", "item-too-large"

static kedge_status write_key(kedge_tx *tx, kedge_bytes collection, kedge_bytes id,
                              kedge_error *error)
{
    kedge_error why = {0};
    kedge_status status =
        kedge_overlay_put(tx->overlay, collection, id, kedge_buffer_bytes(&tx->canonical), &why);
    return count_change(tx, status, &why, error);
}

kedge_status kedge_tx_put(kedge_tx *tx, const char *collection, const char *id, size_t id_size,
                          const char *value, size_t value_size, kedge_error *error)
{
    kedge_bytes key = {id, id_size};
    kedge_status status = begin_write(tx, collection, key, error);
    if (status == KEDGE_OK) {
        status = canonical_value(tx, (kedge_bytes){value, value_size}, ITEM, error);
    }
    if (status != KEDGE_OK) return status;
    return write_key(tx, kedge_bytes_of(collection), key, error);
}

kedge_status kedge_tx_put_project(kedge_tx *tx, const char *value, size_t value_size,
                                  kedge_error *error)
{
    kedge_status status = begin_call(tx, error);
    if (status == KEDGE_OK) {
        status =
            canonical_value(tx, (kedge_bytes){value, value_size}, KEDGE_LIMIT_PROJECT_RECORD_BYTES,
                            "project record", "project-record-too-large", error);
    }
    if (status != KEDGE_OK) return status;
    if (kedge_json_type_of(kedge_buffer_bytes(&tx->canonical)) != KEDGE_JSON_OBJECT) {
        kedge_error why = {0};
        kedge_fail(&why, KEDGE_INVALID_ARGUMENT, "project-record-invalid",
                   "the project record must be a JSON object");
        return failed(tx, &why, error);
    }
    return write_key(tx, none, none, error);
}

kedge_status kedge_tx_delete(kedge_tx *tx, const char *collection, const char *id, size_t id_size,
                             kedge_error *error)
{
    kedge_bytes key = {id, id_size};
    kedge_bytes name = kedge_bytes_of(collection);
    kedge_bytes found = none;
    kedge_status status = begin_write(tx, collection, key, error);
    if (status == KEDGE_OK) status = read_key(tx, name, key, &found, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    kedge_error why = {0};
    status = kedge_overlay_delete(tx->overlay, name, key, &why);
    return count_change(tx, status, &why, error);
}

kedge_status kedge_tx_reject(kedge_tx *tx, const char *code, const char *message,
                             kedge_error *error)
{
    kedge_fail(&tx->rejection, KEDGE_REJECTED, code, "%s", message);
    if (error != NULL) *error = tx->rejection;
    return KEDGE_REJECTED;
}

/* ---- for mutators of Kedge's own ---- */

kedge_status kedge_tx_get_rope(kedge_tx *tx, const char *collection, const char *id, size_t id_size,
                               kedge_json_rope **rope, kedge_error *error)
{
    kedge_error why = {0};
    kedge_bytes key = {id, id_size};
    kedge_status status =
        kedge_overlay_rope(tx->overlay, kedge_bytes_of(collection), key, rope, &why);
    if (status != KEDGE_OK) return kedge_tx_postpone(tx, &why, error);
    if (*rope == NULL) return KEDGE_OK;
    status = begin_item(tx, collection, key, error);
    return status == KEDGE_OK ? kedge_tx_charge(tx, kedge_json_rope_size(*rope), error) : status;
}

/* kedge_tx_put of a rope, which it takes over: in pieces, or as text. */
static kedge_status put_rope(kedge_tx *tx, const char *collection, kedge_bytes key,
                             kedge_json_rope *rope, bool in_pieces, kedge_error *error)
{
    kedge_error why = {0};
    uint64_t size = kedge_json_rope_size(rope);
    kedge_bytes name = kedge_bytes_of(collection);
    kedge_status status = begin_write(tx, collection, key, error);
    if (status == KEDGE_OK) status = kedge_tx_charge(tx, size, error);
    if (status == KEDGE_OK) status = check_size(tx, (size_t)size, ITEM, error);
    if (status == KEDGE_OK && in_pieces) {
        status = kedge_overlay_put_rope(tx->overlay, name, key, rope, &why);
        return count_change(tx, status, &why, error);
    }
    if (status == KEDGE_OK) {
        kedge_buffer_clear(&tx->canonical);
        kedge_json_rope_append(rope, &tx->canonical);
        status = kedge_buffer_status(&tx->canonical, &why) == KEDGE_OK
                     ? write_key(tx, name, key, error)
                     : kedge_tx_postpone(tx, &why, error);
    }
    kedge_json_rope_release(tx->allocator, rope);
    return status;
}

kedge_status kedge_tx_merge_rope(kedge_tx *tx, const char *collection, const char *id,
                                 size_t id_size, const kedge_json_rope *rope, kedge_bytes patch,
                                 kedge_error *error)
{
    kedge_error why = {0};
    kedge_json_rope *merged;
    kedge_status status = kedge_json_rope_merge(tx->allocator, rope, patch, &merged, &why);
    if (status != KEDGE_OK) return kedge_tx_postpone(tx, &why, error);
    return put_rope(tx, collection, (kedge_bytes){id, id_size}, merged, true, error);
}

/* What an import brought may be any JSON. */
kedge_status kedge_tx_make_document(kedge_tx *tx, kedge_bytes text, kedge_json_document *document,
                                    kedge_error *error)
{
    kedge_error why = {0};
    kedge_json_rope *rope;
    kedge_buffer_clear(&tx->canonical);
    kedge_status status = kedge_json_normalize(text, KEDGE_LIMIT_JSON_DEPTH, &tx->canonical, &why);
    if (status == KEDGE_OK)
        status =
            kedge_json_rope_make(tx->allocator, kedge_buffer_bytes(&tx->canonical), &rope, &why);
    if (status == KEDGE_NO_MEMORY) return kedge_tx_postpone(tx, &why, error);
    if (status != KEDGE_OK) return failed(tx, &why, error);
    *document = kedge_json_document_make(tx->allocator, rope, KEDGE_LIMIT_MUTATION_BYTES);
    return KEDGE_OK;
}

kedge_status kedge_tx_get_document(kedge_tx *tx, const char *collection, const char *id,
                                   size_t id_size, kedge_json_document *document,
                                   kedge_error *error)
{
    kedge_bytes text;
    kedge_json_rope *rope;
    kedge_status status = kedge_tx_get_rope(tx, collection, id, id_size, &rope, error);
    if (status == KEDGE_OK && rope == NULL) {
        status = kedge_tx_get(tx, collection, id, id_size, &text.data, &text.size, error);
        return status == KEDGE_OK ? kedge_tx_make_document(tx, text, document, error) : status;
    }
    if (status != KEDGE_OK) return status;
    *document = kedge_json_document_make(tx->allocator, kedge_json_rope_share(rope),
                                         KEDGE_LIMIT_MUTATION_BYTES);
    return KEDGE_OK;
}

kedge_status kedge_tx_put_document(kedge_tx *tx, const char *collection, const char *id,
                                   size_t id_size, const kedge_json_document *document,
                                   kedge_error *error)
{
    kedge_error why = {0};
    kedge_bytes key = {id, id_size};
    kedge_json_rope *before, *rope = document->rope;
    kedge_status status =
        kedge_overlay_rope(tx->overlay, kedge_bytes_of(collection), key, &before, &why);
    if (status != KEDGE_OK) return kedge_tx_postpone(tx, &why, error);
    if (kedge_json_rope_size(rope) > KEDGE_LIMIT_MUTATION_BYTES ||
        kedge_json_rope_depth(rope) <= KEDGE_LIMIT_JSON_DEPTH)
        return put_rope(tx, collection, key, kedge_json_rope_share(rope), before != NULL, error);
    /* It is refused where it is too deep. */
    kedge_buffer text = kedge_buffer_make(tx->allocator);
    kedge_json_rope_append(rope, &text);
    status = kedge_buffer_status(&text, &why);
    status = status == KEDGE_OK
                 ? kedge_tx_put(tx, collection, id, id_size, text.data, text.size, error)
                 : kedge_tx_postpone(tx, &why, error);
    kedge_buffer_free(&text);
    return status;
}

const kedge_allocator *kedge_tx_allocator(const kedge_tx *tx)
{
    return tx->allocator;
}

void kedge_tx_pass_over(kedge_tx *tx, uint64_t count)
{
    tx->passed_over += count;
}

kedge_state_reader kedge_tx_reader(kedge_tx *tx)
{
    return kedge_overlay_reader(&tx->view);
}

kedge_status kedge_tx_run_part(kedge_tx *tx, kedge_bytes name, kedge_bytes args, kedge_error *error)
{
    return tx->run_part(tx, name, args, error);
}
