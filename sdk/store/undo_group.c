/* A group of changes: what edits did to items, place by place. */
#include "sdk/store/undo_log.h"

#include "common/checksum.h"
#include "common/error.h"
#include "mutate/json_members.h"
#include "mutate/json_pointer.h"

#include <string.h>

#define LOOK_BACK   64 /* changes, for one at the same place */
#define CHANGE_SIZE 96 /* what a change has in the args beside its key and values */

kedge_undo_group kedge_undo_group_make(const kedge_allocator *allocator)
{
    return (kedge_undo_group){.allocator = allocator};
}

static void free_change(const kedge_undo_group *group, kedge_undo_change *change)
{
    kedge_release(group->allocator, change->key);
    kedge_release(group->allocator, (void *)change->before.data);
    kedge_release(group->allocator, (void *)change->after.data);
    kedge_buffer_free(&change->steps);
}

static void free_changes(kedge_undo_group *group)
{
    for (size_t i = 0; i < group->count; i++)
        free_change(group, &group->changes[i]);
    kedge_release(group->allocator, group->changes);
    group->changes = NULL;
    group->count = group->capacity = group->bytes = 0;
}

void kedge_undo_group_clear(kedge_undo_group *group)
{
    free_changes(group);
    *group = kedge_undo_group_make(group->allocator);
}

/* ---- adding ---- */

static size_t size_of(const kedge_undo_change *change)
{
    return change->collection.size + change->id.size + change->path.size + change->before.size +
           change->after.size + change->steps.size + CHANGE_SIZE;
}

/* One that is over its limits cannot be undone: its edits stand, and its memory is given back. */
static void bound(kedge_undo_group *group)
{
    if (!group->too_large && group->count <= KEDGE_LIMIT_UNDO_CHANGES &&
        group->bytes <= KEDGE_LIMIT_UNDO_GROUP_BYTES)
        return;
    free_changes(group);
    group->too_large = true;
}

static kedge_status make_room(kedge_undo_group *group, size_t more, kedge_error *error)
{
    if (group->count + more <= group->capacity) return KEDGE_OK;
    size_t capacity = group->capacity == 0 ? 8 : 2 * group->capacity;
    if (capacity < group->count + more) capacity = group->count + more;
    kedge_undo_change *changes = group->allocator->reallocate(
        group->allocator->context, group->changes, capacity * sizeof *changes);
    if (changes == NULL) return kedge_fail_no_memory(error);
    group->changes = changes;
    group->capacity = capacity;
    return KEDGE_OK;
}

static bool copy_value(const kedge_undo_group *group, kedge_bytes value, kedge_bytes *copy)
{
    *copy = (kedge_bytes){NULL, 0};
    if (value.size == 0) return true;
    copy->data = kedge_copy_text(group->allocator, value);
    copy->size = copy->data == NULL ? 0 : value.size;
    return copy->data != NULL;
}

static bool copy_key(const kedge_undo_group *group, const kedge_undo_note *note, kedge_bytes path,
                     kedge_undo_change *change)
{
    size_t size = note->collection.size + note->id.size + path.size;
    char *at = change->key = kedge_allocate(group->allocator, size + 1);
    if (at == NULL) return false;
    kedge_bytes *const parts[] = {&change->collection, &change->id, &change->path};
    const kedge_bytes from[] = {note->collection, note->id, path};
    for (size_t i = 0; i < 3; i++) {
        if (from[i].size > 0) memcpy(at, from[i].data, from[i].size);
        *parts[i] = (kedge_bytes){at, from[i].size};
        at += from[i].size;
    }
    return true;
}

static bool same_place(const kedge_undo_change *a, const kedge_undo_change *b)
{
    return kedge_bytes_equal(a->collection, b->collection) && kedge_bytes_equal(a->id, b->id) &&
           kedge_bytes_equal(a->path, b->path);
}

static bool is_below(kedge_bytes child, kedge_bytes parent)
{
    return child.size > parent.size && kedge_bytes_start_with(child, parent) &&
           child.data[parent.size] == '/';
}

bool kedge_undo_changes_overlap(const kedge_undo_change *a, const kedge_undo_change *b)
{
    return kedge_bytes_equal(a->collection, b->collection) && kedge_bytes_equal(a->id, b->id) &&
           (kedge_bytes_equal(a->path, b->path) || is_below(a->path, b->path) ||
            is_below(b->path, a->path));
}

/* ---- kinds ---- */

