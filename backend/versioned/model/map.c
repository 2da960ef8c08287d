/* A persistent ordered map: an AVL tree that copies the path of a change.
 *
 * Functions that build a tree return it with one reference, or NULL when memory ran out;
 * the caller keeps its own references. Recursion is as deep as the tree: at most 30
 * for a million items. */
#include "backend/versioned/model/map.h"

#include <string.h>

#define NODE_SHARE_BYTES 128 /* what an item costs besides its own bytes */

struct kedge_map_node {
    atomic_uint references;
    int32_t height;
    kedge_map_node *left;
    kedge_map_node *right;
    kedge_item *item;
};

/* ---- items ---- */

static void place(char **at, kedge_bytes from, kedge_bytes *to)
{
    if (from.data == NULL) return;
    if (from.size > 0) memcpy(*at, from.data, from.size);
    *to = (kedge_bytes){*at, from.size};
    *at += from.size;
}

kedge_item *kedge_item_new(const kedge_allocator *allocator, const kedge_entry *entry, bool deleted)
{
    size_t bytes = entry->id.size + entry->meta.size + entry->body.size;
    kedge_item *item = kedge_allocate(allocator, sizeof *item + bytes + 1);
    if (item == NULL) return NULL;
    atomic_init(&item->references, 1);
    item->deleted = deleted;
    item->entry = *entry;
    char *at = (char *)(item + 1);
    item->entry.id = (kedge_bytes){at, 0};
    place(&at, entry->id, &item->entry.id);
    place(&at, entry->meta, &item->entry.meta);
    place(&at, entry->body, &item->entry.body);
    return item;
}

void kedge_item_retain(kedge_item *item)
{
    atomic_fetch_add_explicit(&item->references, 1, memory_order_relaxed);
}

void kedge_item_release(const kedge_allocator *allocator, kedge_item *item)
{
    if (item == NULL) return;
    if (atomic_fetch_sub_explicit(&item->references, 1, memory_order_acq_rel) == 1) {
        kedge_release(allocator, item);
    }
}

static size_t item_bytes(const kedge_item *item)
{
    const kedge_entry *entry = &item->entry;
    return entry->id.size + entry->meta.size + entry->body.size + NODE_SHARE_BYTES;
}

/* ---- nodes ---- */

static kedge_map_node *retain(kedge_map_node *node)
{
    if (node != NULL) atomic_fetch_add_explicit(&node->references, 1, memory_order_relaxed);
    return node;
}

static void release(const kedge_allocator *allocator, kedge_map_node *node)
{
    if (node == NULL) return;
    if (atomic_fetch_sub_explicit(&node->references, 1, memory_order_acq_rel) != 1) return;
    release(allocator, node->left);
    release(allocator, node->right);
    kedge_item_release(allocator, node->item);
    kedge_release(allocator, node);
}

static int32_t height(const kedge_map_node *node)
{
    return node == NULL ? 0 : node->height;
}

/* Takes the references of both children, also when it fails. */
static kedge_map_node *make(const kedge_allocator *allocator, kedge_map_node *left,
                            kedge_item *item, kedge_map_node *right)
{
    kedge_map_node *node = kedge_allocate(allocator, sizeof *node);
    if (node == NULL) {
        release(allocator, left);
        release(allocator, right);
        return NULL;
    }
    atomic_init(&node->references, 1);
    node->left = left;
    node->right = right;
    node->item = item;
    kedge_item_retain(item);
    node->height = 1 + (height(left) > height(right) ? height(left) : height(right));
    return node;
}

/* The left child is too high: a single or double rotation to the right. */
static kedge_map_node *lower_left(const kedge_allocator *allocator, kedge_map_node *left,
                                  kedge_item *item, kedge_map_node *right)
{
    kedge_map_node *inner = left->right;
    kedge_map_node *top;
    if (height(left->left) >= height(inner)) {
        kedge_map_node *lower = make(allocator, retain(inner), item, right);
        top = lower == NULL ? NULL : make(allocator, retain(left->left), left->item, lower);
    } else {
        kedge_map_node *lower = make(allocator, retain(inner->right), item, right);
        kedge_map_node *outer =
            lower == NULL ? NULL
                          : make(allocator, retain(left->left), left->item, retain(inner->left));
        if (outer == NULL) release(allocator, lower);
        top = outer == NULL ? NULL : make(allocator, outer, inner->item, lower);
    }
    release(allocator, left);
    return top;
}

static kedge_map_node *lower_right(const kedge_allocator *allocator, kedge_map_node *left,
                                   kedge_item *item, kedge_map_node *right)
{
    kedge_map_node *inner = right->left;
    kedge_map_node *top;
    if (height(right->right) >= height(inner)) {
        kedge_map_node *lower = make(allocator, left, item, retain(inner));
        top = lower == NULL ? NULL : make(allocator, lower, right->item, retain(right->right));
    } else {
        kedge_map_node *lower = make(allocator, left, item, retain(inner->left));
        kedge_map_node *outer = lower == NULL ? NULL
                                              : make(allocator, retain(inner->right), right->item,
                                                     retain(right->right));
        if (outer == NULL) release(allocator, lower);
        top = outer == NULL ? NULL : make(allocator, lower, inner->item, outer);
    }
    release(allocator, right);
    return top;
}

/* A balanced tree of two whose heights differ by at most 2. Takes their references. */
static kedge_map_node *balance(const kedge_allocator *allocator, kedge_map_node *left,
                               kedge_item *item, kedge_map_node *right)
{
    if (height(left) > height(right) + 1) return lower_left(allocator, left, item, right);
    if (height(right) > height(left) + 1) return lower_right(allocator, left, item, right);
    return make(allocator, left, item, right);
}

