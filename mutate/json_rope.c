/* Making ropes, and their text. */
#include "mutate/json_rope.h"

#include "common/assert.h"
#include "common/error.h"
#include "mutate/json_rope_nodes.h"

#include <string.h>

#define RUN_BYTES 1024 /* a run that is cut off ends after so many */
#define FANOUT    32   /* of a branch */

static const kedge_bytes none = {NULL, 0};

/* ---- nodes ---- */

static kedge_json_rope *new_node(const kedge_allocator *allocator, kedge_json_rope_kind kind,
                                 size_t children, size_t text_size)
{
    kedge_json_rope *node = allocator->allocate(
        allocator->context, sizeof *node + children * sizeof(kedge_json_rope *) + text_size);
    if (node == NULL) return NULL;
    char *text = (char *)(node->children + children);
    *node = (kedge_json_rope){.references = 1, .kind = kind, .text = {text, text_size}};
    return node;
}

kedge_json_rope *kedge_json_new_run(const kedge_allocator *allocator, const char *brackets,
                                    kedge_bytes members, size_t count)
{
    kedge_json_rope *node = new_node(allocator, KEDGE_ROPE_RUN, 0, members.size + 2);
    if (node == NULL) return NULL;
    char *text = (char *)node->children;
    text[0] = brackets[0];
    memcpy(text + 1, members.data, members.size);
    text[members.size + 1] = brackets[1];
    node->size = members.size;
    node->members = count;
    node->first = kedge_json_members_start(node->text).key;
    return node;
}

/* There is room for the tree of an OPEN. */
kedge_json_rope *kedge_json_new_value(const kedge_allocator *allocator, kedge_bytes text)
{
    kedge_json_rope *node = new_node(allocator, KEDGE_ROPE_VALUE, 1, 0);
    if (node == NULL) return NULL;
    node->size = text.size;
    node->text = (kedge_bytes){kedge_copy_text(allocator, text), text.size};
    if (node->text.data != NULL) return node;
    kedge_release(allocator, node);
    return NULL;
}

/* Takes `tree` over, which may be NULL: of an empty container. */
static kedge_json_rope *new_open(const kedge_allocator *allocator, const char *brackets,
                                 kedge_json_rope *tree)
{
    kedge_json_rope *node = new_node(allocator, KEDGE_ROPE_OPEN, 1, 0);
    if (node == NULL) {
        kedge_json_rope_release(allocator, tree);
        return NULL;
    }
    node->text = (kedge_bytes){brackets, 2};
    node->size = 2;
    if (tree != NULL) {
        node->children[node->count++] = tree;
        node->size += tree->size;
        node->members = tree->members;
    }
    return node;
}

kedge_json_rope *kedge_json_new_member(const kedge_allocator *allocator, kedge_bytes key,
                                       kedge_json_rope *value)
{
    kedge_json_rope *node = value == NULL ? NULL
                                          : new_node(allocator, KEDGE_ROPE_MEMBER, 1,
                                                     key.size + (key.size > 0 ? 1 : 0));
    if (node == NULL) {
        kedge_json_rope_release(allocator, value);
        return NULL;
    }
    char *text = (char *)(node->children + 1);
    if (key.size > 0) {
        memcpy(text, key.data, key.size);
        text[key.size] = ':';
    }
    node->first = (kedge_bytes){text, key.size};
    node->size = node->text.size + value->size;
    node->members = node->count = 1;
    node->children[0] = value;
    return node;
}

/* Shares the children. */
static kedge_json_rope *new_branch(const kedge_allocator *allocator,
                                   kedge_json_rope *const *children, size_t count)
{
    KEDGE_ASSERT(count >= 1 && count <= FANOUT);
    kedge_json_rope *node = new_node(allocator, KEDGE_ROPE_BRANCH, count, 0);
    if (node == NULL) return NULL;
    node->count = count;
    node->first = children[0]->first;
    node->size = count - 1; /* commas */
    for (size_t i = 0; i < count; i++) {
        node->children[i] = kedge_json_rope_share(children[i]);
        node->size += children[i]->size;
        node->members += children[i]->members;
    }
    return node;
}

kedge_json_rope *kedge_json_rope_share(kedge_json_rope *rope)
{
    rope->references++;
    return rope;
}

