/* The rope: for each object that was opened, a B-tree whose leaves are runs of its members.
 *
 *   RUN     {"a":1,"b":2}      some members that follow each other, as an object of their own, so
 *                              that kedge_json_merge works on it
 *   LARGE   "c":…              one member that is larger than a run may be, as text
 *   OPEN    "c":{ TREE }       the same, of an object that a merge went into; the whole rope is one
 *                              without a key
 *   BRANCH  TREE, TREE, …      nodes of the same height, in the order of their keys
 *
 * A merge goes along the tree and the patch side by side, since both are sorted. Each node takes
 * the members of the patch that are below the first key of the node behind it, and becomes any
 * number of nodes of its height; above them branches are made again. Heights do not shrink evenly:
 * what deletions leave may be less than half full, but never more nodes than there were. */
#include "mutate/json_rope.h"

#include "common/assert.h"
#include "common/error.h"
#include "mutate/json_members.h"
#include "mutate/json_merge.h"

#include <string.h>

#define RUN_BYTES_MAX 4096 /* of a run that a merge leaves in one piece */
#define RUN_BYTES     2048 /* a run that is cut off ends behind so many */
#define FANOUT        32   /* of a branch */

typedef enum node_kind { RUN, LARGE, OPEN, BRANCH } node_kind;

struct kedge_json_rope {
    uint32_t references;
    node_kind kind;
    size_t size;       /* of the text in the object that it is part of */
    kedge_bytes first; /* key, in quotes; of OPEN without a key: empty */
    kedge_bytes text;  /* RUN, LARGE; of OPEN the key and its colon. Behind the node */
    size_t count;      /* of children: OPEN has one, or none when the object is empty */
    kedge_json_rope *children[];
};

static const kedge_bytes none = {NULL, 0};

/* ---- nodes; NULL: no memory ---- */

static kedge_json_rope *new_node(const kedge_allocator *allocator, node_kind kind, size_t children,
                                 kedge_bytes before, kedge_bytes text, kedge_bytes behind)
{
    size_t size = before.size + text.size + behind.size;
    kedge_json_rope *node = allocator->allocate(
        allocator->context, sizeof *node + children * sizeof(kedge_json_rope *) + size);
    if (node == NULL) return NULL;
    char *copy = (char *)(node->children + children);
    *node = (kedge_json_rope){.references = 1, .kind = kind, .text = {copy, size}};
    if (before.size > 0) memcpy(copy, before.data, before.size);
    if (text.size > 0) memcpy(copy + before.size, text.data, text.size);
    if (behind.size > 0) memcpy(copy + before.size + text.size, behind.data, behind.size);
    return node;
}

/* `members` are those of a canonical object, without its brackets. */
static kedge_json_rope *new_run(const kedge_allocator *allocator, kedge_bytes members)
{
    kedge_json_rope *node =
        new_node(allocator, RUN, 0, KEDGE_BYTES("{"), members, KEDGE_BYTES("}"));
    if (node == NULL) return NULL;
    node->size = members.size;
    node->first = kedge_json_members_start(node->text).key;
    return node;
}

static kedge_json_rope *new_large(const kedge_allocator *allocator, kedge_bytes member,
                                  size_t key_size)
{
    kedge_json_rope *node = new_node(allocator, LARGE, 0, none, member, none);
    if (node == NULL) return NULL;
    node->size = member.size;
    node->first = (kedge_bytes){node->text.data, key_size};
    return node;
}

/* Takes `tree` over, which may be NULL: of an empty object. */
static kedge_json_rope *new_open(const kedge_allocator *allocator, kedge_bytes key,
                                 kedge_json_rope *tree)
{
    kedge_json_rope *node =
        new_node(allocator, OPEN, 1, key, key.size > 0 ? KEDGE_BYTES(":") : none, none);
    if (node == NULL) {
        kedge_json_rope_release(allocator, tree);
        return NULL;
    }
    node->first = (kedge_bytes){node->text.data, key.size};
    node->size = node->text.size + 2;
    if (tree != NULL) {
        node->children[node->count++] = tree;
        node->size += tree->size;
    }
    return node;
}

/* Shares the children. */
static kedge_json_rope *new_branch(const kedge_allocator *allocator,
                                   kedge_json_rope *const *children, size_t count)
{
    KEDGE_ASSERT(count >= 1 && count <= FANOUT);
    kedge_json_rope *node = new_node(allocator, BRANCH, count, none, none, none);
    if (node == NULL) return NULL;
    node->count = count;
    node->first = children[0]->first;
    node->size = count - 1; /* commas */
    for (size_t i = 0; i < count; i++) {
        node->children[i] = kedge_json_rope_share(children[i]);
        node->size += children[i]->size;
    }
    return node;
}

