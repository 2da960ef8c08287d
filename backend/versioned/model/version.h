/* The version record: the commit of a project.
 *
 * One version of a project is one record, put under the condition that its key is free. It contains
 * the project record, the ordered mutations with their outcomes, the delta, and the runs of earlier
 * versions that are not indexed yet (`recent`, `indexed_through`). All other records are indexes of
 * version records: they are written afterwards and can be made again. */
#ifndef KEDGE_BACKEND_MODEL_VERSION_H
#define KEDGE_BACKEND_MODEL_VERSION_H

#include "backend/base/project_ref.h"
#include "common/arena.h"
#include "common/hash.h"
#include "common/json.h"

#include <kedge/limits.h>
#include <stdatomic.h>

/* The tuned values of the layout. */
#define KEDGE_BODY_INLINE_BYTES   8192 /* a body up to this stays in the delta and the checkpoint */
#define KEDGE_ARGS_INLINE_BYTES   8192 /* larger args of a mutation leave the record, too */
#define KEDGE_VERSION_BYTES_MAX   350000 /* a record over this moves its delta or args to blobs */
#define KEDGE_RECENT_RUNS_MAX     256    /* index rows are completed before a commit passes these */
#define KEDGE_RECENT_VERSIONS_MAX 64
#define KEDGE_CHECKPOINT_VERSIONS 64 /* a tail over either bound may be due for a checkpoint */
#define KEDGE_CHECKPOINT_BYTES    262144
#define KEDGE_CHUNK_BYTES_MAX     262144
#define KEDGE_LINEAGE_HEX         33

typedef enum kedge_mutation_outcome {
    KEDGE_MUTATION_APPLIED,
    KEDGE_MUTATION_REJECTED,
    KEDGE_MUTATION_DUPLICATE
} kedge_mutation_outcome;

typedef struct kedge_version_mutation {
    kedge_bytes client;
    int64_t id;
    kedge_bytes name;
    kedge_bytes args; /* canonical JSON; of an invalid mutation "null" */
    int64_t timestamp_ms;
    kedge_bytes user;
    kedge_bytes uid; /* hexadecimal; empty for a Replicache client */
    uint8_t digest[KEDGE_DIGEST_SIZE];
    kedge_bytes origin_client; /* empty: none */
    int64_t origin_id;
    kedge_mutation_outcome outcome;
    kedge_bytes code; /* of a rejection, and of a duplicate of one; otherwise empty */
    kedge_bytes message;
    /* Only of a log project, whose replays need them. There an outcome that is APPLIED means that
     * each replay decides. */
    kedge_bytes role;
    int64_t mutator; /* the version of the mutator that the pushing client had */
} kedge_version_mutation;

static inline bool kedge_mutation_has_reason(const kedge_version_mutation *mutation)
{
    return mutation->outcome == KEDGE_MUTATION_REJECTED || mutation->code.size > 0;
}

/* What stands under a key: the hash of its canonical JSON, its size, the declared metadata, and the
 * body itself when it is small. */
typedef struct kedge_entry {
    kedge_bytes id;
    uint8_t hash[KEDGE_SHA256_SIZE];
    int64_t size;
    kedge_bytes meta; /* a JSON object, or empty */
    kedge_bytes body; /* data NULL: in blobs under its hash */
} kedge_entry;

typedef struct kedge_version_change {
    kedge_bytes collection;
    bool deleted;
    kedge_entry entry; /* only the id when deleted */
} kedge_version_change;

typedef struct kedge_version_collection {
    kedge_bytes name;
    int64_t number; /* the collection's own version: 1, 2, 3… */
    int64_t last;   /* the project version of its last change, and of the one before (0: none) */
    int64_t previous;
    int64_t items; /* how many items it has at this version */
} kedge_version_collection;

/* One client's run of mutations in one version. */
typedef struct kedge_run {
    kedge_bytes client;
    kedge_bytes group;
    kedge_bytes user;
    int64_t version;
    int64_t first;
    int64_t last;
    bool retired; /* the row of a retired client: no mutations */
} kedge_run;

/* A decoded version record. Immutable and reference-counted: may be shared between threads. */
typedef struct kedge_version {
    int64_t number; /* 0: a project without versions; lineage of its creation */
    char lineage[KEDGE_LINEAGE_HEX];
    int64_t created_ms;
    kedge_bytes project_record;            /* empty: never set */
    kedge_version_collection *collections; /* by name */
    size_t collection_count;
    kedge_version_mutation *mutations; /* in the order in which they were applied */
    size_t mutation_count;
    bool without_args;             /* they were not read: the args of its mutations are empty */
    kedge_version_change *changes; /* by (collection, id) */
    size_t change_count;
    bool project_changed;
    kedge_run *runs; /* this version's own, one for each of its clients */
    size_t run_count;
    kedge_run *recent; /* of versions indexed_through+1 .. number, the oldest first */
    size_t recent_count;
    int64_t indexed_through;
    kedge_bytes retired; /* the client that this version retires; empty: none */
    /* Of the first version of a fork, and of its creation: {"lineage","project","version"} of what
     * it was forked from, as canonical JSON; empty: not forked. */
    kedge_bytes forked;
} kedge_version;

/* Any thread. */
void kedge_version_retain(const kedge_version *version);
void kedge_version_release(const kedge_version *version);

/* ---- a version with its memory ---- */

/* What the kedge_version of a loaded or committed record stands in. */
typedef struct kedge_version_object {
    kedge_version version; /* first: a public pointer is a pointer to the object */
    atomic_uint references;
    kedge_arena arena;
} kedge_version_object;

/* One reference; NULL: no memory. It may be changed until it is shown to anybody else. */
kedge_version_object *kedge_version_object_new(const kedge_allocator *allocator);

/* NULL when the version does not have the collection. */
const kedge_version_collection *kedge_version_find_collection(const kedge_version *version,
                                                              kedge_bytes name);
/* The changes of one collection: `*first` of `*count`. */
void kedge_version_find_changes(const kedge_version *version, kedge_bytes name, size_t *first,
                                size_t *count);

/* ---- an item in a stored record ---- */

/* An item as deltas, chunks and collection maps hold it: a member of a JSON object,
 *
 *     "id": {"hash": "…64 digits…", "size": N, "meta": {…}, "body": …}     or     "id": null
 *
 * `size` stands only without a body, whose own length it is otherwise; `meta` only when there is
 * any; `body` is the item's canonical JSON when it is small. null is a deletion and occurs in
 * deltas. */
void kedge_entry_write(kedge_json_writer *writer, const kedge_entry *entry, bool deleted);

/* `key` and `value` as an iterator gives them. The entry borrows from them and from the arena. */
kedge_status kedge_entry_read(kedge_bytes key, kedge_bytes value, kedge_arena *arena,
                              kedge_entry *entry, bool *deleted, kedge_error *error);

/* A string value's text: borrowed when it has no escapes, else decoded into the arena. */
kedge_status kedge_text_read(kedge_bytes value, kedge_arena *arena, kedge_bytes *text,
                             kedge_error *error);

/* Returns the error for a stored text that is damaged. */
kedge_status kedge_record_damaged(const char *what, kedge_error *error);

#endif
