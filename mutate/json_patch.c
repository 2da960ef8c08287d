/* JSON Patch (RFC 6902): six operations on a document. */
#include "mutate/json_patch.h"

#include "common/error.h"

#define OPERATION_COST 64
#define SHOWN_BYTES    64 /* of a pointer in a message */

/* One operation, read and checked. */
typedef struct patch_operation {
    size_t place;       /* in the patch, from 0 */
    kedge_bytes object; /* canonical JSON, so a message quotes it the same everywhere */
    const char *name;
    kedge_json_pointer path;
    kedge_json_pointer from;
    kedge_json_part value; /* of the patch: a text */
} patch_operation;

typedef kedge_status (*operation_function)(kedge_json_document *document,
                                           const patch_operation *operation, kedge_error *error);

static kedge_status nothing_at(const patch_operation *operation, const char *member,
                               kedge_error *error)
{
    kedge_bytes pointer = {NULL, 0};
    (void)kedge_json_member(operation->object, member, &pointer); /* it was read from there */
    int shown = pointer.size < SHOWN_BYTES ? (int)pointer.size : SHOWN_BYTES;
    return kedge_fail(error, KEDGE_REJECTED, "patch-path-not-found",
                      "operation %zu (%s): there is nothing at \"%s\": %.*s", operation->place,
                      operation->name, member, shown, pointer.data);
}

/* ---- finding places ---- */

static kedge_status find(kedge_json_document *document, const patch_operation *operation,
                         const kedge_json_pointer *pointer, const char *member,
                         kedge_json_place *place, kedge_error *error)
{
    kedge_status status = kedge_json_document_find(document, pointer, place, error);
    if (status != KEDGE_OK || place->found) return status;
    return nothing_at(operation, member, error);
}

/* Finds a value that is read whole. */
static kedge_status read(kedge_json_document *document, const patch_operation *operation,
                         const kedge_json_pointer *pointer, const char *member,
                         kedge_json_place *place, kedge_error *error)
{
    kedge_status status = find(document, operation, pointer, member, place, error);
    return status == KEDGE_OK ? kedge_json_document_read(document, place, error) : status;
}

/* ---- changes ---- */

static kedge_status add(kedge_json_document *document, const patch_operation *operation,
                        const kedge_json_part *value, kedge_error *error)
{
    kedge_json_place place;
    kedge_status status = kedge_json_document_find(document, &operation->path, &place, error);
    if (status != KEDGE_OK) return status;
    size_t index = place.count;
    if (place.parent == KEDGE_JSON_INVALID && !place.found)
        return nothing_at(operation, "path", error);
    if (place.parent != KEDGE_JSON_ARRAY) {
        return place.found ? kedge_json_document_set(document, &place, value, error)
                           : kedge_json_document_insert(document, &place, 0, value, error);
    }
    if (!kedge_bytes_equal_text(place.token, "\"-\"") &&
        (!kedge_json_pointer_index(place.token, &index) || index > place.count))
        return nothing_at(operation, "path", error);
    return kedge_json_document_insert(document, &place, index, value, error);
}

static kedge_status remove_at(kedge_json_document *document, const patch_operation *operation,
                              const kedge_json_pointer *pointer, const char *member,
                              kedge_error *error)
{
    if (pointer->count == 0) {
        return kedge_fail(error, KEDGE_REJECTED, "patch-removes-root",
                          "operation %zu (%s) removes the whole item; kedge.delete does that",
                          operation->place, operation->name);
    }
    kedge_json_place place;
    kedge_status status = find(document, operation, pointer, member, &place, error);
    return status == KEDGE_OK ? kedge_json_document_remove(document, &place, error) : status;
}

/* ---- the operations ---- */

static kedge_status do_add(kedge_json_document *document, const patch_operation *operation,
                           kedge_error *error)
{
    return add(document, operation, &operation->value, error);
}

static kedge_status do_remove(kedge_json_document *document, const patch_operation *operation,
                              kedge_error *error)
{
    return remove_at(document, operation, &operation->path, "path", error);
}

static kedge_status do_replace(kedge_json_document *document, const patch_operation *operation,
                               kedge_error *error)
{
    kedge_json_place place;
    kedge_status status = find(document, operation, &operation->path, "path", &place, error);
    if (status != KEDGE_OK) return status;
    return kedge_json_document_set(document, &place, &operation->value, error);
}

static kedge_status do_move(kedge_json_document *document, const patch_operation *operation,
                            kedge_error *error)
{
    if (kedge_json_pointer_is_below(&operation->path, &operation->from)) {
        return kedge_fail(error, KEDGE_REJECTED, "patch-moves-into-itself",
                          "operation %zu (move): \"path\" lies inside \"from\"", operation->place);
    }
    kedge_json_place from;
    kedge_status status = read(document, operation, &operation->from, "from", &from, error);
    if (status != KEDGE_OK || kedge_json_pointer_equal(&operation->path, &operation->from))
        return status;
    kedge_json_rope *before = kedge_json_rope_share(document->rope); /* holds the value */
    status = remove_at(document, operation, &operation->from, "from", error);
    if (status == KEDGE_OK) status = add(document, operation, &from.value, error);
    kedge_json_rope_release(document->allocator, before);
    return status;
}

