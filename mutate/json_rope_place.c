/* Finding places in ropes, and changing them. A change goes down one way; the nodes on it are made
 * again, and share all others.
 *
 * Values are shared, too, when a patch copies or moves them, so that this costs nothing, however
 * large they are. So that nothing here recurses without bound, a container that is nested deeper
 * than an item may be is not shared but copied as text: then at most KEDGE_LIMIT_JSON_DEPTH open
 * containers are below a pointer's longest way. */
#include "mutate/json_rope.h"

#include "common/assert.h"
#include "common/error.h"
#include "mutate/json_rope_nodes.h"

#include <kedge/limits.h>
#include <string.h>

static const kedge_bytes none = {NULL, 0};

/* ---- parts ---- */

kedge_json_type kedge_json_part_type(const kedge_json_part *part)
{
    return kedge_json_type_of(kedge_json_part_text(part));
}

kedge_bytes kedge_json_part_text(const kedge_json_part *part)
{
    return part->rope != NULL ? part->rope->text : part->text;
}

uint64_t kedge_json_part_size(const kedge_json_part *part)
{
    return part->rope != NULL ? part->rope->size : part->text.size;
}

static bool start_with(kedge_bytes piece, void *context)
{
    const char **at = context;
    bool same = memcmp(*at, piece.data, piece.size) == 0;
    *at += piece.size;
    return same;
}

bool kedge_json_part_equals(const kedge_json_part *part, kedge_bytes text)
{
    const char *at = text.data;
    if (kedge_json_part_size(part) != text.size) return false;
    return part->rope != NULL ? kedge_json_rope_visit(part->rope, start_with, &at)
                              : kedge_bytes_equal(part->text, text);
}

size_t kedge_json_part_count(const kedge_json_part *part)
{
    return part->rope != NULL ? part->rope->members : kedge_json_members_count(part->text);
}

/* ---- finding ---- */

static bool find_in_text(kedge_bytes container, kedge_bytes key, size_t *place,
                         kedge_json_part *child)
{
    size_t at = 0;
    kedge_json_members members = kedge_json_members_start(container);
    while (members.more &&
           (key.size == 0 ? at < *place : kedge_json_key_compare(members.key, key) < 0)) {
        kedge_json_members_advance(&members);
        at++;
    }
    *place = at;
    *child = (kedge_json_part){NULL, members.value};
    return members.more && (key.size == 0 || kedge_bytes_equal(members.key, key));
}

/* Moves down to the leaf that has the child, if any has; takes what is in front of it off the
 * place. */
static const kedge_json_rope *find_leaf(const kedge_json_rope *tree, kedge_bytes key, size_t *place)
{
    while (tree->kind == KEDGE_ROPE_BRANCH) {
        size_t i = 0;
        for (; i + 1 < tree->count; i++) {
            size_t members = tree->children[i]->members;
            if (key.size > 0 ? kedge_json_key_compare(tree->children[i + 1]->first, key) > 0
                             : *place < members)
                break;
            *place -= members;
        }
        tree = tree->children[i];
    }
    return tree;
}

bool kedge_json_part_find(const kedge_json_part *part, kedge_bytes key, size_t *place,
                          kedge_json_part *child)
{
    if (part->rope == NULL) return find_in_text(part->text, key, place, child);
    KEDGE_ASSERT(part->rope->kind == KEDGE_ROPE_OPEN);
    if (key.size > 0) *place = 0;
    if (part->rope->count == 0) return false;
    size_t inside = *place;
    const kedge_json_rope *leaf = find_leaf(part->rope->children[0], key, &inside);
    size_t before = *place - inside;
    bool found;
    if (leaf->kind == KEDGE_ROPE_RUN) {
        found = find_in_text(leaf->text, key, &inside, child);
    } else {
        int order =
            key.size == 0 ? (inside > 0 ? -1 : 0) : kedge_json_key_compare(leaf->first, key);
        *child = (kedge_json_part){leaf->children[0], none};
        found = order == 0;
        inside = order < 0;
    }
    *place = before + inside;
    return found;
}

/* Recurses as deep as the shape is nested. */
void kedge_json_rope_pick(kedge_json_rope *rope, kedge_bytes shape, kedge_buffer *out)
{
    bool comma = false;
    kedge_json_part object = {rope, none}, value;
    kedge_json_members names = kedge_json_members_start(shape);
    kedge_buffer_append_byte(out, '{');
    for (; names.more; kedge_json_members_advance(&names)) {
        size_t place;
        bool nested = kedge_json_type_of(names.value) == KEDGE_JSON_OBJECT;
        if (!kedge_json_part_find(&object, names.key, &place, &value)) continue;
        if (comma) kedge_buffer_append_byte(out, ',');
        comma = true;
        kedge_buffer_append_bytes(out, names.key);
        kedge_buffer_append_byte(out, ':');
        kedge_json_type type = kedge_json_part_type(&value);
        nested = nested && type == KEDGE_JSON_OBJECT;
        if (nested && value.rope != NULL && value.rope->kind == KEDGE_ROPE_OPEN)
            kedge_json_rope_pick(value.rope, names.value, out);
        else if (type == KEDGE_JSON_NUMBER || nested)
            kedge_buffer_append_bytes(out, kedge_json_part_text(&value));
        else
            kedge_buffer_append_text(out, "null");
    }
    kedge_buffer_append_byte(out, '}');
}

