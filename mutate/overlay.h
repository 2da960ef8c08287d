/* An ordered map of changes laid over a state that is read elsewhere.
 *
 * Keys are (collection, id) in byte order; the project record is the key ("", ""). An entry is a
 * value, or says that the key is deleted. Marks and rollbacks nest: everything since a mark can be
 * undone. The client's rebase, its local writes and the server's processor all run on this one
 * map. */
#ifndef KEDGE_MUTATE_OVERLAY_H
#define KEDGE_MUTATE_OVERLAY_H

#include "mutate/json_rope.h"

/* A state that can be read by key and in order. The functions return KEDGE_OK, KEDGE_NOT_FOUND
 * (get) or KEDGE_DONE (next), or a transient failure. `value` and `id` are appended to buffers that
 * come in empty. */
typedef struct kedge_state_reader {
    void *context;
    kedge_status (*get)(void *context, kedge_bytes collection, kedge_bytes id, kedge_buffer *value,
                        kedge_error *error);
    /* The first id of the collection after `after`, or of all when `from_start`. */
    kedge_status (*next)(void *context, kedge_bytes collection, bool from_start, kedge_bytes after,
                         kedge_buffer *id, kedge_buffer *value, kedge_error *error);
} kedge_state_reader;

/* A reader of the empty state. */
extern const kedge_state_reader kedge_state_reader_empty;

typedef struct kedge_overlay kedge_overlay;

typedef struct kedge_overlay_entry {
    kedge_bytes collection;
    kedge_bytes id;
    bool deleted;
    kedge_bytes value; /* empty when deleted */
} kedge_overlay_entry;

kedge_overlay *kedge_overlay_new(const kedge_allocator *allocator); /* NULL: no memory */
void kedge_overlay_free(kedge_overlay *overlay);
void kedge_overlay_clear(kedge_overlay *overlay);
size_t kedge_overlay_count(const kedge_overlay *overlay);
size_t kedge_overlay_bytes(const kedge_overlay *overlay); /* keys and values held */

/* Put or delete a key. The bytes are copied. KEDGE_NO_MEMORY. */
kedge_status kedge_overlay_put(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                               kedge_bytes value, kedge_error *error);
kedge_status kedge_overlay_delete(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                                  kedge_error *error);
/* Gives the value of a key as a rope (json_rope.h), opened when it is a container. The overlay then
 * keeps the value as a rope until the key is put or deleted. `*rope` is borrowed until the next
 * change; NULL when the overlay has no large container under the key. KEDGE_NO_MEMORY. */
kedge_status kedge_overlay_rope(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                                kedge_json_rope **rope, kedge_error *error);
/* Puts a rope under a key that has one already. Owns the rope from the call on, also when it fails.
 * The text of the rope is made when the key is read. KEDGE_NO_MEMORY. */
kedge_status kedge_overlay_put_rope(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                                    kedge_json_rope *rope, kedge_error *error);
/* Forgets the key, as if it had never been written. Not undone by a rollback. */
void kedge_overlay_forget(kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id);
/* False when the overlay says nothing of the key. The entry is borrowed until the next change. */
bool kedge_overlay_get(const kedge_overlay *overlay, kedge_bytes collection, kedge_bytes id,
                       kedge_overlay_entry *entry);
/* Iterates over all entries in key order: returns the first entry when `at` is NULL, otherwise the
 * one after `at`. */
bool kedge_overlay_next(const kedge_overlay *overlay, const kedge_overlay_entry *at,
                        kedge_overlay_entry *entry);
/* The first entry of a collection, or the first one after the id `after`. */
bool kedge_overlay_next_of(const kedge_overlay *overlay, kedge_bytes collection, bool from_start,
                           kedge_bytes after, kedge_overlay_entry *entry);
/* The same as kedge_overlay_next without the values, which are empty then: costs nothing where
 * values are in pieces. */
bool kedge_overlay_next_key(const kedge_overlay *overlay, const kedge_overlay_entry *at,
                            kedge_overlay_entry *entry);

/* Changes since the mark can be undone until the mark is released. Marks are released or rolled
 * back in the reverse order of their making; either ends the mark, and those set after it. To end a
 * mark that has ended does nothing. At most KEDGE_OVERLAY_MARKS are open at once: more is a bug of
 * the caller and aborts. */
#define KEDGE_OVERLAY_MARKS 16
typedef size_t kedge_overlay_mark;
kedge_overlay_mark kedge_overlay_set_mark(kedge_overlay *overlay);
void kedge_overlay_rollback(kedge_overlay *overlay, kedge_overlay_mark mark);
void kedge_overlay_release(kedge_overlay *overlay, kedge_overlay_mark mark);
/* How many keys were written since the mark, each counted once. */
size_t kedge_overlay_changes_since(const kedge_overlay *overlay, kedge_overlay_mark mark);

/* The overlay on top of `below`, as a reader. `view` holds the pair and must outlive the use. */
typedef struct kedge_overlay_view {
    const kedge_overlay *overlay;
    kedge_state_reader below;
} kedge_overlay_view;
kedge_state_reader kedge_overlay_reader(kedge_overlay_view *view);

#endif