static kedge_status do_copy(kedge_json_document *document, const patch_operation *operation,
                            kedge_error *error)
{
    kedge_json_place from;
    kedge_status status = read(document, operation, &operation->from, "from", &from, error);
    return status == KEDGE_OK ? add(document, operation, &from.value, error) : status;
}

/* Canonical texts are equal exactly when the values are, numbers and the order
 * of members included. */
static kedge_status do_test(kedge_json_document *document, const patch_operation *operation,
                            kedge_error *error)
{
    kedge_json_place place;
    kedge_status status = read(document, operation, &operation->path, "path", &place, error);
    if (status != KEDGE_OK || kedge_json_part_equals(&place.value, operation->value.text))
        return status;
    return kedge_fail(error, KEDGE_REJECTED, "patch-test-failed",
                      "operation %zu (test): the value is another one", operation->place);
}

static const struct kind {
    const char *name;
    operation_function function;
    bool has_value;
    bool has_from;
} kinds[] = {
    {"add", do_add, true, false},         {"remove", do_remove, false, false},
    {"replace", do_replace, true, false}, {"move", do_move, false, true},
    {"copy", do_copy, false, true},       {"test", do_test, true, false},
};

/* ---- reading an operation; members that it does not use are ignored, as the RFC says ---- */

static const struct kind *kind_of(kedge_bytes object)
{
    kedge_bytes name;
    if (!kedge_json_member(object, "op", &name)) return NULL;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kedge_json_text_equals(name, kinds[i].name)) return &kinds[i];
    }
    return NULL;
}

static kedge_status invalid(const patch_operation *operation, const char *member, const char *what,
                            kedge_error *error)
{
    return kedge_fail(error, KEDGE_REJECTED, "args-invalid",
                      "operation %zu of the patch: \"%s\" %s", operation->place, member, what);
}

static kedge_status read_pointer(const patch_operation *operation, kedge_bytes object,
                                 const char *member, kedge_json_pointer *pointer,
                                 kedge_error *error)
{
    kedge_bytes value;
    kedge_error why = {0};
    if (!kedge_json_member(object, member, &value)) {
        return invalid(operation, member, "is missing", error);
    }
    kedge_status status = kedge_json_pointer_parse(pointer, value, &why);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    return status == KEDGE_OK ? status : invalid(operation, member, why.message, error);
}

static kedge_status apply_one(kedge_json_document *document, kedge_bytes object,
                              patch_operation *operation, kedge_error *error)
{
    const struct kind *kind = kind_of(object);
    if (kind == NULL) {
        return invalid(operation, "op", "must be add, remove, replace, move, copy or test", error);
    }
    operation->name = kind->name;
    operation->object = object;
    kedge_status status = kedge_json_document_charge(document, OPERATION_COST + object.size, error);
    if (status == KEDGE_OK) {
        status = read_pointer(operation, object, "path", &operation->path, error);
    }
    if (status == KEDGE_OK && kind->has_from) {
        status = read_pointer(operation, object, "from", &operation->from, error);
    }
    if (status == KEDGE_OK && kind->has_value &&
        !kedge_json_member(object, "value", &operation->value.text)) {
        status = invalid(operation, "value", "is missing", error);
    }
    return status == KEDGE_OK ? kind->function(document, operation, error) : status;
}

static kedge_status apply_all(kedge_json_document *document, kedge_bytes patch,
                              patch_operation *operation, kedge_error *error)
{
    if (kedge_json_type_of(patch) != KEDGE_JSON_ARRAY) {
        return kedge_fail(error, KEDGE_REJECTED, "args-invalid",
                          "the member \"patch\" of the args must be an array of operations");
    }
    kedge_bytes object;
    kedge_status status = KEDGE_OK;
    kedge_json_iterator operations = kedge_json_iterate(patch);
    while (status == KEDGE_OK && kedge_json_next_element(&operations, &object)) {
        status = apply_one(document, object, operation, error);
        operation->place++;
    }
    return status;
}

kedge_status kedge_json_patch(kedge_json_document *document, kedge_bytes patch, kedge_error *error)
{
    patch_operation operation = {.path = kedge_json_pointer_make(document->allocator),
                                 .from = kedge_json_pointer_make(document->allocator)};
    kedge_status status = apply_all(document, patch, &operation, error);
    kedge_json_pointer_free(&operation.from);
    kedge_json_pointer_free(&operation.path);
    return status;
}
