/* What can be undone and redone: groups of changes, in memory, newest last. Private to sdk/store;
 * in a write turn only.
 *
 * A change is one place of one item with its value before and after an edit: the smallest places at
 * which the item differs, so that members which others change do not stand in the way. */
#ifndef KEDGE_SDK_STORE_UNDO_LOG_H
#define KEDGE_SDK_STORE_UNDO_LOG_H

#include "common/json.h"
#include <kedge/limits.h>
#include <kedge/undo.h>

#include <pthread.h>

/* How the change is taken back. */
typedef enum kedge_undo_kind {
    KEDGE_UNDO_VALUE, /* by the value that was there */
    KEDGE_UNDO_TEXT,  /* both are strings; merged with what others wrote */
    KEDGE_UNDO_NUMBER /* both are integers or absent; by adding the difference */
} kedge_undo_kind;

/* What one edit of a change left at its place, before the next one went on from there. */
typedef struct kedge_undo_step {
    int64_t sequence;
    int64_t checksum; /* of the value */
} kedge_undo_step;

typedef struct kedge_undo_change {
    char *key;              /* collection, id and path, one after the other */
    kedge_bytes collection; /* "": the project record */
    kedge_bytes id;
    kedge_bytes path;   /* a JSON Pointer */
    kedge_bytes before; /* canonical JSON; empty: nothing was there */
    kedge_bytes after;
    kedge_undo_kind kind;
    int64_t first_sequence; /* of the edits that made it: those of the steps, and the last one */
    int64_t last_sequence;
    kedge_buffer steps; /* of kedge_undo_step, in order */
    /* The edit that made `before`, or a later one, while it is pending. 0: it was canonical. */
    int64_t below_sequence;
} kedge_undo_change;

typedef struct kedge_undo_group {
    const kedge_allocator *allocator;
    char label[KEDGE_UNDO_LABEL_SIZE]; /* "": none */
    kedge_undo_change *changes;
    size_t count;
    size_t capacity;
    size_t bytes;   /* of keys and values */
    bool too_large; /* it was over its limits, and has no changes */
} kedge_undo_group;

typedef struct kedge_undo_stack {
    kedge_undo_group groups[KEDGE_LIMIT_UNDO_GROUPS];
    size_t count;
} kedge_undo_stack;

typedef struct kedge_undo_log {
    const kedge_allocator *allocator;
    bool is_open;
    pthread_t owner; /* the thread whose edits belong to the open group */
    kedge_undo_group open;
    kedge_undo_stack undo;
    kedge_undo_stack redo;
    int64_t version; /* of the cache, at which the changes are */
} kedge_undo_log;

/* ---- groups ---- */

kedge_undo_group kedge_undo_group_make(const kedge_allocator *allocator);
/* Frees its changes; it may be used again. */
void kedge_undo_group_clear(kedge_undo_group *group);
/* What an edit does to an item. */
typedef struct kedge_undo_note {
    kedge_bytes collection;
    kedge_bytes id;
    kedge_bytes before; /* canonical JSON; empty: none */
    kedge_bytes after;
    kedge_undo_kind kind;         /* for the places where it fits */
    const kedge_undo_group *like; /* or NULL: the kinds are those of its changes */
} kedge_undo_note;
/* Adds the changes. KEDGE_NO_MEMORY. */
kedge_status kedge_undo_group_note(kedge_undo_group *group, const kedge_undo_note *note,
                                   kedge_error *error);
/* Whether the edit made the change, alone or with others. */
bool kedge_undo_change_has(const kedge_undo_change *change, int64_t sequence);
/* Whether an edit of the change before this sequence left the value at its place. */
bool kedge_undo_change_left(const kedge_undo_change *change, int64_t sequence, kedge_bytes value);
/* Whether one of two changes is at the place of the other, or inside of it. */
bool kedge_undo_changes_overlap(const kedge_undo_change *a, const kedge_undo_change *b);
/* Moves the changes of `made`, by the edit with this sequence, after those of `group`. A change at
 * the place of the one before it becomes one with it, when it goes on from there. KEDGE_NO_MEMORY:
 * `group` is as it was; an empty one needs no memory. */
kedge_status kedge_undo_group_take(kedge_undo_group *group, kedge_undo_group *made,
                                   int64_t sequence, kedge_error *error);
/* Whether the edit made one of its changes, alone or with others. */
bool kedge_undo_group_has(const kedge_undo_group *group, int64_t sequence);
/* The edit has done nothing. Drops the changes that it made; one that a later edit went on to
 * another value stays, and leads to that value. */
void kedge_undo_group_void(kedge_undo_group *group, int64_t sequence);
/* Drops the changes that the edit made, alone or with others. */
void kedge_undo_group_forget(kedge_undo_group *group, int64_t sequence);
/* Drops the changes that lead to where they began. */
void kedge_undo_group_settle(kedge_undo_group *group);
/* Appends the args of the kedge.restore that takes the group back. */
kedge_status kedge_undo_group_write(const kedge_undo_group *group, kedge_buffer *args,
                                    kedge_error *error);
/* Replaces a change's `before`. */
kedge_status kedge_undo_change_rebase(kedge_undo_group *group, kedge_undo_change *change,
                                      kedge_bytes before, kedge_error *error);

/* ---- the log ---- */

void kedge_undo_log_init(kedge_undo_log *log, const kedge_allocator *allocator);
/* Forgets all. */
void kedge_undo_log_clear(kedge_undo_log *log);
/* Whether the edits of the calling thread are recorded. */
bool kedge_undo_log_records(const kedge_undo_log *log);
kedge_undo_group *kedge_undo_log_top(kedge_undo_stack *stack);
/* Puts the group, which is emptied, on top. The oldest groups go when there are too many, or the
 * log has too many bytes. One without changes is not kept. */
void kedge_undo_log_push(kedge_undo_log *log, kedge_undo_stack *stack, kedge_undo_group *group);
void kedge_undo_stack_pop(kedge_undo_stack *stack);
/* Removes a group of the stack. */
void kedge_undo_stack_remove(kedge_undo_stack *stack, kedge_undo_group *group);
/* The group, open or to be undone, that the edit belongs to; NULL: none. */
kedge_undo_group *kedge_undo_log_find(kedge_undo_log *log, int64_t sequence);
void kedge_undo_stack_clear(kedge_undo_stack *stack);
/* kedge_undo_group_void in all groups. */
void kedge_undo_log_void(kedge_undo_log *log, int64_t sequence);

/* The value at a pointer in a canonical document; empty when there is none. KEDGE_NO_MEMORY. */
kedge_status kedge_undo_value_at(const kedge_allocator *allocator, kedge_bytes document,
                                 kedge_bytes path, kedge_bytes *value, kedge_error *error);

#endif
