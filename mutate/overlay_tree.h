/* The ordered tree below the overlay: an AA tree (Arne Andersson, "Balanced search trees made
 * simple", 1993), which is at most 2 log2(n + 1) deep whatever the keys are. Nodes are intrusive
 * and keep their address for life. */
#ifndef KEDGE_MUTATE_OVERLAY_TREE_H
#define KEDGE_MUTATE_OVERLAY_TREE_H

#include "mutate/overlay.h"

typedef struct kedge_overlay_node {
    struct kedge_overlay_node *left;
    struct kedge_overlay_node *right;
    uint32_t level;           /* 1 for a leaf; as AA trees count */
    size_t saved_at;          /* 1 + its newest place in the journal; 0: in none */
    uint64_t collection_head; /* of the key, in a form that is fast to compare: set by the tree */
    uint64_t id_head;
    kedge_overlay_entry entry; /* the key follows the node; the value is a block, or in `room` */
    kedge_json_rope *rope;     /* the value, when it is in pieces */
    struct kedge_overlay_room *room; /* for its text; large enough for each rope it has had */
} kedge_overlay_node;

kedge_overlay_node *kedge_overlay_tree_find(kedge_overlay_node *root, kedge_bytes collection,
                                            kedge_bytes id);
kedge_overlay_node *kedge_overlay_tree_first(kedge_overlay_node *root);
/* The first node after the key, or NULL. */
kedge_overlay_node *kedge_overlay_tree_after(kedge_overlay_node *root, kedge_bytes collection,
                                             kedge_bytes id);
/* Both return the new root. A node to insert must have a key that is not in the tree yet; one to
 * remove must be in the tree. */
kedge_overlay_node *kedge_overlay_tree_insert(kedge_overlay_node *root, kedge_overlay_node *node);
kedge_overlay_node *kedge_overlay_tree_remove(kedge_overlay_node *root, kedge_overlay_node *node);

#endif
