/* JSON Patch on a document that holds the text of all that it has not opened, as a tree. */
#include "tests/mutate/patch_whole.h"

#include "common/assert.h"
#include "common/error.h"
#include "mutate/json_pointer.h"

#include <string.h>

/* ---- the document ---- */

typedef struct tree_node {
    kedge_bytes key;            /* in quotes; of a member */
    kedge_bytes text;           /* while it is not open */
    struct tree_node *children; /* of an open one; members are in canonical order */
    size_t count;
    size_t capacity;
    kedge_json_type type;
    bool open;
} tree_node;

typedef struct document_tree {
    const kedge_allocator *allocator;
    tree_node root;
    struct kept_text *kept; /* texts that were made here */
    uint64_t cost;
    uint64_t cost_max;
} document_tree;

#define CHILD_COST 40 /* per child held, the same on every machine */

typedef struct kept_text {
    struct kept_text *next;
    char bytes[];
} kept_text;

static tree_node closed_node(kedge_bytes key, kedge_bytes text)
{
    return (tree_node){.key = key, .text = text, .type = kedge_json_type_of(text)};
}

static document_tree make_document(const kedge_allocator *allocator, kedge_bytes text,
                                   uint64_t cost_max)
{
    return (document_tree){.allocator = allocator,
                           .root = closed_node((kedge_bytes){NULL, 0}, text),
                           .cost_max = cost_max};
}

static void free_children(document_tree *document, tree_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        free_children(document, &node->children[i]);
    kedge_release(document->allocator, node->children);
    node->children = NULL;
    node->count = node->capacity = 0;
}

static void free_document(document_tree *document)
{
    free_children(document, &document->root);
    while (document->kept != NULL) {
        kept_text *next = document->kept->next;
        kedge_release(document->allocator, document->kept);
        document->kept = next;
    }
}

static kedge_status charge(document_tree *document, uint64_t cost, kedge_error *error)
{
    document->cost += cost;
    if (document->cost <= document->cost_max) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "mutation-too-costly",
                      "the patch costs more work than a mutation may");
}

static kedge_status keep(document_tree *document, kedge_bytes bytes, kedge_bytes *kept,
                         kedge_error *error)
{
    KEDGE_ASSERT(bytes.size > 0);
    kedge_status status = charge(document, bytes.size, error);
    if (status != KEDGE_OK) return status;
    kept_text *block = kedge_allocate(document->allocator, sizeof *block + bytes.size);
    if (block == NULL) return kedge_fail_no_memory(error);
    memcpy(block->bytes, bytes.data, bytes.size);
    block->next = document->kept;
    document->kept = block;
    *kept = (kedge_bytes){block->bytes, bytes.size};
    return KEDGE_OK;
}

/* ---- children ---- */

static kedge_status make_room(document_tree *document, tree_node *parent, kedge_error *error)
{
    kedge_status status = charge(document, CHILD_COST, error);
    if (status != KEDGE_OK || parent->count < parent->capacity) return status;
    size_t capacity = parent->capacity == 0 ? 8 : 2 * parent->capacity;
    const kedge_allocator *allocator = document->allocator;
    tree_node *children =
        allocator->reallocate(allocator->context, parent->children, capacity * sizeof *children);
    if (children == NULL) return kedge_fail_no_memory(error);
    parent->children = children;
    parent->capacity = capacity;
    return KEDGE_OK;
}

static kedge_status open_node(document_tree *document, tree_node *node, kedge_error *error)
{
    if (node->open) return KEDGE_OK;
    kedge_bytes key = {NULL, 0};
    kedge_bytes value;
    kedge_json_iterator children = kedge_json_iterate(node->text);
    kedge_status status = charge(document, node->text.size, error);
    while (status == KEDGE_OK &&
           (node->type == KEDGE_JSON_OBJECT ? kedge_json_next_member(&children, &key, &value)
                                            : kedge_json_next_element(&children, &value))) {
        status = make_room(document, node, error);
        if (status == KEDGE_OK) node->children[node->count++] = closed_node(key, value);
    }
    if (status != KEDGE_OK) {
        free_children(document, node);
        return status;
    }
    node->open = true;
    return KEDGE_OK;
}

