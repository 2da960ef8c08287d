/* The AA tree of the overlay: a binary tree whose levels mimic a 2-3 tree. A left child is one
 * level below its parent; a right child is one below it or on its level, and never two in a row
 * are. */
#include "mutate/overlay_tree.h"

#include "common/assert.h"

int kedge_overlay_key_compare(const kedge_overlay_node *node, kedge_bytes collection,
                              kedge_bytes id)
{
    int order = kedge_bytes_compare(node->entry.collection, collection);
    return order != 0 ? order : kedge_bytes_compare(node->entry.id, id);
}

kedge_overlay_node *kedge_overlay_tree_find(kedge_overlay_node *root, kedge_bytes collection,
                                            kedge_bytes id)
{
    while (root != NULL) {
        int order = kedge_overlay_key_compare(root, collection, id);
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
    kedge_overlay_node *best = NULL;
    while (root != NULL) {
        if (kedge_overlay_key_compare(root, collection, id) > 0) {
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

kedge_overlay_node *kedge_overlay_tree_insert(kedge_overlay_node *root, kedge_overlay_node *node)
{
    if (root == NULL) {
        node->left = node->right = NULL;
        node->level = 1;
        return node;
    }
    if (kedge_overlay_key_compare(root, node->entry.collection, node->entry.id) > 0) {
        root->left = kedge_overlay_tree_insert(root->left, node);
    } else {
        root->right = kedge_overlay_tree_insert(root->right, node);
    }
    return split(skew(root));
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

kedge_overlay_node *kedge_overlay_tree_remove(kedge_overlay_node *root, kedge_overlay_node *node)
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
    if (kedge_overlay_key_compare(root, node->entry.collection, node->entry.id) > 0) {
        root->left = kedge_overlay_tree_remove(root->left, node);
    } else {
        root->right = kedge_overlay_tree_remove(root->right, node);
    }
    return rebalance(root);
}