kedge_json_rope *kedge_json_rope_share(kedge_json_rope *rope)
{
    rope->references++;
    return rope;
}

/* Recurses as deep as objects are nested, times the height of a tree: at most
 * KEDGE_LIMIT_JSON_DEPTH times some five. */
void kedge_json_rope_release(const kedge_allocator *allocator, kedge_json_rope *rope)
{
    if (rope == NULL || --rope->references > 0) return;
    for (size_t i = 0; i < rope->count; i++)
        kedge_json_rope_release(allocator, rope->children[i]);
    kedge_release(allocator, rope);
}

/* ---- lists of nodes of one height ---- */

typedef struct node_list {
    const kedge_allocator *allocator;
    kedge_json_rope **nodes;
    size_t count;
    size_t capacity;
    bool no_memory; /* the list is not whole: a node or the list itself found none */
} node_list;

static void list_free(node_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        kedge_json_rope_release(list->allocator, list->nodes[i]);
    kedge_release(list->allocator, list->nodes);
    list->nodes = NULL;
    list->count = list->capacity = 0;
}

/* Takes the node over; NULL: there was no memory for it. */
static void list_add(node_list *list, kedge_json_rope *node)
{
    if (node != NULL && list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? FANOUT + 1 : 2 * list->capacity;
        kedge_json_rope **nodes = list->allocator->reallocate(list->allocator->context, list->nodes,
                                                              capacity * sizeof(kedge_json_rope *));
        if (nodes != NULL) {
            list->nodes = nodes;
            list->capacity = capacity;
        }
    }
    if (node == NULL || list->count == list->capacity) {
        list->no_memory = true;
        kedge_json_rope_release(list->allocator, node);
        return;
    }
    list->nodes[list->count++] = node;
}

/* Adds the members of a canonical object, in runs. */
static void list_add_members(node_list *list, kedge_bytes object)
{
    const char *start = NULL, *end = NULL; /* of the run */
    kedge_json_members members = kedge_json_members_start(object);
    for (; members.more; kedge_json_members_advance(&members)) {
        const char *at = members.key.data;
        const char *behind = members.value.data + members.value.size;
        bool large = (size_t)(behind - at) > RUN_BYTES_MAX;
        if (start != NULL && (large || (size_t)(end - start) >= RUN_BYTES)) {
            list_add(list, new_run(list->allocator, (kedge_bytes){start, (size_t)(end - start)}));
            start = NULL;
        }
        if (large) {
            list_add(list, new_large(list->allocator, (kedge_bytes){at, (size_t)(behind - at)},
                                     members.key.size));
        } else {
            if (start == NULL) start = at;
            end = behind;
        }
    }
    if (start != NULL)
        list_add(list, new_run(list->allocator, (kedge_bytes){start, (size_t)(end - start)}));
}

/* Adds branches over the nodes of `level`, which is freed: as few as can be, of about one size. */
static void list_add_branches(node_list *list, node_list *level)
{
    size_t branches = (level->count + FANOUT - 1) / FANOUT;
    list->no_memory = list->no_memory || level->no_memory;
    for (size_t i = 0; i < branches; i++) {
        size_t from = level->count * i / branches;
        size_t to = level->count * (i + 1) / branches;
        list_add(list, new_branch(list->allocator, level->nodes + from, to - from));
    }
    list_free(level);
}

/* Makes one tree of the nodes and frees the list. NULL when it is empty; or not whole, which
 * no_memory then tells still. */
static kedge_json_rope *list_join(node_list *list)
{
    while (list->count > 1 && !list->no_memory) {
        node_list above = {.allocator = list->allocator};
        list_add_branches(&above, list);
        *list = above;
    }
    if (list->count == 0 || list->no_memory) {
        list_free(list);
        return NULL;
    }
    kedge_json_rope *tree = kedge_json_rope_share(list->nodes[0]);
    list_free(list);
    while (tree->kind == BRANCH && tree->count == 1) {
        kedge_json_rope *only = kedge_json_rope_share(tree->children[0]);
        kedge_json_rope_release(list->allocator, tree);
        tree = only;
    }
    return tree;
}

/* ---- making ---- */

static kedge_json_rope *open_object(const kedge_allocator *allocator, kedge_bytes key,
                                    kedge_bytes object)
{
    node_list list = {.allocator = allocator};
    list_add_members(&list, object);
    kedge_json_rope *tree = list_join(&list);
    return list.no_memory ? NULL : new_open(allocator, key, tree);
}

kedge_status kedge_json_rope_make(const kedge_allocator *allocator, kedge_bytes object,
                                  kedge_json_rope **rope, kedge_error *error)
{
    KEDGE_ASSERT(kedge_json_type_of(object) == KEDGE_JSON_OBJECT);
    *rope = open_object(allocator, none, object);
    return *rope == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}

