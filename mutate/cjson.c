/* Mutators with cJSON: <kedge/cjson.h>. Trees are made of text that the transaction has checked,
 * and become text that it checks. */
#include <kedge/cjson.h>

#include "common/error.h"
#include "common/json.h"
#include "common/utf8.h"
#include "mutate/batch.h"
#include "mutate/builtin.h"
#include "mutate/transaction_internal.h"

#include <kedge/limits.h>

#include <math.h>
#include <string.h>

static kedge_status no_memory(kedge_tx *tx, kedge_error *error)
{
    kedge_error cause = {0};
    kedge_fail_no_memory(&cause);
    return kedge_tx_postpone(tx, &cause, error);
}

static kedge_status invalid(kedge_tx *tx, kedge_error *error, const char *code, const char *message)
{
    kedge_error cause = {0};
    kedge_fail(&cause, KEDGE_INVALID_ARGUMENT, code, "%s", message);
    tx->last = cause;
    if (error != NULL) *error = cause;
    return cause.status;
}

static kedge_status need_id(kedge_tx *tx, const char *id, kedge_error *error)
{
    if (id != NULL) return KEDGE_OK;
    return invalid(tx, error, "args-invalid", "the id of the item is missing, or is not a string");
}

/* ---- trees to text ---- */

static bool is_text(const char *text)
{
    return kedge_bytes_are_utf8(kedge_bytes_of(text));
}

/* One of cJSON_False, cJSON_True, cJSON_NULL, cJSON_Number, cJSON_String, cJSON_Array and
 * cJSON_Object; others for what is no JSON value, and for NULL. */
static int type_of(const cJSON *value)
{
    return value == NULL ? cJSON_Invalid : value->type & 0xFF;
}

static bool write_value(const cJSON *value, int depth, kedge_json_writer *writer);

static bool write_children(const cJSON *value, bool object, int depth, kedge_json_writer *writer)
{
    for (const cJSON *child = value->child; child != NULL; child = child->next) {
        if (object && !is_text(child->string)) return false;
        if (object) kedge_json_key(writer, child->string);
        if (!write_value(child, depth - 1, writer)) return false;
    }
    return true;
}

/* Not by cJSON, which writes 15 digits of some numbers that need 17, and null for one that is not
 * finite. `depth` is how many more containers may be nested. */
static bool write_value(const cJSON *value, int depth, kedge_json_writer *writer)
{
    int type = type_of(value);
    switch (type) {
    case cJSON_Number:
        if (!isfinite(value->valuedouble)) return false;
        kedge_json_number(writer, value->valuedouble);
        return true;
    case cJSON_String:
        if (!is_text(value->valuestring)) return false;
        kedge_json_text(writer, kedge_bytes_of(value->valuestring));
        return true;
    case cJSON_False:
    case cJSON_True:
        kedge_json_boolean(writer, type == cJSON_True);
        return true;
    case cJSON_NULL:
        kedge_json_null(writer);
        return true;
    case cJSON_Array:
        if (depth == 0) return false;
        kedge_json_begin_array(writer);
        if (!write_children(value, false, depth, writer)) return false;
        kedge_json_end_array(writer);
        return true;
    case cJSON_Object:
        if (depth == 0) return false;
        kedge_json_begin_object(writer);
        if (!write_children(value, true, depth, writer)) return false;
        kedge_json_end_object(writer);
        return true;
    default:
        return false;
    }
}

/* Appends the value, which may not be canonical yet. Whoever uses the text asks whether there was
 * memory for it. */
static kedge_status print(kedge_tx *tx, const cJSON *value, kedge_json_writer *writer,
                          kedge_error *error)
{
    if (value == NULL) return invalid(tx, error, "args-invalid", "the value is missing");
    if (write_value(value, KEDGE_LIMIT_JSON_DEPTH, writer)) return KEDGE_OK;
    return invalid(tx, error, "json-invalid",
                   "the value has a number that is not finite, a text that is no UTF-8, or is "
                   "nested too deep");
}

/* ---- items ---- */

kedge_status kedge_tx_get_json(kedge_tx *tx, const char *collection, const char *id, cJSON **value,
                               kedge_error *error)
{
    const char *text;
    size_t size;
    kedge_status status = need_id(tx, id, error);
    if (status == KEDGE_OK)
        status = kedge_tx_get(tx, collection, id, strlen(id), &text, &size, error);
    if (status != KEDGE_OK) return status;
    *value = cJSON_ParseWithLength(text, size);
    return *value == NULL ? no_memory(tx, error) : KEDGE_OK;
}

kedge_status kedge_tx_put_json(kedge_tx *tx, const char *collection, const char *id,
                               const cJSON *value, kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(tx->allocator);
    kedge_status status = need_id(tx, id, error);
    kedge_json_writer writer = kedge_json_write(&text);
    if (status == KEDGE_OK) status = print(tx, value, &writer, error);
    if (status == KEDGE_OK && kedge_buffer_status(&text, NULL) != KEDGE_OK)
        status = no_memory(tx, error);
    if (status == KEDGE_OK)
        status = kedge_tx_put(tx, collection, id, strlen(id), text.data, text.size, error);
    kedge_buffer_free(&text);
    return status;
}