static size_t place_of(const tree_node *object, kedge_bytes key, bool *found)
{
    size_t low = 0;
    size_t high = object->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = kedge_json_key_compare(object->children[middle].key, key);
        if (order == 0) {
            *found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *found = false;
    return low;
}

static kedge_status insert_node(document_tree *document, tree_node *parent, size_t place,
                                kedge_bytes key, kedge_bytes text, kedge_error *error)
{
    kedge_status status = charge(document, parent->count - place, error);
    if (status == KEDGE_OK) status = make_room(document, parent, error);
    if (status != KEDGE_OK) return status;
    tree_node *at = &parent->children[place];
    memmove(at + 1, at, (parent->count - place) * sizeof *at);
    *at = closed_node(key, text);
    parent->count++;
    return KEDGE_OK;
}

static kedge_status remove_node(document_tree *document, tree_node *parent, size_t place,
                                kedge_error *error)
{
    kedge_status status = charge(document, parent->count - place, error);
    if (status != KEDGE_OK) return status;
    tree_node *at = &parent->children[place];
    free_children(document, at);
    parent->count--;
    memmove(at, at + 1, (parent->count - place) * sizeof *at);
    return KEDGE_OK;
}

static void set_node(document_tree *document, tree_node *node, kedge_bytes text)
{
    free_children(document, node);
    *node = closed_node(node->key, text);
}

/* ---- text ---- */

static void write_node(const tree_node *node, kedge_buffer *out)
{
    if (!node->open) {
        kedge_buffer_append_bytes(out, node->text);
        return;
    }
    bool object = node->type == KEDGE_JSON_OBJECT;
    kedge_buffer_append_byte(out, object ? '{' : '[');
    for (size_t i = 0; i < node->count; i++) {
        if (i > 0) kedge_buffer_append_byte(out, ',');
        if (object) {
            kedge_buffer_append_bytes(out, node->children[i].key);
            kedge_buffer_append_byte(out, ':');
        }
        write_node(&node->children[i], out);
    }
    kedge_buffer_append_byte(out, object ? '}' : ']');
}

static kedge_status text_of(document_tree *document, const tree_node *node, kedge_bytes *text,
                            kedge_error *error)
{
    if (!node->open) {
        *text = node->text;
        return KEDGE_OK;
    }
    kedge_buffer written = kedge_buffer_make(document->allocator);
    write_node(node, &written);
    kedge_status status = kedge_buffer_status(&written, error);
    if (status == KEDGE_OK) {
        status = keep(document, kedge_buffer_bytes(&written), text, error);
    }
    kedge_buffer_free(&written);
    return status;
}

/* ---- places ---- */

static bool is_container(const tree_node *node)
{
    return node->type == KEDGE_JSON_OBJECT || node->type == KEDGE_JSON_ARRAY;
}

static bool find_child(const tree_node *parent, kedge_bytes token, size_t *place)
{
    bool found = false;
    if (parent->type == KEDGE_JSON_OBJECT) {
        *place = place_of(parent, token, &found);
        return found;
    }
    return kedge_json_pointer_index(token, place) && *place < parent->count;
}

static kedge_status follow(document_tree *document, const kedge_json_pointer *pointer, size_t steps,
                           tree_node **node, kedge_error *error)
{
    tree_node *at = &document->root;
    for (size_t i = 0; i < steps && at != NULL; i++) {
        size_t place;
        kedge_status status = KEDGE_OK;
        bool container = is_container(at);
        if (container) status = open_node(document, at, error);
        if (status != KEDGE_OK) return status;
        bool found = container && find_child(at, kedge_json_pointer_token(pointer, i), &place);
        at = found ? &at->children[place] : NULL;
    }
    *node = at;
    return KEDGE_OK;
}

static kedge_status set_member(document_tree *document, tree_node *object, kedge_bytes key,
                               kedge_bytes text, kedge_error *error)
{
    bool found;
    size_t place = place_of(object, key, &found);
    if (found) {
        set_node(document, &object->children[place], text);
        return KEDGE_OK;
    }
    kedge_bytes kept;
    kedge_status status = keep(document, key, &kept, error);
    if (status != KEDGE_OK) return status;
    return insert_node(document, object, place, kept, text, error);
}

/* ---- the patch ---- */

#define OPERATION_COST 64

/* One operation, read and checked. */
typedef struct patch_operation {
    size_t place; /* in the patch, from 0 */
    const char *name;
    kedge_bytes object;
    kedge_json_pointer path;
    kedge_json_pointer from;
    kedge_bytes value;
} patch_operation;

typedef kedge_status (*operation_function)(document_tree *document, patch_operation *operation,
                                           kedge_error *error);

static kedge_status nothing_at(const patch_operation *operation, const char *member,
                               kedge_error *error)
{
    kedge_bytes pointer = {NULL, 0};
    (void)kedge_json_member(operation->object, member, &pointer);
    if (pointer.size > 64) pointer.size = 64;
    return kedge_fail(error, KEDGE_REJECTED, "patch-path-not-found",
                      "operation %zu (%s): there is nothing at \"%s\": %.*s", operation->place,
                      operation->name, member, (int)pointer.size, pointer.data);
}

/* ---- finding places ---- */

/* The open container that the last token is looked up in. */
static kedge_status follow_to_parent(document_tree *document, patch_operation *operation,
                                     const kedge_json_pointer *pointer, const char *member,
                                     tree_node **parent, kedge_error *error)
{
    kedge_status status = follow(document, pointer, pointer->count - 1, parent, error);
    if (status != KEDGE_OK) return status;
    if (*parent == NULL || !is_container(*parent)) return nothing_at(operation, member, error);
    return open_node(document, *parent, error);
}

static kedge_status text_at(document_tree *document, patch_operation *operation,
                            const kedge_json_pointer *pointer, const char *member,
                            kedge_bytes *text, kedge_error *error)
{
    tree_node *node;
    kedge_status status = follow(document, pointer, pointer->count, &node, error);
    if (status != KEDGE_OK) return status;
    if (node == NULL) return nothing_at(operation, member, error);
    return text_of(document, node, text, error);
}

/* ---- changes ---- */

static kedge_status add_text(document_tree *document, patch_operation *operation, kedge_bytes text,
                             kedge_error *error)
{
    const kedge_json_pointer *path = &operation->path;
    if (path->count == 0) {
        set_node(document, &document->root, text);
        return KEDGE_OK;
    }
    tree_node *parent;
    kedge_status status = follow_to_parent(document, operation, path, "path", &parent, error);
    if (status != KEDGE_OK) return status;
    kedge_bytes token = kedge_json_pointer_token(path, path->count - 1);
    if (parent->type == KEDGE_JSON_OBJECT) {
        return set_member(document, parent, token, text, error);
    }
    size_t place = parent->count;
    bool at_end = kedge_bytes_equal_text(token, "\"-\"");
    if (!at_end && (!kedge_json_pointer_index(token, &place) || place > parent->count)) {
        return nothing_at(operation, "path", error);
    }
    return insert_node(document, parent, place, (kedge_bytes){NULL, 0}, text, error);
}

static kedge_status remove_at(document_tree *document, patch_operation *operation,
                              const kedge_json_pointer *pointer, const char *member,
                              kedge_error *error)
{
    if (pointer->count == 0) {
        return kedge_fail(error, KEDGE_REJECTED, "patch-removes-root",
                          "operation %zu (%s) removes the whole item; kedge.delete does that",
                          operation->place, operation->name);
    }
    size_t place;
    tree_node *parent;
    kedge_status status = follow_to_parent(document, operation, pointer, member, &parent, error);
    if (status != KEDGE_OK) return status;
    if (!find_child(parent, kedge_json_pointer_token(pointer, pointer->count - 1), &place)) {
        return nothing_at(operation, member, error);
    }
    return remove_node(document, parent, place, error);
}

/* ---- the operations ---- */

static kedge_status do_add(document_tree *document, patch_operation *operation, kedge_error *error)
{
    return add_text(document, operation, operation->value, error);
}

static kedge_status do_remove(document_tree *document, patch_operation *operation,
                              kedge_error *error)
{
    return remove_at(document, operation, &operation->path, "path", error);
}

static kedge_status do_replace(document_tree *document, patch_operation *operation,
                               kedge_error *error)
{
    tree_node *node;
    kedge_status status = follow(document, &operation->path, operation->path.count, &node, error);
    if (status != KEDGE_OK) return status;
    if (node == NULL) return nothing_at(operation, "path", error);
    set_node(document, node, operation->value);
    return KEDGE_OK;
}

static kedge_status do_move(document_tree *document, patch_operation *operation, kedge_error *error)
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

static kedge_status do_copy(document_tree *document, patch_operation *operation, kedge_error *error)
{
    kedge_bytes text;
    kedge_status status = text_at(document, operation, &operation->from, "from", &text, error);
    if (status != KEDGE_OK) return status;
    return add_text(document, operation, text, error);
}

/* Canonical texts are equal exactly when the values are, numbers and the order
 * of members included. */
static kedge_status do_test(document_tree *document, patch_operation *operation, kedge_error *error)
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

static kedge_status apply_one(document_tree *document, kedge_bytes object,
                              patch_operation *operation, kedge_error *error)
{
    const struct kind *kind = kind_of(object);
    if (kind == NULL) {
        return invalid(operation, "op", "must be add, remove, replace, move, copy or test", error);
    }
    operation->name = kind->name;
    operation->object = object;
    kedge_status status = charge(document, OPERATION_COST + object.size, error);
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

static kedge_status apply_all(document_tree *document, kedge_bytes patch,
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

kedge_status patch_whole(const kedge_allocator *allocator, kedge_bytes target, kedge_bytes patch,
                         uint64_t cost_max, uint64_t *cost, kedge_buffer *out, kedge_error *error)
{
    document_tree document = make_document(allocator, target, cost_max);
    patch_operation operation = {.path = kedge_json_pointer_make(allocator),
                                 .from = kedge_json_pointer_make(allocator)};
    kedge_status status = apply_all(&document, patch, &operation, error);
    if (status == KEDGE_OK) {
        write_node(&document.root, out);
        status = kedge_buffer_status(out, error);
    }
    *cost = document.cost;
    kedge_json_pointer_free(&operation.from);
    kedge_json_pointer_free(&operation.path);
    free_document(&document);
    return status;
}