/* ---- changes ---- */

static kedge_map_node *put(const kedge_allocator *allocator, const kedge_map_node *node,
                           kedge_item *item)
{
    if (node == NULL) return make(allocator, NULL, item, NULL);
    int order = kedge_bytes_compare(item->entry.id, node->item->entry.id);
    if (order == 0) return make(allocator, retain(node->left), item, retain(node->right));
    kedge_map_node *child = put(allocator, order < 0 ? node->left : node->right, item);
    if (child == NULL) return NULL;
    return order < 0 ? balance(allocator, child, node->item, retain(node->right))
                     : balance(allocator, retain(node->left), node->item, child);
}

/* `*fine` turns false when memory ran out: NULL is also the empty tree. */
static kedge_map_node *take_first(const kedge_allocator *allocator, const kedge_map_node *node,
                                  kedge_item **first, bool *fine)
{
    if (node->left == NULL) {
        *first = node->item;
        return retain(node->right);
    }
    kedge_map_node *left = take_first(allocator, node->left, first, fine);
    if (!*fine) return NULL;
    kedge_map_node *top = balance(allocator, left, node->item, retain(node->right));
    *fine = top != NULL;
    return top;
}

static kedge_map_node *cut(const kedge_allocator *allocator, const kedge_map_node *node,
                           kedge_bytes id, bool *fine)
{
    int order = kedge_bytes_compare(id, node->item->entry.id);
    if (order == 0 && node->left == NULL) return retain(node->right);
    if (order == 0 && node->right == NULL) return retain(node->left);
    kedge_item *item = node->item;
    kedge_map_node *left = NULL;
    kedge_map_node *right = NULL;
    if (order < 0) {
        left = cut(allocator, node->left, id, fine);
        right = retain(node->right);
    } else if (order > 0) {
        right = cut(allocator, node->right, id, fine);
        left = retain(node->left);
    } else {
        right = take_first(allocator, node->right, &item, fine);
        left = retain(node->left);
    }
    if (!*fine) {
        release(allocator, left);
        release(allocator, right);
        return NULL;
    }
    kedge_map_node *top = balance(allocator, left, item, right);
    *fine = top != NULL;
    return top;
}

bool kedge_map_put(const kedge_allocator *allocator, kedge_map *map, kedge_item *item)
{
    const kedge_item *old = kedge_map_find(map, item->entry.id);
    size_t old_bytes = old == NULL ? 0 : item_bytes(old);
    kedge_map_node *root = put(allocator, map->root, item);
    if (root == NULL) return false;
    map->count += old == NULL ? 1 : 0;
    map->bytes = map->bytes - old_bytes + item_bytes(item);
    release(allocator, map->root);
    map->root = root;
    return true;
}

bool kedge_map_remove(const kedge_allocator *allocator, kedge_map *map, kedge_bytes id)
{
    const kedge_item *old = kedge_map_find(map, id);
    if (old == NULL) return true;
    bool fine = true;
    size_t old_bytes = item_bytes(old);
    kedge_map_node *root = cut(allocator, map->root, id, &fine);
    if (!fine) return false;
    map->count--;
    map->bytes -= old_bytes;
    release(allocator, map->root);
    map->root = root;
    return true;
}

/* ---- building ---- */

static kedge_map_node *build(const kedge_allocator *allocator, kedge_item *const *items,
                             size_t count, bool *fine)
{
    if (count == 0) return NULL;
    size_t middle = count / 2;
    kedge_map_node *left = build(allocator, items, middle, fine);
    kedge_map_node *right =
        *fine ? build(allocator, items + middle + 1, count - middle - 1, fine) : NULL;
    if (!*fine) {
        release(allocator, left);
        release(allocator, right);
        return NULL;
    }
    kedge_map_node *node = make(allocator, left, items[middle], right);
    *fine = node != NULL;
    return node;
}

bool kedge_map_build(const kedge_allocator *allocator, kedge_item *const *items, size_t count,
                     kedge_map *map)
{
    bool fine = true;
    kedge_map_node *root = build(allocator, items, count, &fine);
    if (!fine) return false;
    *map = (kedge_map){.root = root, .count = count};
    for (size_t i = 0; i < count; i++)
        map->bytes += item_bytes(items[i]);
    return true;
}

/* ---- reading ---- */

kedge_map kedge_map_share(const kedge_map *map)
{
    retain(map->root);
    return *map;
}

void kedge_map_free(const kedge_allocator *allocator, kedge_map *map)
{
    release(allocator, map->root);
    *map = (kedge_map){0};
}

kedge_item *kedge_map_find(const kedge_map *map, kedge_bytes id)
{
    const kedge_map_node *node = map->root;
    while (node != NULL) {
        int order = kedge_bytes_compare(id, node->item->entry.id);
        if (order == 0) return node->item;
        node = order < 0 ? node->left : node->right;
    }
    return NULL;
}

kedge_item *kedge_map_next(const kedge_map *map, bool from_start, kedge_bytes after)
{
    const kedge_map_node *node = map->root;
    kedge_item *found = NULL;
    while (node != NULL) {
        if (from_start || kedge_bytes_compare(node->item->entry.id, after) > 0) {
            found = node->item;
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return found;
}

static bool visit_node(const kedge_map_node *node, kedge_map_visit visit, void *context)
{
    return node == NULL || (visit_node(node->left, visit, context) && visit(context, node->item) &&
                            visit_node(node->right, visit, context));
}

void kedge_map_visit_items(const kedge_map *map, kedge_map_visit visit, void *context)
{
    visit_node(map->root, visit, context);
}