/* An increment counts what is absent as 0. */
static bool counts(kedge_bytes value)
{
    int64_t number;
    return value.size == 0 || kedge_json_to_integer(value, &number);
}

static bool fits(kedge_undo_kind kind, const kedge_undo_change *change)
{
    switch (kind) {
    case KEDGE_UNDO_TEXT:
        return kedge_json_type_of(change->before) == KEDGE_JSON_STRING &&
               kedge_json_type_of(change->after) == KEDGE_JSON_STRING;
    case KEDGE_UNDO_NUMBER:
        return counts(change->before) && counts(change->after);
    default:
        return true;
    }
}

static kedge_undo_kind kind_of(const kedge_undo_note *note, const kedge_undo_change *change)
{
    kedge_undo_kind kind = note->kind;
    for (size_t i = 0; note->like != NULL && i < note->like->count; i++)
        if (note->like->changes[i].kind != KEDGE_UNDO_VALUE &&
            same_place(&note->like->changes[i], change))
            kind = note->like->changes[i].kind;
    return fits(kind, change) ? kind : KEDGE_UNDO_VALUE;
}

static kedge_status add_place(kedge_undo_group *group, const kedge_undo_note *note,
                              const kedge_buffer *path, kedge_bytes before, kedge_bytes after,
                              kedge_error *error)
{
    kedge_bytes at = kedge_buffer_bytes(path);
    if (group->too_large) return KEDGE_OK;
    kedge_status status = kedge_buffer_status(path, error);
    if (status == KEDGE_OK) status = make_room(group, 1, error);
    if (status != KEDGE_OK) return status;
    kedge_undo_change change = {.steps = kedge_buffer_make(group->allocator)};
    bool copied = copy_key(group, note, at, &change);
    copied = copy_value(group, before, &change.before) && copied;
    copied = copy_value(group, after, &change.after) && copied;
    if (!copied) {
        free_change(group, &change);
        return kedge_fail_no_memory(error);
    }
    change.kind = kind_of(note, &change);
    group->changes[group->count++] = change;
    group->bytes += size_of(&change);
    bound(group);
    return KEDGE_OK;
}

/* ---- where two values differ ---- */

/* "/" and the key, decoded, with '~' and '/' escaped. */
static void append_token(kedge_buffer *path, kedge_bytes key)
{
    kedge_buffer plain = kedge_buffer_make(path->allocator);
    kedge_json_to_text(key, &plain);
    kedge_buffer_append_byte(path, '/');
    for (size_t i = 0; i < plain.size; i++) {
        if (plain.data[i] == '~')
            kedge_buffer_append_text(path, "~0");
        else if (plain.data[i] == '/')
            kedge_buffer_append_text(path, "~1");
        else
            kedge_buffer_append_byte(path, plain.data[i]);
    }
    if (plain.no_memory) path->no_memory = true;
    kedge_buffer_free(&plain);
}

/* Recurses as deep as both are nested: at most KEDGE_LIMIT_JSON_DEPTH. */
static kedge_status add_differences(kedge_undo_group *group, const kedge_undo_note *note,
                                    kedge_buffer *path, kedge_bytes before, kedge_bytes after,
                                    kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    const kedge_bytes none = {NULL, 0};
    if (kedge_json_type_of(before) != KEDGE_JSON_OBJECT ||
        kedge_json_type_of(after) != KEDGE_JSON_OBJECT)
        return add_place(group, note, path, before, after, error);
    kedge_json_members old = kedge_json_members_start(before);
    kedge_json_members now = kedge_json_members_start(after);
    while (status == KEDGE_OK && (old.more || now.more)) {
        int order = !old.more ? 1 : !now.more ? -1 : kedge_json_key_compare(old.key, now.key);
        kedge_bytes was = order <= 0 ? old.value : none;
        kedge_bytes is = order >= 0 ? now.value : none;
        size_t size = path->size;
        append_token(path, order <= 0 ? old.key : now.key);
        if (!kedge_bytes_equal(was, is))
            status = add_differences(group, note, path, was, is, error);
        kedge_buffer_truncate(path, size);
        if (order <= 0) kedge_json_members_advance(&old);
        if (order >= 0) kedge_json_members_advance(&now);
    }
    return status;
}

