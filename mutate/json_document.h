/* A canonical JSON document that can be changed at places.
 *
 * It is a tree that is opened only at the places that are visited: a node is its canonical text
 * until it is opened, and its children afterwards. So a change deep in a large document costs the
 * containers on the way, two values are equal when their texts are, and a number is never
 * converted.
 *
 * Work is counted, in bytes read, moved or held, and bounded by `cost_max`: the count depends on
 * the document and the changes alone, not on the machine. */
#ifndef KEDGE_MUTATE_JSON_DOCUMENT_H
#define KEDGE_MUTATE_JSON_DOCUMENT_H

#include "common/json.h"

typedef struct kedge_json_node {
    kedge_bytes key;                  /* in quotes; of a member */
    kedge_bytes text;                 /* while it is not open */
    struct kedge_json_node *children; /* of an open one; members are in canonical order */
    size_t count;
    size_t capacity;
    kedge_json_type type;
    bool open;
} kedge_json_node;

typedef struct kedge_json_document {
    const kedge_allocator *allocator;
    kedge_json_node root;
    struct kedge_json_kept *kept; /* texts that were made here */
    uint64_t cost;
    uint64_t cost_max;
} kedge_json_document;

/* `text` is canonical and must outlive the document, like every text that is given below. */
kedge_json_document kedge_json_document_make(const kedge_allocator *allocator, kedge_bytes text,
                                             uint64_t cost_max);
void kedge_json_document_free(kedge_json_document *document);

/* KEDGE_LIMIT_EXCEEDED when the cost is over the limit; so do the others that take an error. */
kedge_status kedge_json_document_charge(kedge_json_document *document, uint64_t cost,
                                        kedge_error *error);
/* A copy of `bytes` that lives as long as the document. */
kedge_status kedge_json_document_keep(kedge_json_document *document, kedge_bytes bytes,
                                      kedge_bytes *kept, kedge_error *error);

/* Opens a container; does nothing to an open one. */
kedge_status kedge_json_node_open(kedge_json_document *document, kedge_json_node *node,
                                  kedge_error *error);
/* The place of the key among an open object's members, or where it belongs. */
size_t kedge_json_node_place(const kedge_json_node *object, kedge_bytes key, bool *found);
/* A new child at `place` of an open container; `key` is empty in an array. Pointers to the
 * container's children end. */
kedge_status kedge_json_node_insert(kedge_json_document *document, kedge_json_node *parent,
                                    size_t place, kedge_bytes key, kedge_bytes text,
                                    kedge_error *error);
kedge_status kedge_json_node_remove(kedge_json_document *document, kedge_json_node *parent,
                                    size_t place, kedge_error *error);
void kedge_json_node_set(kedge_json_document *document, kedge_json_node *node, kedge_bytes text);
/* The node's canonical text, which outlives changes. */
kedge_status kedge_json_node_text(kedge_json_document *document, const kedge_json_node *node,
                                  kedge_bytes *text, kedge_error *error);
void kedge_json_node_write(const kedge_json_node *node, kedge_buffer *out);

#endif
