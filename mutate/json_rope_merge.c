/* Merge patches on ropes. A merge goes along the tree and the patch side by side, since both are
 * sorted. Each node takes the members of the patch that are below the first key of the node after
 * it, and becomes any number of nodes of its height; above them branches are made again. Nodes that
 * deletions have made small are not joined with the ones beside them. */
#include "mutate/json_rope.h"

#include "common/assert.h"
#include "common/error.h"
#include "mutate/json_merge.h"
#include "mutate/json_rope_nodes.h"

static const kedge_bytes none = {NULL, 0};

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
static void add_merged(merging *work, kedge_bytes target, kedge_bytes part, kedge_json_nodes *out)
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
    kedge_json_nodes_add_piece(out, text, kedge_json_members_count(text));
}

/* The patch has the member itself next. */
static void merge_member(merging *work, const kedge_json_rope *member, kedge_json_nodes *out)
{
    kedge_bytes value = work->patch.value;
    kedge_json_rope *old = member->children[0];
    if (kedge_json_type_of(value) == KEDGE_JSON_OBJECT &&
        kedge_json_rope_type(old) == KEDGE_JSON_OBJECT) {
        kedge_json_rope *merged = NULL;
        if (kedge_json_rope_open(work->allocator, old, NULL) == KEDGE_OK)
            merged = merge_object(work->allocator, old, value);
        kedge_json_nodes_add(out, kedge_json_new_member(work->allocator, member->first, merged));
    } else {
        kedge_buffer_clear(&work->part);
        kedge_buffer_append_byte(&work->part, '{');
        kedge_buffer_append_bytes(&work->part, work->patch.key);
        kedge_buffer_append_byte(&work->part, ':');
        kedge_buffer_append_bytes(&work->part, value);
        kedge_buffer_append_byte(&work->part, '}');
        add_merged(work, none, kedge_buffer_bytes(&work->part), out);
    }
    kedge_json_members_advance(&work->patch);
}

/* Adds what the members of the patch below the limit make of the node. */
static void merge_node(merging *work, kedge_json_rope *node, kedge_bytes limit,
                       kedge_json_nodes *out)
{
    if (!is_next_below(work, limit)) {
        kedge_json_nodes_add(out, kedge_json_rope_share(node));
        return;
    }
    if (node->kind == KEDGE_ROPE_RUN) {
        add_merged(work, node->text, take_below(work, limit), out);
        return;
    }
    if (node->kind == KEDGE_ROPE_BRANCH) {
        kedge_json_nodes below = {.allocator = work->allocator};
        for (size_t i = 0; i < node->count; i++)
            merge_node(work, node->children[i],
                       i + 1 < node->count ? node->children[i + 1]->first : limit, &below);
        kedge_json_nodes_add_above(out, &below);
        return;
    }
    if (is_next_below(work, node->first))
        add_merged(work, none, take_below(work, node->first), out);
    if (work->patch.more && kedge_bytes_equal(work->patch.key, node->first))
        merge_member(work, node, out);
    else
        kedge_json_nodes_add(out, kedge_json_rope_share(node));
    if (is_next_below(work, limit)) add_merged(work, none, take_below(work, limit), out);
}

/* Recurses as deep as the patch is nested. NULL: no memory. */
static kedge_json_rope *merge_object(const kedge_allocator *allocator, const kedge_json_rope *rope,
                                     kedge_bytes patch)
{
    merging work = {.allocator = allocator,
                    .patch = kedge_json_members_start(patch),
                    .part = kedge_buffer_make(allocator),
                    .text = kedge_buffer_make(allocator)};
    kedge_json_nodes merged = {.allocator = allocator};
    bool object = kedge_json_rope_type(rope) == KEDGE_JSON_OBJECT;
    KEDGE_ASSERT(!object || rope->kind == KEDGE_ROPE_OPEN);
    if (object && rope->count == 1)
        merge_node(&work, rope->children[0], none, &merged);
    else
        add_merged(&work, none, take_below(&work, none), &merged);
    kedge_buffer_free(&work.text);
    kedge_buffer_free(&work.part);
    return kedge_json_nodes_join(&merged, "{}");
}

kedge_status kedge_json_rope_merge(const kedge_allocator *allocator, const kedge_json_rope *rope,
                                   kedge_bytes patch, kedge_json_rope **merged, kedge_error *error)
{
    KEDGE_ASSERT(kedge_json_type_of(patch) == KEDGE_JSON_OBJECT);
    *merged = merge_object(allocator, rope, patch);
    return *merged == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}
