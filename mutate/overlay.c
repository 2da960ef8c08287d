/* The overlay: a tree of changes, and a journal that can take them back. As a reader, its entries
 * win over what is below, and its deletions hide it.
 *
 * A value is a text, or a rope whose text is made when somebody reads it. The room for that text is
 * there as long as the rope is, so that a read never fails.
 *
 * While a mark is open, the first write to a key since the innermost mark appends what the key was
 * to the journal; later writes to it need not. So the part of the journal after a mark holds each
 * key once, and its length is the number of keys changed. A release merges the innermost part into
 * the one below it and drops what that one had saved already. */
#include "mutate/overlay.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"
#include "mutate/overlay_tree.h"

#include <stdlib.h>
#include <string.h>

/* What a key was before a write. */
typedef struct saved {
    kedge_overlay_node *node; /* NULL: forgotten since */
    bool existed;
    bool deleted;
    kedge_bytes value;
    kedge_json_rope *rope;
    size_t saved_before; /* the node's saved_at before this */
} saved;

#define ROOM_SPARE 8 /* a room is this part larger than what it was made for */

typedef struct kedge_overlay_room {
    size_t size;
    char text[];
} kedge_overlay_room;

struct kedge_overlay {
    const kedge_allocator *allocator;
    kedge_overlay_node *root;
    size_t count;
    size_t bytes;
    saved *journal;
    size_t journal_count;
    size_t journal_capacity;
    size_t marks[KEDGE_OVERLAY_MARKS]; /* where each part of the journal starts */
    size_t depth;
};

kedge_overlay *kedge_overlay_new(const kedge_allocator *allocator)
{
    kedge_overlay *overlay = kedge_allocate(allocator, sizeof *overlay);
    if (overlay != NULL) overlay->allocator = allocator;
    return overlay;
}

/* ---- nodes ---- */

static void release_text(kedge_overlay *overlay, kedge_bytes value)
{
    kedge_release(overlay->allocator, (void *)(uintptr_t)value.data);
}

/* The text of a rope is in the room of its node. */
static void release_value(kedge_overlay *overlay, kedge_bytes value, kedge_json_rope *rope)
{
    if (rope == NULL)
        release_text(overlay, value);
    else
        kedge_json_rope_release(overlay->allocator, rope);
}

static size_t bytes_of(const kedge_overlay_entry *entry)
{
    return entry->collection.size + entry->id.size + entry->value.size;
}

static kedge_overlay_node *new_node(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id)
{
    kedge_overlay_node *node =
        kedge_allocate(overlay->allocator, sizeof *node + collection.size + id.size);
    if (node == NULL) return NULL;
    char *key = (char *)(node + 1);
    if (collection.size > 0) memcpy(key, collection.data, collection.size);
    if (id.size > 0) memcpy(key + collection.size, id.data, id.size);
    node->entry.collection = (kedge_bytes){key, collection.size};
    node->entry.id = (kedge_bytes){key + collection.size, id.size};
    overlay->root = kedge_overlay_tree_insert(overlay->root, node);
    overlay->count++;
    overlay->bytes += bytes_of(&node->entry);
    return node;
}

static void free_node(kedge_overlay *overlay, kedge_overlay_node *node)
{
    release_value(overlay, node->entry.value, node->rope);
    kedge_release(overlay->allocator, node->room);
    kedge_release(overlay->allocator, node);
}

static void drop_node(kedge_overlay *overlay, kedge_overlay_node *node)
{
    overlay->root = kedge_overlay_tree_remove(overlay->root, node);
    overlay->count--;
    overlay->bytes -= bytes_of(&node->entry);
    free_node(overlay, node);
}

/* Takes the value over; the node's old value is the caller's to keep or release. */
static void set_entry(kedge_overlay *overlay, kedge_overlay_node *node, bool deleted,
                      kedge_bytes value, kedge_json_rope *rope)
{
    overlay->bytes = overlay->bytes - node->entry.value.size + value.size;
    node->entry.deleted = deleted;
    node->entry.value = value;
    node->rope = rope;
}

static void free_tree(kedge_overlay *overlay, kedge_overlay_node *node)
{
    if (node == NULL) return;
    free_tree(overlay, node->left);
    free_tree(overlay, node->right);
    free_node(overlay, node);
}

void kedge_overlay_clear(kedge_overlay *overlay)
{
    for (size_t i = 0; i < overlay->journal_count; i++) {
        release_value(overlay, overlay->journal[i].value, overlay->journal[i].rope);
    }
    free_tree(overlay, overlay->root);
    overlay->root = NULL;
    overlay->count = overlay->bytes = 0;
    overlay->journal_count = overlay->depth = 0;
}

