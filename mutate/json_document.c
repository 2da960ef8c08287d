/* The JSON document that opens where it is changed. An open node lies on a pointer's way, so that
 * no function here recurses deeper than KEDGE_LIMIT_JSON_DEPTH. */
#include "mutate/json_document.h"

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

#define CHILD_COST 40 /* per child held, the same on every machine */

typedef struct kedge_json_kept {
    struct kedge_json_kept *next;
    char bytes[];
} kedge_json_kept;

static kedge_json_node closed_node(kedge_bytes key, kedge_bytes text)
{
    return (kedge_json_node){.key = key, .text = text, .type = kedge_json_type_of(text)};
}

kedge_json_document kedge_json_document_make(const kedge_allocator *allocator, kedge_bytes text,
                                             uint64_t cost_max)
{
    return (kedge_json_document){.allocator = allocator,
                                 .root = closed_node((kedge_bytes){NULL, 0}, text),
                                 .cost_max = cost_max};
}

static void free_children(kedge_json_document *document, kedge_json_node *node)
{
    for (size_t i = 0; i < node->count; i++)
        free_children(document, &node->children[i]);
    kedge_release(document->allocator, node->children);
    node->children = NULL;
    node->count = node->capacity = 0;
}

void kedge_json_document_free(kedge_json_document *document)
{
    free_children(document, &document->root);
    while (document->kept != NULL) {
        kedge_json_kept *next = document->kept->next;
        kedge_release(document->allocator, document->kept);
        document->kept = next;
    }
}

kedge_status kedge_json_document_charge(kedge_json_document *document, uint64_t cost,
                                        kedge_error *error)
{
    document->cost += cost;
    if (document->cost <= document->cost_max) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "mutation-too-costly",
                      "the patch costs more work than a mutation may");
}

kedge_status kedge_json_document_keep(kedge_json_document *document, kedge_bytes bytes,
                                      kedge_bytes *kept, kedge_error *error)
{
    KEDGE_ASSERT(bytes.size > 0);
    kedge_status status = kedge_json_document_charge(document, bytes.size, error);
    if (status != KEDGE_OK) return status;
    kedge_json_kept *block = kedge_allocate(document->allocator, sizeof *block + bytes.size);
    if (block == NULL) return kedge_fail_no_memory(error);
    memcpy(block->bytes, bytes.data, bytes.size);
    block->next = document->kept;
    document->kept = block;
    *kept = (kedge_bytes){block->bytes, bytes.size};
    return KEDGE_OK;
}

/* ---- children ---- */

static kedge_status make_room(kedge_json_document *document, kedge_json_node *parent,
                              kedge_error *error)
{
    kedge_status status = kedge_json_document_charge(document, CHILD_COST, error);
    if (status != KEDGE_OK || parent->count < parent->capacity) return status;
    size_t capacity = parent->capacity == 0 ? 8 : 2 * parent->capacity;
    const kedge_allocator *allocator = document->allocator;
    kedge_json_node *children =
        allocator->reallocate(allocator->context, parent->children, capacity * sizeof *children);
    if (children == NULL) return kedge_fail_no_memory(error);
    parent->children = children;
    parent->capacity = capacity;
    return KEDGE_OK;
}

kedge_status kedge_json_node_open(kedge_json_document *document, kedge_json_node *node,
                                  kedge_error *error)
{
    if (node->open) return KEDGE_OK;
    kedge_bytes key = {NULL, 0};
    kedge_bytes value;
    kedge_json_iterator children = kedge_json_iterate(node->text);
    kedge_status status = kedge_json_document_charge(document, node->text.size, error);
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

size_t kedge_json_node_place(const kedge_json_node *object, kedge_bytes key, bool *found)
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

kedge_status kedge_json_node_insert(kedge_json_document *document, kedge_json_node *parent,
                                    size_t place, kedge_bytes key, kedge_bytes text,
                                    kedge_error *error)
{
    kedge_status status = kedge_json_document_charge(document, parent->count - place, error);
    if (status == KEDGE_OK) status = make_room(document, parent, error);
    if (status != KEDGE_OK) return status;
    kedge_json_node *at = &parent->children[place];
    memmove(at + 1, at, (parent->count - place) * sizeof *at);
    *at = closed_node(key, text);
    parent->count++;
    return KEDGE_OK;
}

kedge_status kedge_json_node_remove(kedge_json_document *document, kedge_json_node *parent,
                                    size_t place, kedge_error *error)
{
    kedge_status status = kedge_json_document_charge(document, parent->count - place, error);
    if (status != KEDGE_OK) return status;
    kedge_json_node *at = &parent->children[place];
    free_children(document, at);
    parent->count--;
    memmove(at, at + 1, (parent->count - place) * sizeof *at);
    return KEDGE_OK;
}

void kedge_json_node_set(kedge_json_document *document, kedge_json_node *node, kedge_bytes text)
{
    free_children(document, node);
    *node = closed_node(node->key, text);
}

/* ---- text ---- */

void kedge_json_node_write(const kedge_json_node *node, kedge_buffer *out)
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
        kedge_json_node_write(&node->children[i], out);
    }
    kedge_buffer_append_byte(out, object ? '}' : ']');
}

kedge_status kedge_json_node_text(kedge_json_document *document, const kedge_json_node *node,
                                  kedge_bytes *text, kedge_error *error)
{
    if (!node->open) {
        *text = node->text;
        return KEDGE_OK;
    }
    kedge_buffer written = kedge_buffer_make(document->allocator);
    kedge_json_node_write(node, &written);
    kedge_status status = kedge_buffer_status(&written, error);
    if (status == KEDGE_OK) {
        status = kedge_json_document_keep(document, kedge_buffer_bytes(&written), text, error);
    }
    kedge_buffer_free(&written);
    return status;
}