/* ---- changing ---- */

typedef struct changing {
    const kedge_allocator *allocator;
    const kedge_json_change *change;
    const char *brackets; /* of the container at the step */
    size_t step;
    kedge_buffer text;
} changing;

static kedge_json_rope *change_rope(changing *work, const kedge_json_rope *rope, size_t step);

static bool is_last(const changing *work)
{
    return work->step + 1 == work->change->steps;
}

static bool is_insertion(const changing *work)
{
    return is_last(work) && work->change->kind == KEDGE_JSON_INSERT;
}

/* The value is too large for a run. */
static bool is_large(const changing *work)
{
    return work->change->kind != KEDGE_JSON_REMOVE &&
           kedge_json_part_size(&work->change->value) > KEDGE_JSON_RUN_BYTES_MAX;
}

static void append_value(changing *work)
{
    const kedge_json_part *value = &work->change->value;
    if (value->rope != NULL)
        kedge_json_rope_append(value->rope, &work->text);
    else
        kedge_buffer_append_bytes(&work->text, value->text);
}

static void append_member(changing *work, kedge_bytes key)
{
    kedge_buffer_append_bytes(&work->text, key);
    if (key.size > 0) kedge_buffer_append_byte(&work->text, ':');
    append_value(work);
}

static void add_text(changing *work, size_t count, kedge_json_nodes *out)
{
    if (kedge_buffer_status(&work->text, NULL) == KEDGE_OK)
        kedge_json_nodes_add_piece(out, kedge_buffer_bytes(&work->text), count);
    else
        out->no_memory = true;
}

/* Adds a child with the change's value. */
static void add_child(changing *work, kedge_bytes key, kedge_json_nodes *out)
{
    const kedge_json_part *value = &work->change->value;
    kedge_json_rope *shared = NULL;
    kedge_buffer_clear(&work->text);
    if (!is_large(work)) {
        kedge_buffer_append_byte(&work->text, work->brackets[0]);
        append_member(work, key);
        kedge_buffer_append_byte(&work->text, work->brackets[1]);
        add_text(work, 1, out);
        return;
    }
    if (value->rope == NULL) {
        shared = kedge_json_new_value(work->allocator, value->text);
    } else if (value->rope->kind == KEDGE_ROPE_VALUE ||
               kedge_json_rope_depth(value->rope) <= KEDGE_LIMIT_JSON_DEPTH) {
        shared = kedge_json_rope_share(value->rope);
    } else {
        append_value(work);
        if (kedge_buffer_status(&work->text, NULL) == KEDGE_OK)
            shared = kedge_json_new_value(work->allocator, kedge_buffer_bytes(&work->text));
    }
    kedge_json_nodes_add(out, kedge_json_new_member(work->allocator, key, shared));
}

/* ---- in a run ---- */

/* Appends the text of the run with the change made in it, whose value is not large. */
static void write_changed(changing *work, kedge_bytes run, size_t place)
{
    const kedge_json_change *change = work->change;
    kedge_json_members members = kedge_json_members_start(run);
    const char *end = run.data + 1; /* of the child before */
    for (size_t step = work->step;; place = change->places[++step]) {
        for (size_t i = 0; i < place; i++) {
            end = members.value.data + members.value.size;
            kedge_json_members_advance(&members);
        }
        if (step + 1 == change->steps) break;
        end = members.value.data + 1;
        members = kedge_json_members_start(members.value);
    }
    const char *start = end;
    if (change->kind != KEDGE_JSON_INSERT) end = members.value.data + members.value.size;
    if (change->kind == KEDGE_JSON_SET) start = members.value.data;
    if (change->kind == KEDGE_JSON_REMOVE && place == 0 && *end == ',') end++;

    kedge_buffer_clear(&work->text);
    kedge_buffer_append(&work->text, run.data, (size_t)(start - run.data));
    if (change->kind == KEDGE_JSON_SET) append_value(work);
    if (change->kind == KEDGE_JSON_INSERT) {
        if (place > 0) kedge_buffer_append_byte(&work->text, ',');
        append_member(work, change->key);
        if (place == 0 && members.more) kedge_buffer_append_byte(&work->text, ',');
    }
    kedge_buffer_append(&work->text, end, run.size - (size_t)(end - run.data));
}

