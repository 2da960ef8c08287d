/* The nodes of a rope, for the files that find and change places in it. */
#ifndef KEDGE_MUTATE_JSON_ROPE_NODES_H
#define KEDGE_MUTATE_JSON_ROPE_NODES_H

#include "mutate/json_members.h"
#include "mutate/json_rope.h"

#define KEDGE_JSON_RUN_BYTES_MAX 2048 /* of a run that a change leaves in one piece */

/*   VALUE   5, "text", {…}     a value as text
 *   OPEN    { TREE }, [ TREE ] a container: its children in a B-tree
 *   RUN     {"a":1,"b":2}      some children that follow each other, as a container of their own
 *   MEMBER  "c": ROPE          one child that is larger than a run may be, or was opened; an
 *                              element has no key
 *   BRANCH  TREE, TREE, …      nodes of the same height, in order
 *
 * A rope is a VALUE or an OPEN. The leaves of a B-tree are RUN and MEMBER. kedge_json_rope_open
 * turns a VALUE that is a container into an OPEN in place; the text of the rope stays the same. */
typedef enum kedge_json_rope_kind {
    KEDGE_ROPE_VALUE,
    KEDGE_ROPE_OPEN,
    KEDGE_ROPE_RUN,
    KEDGE_ROPE_MEMBER,
    KEDGE_ROPE_BRANCH
} kedge_json_rope_kind;

struct kedge_json_rope {
    uint32_t references;
    uint32_t depth; /* as kedge_json_rope_depth gives it, and one; 0: not known yet */
    kedge_json_rope_kind kind;
    uint64_t size;     /* of the text in the container that it is part of */
    kedge_bytes first; /* the key of the first member, in quotes; of elements and ropes: empty */
    kedge_bytes text;  /* VALUE: a block; RUN; MEMBER: key and colon; OPEN: only the brackets */
    size_t members;    /* children of the container that it is part of; of OPEN its own */
    size_t count;      /* of the nodes below: OPEN has one, or none when the container is empty */
    kedge_json_rope *children[];
};

/* ---- nodes; NULL: no memory ---- */

/* `members` are those of a container with such brackets, without its brackets. */
kedge_json_rope *kedge_json_new_run(const kedge_allocator *allocator, const char *brackets,
                                    kedge_bytes members, size_t count);
kedge_json_rope *kedge_json_new_value(const kedge_allocator *allocator, kedge_bytes text);
/* Takes `value` over, which may be NULL: there was no memory for it. */
kedge_json_rope *kedge_json_new_member(const kedge_allocator *allocator, kedge_bytes key,
                                       kedge_json_rope *value);

/* "{}" or "[]", of the text of a container. */
static inline const char *kedge_json_brackets(kedge_bytes container)
{
    return container.data[0] == '{' ? "{}" : "[]";
}

/* Hands over the text of a node, piece by piece, until `visit` returns false. */
typedef bool kedge_json_rope_visitor(kedge_bytes piece, void *context);
bool kedge_json_rope_visit(const kedge_json_rope *node, kedge_json_rope_visitor *visit,
                           void *context);

/* ---- lists of nodes of one height ---- */

typedef struct kedge_json_nodes {
    const kedge_allocator *allocator;
    kedge_json_rope **nodes;
    size_t count;
    size_t capacity;
    bool no_memory; /* the list is not whole: a node or the list itself found none */
} kedge_json_nodes;

/* Takes the node over; NULL: there was no memory for it. */
void kedge_json_nodes_add(kedge_json_nodes *list, kedge_json_rope *node);
/* Adds the children of a container, in runs. */
void kedge_json_nodes_add_text(kedge_json_nodes *list, kedge_bytes container);
/* The same of one with so many children, which is one run when it is no longer than that may be. */
void kedge_json_nodes_add_piece(kedge_json_nodes *list, kedge_bytes container, size_t count);
/* Adds branches over the nodes of `level`, which is freed: as few as can be, of about one size. */
void kedge_json_nodes_add_above(kedge_json_nodes *list, kedge_json_nodes *level);
/* Makes an OPEN of the nodes and frees the list. NULL: no memory. */
kedge_json_rope *kedge_json_nodes_join(kedge_json_nodes *list, const char *brackets);

#endif