/* Recurses as deep as containers are opened, times the height of a tree: at most twice
 * KEDGE_LIMIT_JSON_DEPTH (json_rope_place.c) times some five. */
void kedge_json_rope_release(const kedge_allocator *allocator, kedge_json_rope *rope)
{
    if (rope == NULL || --rope->references > 0) return;
    for (size_t i = 0; i < rope->count; i++)
        kedge_json_rope_release(allocator, rope->children[i]);
    if (rope->kind == KEDGE_ROPE_VALUE)
        kedge_release(allocator, (void *)(uintptr_t)rope->text.data);
    kedge_release(allocator, rope);
}

/* ---- lists ---- */

static void free_list(kedge_json_nodes *list)
{
    for (size_t i = 0; i < list->count; i++)
        kedge_json_rope_release(list->allocator, list->nodes[i]);
    kedge_release(list->allocator, list->nodes);
    list->nodes = NULL;
    list->count = list->capacity = 0;
}

void kedge_json_nodes_add(kedge_json_nodes *list, kedge_json_rope *node)
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

void kedge_json_nodes_add_text(kedge_json_nodes *list, kedge_bytes container)
{
    const kedge_allocator *allocator = list->allocator;
    const char *brackets = kedge_json_brackets(container);
    kedge_bytes run = none;
    size_t count = 0;
    kedge_json_members members = kedge_json_members_start(container);
    for (; members.more; kedge_json_members_advance(&members)) {
        kedge_bytes key = members.key, value = members.value;
        size_t size = (size_t)(value.data - key.data) + value.size;
        bool large = size > KEDGE_JSON_RUN_BYTES_MAX;
        if (count > 0 && (large || run.size >= RUN_BYTES)) {
            kedge_json_nodes_add(list, kedge_json_new_run(allocator, brackets, run, count));
            count = 0;
        }
        if (large) {
            kedge_json_nodes_add(list, kedge_json_new_member(
                                           allocator, key, kedge_json_new_value(allocator, value)));
            continue;
        }
        if (count++ == 0) run.data = key.data;
        run.size = (size_t)(key.data - run.data) + size;
    }
    if (count > 0) kedge_json_nodes_add(list, kedge_json_new_run(allocator, brackets, run, count));
}

void kedge_json_nodes_add_piece(kedge_json_nodes *list, kedge_bytes container, size_t count)
{
    kedge_bytes members = {container.data + 1, container.size - 2};
    if (members.size > KEDGE_JSON_RUN_BYTES_MAX)
        kedge_json_nodes_add_text(list, container);
    else if (count > 0)
        kedge_json_nodes_add(
            list,
            kedge_json_new_run(list->allocator, kedge_json_brackets(container), members, count));
}

void kedge_json_nodes_add_above(kedge_json_nodes *list, kedge_json_nodes *level)
{
    size_t branches = (level->count + FANOUT - 1) / FANOUT;
    list->no_memory = list->no_memory || level->no_memory;
    for (size_t i = 0; i < branches; i++) {
        size_t from = level->count * i / branches;
        size_t to = level->count * (i + 1) / branches;
        kedge_json_nodes_add(list, new_branch(list->allocator, level->nodes + from, to - from));
    }
    free_list(level);
}

kedge_json_rope *kedge_json_nodes_join(kedge_json_nodes *list, const char *brackets)
{
    kedge_json_rope *tree = NULL;
    while (list->count > 1 && !list->no_memory) {
        kedge_json_nodes above = {.allocator = list->allocator};
        kedge_json_nodes_add_above(&above, list);
        *list = above;
    }
    if (list->count > 0 && !list->no_memory) tree = kedge_json_rope_share(list->nodes[0]);
    free_list(list);
    while (tree != NULL && tree->kind == KEDGE_ROPE_BRANCH && tree->count == 1) {
        kedge_json_rope *only = kedge_json_rope_share(tree->children[0]);
        kedge_json_rope_release(list->allocator, tree);
        tree = only;
    }
    return list->no_memory ? NULL : new_open(list->allocator, brackets, tree);
}

/* ---- making ---- */

kedge_status kedge_json_rope_make(const kedge_allocator *allocator, kedge_bytes value,
                                  kedge_json_rope **rope, kedge_error *error)
{
    *rope = kedge_json_new_value(allocator, value);
    return *rope == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}