static kedge_json_rope *change_text(changing *work, kedge_bytes container, size_t step)
{
    kedge_json_rope *changed = NULL, *rope = kedge_json_new_value(work->allocator, container);
    if (rope != NULL && kedge_json_rope_open(work->allocator, rope, NULL) == KEDGE_OK)
        changed = change_rope(work, rope, step);
    kedge_json_rope_release(work->allocator, rope);
    return changed;
}

static void add_run(changing *work, const char *start, const char *end, size_t count,
                    kedge_json_nodes *out)
{
    kedge_bytes members = {start, (size_t)(end - start)};
    if (count > 0)
        kedge_json_nodes_add(out,
                             kedge_json_new_run(work->allocator, work->brackets, members, count));
}

/* Cuts a run at the place of a large value. */
static void change_in_two(changing *work, const kedge_json_rope *run, size_t place,
                          kedge_json_nodes *out)
{
    kedge_json_members members = kedge_json_members_start(run->text);
    const char *start = run->text.data + 1, *end = start;
    size_t behind = run->members - place;
    for (size_t i = 0; i < place; i++) {
        end = members.value.data + members.value.size;
        kedge_json_members_advance(&members);
    }
    add_run(work, start, end, place, out);
    if (is_insertion(work)) {
        add_child(work, work->change->key, out);
    } else {
        if (is_last(work))
            add_child(work, members.key, out);
        else
            kedge_json_nodes_add(
                out, kedge_json_new_member(work->allocator, members.key,
                                           change_text(work, members.value, work->step + 1)));
        kedge_json_members_advance(&members);
        behind--;
    }
    if (behind > 0)
        add_run(work, members.key.data, run->text.data + run->text.size - 1, behind, out);
}

/* ---- in a tree ---- */

static void change_member(changing *work, kedge_json_rope *member, size_t place,
                          kedge_json_nodes *out)
{
    bool insertion = is_insertion(work);
    if (insertion && place == 0) add_child(work, work->change->key, out);
    if (insertion)
        kedge_json_nodes_add(out, kedge_json_rope_share(member));
    else if (!is_last(work))
        kedge_json_nodes_add(
            out, kedge_json_new_member(work->allocator, member->first,
                                       change_rope(work, member->children[0], work->step + 1)));
    else if (work->change->kind == KEDGE_JSON_SET)
        add_child(work, member->first, out);
    if (insertion && place > 0) add_child(work, work->change->key, out);
}

/* Adds what becomes of the node. */
static void change_node(changing *work, kedge_json_rope *node, size_t place, kedge_json_nodes *out)
{
    if (node->kind == KEDGE_ROPE_BRANCH) {
        kedge_json_nodes below = {.allocator = work->allocator};
        bool made = false, insertion = is_insertion(work);
        for (size_t i = 0; i < node->count; i++) {
            kedge_json_rope *child = node->children[i];
            bool here = !made && place < child->members + insertion;
            if (here)
                change_node(work, child, place, &below);
            else
                kedge_json_nodes_add(&below, kedge_json_rope_share(child));
            made = made || here;
            place -= child->members;
        }
        kedge_json_nodes_add_above(out, &below);
    } else if (node->kind == KEDGE_ROPE_MEMBER) {
        change_member(work, node, place, out);
    } else if (is_large(work)) {
        change_in_two(work, node, place, out);
    } else {
        bool removal = is_last(work) && work->change->kind == KEDGE_JSON_REMOVE;
        write_changed(work, node->text, place);
        add_text(work, node->members + is_insertion(work) - removal, out);
    }
}

/* Recurses as deep as the change's place. */
static kedge_json_rope *change_rope(changing *work, const kedge_json_rope *rope, size_t step)
{
    kedge_json_nodes changed = {.allocator = work->allocator};
    const char *above = work->brackets;
    KEDGE_ASSERT(rope->kind == KEDGE_ROPE_OPEN && step < work->change->steps);
    work->brackets = rope->text.data;
    work->step = step;
    if (rope->count == 0)
        add_child(work, work->change->key, &changed);
    else
        change_node(work, rope->children[0], work->change->places[step], &changed);
    kedge_json_rope *made = kedge_json_nodes_join(&changed, rope->text.data);
    work->brackets = above;
    work->step = step - 1;
    return made;
}

kedge_status kedge_json_rope_change(const kedge_allocator *allocator, const kedge_json_rope *rope,
                                    const kedge_json_change *change, kedge_json_rope **changed,
                                    kedge_error *error)
{
    changing work = {
        .allocator = allocator, .change = change, .text = kedge_buffer_make(allocator)};
    *changed = change_rope(&work, rope, 0);
    kedge_buffer_free(&work.text);
    return *changed == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}
