/* JSON Patch (RFC 6902): six operations on a document that opens where they go. */
#include "mutate/json_patch.h"

#include "common/error.h"
#include "mutate/json_place.h"

#include <string.h>

#define OPERATION_COST 64

/* One operation, read and checked. */
typedef struct patch_operation {
    size_t place; /* in the patch, from 0 */
    const char *name;
    kedge_json_pointer path;
    kedge_json_pointer from;
    kedge_bytes value;
} patch_operation;

typedef kedge_status (*operation_function)(kedge_json_document *document,
                                           patch_operation *operation, kedge_error *error);

static kedge_status nothing_at(const patch_operation *operation, const char *member,
                               kedge_error *error)
{
    return kedge_fail(error, KEDGE_REJECTED, "patch-path-not-found",
                      "operation %zu (%s): there is nothing at \"%s\"", operation->place,
                      operation->name, member);
}

/* ---- finding places ---- */

/* The open container that the last token is looked up in. */
static kedge_status follow_to_parent(kedge_json_document *document, patch_operation *operation,
                                     const kedge_json_pointer *pointer, const char *member,
                                     kedge_json_node **parent, kedge_error *error)
{
    kedge_status status = kedge_json_follow(document, pointer, pointer->count - 1, parent, error);
    if (status != KEDGE_OK) return status;
    if (*parent == NULL || !kedge_json_node_is_container(*parent))
        return nothing_at(operation, member, error);
    return kedge_json_node_open(document, *parent, error);
}

static kedge_status text_at(kedge_json_document *document, patch_operation *operation,
                            const kedge_json_pointer *pointer, const char *member,
                            kedge_bytes *text, kedge_error *error)
{
    kedge_json_node *node;
    kedge_status status = kedge_json_follow(document, pointer, pointer->count, &node, error);
    if (status != KEDGE_OK) return status;
    if (node == NULL) return nothing_at(operation, member, error);
    return kedge_json_node_text(document, node, text, error);
}

/* ---- changes ---- */

static kedge_status add_text(kedge_json_document *document, patch_operation *operation,
                             kedge_bytes text, kedge_error *error)
{
    const kedge_json_pointer *path = &operation->path;
    if (path->count == 0) {
        kedge_json_node_set(document, &document->root, text);
        return KEDGE_OK;
    }
    kedge_json_node *parent;
    kedge_status status = follow_to_parent(document, operation, path, "path", &parent, error);
    if (status != KEDGE_OK) return status;
    kedge_bytes token = kedge_json_pointer_token(path, path->count - 1);
    if (parent->type == KEDGE_JSON_OBJECT) {
        return kedge_json_set_member(document, parent, token, text, error);
    }
    size_t place = parent->count;
    bool at_end = kedge_bytes_equal_text(token, "\"-\"");
    if (!at_end && (!kedge_json_pointer_index(token, &place) || place > parent->count)) {
        return nothing_at(operation, "path", error);
    }
    return kedge_json_node_insert(document, parent, place, (kedge_bytes){NULL, 0}, text, error);
}

static kedge_status remove_at(kedge_json_document *document, patch_operation *operation,
                              const kedge_json_pointer *pointer, const char *member,
                              kedge_error *error)
{
    if (pointer->count == 0) {
        return kedge_fail(error, KEDGE_REJECTED, "patch-removes-root",
                          "operation %zu (%s) removes the whole item; kedge.delete does that",
                          operation->place, operation->name);
    }
    size_t place;
    kedge_json_node *parent;
    kedge_status status = follow_to_parent(document, operation, pointer, member, &parent, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_find_child(parent, kedge_json_pointer_token(pointer, pointer->count - 1),
                               &place)) {
        return nothing_at(operation, member, error);
    }
    return kedge_json_node_remove(document, parent, place, error);
}

/* ---- the operations ---- */

static kedge_status do_add(kedge_json_document *document, patch_operation *operation,
                           kedge_error *error)
{
    return add_text(document, operation, operation->value, error);
}

static kedge_status do_remove(kedge_json_document *document, patch_operation *operation,
                              kedge_error *error)
{
    return remove_at(document, operation, &operation->path, "path", error);
}

static kedge_status do_replace(kedge_json_document *document, patch_operation *operation,
                               kedge_error *error)
{
    kedge_json_node *node;
    kedge_status status =
        kedge_json_follow(document, &operation->path, operation->path.count, &node, error);
    if (status != KEDGE_OK) return status;
    if (node == NULL) return nothing_at(operation, "path", error);
    kedge_json_node_set(document, node, operation->value);
    return KEDGE_OK;
}

static kedge_status do_move(kedge_json_document *document, patch_operation *operation,
                            kedge_error *error)
{
    if (kedge_json_pointer_is_below(&operation->path, &operation->from)) {
        return kedge_fail(error, KEDGE_REJECTED, "patch-moves-into-itself",
                          "operation %zu (move): \"path\" lies inside \"from\"", operation->place);
    }
    kedge_bytes text;
    kedge_status status = text_at(document, operation, &operation->from, "from", &text, error);
    if (status != KEDGE_OK || kedge_json_pointer_equal(&operation->path, &operation->from)) {
        return status;
    }
    status = remove_at(document, operation, &operation->from, "from", error);
    if (status != KEDGE_OK) return status;
    return add_text(document, operation, text, error);
}

static kedge_status do_copy(kedge_json_document *document, patch_operation *operation,
                            kedge_error *error)
{
    kedge_bytes text;
    kedge_status status = text_at(document, operation, &operation->from, "from", &text, error);
    if (status != KEDGE_OK) return status;
    return add_text(document, operation, text, error);
}

/* Canonical texts are equal exactly when the values are, numbers and the order
 * of members included. */
static kedge_status do_test(kedge_json_document *document, patch_operation *operation,
                            kedge_error *error)
{
    kedge_bytes text;
    kedge_status status = text_at(document, operation, &operation->path, "path", &text, error);
    if (status != KEDGE_OK) return status;
    if (kedge_bytes_equal(text, operation->value)) return KEDGE_OK;
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
    kedge_status status = kedge_json_document_charge(document, OPERATION_COST + object.size, error);
    if (status == KEDGE_OK) {
        status = read_pointer(operation, object, "path", &operation->path, error);
    }
    if (status == KEDGE_OK && kind->has_from) {
        status = read_pointer(operation, object, "from", &operation->from, error);
    }
    if (status == KEDGE_OK && kind->has_value &&
        !kedge_json_member(object, "value", &operation->value)) {
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

kedge_status kedge_json_patch(const kedge_allocator *allocator, kedge_bytes target,
                              kedge_bytes patch, uint64_t cost_max, uint64_t *cost,
                              kedge_buffer *out, kedge_error *error)
{
    kedge_json_document document = kedge_json_document_make(allocator, target, cost_max);
    patch_operation operation = {.path = kedge_json_pointer_make(allocator),
                                 .from = kedge_json_pointer_make(allocator)};
    kedge_status status = apply_all(&document, patch, &operation, error);
    if (status == KEDGE_OK) {
        kedge_json_node_write(&document.root, out);
        status = kedge_buffer_status(out, error);
    }
    *cost = document.cost;
    kedge_json_pointer_free(&operation.from);
    kedge_json_pointer_free(&operation.path);
    kedge_json_document_free(&document);
    return status;
}