/* ---- text ---- */

size_t kedge_json_rope_size(const kedge_json_rope *rope)
{
    return rope->size;
}

static char *write_bytes(char *at, kedge_bytes bytes)
{
    memcpy(at, bytes.data, bytes.size);
    return at + bytes.size;
}

static char *write_node(const kedge_json_rope *node, char *at)
{
    if (node->kind == RUN) return write_bytes(at, (kedge_bytes){node->text.data + 1, node->size});
    if (node->text.size > 0) at = write_bytes(at, node->text);
    if (node->kind == OPEN) *at++ = '{';
    for (size_t i = 0; i < node->count; i++) {
        if (i > 0) *at++ = ',';
        at = write_node(node->children[i], at);
    }
    if (node->kind == OPEN) *at++ = '}';
    return at;
}

void kedge_json_rope_write(const kedge_json_rope *rope, char *out)
{
    const char *end = write_node(rope, out);
    KEDGE_ASSERT((size_t)(end - out) == rope->size);
    (void)end;
}

/* ---- merging ---- */

typedef struct merging {
    const kedge_allocator *allocator;
    kedge_json_members patch; /* what is not merged yet */
    kedge_buffer part;        /* members of the patch, as an object */
    kedge_buffer text;        /* what they make */
} merging;

static kedge_json_rope *merge_object(const kedge_allocator *allocator, const kedge_json_rope *open,
                                     kedge_bytes patch);

static bool is_next_below(const merging *work, kedge_bytes limit)
{
    return work->patch.more &&
           (limit.size == 0 || kedge_json_key_compare(work->patch.key, limit) < 0);
}

/* The members of the patch below the limit, or all when it is empty, as an object. */
static kedge_bytes take_below(merging *work, kedge_bytes limit)
{
    const char *start = work->patch.key.data, *end = start;
    kedge_buffer_clear(&work->part);
    kedge_buffer_append_byte(&work->part, '{');
    for (; is_next_below(work, limit); kedge_json_members_advance(&work->patch))
        end = work->patch.value.data + work->patch.value.size;
    kedge_buffer_append(&work->part, start, (size_t)(end - start));
    kedge_buffer_append_byte(&work->part, '}');
    return kedge_buffer_bytes(&work->part);
}

/* Adds what `part` makes of `target`, the text of an object or nothing. */
static void add_merged(merging *work, kedge_bytes target, kedge_bytes part, node_list *out)
{
    kedge_buffer_clear(&work->text);
    if (kedge_buffer_status(&work->part, NULL) == KEDGE_OK)
        kedge_json_merge(target, part, &work->text);
    if (kedge_buffer_status(&work->part, NULL) != KEDGE_OK ||
        kedge_buffer_status(&work->text, NULL) != KEDGE_OK) {
        out->no_memory = true;
        return;
    }
    kedge_bytes text = kedge_buffer_bytes(&work->text);
    kedge_bytes members = {text.data + 1, text.size - 2};
    if (members.size == 0) return;
    if (members.size <= RUN_BYTES_MAX)
        list_add(out, new_run(work->allocator, members));
    else
        list_add_members(out, text);
}

static kedge_bytes value_of(const kedge_json_rope *large)
{
    size_t before = large->first.size + 1;
    return (kedge_bytes){large->text.data + before, large->text.size - before};
}

static bool is_object(const kedge_json_rope *member)
{
    return member->kind == OPEN || kedge_json_type_of(value_of(member)) == KEDGE_JSON_OBJECT;
}

/* The patch has the member itself next. */
static void merge_member(merging *work, kedge_json_rope *member, node_list *out)
{
    kedge_bytes value = work->patch.value;
    if (kedge_json_type_of(value) != KEDGE_JSON_OBJECT || !is_object(member)) {
        kedge_buffer_clear(&work->part);
        kedge_buffer_append_byte(&work->part, '{');
        kedge_buffer_append_bytes(&work->part, work->patch.key);
        kedge_buffer_append_byte(&work->part, ':');
        kedge_buffer_append_bytes(&work->part, value);
        kedge_buffer_append_byte(&work->part, '}');
        add_merged(work, none, kedge_buffer_bytes(&work->part), out);
    } else if (member->kind == OPEN) {
        list_add(out, merge_object(work->allocator, member, value));
    } else {
        kedge_json_rope *open = open_object(work->allocator, member->first, value_of(member));
        list_add(out, open == NULL ? NULL : merge_object(work->allocator, open, value));
        kedge_json_rope_release(work->allocator, open);
    }
    kedge_json_members_advance(&work->patch);
}

