/* A canonical JSON document that is changed at the places that pointers lead to.
 *
 * The value is a rope, so that a change only makes the pieces on its way again. But `cost_max` does
 * not bound this work. It bounds the work of a plain implementation that holds the value as text,
 * and that reads a container's whole text, and all of its children, when it enters the container
 * for the first time. So the cost depends on the document and the changes alone, and not on the
 * machine or the pieces of the rope. */
#ifndef KEDGE_MUTATE_JSON_DOCUMENT_H
#define KEDGE_MUTATE_JSON_DOCUMENT_H

#include "mutate/json_pointer.h"
#include "mutate/json_rope.h"

/* A container that a pointer has led into ("entered"), and those in it. */
typedef struct kedge_json_entered {
    size_t place;                      /* among the children of the one that it is in */
    struct kedge_json_entered *inside; /* in the order of their places */
    size_t count;
    size_t capacity;
} kedge_json_entered;

typedef struct kedge_json_document {
    const kedge_allocator *allocator;
    kedge_json_rope *rope;  /* owned */
    kedge_json_entered top; /* the root, when it was entered, is in it */
    uint64_t cost;
    uint64_t cost_max;
} kedge_json_document;

/* What a pointer leads to; until the next change. */
typedef struct kedge_json_place {
    bool found;
    kedge_json_part value;
    /* The container that holds it or would hold it. INVALID: the pointer is empty, or there is no
     * container. */
    kedge_json_type parent;
    size_t count;                          /* its children */
    size_t places[KEDGE_LIMIT_JSON_DEPTH]; /* as a change has them */
    size_t steps;
    kedge_bytes token;          /* the last one of the pointer, borrowed from it */
    kedge_json_entered *around; /* what was entered of the parent; of the root: the top */
} kedge_json_place;

/* Takes `rope` over. */
kedge_json_document kedge_json_document_make(const kedge_allocator *allocator,
                                             kedge_json_rope *rope, uint64_t cost_max);
void kedge_json_document_free(kedge_json_document *document);

/* Adds to the cost. KEDGE_LIMIT_EXCEEDED when the cost is then over the limit. The functions below
 * add to the cost, too, and fail with KEDGE_LIMIT_EXCEEDED or KEDGE_NO_MEMORY only. */
kedge_status kedge_json_document_charge(kedge_json_document *document, uint64_t cost,
                                        kedge_error *error);
kedge_status kedge_json_document_find(kedge_json_document *document,
                                      const kedge_json_pointer *pointer, kedge_json_place *place,
                                      kedge_error *error);
/* Counts a read of the whole value that was found. It costs something only when the value was
 * entered: otherwise its text was counted with that of the container that it is in. */
kedge_status kedge_json_document_read(kedge_json_document *document, const kedge_json_place *place,
                                      kedge_error *error);
/* Changes what was found, or the root. */
kedge_status kedge_json_document_set(kedge_json_document *document, const kedge_json_place *place,
                                     const kedge_json_part *value, kedge_error *error);
/* Adds the child that was not found, of an object: at its token. Of an array: at `index`. */
kedge_status kedge_json_document_insert(kedge_json_document *document, kedge_json_place *place,
                                        size_t index, const kedge_json_part *value,
                                        kedge_error *error);
/* Removes the child that was found. */
kedge_status kedge_json_document_remove(kedge_json_document *document,
                                        const kedge_json_place *place, kedge_error *error);

#endif