void kedge_overlay_free(kedge_overlay *overlay)
{
    if (overlay == NULL) return;
    kedge_overlay_clear(overlay);
    kedge_release(overlay->allocator, overlay->journal);
    kedge_release(overlay->allocator, overlay);
}

/* ---- reads ---- */

size_t kedge_overlay_count(const kedge_overlay *overlay)
{
    return overlay->count;
}

size_t kedge_overlay_bytes(const kedge_overlay *overlay)
{
    return overlay->bytes;
}

/* Makes the text of a rope, once. */
static bool read_node(kedge_overlay_node *node, kedge_overlay_entry *entry)
{
    if (node == NULL) return false;
    if (node->rope != NULL && node->entry.value.data == NULL) {
        char *text = node->room->text;
        KEDGE_ASSERT(node->room->size > node->entry.value.size);
        kedge_json_rope_write(node->rope, text);
        text[node->entry.value.size] = '\0';
        node->entry.value.data = text;
    }
    *entry = node->entry;
    return true;
}

static kedge_overlay_node *next_node(const kedge_overlay *overlay, const kedge_overlay_entry *at)
{
    return at == NULL ? kedge_overlay_tree_first(overlay->root)
                      : kedge_overlay_tree_after(overlay->root, at->collection, at->id);
}

bool kedge_overlay_get(const kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                       kedge_overlay_entry *entry)
{
    return read_node(kedge_overlay_tree_find(overlay->root, collection, id), entry);
}

bool kedge_overlay_next(const kedge_overlay *overlay, const kedge_overlay_entry *at,
                        kedge_overlay_entry *entry)
{
    return read_node(next_node(overlay, at), entry);
}

/* An id may be empty, so the first entry need not be after the empty id. */
bool kedge_overlay_next_of(const kedge_overlay *overlay, kedge_bytes collection, bool from_start,
                           kedge_bytes after, kedge_overlay_entry *entry)
{
    kedge_bytes empty = {NULL, 0};
    if (from_start && kedge_overlay_get(overlay, collection, empty, entry)) return true;
    kedge_overlay_entry at = {.collection = collection, .id = from_start ? empty : after};
    return kedge_overlay_next(overlay, &at, entry) &&
           kedge_bytes_equal(entry->collection, collection);
}

bool kedge_overlay_next_key(const kedge_overlay *overlay, const kedge_overlay_entry *at,
                            kedge_overlay_entry *entry)
{
    const kedge_overlay_node *node = next_node(overlay, at);
    if (node == NULL) return false;
    *entry = node->entry;
    entry->value = (kedge_bytes){NULL, 0};
    return true;
}

/* ---- writes ---- */

static bool journal_has_room(kedge_overlay *overlay)
{
    if (overlay->journal_count < overlay->journal_capacity) return true;
    size_t capacity = overlay->journal_capacity == 0 ? 16 : 2 * overlay->journal_capacity;
    if (capacity > SIZE_MAX / sizeof(saved)) return false;
    const kedge_allocator *allocator = overlay->allocator;
    saved *journal =
        allocator->reallocate(allocator->context, overlay->journal, capacity * sizeof(saved));
    if (journal == NULL) return false;
    overlay->journal = journal;
    overlay->journal_capacity = capacity;
    return true;
}

/* The old value moves into the journal; of a rope not the text, since the room stays. */
static void save(kedge_overlay *overlay, kedge_overlay_node *node, bool existed)
{
    kedge_bytes value = node->entry.value;
    if (node->rope != NULL) value.data = NULL;
    overlay->journal[overlay->journal_count++] = (saved){.node = node,
                                                         .existed = existed,
                                                         .deleted = node->entry.deleted,
                                                         .value = value,
                                                         .rope = node->rope,
                                                         .saved_before = node->saved_at};
    node->saved_at = overlay->journal_count;
}

/* `value` is a block, or the size of `rope`. It is taken over, or released when this fails. */
static kedge_status write_entry(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                                bool deleted, kedge_bytes value, kedge_json_rope *rope,
                                kedge_error *error)
{
    kedge_overlay_node *node = kedge_overlay_tree_find(overlay->root, collection, id);
    bool existed = node != NULL;
    bool must_save =
        overlay->depth > 0 && (!existed || node->saved_at <= overlay->marks[overlay->depth - 1]);
    if (must_save && !journal_has_room(overlay)) goto no_memory;
    if (!existed) node = new_node(overlay, collection, id);
    if (node == NULL) goto no_memory;
    if (must_save) {
        save(overlay, node, existed);
    } else {
        release_value(overlay, node->entry.value, node->rope);
    }
    set_entry(overlay, node, deleted, value, rope);
    return KEDGE_OK;

no_memory:
    release_value(overlay, value, rope);
    return kedge_fail_no_memory(error);
}