/* Adds what the members of the patch below the limit make of the node. */
static void merge_node(merging *work, kedge_json_rope *node, kedge_bytes limit, node_list *out)
{
    if (!is_next_below(work, limit)) {
        list_add(out, kedge_json_rope_share(node));
        return;
    }
    if (node->kind == RUN) {
        add_merged(work, node->text, take_below(work, limit), out);
        return;
    }
    if (node->kind == BRANCH) {
        node_list below = {.allocator = work->allocator};
        for (size_t i = 0; i < node->count; i++)
            merge_node(work, node->children[i],
                       i + 1 < node->count ? node->children[i + 1]->first : limit, &below);
        list_add_branches(out, &below);
        return;
    }
    if (is_next_below(work, node->first))
        add_merged(work, none, take_below(work, node->first), out);
    if (work->patch.more && kedge_bytes_equal(work->patch.key, node->first))
        merge_member(work, node, out);
    else
        list_add(out, kedge_json_rope_share(node));
    if (is_next_below(work, limit)) add_merged(work, none, take_below(work, limit), out);
}

/* Another node OPEN of the same key. Recurses as deep as the patch is nested. */
static kedge_json_rope *merge_object(const kedge_allocator *allocator, const kedge_json_rope *open,
                                     kedge_bytes patch)
{
    merging work = {.allocator = allocator,
                    .patch = kedge_json_members_start(patch),
                    .part = kedge_buffer_make(allocator),
                    .text = kedge_buffer_make(allocator)};
    node_list merged = {.allocator = allocator};
    KEDGE_ASSERT(open->kind == OPEN);
    if (open->count == 1)
        merge_node(&work, open->children[0], none, &merged);
    else
        add_merged(&work, none, take_below(&work, none), &merged);
    kedge_buffer_free(&work.text);
    kedge_buffer_free(&work.part);
    kedge_json_rope *tree = list_join(&merged);
    return merged.no_memory ? NULL : new_open(allocator, open->first, tree);
}

kedge_status kedge_json_rope_merge(const kedge_allocator *allocator, const kedge_json_rope *rope,
                                   kedge_bytes patch, kedge_json_rope **merged, kedge_error *error)
{
    KEDGE_ASSERT(kedge_json_type_of(patch) == KEDGE_JSON_OBJECT);
    *merged = merge_object(allocator, rope, patch);
    return *merged == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}

/* ---- picking ---- */

/* The leaf that has the key, if any leaf has. */
static const kedge_json_rope *find_leaf(const kedge_json_rope *tree, kedge_bytes key)
{
    while (tree->kind == BRANCH) {
        size_t low = 0, high = tree->count; /* first of `low` is not behind the key, or low is 0 */
        while (high - low > 1) {
            size_t middle = low + (high - low) / 2;
            if (kedge_json_key_compare(tree->children[middle]->first, key) <= 0)
                low = middle;
            else
                high = middle;
        }
        tree = tree->children[low];
    }
    return tree;
}

/* False when there is no such member. `*open` when it is an open object; otherwise its text. */
static bool find_member(const kedge_json_rope *rope, kedge_bytes key, const kedge_json_rope **open,
                        kedge_bytes *value)
{
    *open = NULL;
    if (rope->count == 0) return false;
    const kedge_json_rope *leaf = find_leaf(rope->children[0], key);
    if (leaf->kind == RUN) {
        kedge_json_members members = kedge_json_members_start(leaf->text);
        while (members.more && !kedge_bytes_equal(members.key, key))
            kedge_json_members_advance(&members);
        *value = members.value;
        return members.more;
    }
    if (leaf->kind == OPEN)
        *open = leaf;
    else
        *value = value_of(leaf);
    return kedge_bytes_equal(leaf->first, key);
}

/* Recurses as deep as the shape is nested. */
void kedge_json_rope_pick(const kedge_json_rope *rope, kedge_bytes shape, kedge_buffer *out)
{
    bool comma = false;
    kedge_json_members names = kedge_json_members_start(shape);
    kedge_buffer_append_byte(out, '{');
    for (; names.more; kedge_json_members_advance(&names)) {
        const kedge_json_rope *open;
        kedge_bytes value;
        bool object = kedge_json_type_of(names.value) == KEDGE_JSON_OBJECT;
        if (!find_member(rope, names.key, &open, &value)) continue;
        if (comma) kedge_buffer_append_byte(out, ',');
        comma = true;
        kedge_buffer_append_bytes(out, names.key);
        kedge_buffer_append_byte(out, ':');
        kedge_json_type type = open != NULL ? KEDGE_JSON_OBJECT : kedge_json_type_of(value);
        if (object && open != NULL)
            kedge_json_rope_pick(open, names.value, out);
        else if (type == KEDGE_JSON_NUMBER || (object && type == KEDGE_JSON_OBJECT))
            kedge_buffer_append_bytes(out, value);
        else
            kedge_buffer_append_text(out, "null");
    }
    kedge_buffer_append_byte(out, '}');
}