/* ---- items that are edited ---- */

static void free_edit(const kedge_tx *tx, kedge_json_edit *edit)
{
    cJSON_Delete(edit->value);
    kedge_release(tx->allocator, edit->collection);
    kedge_release(tx->allocator, edit->id);
    kedge_release(tx->allocator, edit);
}

static kedge_json_edit *find_edit(const kedge_tx *tx, const char *collection, const char *id)
{
    kedge_json_edit *edit = tx->edits;
    while (edit != NULL && (strcmp(edit->collection, collection) != 0 || strcmp(edit->id, id) != 0))
        edit = edit->next;
    return edit;
}

static char *copy(const kedge_tx *tx, const char *text)
{
    size_t size = strlen(text) + 1;
    char *made = kedge_allocate(tx->allocator, size);
    if (made != NULL) memcpy(made, text, size);
    return made;
}

/* Owns `value`. */
static kedge_status add_edit(kedge_tx *tx, const char *collection, const char *id, cJSON *value,
                             kedge_error *error)
{
    kedge_json_edit *edit = kedge_allocate(tx->allocator, sizeof *edit);
    if (edit == NULL) {
        cJSON_Delete(value);
        return no_memory(tx, error);
    }
    *edit = (kedge_json_edit){tx->edits, copy(tx, collection), copy(tx, id), value};
    if (edit->collection == NULL || edit->id == NULL) {
        free_edit(tx, edit);
        return no_memory(tx, error);
    }
    tx->edits = edit;
    return KEDGE_OK;
}

kedge_status kedge_tx_edit_json(kedge_tx *tx, const char *collection, const char *id, cJSON **value,
                                kedge_error *error)
{
    kedge_status status = need_id(tx, id, error);
    if (status != KEDGE_OK) return status;
    if (!tx->edits_are_written)
        return invalid(tx, error, "edit-outside", "only a mutator with cJSON can edit an item");
    kedge_json_edit *edit = find_edit(tx, collection, id);
    if (edit == NULL) {
        cJSON *read;
        status = kedge_tx_get_json(tx, collection, id, &read, error);
        if (status == KEDGE_OK) status = add_edit(tx, collection, id, read, error);
        if (status != KEDGE_OK) return status;
        edit = tx->edits;
    }
    *value = edit->value;
    return KEDGE_OK;
}

/* Each edit is of another item, so their order does not matter. One that is written has left the
 * list, in which kedge_tx_put looks for it. */
static kedge_status end_edits(kedge_tx *tx, kedge_status status, kedge_error *error)
{
    while (tx->edits != NULL) {
        kedge_json_edit *edit = tx->edits;
        tx->edits = edit->next;
        if (status == KEDGE_OK)
            status = kedge_tx_put_json(tx, edit->collection, edit->id, edit->value, error);
        free_edit(tx, edit);
    }
    tx->edits_are_written = false;
    return status;
}

kedge_status kedge_json_mutate(kedge_tx *tx, const char *args, size_t args_size, void *mutator,
                               kedge_error *error)
{
    const kedge_json_mutator *of = mutator;
    cJSON *tree = cJSON_ParseWithLength(args, args_size);
    if (tree == NULL) return no_memory(tx, error);
    tx->edits_are_written = true;
    kedge_status status = of->function(tx, tree, of->userdata, error);
    /* The next try may have the memory. */
    if (status == KEDGE_NO_MEMORY) status = no_memory(tx, error);
    status = end_edits(tx, status, error);
    cJSON_Delete(tree);
    return status;
}

/* ---- built-in mutators ---- */

static kedge_status run_builtin(kedge_tx *tx, const kedge_mutator *builtin, kedge_bytes args,
                                kedge_error *error)
{
    kedge_error why = {0};
    kedge_buffer canonical = kedge_buffer_make(tx->allocator);
    kedge_status status = kedge_json_normalize(args, KEDGE_LIMIT_JSON_DEPTH, &canonical, &why);
    if (status == KEDGE_NO_MEMORY)
        status = no_memory(tx, error);
    else if (status != KEDGE_OK)
        status = invalid(tx, error, "args-invalid", why.message);
    else
        status = builtin->function(tx, canonical.data, canonical.size, builtin->userdata, error);
    kedge_buffer_free(&canonical);
    return status;
}

