/* What each pending mutation read and wrote when it ran last: its footprint.
 *
 * A rebase need not run a mutation again while every value that it read is the same as before. The
 * footprints tell which mutations that are. They are kept in memory only, by the key:
 *
 *   key        (collection, id), with its uses in the order of the mutations
 *   use        one mutation has read the key, or written it, or both. A write has a value. That of
 *              the last write of a key is what the app sees, and is not kept here; an earlier one
 *              is kept while there is room, and its hash otherwise.
 *   range      a piece of a collection that a mutation has scanned, in key order. The mutation
 *              depends on each item in it, and on there being no others.
 *
 * When memory runs out, or `bytes_max` are not enough, a function here returns
 * KEDGE_NO_MEMORY, and the footprints must not be used until they are cleared. The prediction is
 * then made by running every mutation again, which records them anew.
 *
 * Not safe for two threads at once: the store uses them in its write turn. */
#ifndef KEDGE_SDK_STORE_FOOTPRINT_H
#define KEDGE_SDK_STORE_FOOTPRINT_H

#include "mutate/overlay.h"
#include "mutate/overlay_tree.h"

/* The most that the footprints of a store may take, and the values in them. A test may lower the
 * members that these are the defaults of. */
#define KEDGE_FOOTPRINTS_BYTES       67108864 /* 64 MiB */
#define KEDGE_FOOTPRINTS_VALUE_BYTES 8388608  /* 8 MiB */

typedef enum kedge_use_value {
    KEDGE_USE_READ,    /* not a write */
    KEDGE_USE_SHOWN,   /* the last write: the value is what the app sees */
    KEDGE_USE_KEPT,    /* the value is `value` */
    KEDGE_USE_DELETED, /* a deletion that is not the last write */
    KEDGE_USE_HASHED   /* `value` is the SHA-256 of the value */
} kedge_use_value;

typedef struct kedge_use {
    int64_t sequence;
    bool reads;
    kedge_use_value kind;
    kedge_bytes value; /* a block of the footprints' */
} kedge_use;

typedef struct kedge_used_key {
    kedge_overlay_node node; /* its place in the tree; has collection and id */
    kedge_use *uses;         /* in ascending order of sequence, from `first` on */
    size_t first;
    size_t count; /* including those in front of `first` */
    size_t capacity;
} kedge_used_key;

typedef struct kedge_range {
    kedge_bytes collection;
    bool from_start;
    kedge_bytes after; /* not including it */
    bool to_end;
    kedge_bytes through; /* including it */
} kedge_range;

typedef struct kedge_footprint {
    int64_t sequence;
    int64_t id;
    kedge_used_key **keys;
    size_t key_count;
    kedge_range *ranges;
    size_t range_count;
} kedge_footprint;

typedef struct kedge_footprints {
    const kedge_allocator *allocator;
    kedge_overlay_node *keys;
    kedge_footprint *rows; /* in ascending order of sequence and id, from `first` on */
    size_t first;
    size_t count; /* including those in front of `first` */
    size_t capacity;
    size_t ranged;          /* how many rows have a range */
    size_t bytes;           /* all of it, about */
    size_t value_bytes;     /* of the values that are kept */
    size_t bytes_max;       /* KEDGE_FOOTPRINTS_BYTES */
    size_t value_bytes_max; /* KEDGE_FOOTPRINTS_VALUE_BYTES; more values are kept as hashes */
} kedge_footprints;

void kedge_footprints_init(kedge_footprints *all, const kedge_allocator *allocator);
/* Forgets all, and frees the memory. */
void kedge_footprints_clear(kedge_footprints *all);

/* ---- recording: a reader that notes what is read through it ---- */

typedef struct kedge_recording {
    const kedge_allocator *allocator;
    kedge_state_reader below;
    kedge_overlay *keys; /* those that were read; their values are empty */
    kedge_range *ranges;
    size_t range_count;
    size_t range_capacity;
    bool no_memory;
} kedge_recording;

kedge_status kedge_recording_begin(kedge_recording *recording, const kedge_allocator *allocator,
                                   kedge_state_reader below, kedge_error *error);
/* Forgets what was read so far. */
void kedge_recording_restart(kedge_recording *recording);
void kedge_recording_end(kedge_recording *recording);
kedge_state_reader kedge_recording_reader(kedge_recording *recording);

/* ---- footprints ---- */

/* Adds the mutation after all others. `read` is what it has read, `written` what it has written,
 * and `before` the state that it ran on, without its writes. */
kedge_status kedge_footprints_add(kedge_footprints *all, int64_t sequence, int64_t id,
                                  const kedge_recording *read, const kedge_overlay *written,
                                  kedge_state_reader before, kedge_error *error);
/* Takes the first mutation away. */
void kedge_footprints_drop_first(kedge_footprints *all);

kedge_footprint *kedge_footprints_first(const kedge_footprints *all); /* NULL: there is none */
/* Returns the first footprint of a sequence that is not below this one, or NULL. */
kedge_footprint *kedge_footprints_from(const kedge_footprints *all, int64_t sequence);

/* ---- the parts, for rebase.c ---- */

kedge_used_key *kedge_footprints_find(const kedge_footprints *all, kedge_bytes collection,
                                      kedge_bytes id); /* NULL: no mutation uses the key */
/* The first key of a collection, or the first one after the id `after`, that a mutation uses; or
 * NULL. */
kedge_used_key *kedge_footprints_next(const kedge_footprints *all, kedge_bytes collection,
                                      bool from_start, kedge_bytes after);
/* The first use by a mutation of a sequence above this one, or NULL. */
kedge_use *kedge_key_use_after(const kedge_used_key *key, int64_t sequence);
/* The last write by a mutation of a sequence below this one, or NULL. */
kedge_use *kedge_key_write_before(const kedge_used_key *key, int64_t sequence);
kedge_use *kedge_key_use_of(const kedge_used_key *key, int64_t sequence);
/* Makes the use a write of this value (NULL: a deletion), which is kept for now. */
kedge_status kedge_use_keep(kedge_footprints *all, kedge_use *use, const kedge_bytes *value,
                            kedge_error *error);
/* Makes the use the last write, whose value is seen; or no write. */
void kedge_use_show(kedge_footprints *all, kedge_use *use);
void kedge_use_unwrite(kedge_footprints *all, kedge_use *use);
/* Keeps the hash in place of the value when the values take too much. */
void kedge_use_thin(kedge_footprints *all, kedge_use *use);
/* Whether the use, a write, has this value (NULL: a deletion). `shown` is what the app sees under
 * the key, for KEDGE_USE_SHOWN. */
bool kedge_use_equals(const kedge_use *use, const kedge_bytes *shown, const kedge_bytes *value);
/* Gives the footprint other keys and ranges: those that were read, and those that were written.
 * The uses of the former keys that are no longer among them are removed. Sets no values. */
kedge_status kedge_footprint_replace(kedge_footprints *all, kedge_footprint *row,
                                     const kedge_recording *read, const kedge_overlay *written,
                                     kedge_error *error);

#endif