kedge_status kedge_undo_group_note(kedge_undo_group *group, const kedge_undo_note *note,
                                   kedge_error *error)
{
    kedge_buffer path = kedge_buffer_make(group->allocator);
    bool project = note->collection.size == 0;
    kedge_bytes before = note->before;
    /* Once there is a project record, there always is one. */
    if (project && before.size == 0) before = KEDGE_BYTES("{}");
    kedge_status status = add_differences(group, note, &path, before, note->after, error);
    kedge_buffer_free(&path);
    return status;
}

/* ---- the edits of a change ---- */

static int64_t checksum_of(kedge_bytes value)
{
    kedge_checksum sum = kedge_checksum_begin(0);
    kedge_checksum_bytes(&sum, value);
    return kedge_checksum_end(&sum);
}

static const kedge_undo_step *steps_of(const kedge_undo_change *change, size_t *count)
{
    *count = change->steps.size / sizeof(kedge_undo_step);
    return (const kedge_undo_step *)(const void *)change->steps.data;
}

bool kedge_undo_change_has(const kedge_undo_change *change, int64_t sequence)
{
    size_t left;
    const kedge_undo_step *steps = steps_of(change, &left);
    if (sequence >= change->last_sequence) return sequence == change->last_sequence;
    while (left > 0 && steps[left - 1].sequence > sequence)
        left--;
    return left > 0 && steps[left - 1].sequence == sequence;
}

bool kedge_undo_change_left(const kedge_undo_change *change, int64_t sequence, kedge_bytes value)
{
    size_t count;
    const kedge_undo_step *steps = steps_of(change, &count);
    int64_t checksum = checksum_of(value);
    for (size_t i = 0; i < count && steps[i].sequence < sequence; i++)
        if (steps[i].checksum == checksum) return true;
    return false;
}

/* ---- taking the changes of an edit ---- */

/* The newest change at the same place, unless one in between is of a place that holds it or lies in
 * it. */
static kedge_undo_change *find_before(kedge_undo_group *group, size_t count,
                                      const kedge_undo_change *change)
{
    for (size_t back = 1; back <= count && back <= LOOK_BACK; back++) {
        kedge_undo_change *at = &group->changes[count - back];
        if (same_place(at, change)) return at;
        if (kedge_undo_changes_overlap(at, change)) return NULL;
    }
    return NULL;
}

/* Gives all to an empty group, without more memory. */
static void hand_over(kedge_undo_group *made, kedge_undo_group *group, int64_t sequence)
{
    kedge_undo_group given = *group;
    group->changes = made->changes;
    group->capacity = made->capacity;
    group->count = made->count;
    made->changes = given.changes;
    made->capacity = given.capacity;
    made->count = 0;
    for (size_t i = 0; i < group->count; i++) {
        kedge_undo_change *change = &group->changes[i];
        change->first_sequence = change->last_sequence = sequence;
        group->bytes += size_of(change);
    }
}

kedge_status kedge_undo_group_take(kedge_undo_group *group, kedge_undo_group *made,
                                   int64_t sequence, kedge_error *error)
{
    group->too_large = group->too_large || made->too_large;
    if (group->too_large) {
        free_changes(group);
        free_changes(made);
    }
    if (group->count == 0) hand_over(made, group, sequence);
    kedge_status status = make_room(group, made->count, error);
    if (status != KEDGE_OK) return status;
    size_t count = group->count;
    for (size_t i = 0; i < made->count; i++) {
        kedge_undo_change *change = &made->changes[i];
        kedge_undo_change *before = find_before(group, count, change);
        change->first_sequence = change->last_sequence = sequence;
        if (before == NULL || before->kind != change->kind ||
            !kedge_bytes_equal(before->after, change->before)) {
            group->bytes += size_of(change);
            group->changes[group->count++] = *change;
            continue;
        }
        kedge_bytes after = before->after;
        kedge_undo_step step = {before->last_sequence, checksum_of(after)};
        kedge_buffer_append(&before->steps, &step, sizeof step);
        group->too_large = group->too_large || before->steps.no_memory;
        group->bytes += change->after.size - after.size + sizeof step;
        before->after = change->after;
        before->last_sequence = sequence;
        change->after = after;
        free_change(made, change);
    }
    made->count = 0;
    kedge_undo_group_clear(made);
    bound(group);
    return KEDGE_OK;
}

/* ---- dropping changes ---- */

static void drop(kedge_undo_group *group,
                 bool (*dropped)(const kedge_undo_change *change, int64_t sequence),
                 int64_t sequence)
{
    size_t kept = 0;
    for (size_t i = 0; i < group->count; i++) {
        kedge_undo_change *change = &group->changes[i];
        if (dropped(change, sequence)) {
            group->bytes -= size_of(change);
            free_change(group, change);
        } else {
            group->changes[kept++] = *change;
        }
    }
    group->count = kept;
}