static kedge_status call_builtin(kedge_tx *tx, const char *name, const kedge_buffer *args,
                                 kedge_error *error)
{
    if (kedge_buffer_status(args, NULL) != KEDGE_OK) return no_memory(tx, error);
    /* It would end the edits of the mutator that calls it. */
    if (strcmp(name, KEDGE_BATCH_MUTATOR) == 0)
        return invalid(tx, error, "batch-in-mutator",
                       "a mutator cannot call kedge.batch; what it does is one edit already");
    for (size_t i = 0; i < kedge_builtin_mutator_count; i++) {
        const kedge_mutator *builtin = &kedge_builtin_mutators[i];
        if (strcmp(builtin->name, name) == 0)
            return run_builtin(tx, builtin, kedge_buffer_bytes(args), error);
    }
    return invalid(tx, error, "mutator-unknown", "there is no built-in mutator of this name");
}

kedge_status kedge_tx_call_json(kedge_tx *tx, const char *name, const cJSON *args,
                                kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(tx->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_status status = print(tx, args, &writer, error);
    if (status == KEDGE_OK) status = call_builtin(tx, name, &text, error);
    kedge_buffer_free(&text);
    return status;
}

/* Calls it with {collection, id, patch}. */
static kedge_status call_with(kedge_tx *tx, const char *name, const char *collection,
                              const char *id, const cJSON *patch, kedge_error *error)
{
    kedge_status status = need_id(tx, id, error);
    if (status != KEDGE_OK) return status;
    if (patch == NULL) return invalid(tx, error, "args-invalid", "the patch is missing");
    kedge_buffer text = kedge_buffer_make(tx->allocator);
    kedge_json_writer writer = kedge_json_write(&text);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "collection");
    kedge_json_text(&writer, kedge_bytes_of(collection));
    kedge_json_key(&writer, "id");
    kedge_json_text(&writer, kedge_bytes_of(id));
    kedge_json_key(&writer, "patch");
    status = print(tx, patch, &writer, error);
    kedge_json_end_object(&writer);
    if (status == KEDGE_OK) status = call_builtin(tx, name, &text, error);
    kedge_buffer_free(&text);
    return status;
}

kedge_status kedge_tx_merge_json(kedge_tx *tx, const char *collection, const char *id,
                                 const cJSON *patch, kedge_error *error)
{
    return call_with(tx, "kedge.merge", collection, id, patch, error);
}

kedge_status kedge_tx_patch_json(kedge_tx *tx, const char *collection, const char *id,
                                 const cJSON *patch, kedge_error *error)
{
    return call_with(tx, "kedge.patch", collection, id, patch, error);
}

/* ---- members ---- */

static kedge_status wrong(kedge_error *error, const char *member, const char *allowed)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "args-invalid", "\"%s\" must be %s", member,
                      allowed);
}

const char *kedge_member_text(const cJSON *object, const char *member)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, member);
    return type_of(found) == cJSON_String ? found->valuestring : NULL;
}

kedge_status kedge_member_number(const cJSON *object, const char *member, double *value,
                                 kedge_error *error)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, member);
    if (type_of(found) != cJSON_Number) return wrong(error, member, "a number");
    *value = found->valuedouble;
    return KEDGE_OK;
}

kedge_status kedge_member_integer(const cJSON *object, const char *member, int64_t *value,
                                  kedge_error *error)
{
    double number = 0;
    kedge_status status = kedge_member_number(object, member, &number, NULL);
    if (status != KEDGE_OK || !kedge_json_is_integer(number))
        return wrong(error, member, "an integer");
    *value = (int64_t)number;
    return KEDGE_OK;
}

kedge_status kedge_member_boolean(const cJSON *object, const char *member, bool *value,
                                  kedge_error *error)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, member);
    int type = type_of(found);
    if (type != cJSON_False && type != cJSON_True) return wrong(error, member, "true or false");
    *value = type == cJSON_True;
    return KEDGE_OK;
}

kedge_status kedge_member_set(cJSON *object, const char *member, cJSON *value, kedge_error *error)
{
    if (value == NULL) return kedge_fail_no_memory(error);
    if (type_of(object) != cJSON_Object) {
        cJSON_Delete(value);
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "item-not-object",
                          "\"%s\" can be set in an object only", member);
    }
    /* cJSON's own replacement takes a key that it could not copy. */
    cJSON *old = cJSON_GetObjectItemCaseSensitive(object, member);
    if (!cJSON_AddItemToObject(object, member, value)) {
        cJSON_Delete(value);
        return kedge_fail_no_memory(error);
    }
    if (old != NULL) cJSON_Delete(cJSON_DetachItemViaPointer(object, old));
    return KEDGE_OK;
}

kedge_status kedge_member_set_text(cJSON *object, const char *member, const char *text,
                                   kedge_error *error)
{
    if (text == NULL) return wrong(error, member, "a string");
    return kedge_member_set(object, member, cJSON_CreateString(text), error);
}

kedge_status kedge_member_set_number(cJSON *object, const char *member, double number,
                                     kedge_error *error)
{
    return kedge_member_set(object, member, cJSON_CreateNumber(number), error);
}

kedge_status kedge_member_set_boolean(cJSON *object, const char *member, bool value,
                                      kedge_error *error)
{
    return kedge_member_set(object, member, cJSON_CreateBool(value), error);
}