kedge_status kedge_overlay_put(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                               kedge_bytes value, kedge_error *error)
{
    char *copy = kedge_copy_text(overlay->allocator, value);
    if (copy == NULL) return kedge_fail_no_memory(error);
    return write_entry(overlay, collection, id, false, (kedge_bytes){copy, value.size}, NULL,
                       error);
}

kedge_status kedge_overlay_delete(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                                  kedge_error *error)
{
    return write_entry(overlay, collection, id, true, (kedge_bytes){NULL, 0}, NULL, error);
}

/* A text that was in the room before is gone. */
static bool make_room(kedge_overlay *overlay, kedge_overlay_node *node, size_t size)
{
    if (node->room != NULL && node->room->size > size) return true;
    size_t room_size = size + size / ROOM_SPARE + 1;
    kedge_overlay_room *room =
        overlay->allocator->allocate(overlay->allocator->context, sizeof *room + room_size);
    if (room == NULL) return false;
    room->size = room_size;
    if (node->rope != NULL) node->entry.value.data = NULL;
    kedge_release(overlay->allocator, node->room);
    node->room = room;
    return true;
}

kedge_status kedge_overlay_rope(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                                kedge_json_rope **rope, kedge_error *error)
{
    kedge_overlay_node *node = kedge_overlay_tree_find(overlay->root, collection, id);
    *rope = NULL;
    if (node == NULL) return KEDGE_OK;
    if (node->rope == NULL) {
        kedge_bytes text = node->entry.value;
        kedge_json_rope *made;
        if (text.size < KEDGE_JSON_ROPE_BYTES_MIN || kedge_json_type_of(text) < KEDGE_JSON_ARRAY)
            return KEDGE_OK;
        if (!make_room(overlay, node, text.size)) return kedge_fail_no_memory(error);
        kedge_status status = kedge_json_rope_make(overlay->allocator, text, &made, error);
        if (status != KEDGE_OK) return status;
        set_entry(overlay, node, false, (kedge_bytes){NULL, text.size}, made);
        release_text(overlay, text);
    }
    *rope = node->rope;
    return kedge_json_rope_open(overlay->allocator, node->rope, error);
}

kedge_status kedge_overlay_put_rope(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                                    kedge_json_rope *rope, kedge_error *error)
{
    kedge_overlay_node *node = kedge_overlay_tree_find(overlay->root, collection, id);
    kedge_bytes value = {NULL, (size_t)kedge_json_rope_size(rope)};
    KEDGE_ASSERT(node != NULL && node->rope != NULL);
    if (make_room(overlay, node, value.size))
        return write_entry(overlay, collection, id, false, value, rope, error);
    kedge_json_rope_release(overlay->allocator, rope);
    return kedge_fail_no_memory(error);
}

void kedge_overlay_forget(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id)
{
    kedge_overlay_node *node = kedge_overlay_tree_find(overlay->root, collection, id);
    if (node == NULL) return;
    size_t at = node->saved_at;
    while (at > 0) {
        saved *record = &overlay->journal[at - 1];
        at = record->saved_before;
        release_value(overlay, record->value, record->rope);
        *record = (saved){0};
    }
    drop_node(overlay, node);
}

/* ---- marks ---- */

kedge_overlay_mark kedge_overlay_set_mark(kedge_overlay *overlay)
{
    if (overlay->depth == KEDGE_OVERLAY_MARKS) abort();
    overlay->marks[overlay->depth] = overlay->journal_count;
    return overlay->depth++;
}

static void restore(kedge_overlay *overlay, const saved *record)
{
    kedge_overlay_node *node = record->node;
    if (node == NULL) return;
    if (!record->existed) {
        drop_node(overlay, node);
        return;
    }
    kedge_bytes undone = node->entry.value;
    kedge_json_rope *undone_rope = node->rope;
    set_entry(overlay, node, record->deleted, record->value, record->rope);
    release_value(overlay, undone, undone_rope);
    node->saved_at = record->saved_before;
}

void kedge_overlay_rollback(kedge_overlay *overlay, kedge_overlay_mark mark)
{
    if (mark >= overlay->depth) return;
    while (overlay->journal_count > overlay->marks[mark]) {
        restore(overlay, &overlay->journal[--overlay->journal_count]);
    }
    overlay->depth = mark;
}

/* Moves the records after `start` together, without those that an earlier record after `outer`
 * makes needless: a rollback to there restores the earlier one. */