static bool leads_back(const kedge_undo_change *change, int64_t sequence)
{
    (void)sequence;
    return kedge_bytes_equal(change->before, change->after);
}

void kedge_undo_group_settle(kedge_undo_group *group)
{
    drop(group, leads_back, 0);
}

bool kedge_undo_group_has(const kedge_undo_group *group, int64_t sequence)
{
    for (size_t i = 0; i < group->count; i++)
        if (kedge_undo_change_has(&group->changes[i], sequence)) return true;
    return false;
}

/* Sums of increments are not told apart. */
static bool is_void(const kedge_undo_change *change, int64_t sequence)
{
    bool last = sequence == change->last_sequence;
    return last || (change->kind == KEDGE_UNDO_NUMBER && kedge_undo_change_has(change, sequence));
}

void kedge_undo_group_void(kedge_undo_group *group, int64_t sequence)
{
    drop(group, is_void, sequence);
}

void kedge_undo_group_forget(kedge_undo_group *group, int64_t sequence)
{
    drop(group, kedge_undo_change_has, sequence);
}

/* ---- taking a group back ---- */

static void write_change(kedge_json_writer *writer, const kedge_undo_change *change)
{
    int64_t before = 0, after = 0;
    bool number = change->kind == KEDGE_UNDO_NUMBER;
    bool whole = !number || change->before.size == 0 || change->after.size == 0;
    kedge_json_begin_object(writer);
    if (number) {
        (void)kedge_json_to_integer(change->before, &before);
        (void)kedge_json_to_integer(change->after, &after);
        kedge_json_key(writer, "add");
        kedge_json_number(writer, (double)before - (double)after);
    }
    kedge_json_key(writer, "collection");
    kedge_json_text(writer, change->collection);
    if (whole && change->after.size > 0) {
        kedge_json_key(writer, "expected");
        kedge_json_raw(writer, change->after);
    }
    kedge_json_key(writer, "id");
    kedge_json_text(writer, change->id);
    kedge_json_key(writer, "path");
    kedge_json_text(writer, change->path);
    if (change->kind == KEDGE_UNDO_TEXT) {
        kedge_json_key(writer, "text");
        kedge_json_boolean(writer, true);
    }
    if (whole && change->before.size > 0) {
        kedge_json_key(writer, "value");
        kedge_json_raw(writer, change->before);
    }
    kedge_json_end_object(writer);
}

kedge_status kedge_undo_group_write(const kedge_undo_group *group, kedge_buffer *args,
                                    kedge_error *error)
{
    kedge_json_writer writer = kedge_json_write(args);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "changes");
    kedge_json_begin_array(&writer);
    for (size_t i = group->count; i > 0; i--)
        write_change(&writer, &group->changes[i - 1]);
    kedge_json_end_array(&writer);
    kedge_json_end_object(&writer);
    return kedge_buffer_status(args, error);
}

kedge_status kedge_undo_change_rebase(kedge_undo_group *group, kedge_undo_change *change,
                                      kedge_bytes before, kedge_error *error)
{
    kedge_bytes copy;
    if (!copy_value(group, before, &copy)) return kedge_fail_no_memory(error);
    group->bytes += copy.size - change->before.size;
    kedge_release(group->allocator, (void *)change->before.data);
    change->before = copy;
    return KEDGE_OK;
}

/* ---- places ---- */

kedge_status kedge_undo_value_at(const kedge_allocator *allocator, kedge_bytes document,
                                 kedge_bytes path, kedge_bytes *value, kedge_error *error)
{
    *value = (kedge_bytes){NULL, 0};
    if (document.size == 0) return KEDGE_OK;
    kedge_json_pointer pointer = kedge_json_pointer_make(allocator);
    kedge_buffer quoted = kedge_buffer_make(allocator);
    kedge_json_writer writer = kedge_json_write(&quoted);
    kedge_json_text(&writer, path);
    kedge_status status = kedge_buffer_status(&quoted, error);
    if (status == KEDGE_OK)
        status = kedge_json_pointer_parse(&pointer, kedge_buffer_bytes(&quoted), error);
    if (status == KEDGE_OK) (void)kedge_json_pointer_find(&pointer, document, value);
    kedge_buffer_free(&quoted);
    kedge_json_pointer_free(&pointer);
    return status;
}
