/* The AA tree of the overlay: a binary tree whose levels mimic a 2-3 tree. A left child is one
 * level below its parent; a right child is one below it or on its level, and never two in a row
 * are. */
#include "mutate/overlay_tree.h"

#include "common/assert.h"

/* ---- keys ---- */

typedef struct key {
    kedge_bytes collection;
    kedge_bytes id;
    uint64_t collection_head;
    uint64_t id_head;
} key;

/* The first eight bytes, as a number that is ordered as they are. Missing bytes count as zero. */
static uint64_t head_of(kedge_bytes bytes)
{
    uint64_t head = 0;
    size_t size = bytes.size < sizeof head ? bytes.size : sizeof head;
    for (size_t i = 0; i < size; i++)
        head |= (uint64_t)(unsigned char)bytes.data[i] << (56 - 8 * i);
    return head;
}

static key key_of(kedge_bytes collection, kedge_bytes id)
{
    return (key){collection, id, head_of(collection), head_of(id)};
}

/* Most comparisons end with the heads. When these are equal and one text is no longer than they
 * are, it is a prefix of the other one, or the two differ in zeros at their ends. */
static int compare(kedge_bytes a, uint64_t a_head, kedge_bytes b, uint64_t b_head)
{
    const size_t head = sizeof a_head;
    if (a_head != b_head) return a_head < b_head ? -1 : 1;
    if (a.size <= head || b.size <= head) return (a.size > b.size) - (a.size < b.size);
    return kedge_bytes_compare((kedge_bytes){a.data + head, a.size - head},
                               (kedge_bytes){b.data + head, b.size - head});
}

/* By collection, then id, as bytes. */
static int compare_key(const kedge_overlay_node *node, const key *with)
{
    int order = compare(node->entry.collection, node->collection_head, with->collection,
                        with->collection_head);
    return order != 0 ? order : compare(node->entry.id, node->id_head, with->id, with->id_head);
}

/* ---- reading ---- */

kedge_overlay_node *kedge_overlay_tree_find(kedge_overlay_node *root, kedge_bytes collection,
                                            kedge_bytes id)
{
    const key wanted = key_of(collection, id);
    while (root != NULL) {
        int order = compare_key(root, &wanted);
        if (order == 0) return root;
        root = order > 0 ? root->left : root->right;
    }
    return NULL;
}

kedge_overlay_node *kedge_overlay_tree_first(kedge_overlay_node *root)
{
    while (root != NULL && root->left != NULL)
        root = root->left;
    return root;
}

kedge_overlay_node *kedge_overlay_tree_after(kedge_overlay_node *root, kedge_bytes collection,
                                             kedge_bytes id)
{
    const key wanted = key_of(collection, id);
    kedge_overlay_node *best = NULL;
    while (root != NULL) {
        if (compare_key(root, &wanted) > 0) {
            best = root;
            root = root->left;
        } else {
            root = root->right;
        }
    }
    return best;
}

/* ---- balance ---- */

static uint32_t level_of(const kedge_overlay_node *node)
{
    return node == NULL ? 0 : node->level;
}

/* A left child on the same level: turn right. */
static kedge_overlay_node *skew(kedge_overlay_node *node)
{
    if (node == NULL || level_of(node->left) != node->level) return node;
    kedge_overlay_node *top = node->left;
    node->left = top->right;
    top->right = node;
    return top;
}

/* Two right children in a row on the same level: turn left, and the middle one rises. */
static kedge_overlay_node *split(kedge_overlay_node *node)
{
    if (node == NULL || node->right == NULL) return node;
    if (level_of(node->right->right) != node->level) return node;
    kedge_overlay_node *top = node->right;
    node->right = top->left;
    top->left = node;
    top->level++;
    return top;
}

/* After a removal below `node`. */
static kedge_overlay_node *rebalance(kedge_overlay_node *node)
{
    uint32_t left = level_of(node->left);
    uint32_t right = level_of(node->right);
    uint32_t level = (left < right ? left : right) + 1;
    if (level < node->level) {
        node->level = level;
        if (level < right) node->right->level = level;
    }
    node = skew(node);
    node->right = skew(node->right);
    if (node->right != NULL) node->right->right = skew(node->right->right);
    node = split(node);
    node->right = split(node->right);
    return node;
}

/* ---- change; the recursion is as deep as the tree ---- */

static kedge_overlay_node *insert(kedge_overlay_node *root, kedge_overlay_node *node, const key *at)
{
    if (root == NULL) return node;
    if (compare_key(root, at) > 0) {
        root->left = insert(root->left, node, at);
    } else {
        root->right = insert(root->right, node, at);
    }
    return split(skew(root));
}

kedge_overlay_node *kedge_overlay_tree_insert(kedge_overlay_node *root, kedge_overlay_node *node)
{
    const key at = key_of(node->entry.collection, node->entry.id);
    node->left = node->right = NULL;
    node->level = 1;
    node->collection_head = at.collection_head;
    node->id_head = at.id_head;
    return insert(root, node, &at);
}

static kedge_overlay_node *take_first(kedge_overlay_node *root, kedge_overlay_node **first)
{
    if (root->left == NULL) {
        *first = root;
        return root->right;
    }
    root->left = take_first(root->left, first);
    return rebalance(root);
}

static kedge_overlay_node *remove_node(kedge_overlay_node *root, kedge_overlay_node *node,
                                       const key *at)
{
    if (root == node) {
        if (root->left == NULL) return root->right;
        KEDGE_ASSERT(root->right != NULL); /* what has a left child is above level 1 */
        kedge_overlay_node *next;
        kedge_overlay_node *right = take_first(root->right, &next);
        next->left = root->left;
        next->right = right;
        next->level = root->level;
        return rebalance(next);
    }
    if (compare_key(root, at) > 0) {
        root->left = remove_node(root->left, node, at);
    } else {
        root->right = remove_node(root->right, node, at);
    }
    return rebalance(root);
}

kedge_overlay_node *kedge_overlay_tree_remove(kedge_overlay_node *root, kedge_overlay_node *node)
{
    const key at = key_of(node->entry.collection, node->entry.id);
    return remove_node(root, node, &at);
}