kedge_status kedge_json_rope_open(const kedge_allocator *allocator, kedge_json_rope *rope,
                                  kedge_error *error)
{
    if (rope->kind == KEDGE_ROPE_OPEN || kedge_json_rope_type(rope) < KEDGE_JSON_ARRAY)
        return KEDGE_OK;
    kedge_bytes text = rope->text;
    kedge_json_nodes list = {.allocator = allocator};
    kedge_json_nodes_add_text(&list, text);
    kedge_json_rope *open = kedge_json_nodes_join(&list, kedge_json_brackets(text));
    if (open == NULL) return kedge_fail_no_memory(error);
    KEDGE_ASSERT(open->size == text.size);
    rope->kind = KEDGE_ROPE_OPEN;
    rope->text = open->text;
    rope->members = open->members;
    rope->count = open->count;
    if (open->count > 0) rope->children[0] = open->children[0];
    open->count = 0;
    kedge_json_rope_release(allocator, open);
    kedge_release(allocator, (void *)(uintptr_t)text.data);
    return KEDGE_OK;
}

/* ---- text ---- */

kedge_json_type kedge_json_rope_type(const kedge_json_rope *rope)
{
    return kedge_json_type_of(rope->text);
}

uint64_t kedge_json_rope_size(const kedge_json_rope *rope)
{
    return rope->size;
}

bool kedge_json_rope_visit(const kedge_json_rope *node, kedge_json_rope_visitor *visit,
                           void *context)
{
    kedge_bytes text = node->text;
    if (node->kind == KEDGE_ROPE_RUN)
        return visit((kedge_bytes){text.data + 1, text.size - 2}, context);
    if (node->kind == KEDGE_ROPE_OPEN) text.size = 1;
    bool well = text.size == 0 || visit(text, context);
    for (size_t i = 0; i < node->count && well; i++)
        well = (i == 0 || visit(KEDGE_BYTES(","), context)) &&
               kedge_json_rope_visit(node->children[i], visit, context);
    if (node->kind != KEDGE_ROPE_OPEN) return well;
    return well && visit((kedge_bytes){node->text.data + 1, 1}, context);
}

static bool write_bytes(kedge_bytes bytes, void *context)
{
    char **at = context;
    memcpy(*at, bytes.data, bytes.size);
    *at += bytes.size;
    return true;
}

void kedge_json_rope_write(const kedge_json_rope *rope, char *out)
{
    char *at = out;
    (void)kedge_json_rope_visit(rope, write_bytes, &at);
    KEDGE_ASSERT((uint64_t)(at - out) == rope->size);
}

static bool append_bytes(kedge_bytes bytes, void *context)
{
    kedge_buffer_append_bytes(context, bytes);
    return true;
}

void kedge_json_rope_append(const kedge_json_rope *rope, kedge_buffer *out)
{
    if (kedge_buffer_reserve(out, (size_t)rope->size) != NULL)
        (void)kedge_json_rope_visit(rope, append_bytes, out);
}

/* ---- depth ---- */

static uint32_t depth_of_text(kedge_bytes text)
{
    uint32_t depth = 0, most = 0;
    for (const char *end = text.data + text.size; text.size > 0;
         text.size = (size_t)(end - text.data)) {
        kedge_bytes string = {text.data, 1};
        if (*text.data == '"') (void)kedge_json_skip(text, &string, NULL);
        if (*text.data == '{' || *text.data == '[') depth++;
        if (*text.data == '}' || *text.data == ']') depth--;
        if (depth > most) most = depth;
        text.data = string.data + string.size;
    }
    return most;
}

unsigned kedge_json_rope_depth(kedge_json_rope *node)
{
    uint32_t most = 0;
    if (node->depth > 0) return node->depth - 1;
    if (node->kind == KEDGE_ROPE_VALUE || node->kind == KEDGE_ROPE_RUN)
        most = depth_of_text(node->text) - (node->kind == KEDGE_ROPE_RUN ? 1 : 0);
    for (size_t i = 0; i < node->count; i++) {
        uint32_t depth = kedge_json_rope_depth(node->children[i]);
        if (depth > most) most = depth;
    }
    if (node->kind == KEDGE_ROPE_OPEN) most++;
    node->depth = most + 1;
    return most;
}