static void merge_into_outer(kedge_overlay *overlay, size_t start, size_t outer)
{
    size_t kept = start;
    for (size_t i = start; i < overlay->journal_count; i++) {
        saved *record = &overlay->journal[i];
        if (record->node == NULL) continue;
        if (record->saved_before <= outer) {
            record->node->saved_at = kept + 1;
            overlay->journal[kept++] = *record;
            continue;
        }
        /* When the earlier record is itself after `start`, it has set saved_at already. */
        if (record->saved_before <= start) record->node->saved_at = record->saved_before;
        release_value(overlay, record->value, record->rope);
    }
    overlay->journal_count = kept;
}

static void drop_journal(kedge_overlay *overlay)
{
    for (size_t i = 0; i < overlay->journal_count; i++) {
        saved *record = &overlay->journal[i];
        if (record->node != NULL) record->node->saved_at = 0;
        release_value(overlay, record->value, record->rope);
    }
    overlay->journal_count = 0;
}

void kedge_overlay_release(kedge_overlay *overlay, kedge_overlay_mark mark)
{
    if (mark >= overlay->depth) return;
    overlay->depth = mark;
    if (mark == 0) {
        drop_journal(overlay);
    } else {
        merge_into_outer(overlay, overlay->marks[mark], overlay->marks[mark - 1]);
    }
}

size_t kedge_overlay_changes_since(const kedge_overlay *overlay, kedge_overlay_mark mark)
{
    if (mark >= overlay->depth) return 0;
    size_t start = overlay->marks[mark];
    if (mark == overlay->depth - 1) return overlay->journal_count - start;
    size_t changes = 0;
    for (size_t i = start; i < overlay->journal_count; i++) {
        if (overlay->journal[i].saved_before <= start) changes++;
    }
    return changes;
}

/* ---- the overlay as a reader ---- */

static kedge_status empty_get(void *context, kedge_bytes collection, kedge_bytes id,
                              kedge_buffer *value, kedge_error *error)
{
    (void)context, (void)collection, (void)id, (void)value;
    return kedge_fail(error, KEDGE_NOT_FOUND, "item-not-found", "the state is empty");
}

static kedge_status empty_next(void *context, kedge_bytes collection, bool from_start,
                               kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                               kedge_error *error)
{
    (void)context, (void)collection, (void)from_start, (void)after, (void)id, (void)value;
    (void)error;
    return KEDGE_DONE;
}

const kedge_state_reader kedge_state_reader_empty = {NULL, empty_get, empty_next};

static kedge_status view_get(void *context, kedge_bytes collection, kedge_bytes id,
                             kedge_buffer *value, kedge_error *error)
{
    const kedge_overlay_view *view = context;
    kedge_overlay_entry entry;
    if (!kedge_overlay_get(view->overlay, collection, id, &entry)) {
        return view->below.get(view->below.context, collection, id, value, error);
    }
    if (entry.deleted) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "item-not-found", "the item was deleted");
    }
    kedge_buffer_append_bytes(value, entry.value);
    return kedge_buffer_status(value, error);
}

/* Merges two ordered sources. `id` and `value` hold what is below, read again only when the overlay
 * hid it; each round passes one entry of the overlay. */
static kedge_status view_next(void *context, kedge_bytes collection, bool from_start,
                              kedge_bytes after, kedge_buffer *id, kedge_buffer *value,
                              kedge_error *error)
{
    const kedge_overlay_view *view = context;
    kedge_overlay_entry entry;
    bool has_entry = kedge_overlay_next_of(view->overlay, collection, from_start, after, &entry);
    kedge_status below =
        view->below.next(view->below.context, collection, from_start, after, id, value, error);
    while (has_entry && (below == KEDGE_OK || below == KEDGE_DONE)) {
        int order =
            below == KEDGE_DONE ? -1 : kedge_bytes_compare(entry.id, kedge_buffer_bytes(id));
        if (order > 0) return KEDGE_OK;
        if (!entry.deleted) {
            kedge_buffer_clear(id);
            kedge_buffer_clear(value);
            kedge_buffer_append_bytes(id, entry.id);
            kedge_buffer_append_bytes(value, entry.value);
            kedge_status status = kedge_buffer_status(id, error);
            return status != KEDGE_OK ? status : kedge_buffer_status(value, error);
        }
        if (order == 0) {
            kedge_buffer_clear(id);
            kedge_buffer_clear(value);
            below = view->below.next(view->below.context, collection, false, entry.id, id, value,
                                     error);
        }
        has_entry = kedge_overlay_next_of(view->overlay, collection, false, entry.id, &entry);
    }
    return below;
}

kedge_state_reader kedge_overlay_reader(kedge_overlay_view *view)
{
    return (kedge_state_reader){view, view_get, view_next};
}
