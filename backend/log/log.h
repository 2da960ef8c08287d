/* An event log: a named, ordered list of immutable entries, beside the versioned projects.
 *
 * After "Implementing a Spreadsheet Event Log on DynamoDB"; docs/explanation/log.md maps each of
 * its steps to the function that does it. A log is cut into segments. Each segment starts with a
 * Snapshot entry, and each but the newest ends with an End Segment entry. An entry has a place in
 * its segment, `num`, and one in the log, `number`; both count from 0 without gaps, and every entry
 * counts, whatever its type.
 *
 * All calls block in the ports; any thread may call. KEDGE_NOT_FOUND: there is no such log.
 * KEDGE_CORRUPT: the message names log, segment and entry. KEDGE_UNAVAILABLE and the like: try
 * again. */
#ifndef KEDGE_BACKEND_LOG_LOG_H
#define KEDGE_BACKEND_LOG_LOG_H

#include "backend/base/project.h"
#include "common/arena.h"

#include <kedge/limits.h>

#define KEDGE_LOG_ID_SIZE 16 /* of the UUID of a log, and of the id of an entry */
#define KEDGE_LOG_ID_HEX  33

#define KEDGE_LOG_TYPE_BYTES_MAX 64
#define KEDGE_LOG_VERSION_MAX    2147483647
/* Of the body of an event, as canonical JSON: the args of the mutator that its type names. */
#define KEDGE_LOG_BODY_BYTES_MAX KEDGE_LIMIT_ARGS_BYTES
/* Of any body that is read. An entry of a log project (backend/logged/entry.h) is larger than the
 * args in it, in which a string may have to be escaped once more. */
#define KEDGE_LOG_STORED_BYTES_MAX   (2 * KEDGE_LIMIT_ARGS_BYTES + 1048576)
#define KEDGE_LOG_INLINE_BYTES       16384  /* larger bodies are blobs, unless the options say */
#define KEDGE_LOG_INLINE_BYTES_MAX   262144 /* what the options may say */
#define KEDGE_LOG_METADATA_BYTES_MAX 1024
#define KEDGE_LOG_NUMBER_MAX         9007199254740991 /* 2^53 - 1 */
#define KEDGE_LOG_PAGE_MAX           1000
#define KEDGE_LOG_TRIES_MAX          16

#define KEDGE_LOG_SNAPSHOT       "Snapshot"
#define KEDGE_LOG_END_SEGMENT    "End Segment"
#define KEDGE_LOG_SYSTEM_VERSION 1 /* of these two types */

/* Made on the stack by kedge_log_of. Borrows the project and the name. */
typedef struct kedge_log {
    const kedge_project *project;
    kedge_bytes name; /* as kedge_check_name allows */
    uint8_t id[KEDGE_LOG_ID_SIZE];
} kedge_log;

kedge_log kedge_log_of(const kedge_project *project, kedge_bytes name);

typedef struct kedge_log_place {
    int64_t segment;
    int64_t num;    /* in the segment */
    int64_t number; /* in the log */
} kedge_log_place;

/* Its texts belong to the page that it stands in. */
typedef struct kedge_log_entry {
    kedge_log_place at;
    int64_t created_s; /* since 1970 */
    kedge_bytes type;
    int64_t version;
    uint8_t id[KEDGE_LOG_ID_SIZE];
    kedge_bytes body;     /* canonical JSON; empty for one that is external */
    kedge_bytes external; /* the name of the blob that holds the body; empty: none */
    kedge_bytes snapshot; /* metadata; empty: none */
    kedge_bytes history;
    kedge_bytes pending;
    int64_t expires_s; /* since 1970; 0: never */
    int64_t revision;  /* how often the metadata was changed */
} kedge_log_entry;

/* Entries that a read gave, with their memory. Start from kedge_log_page_make. */
typedef struct kedge_log_page {
    kedge_arena arena;
    kedge_log_entry *entries;
    size_t count;
} kedge_log_page;

kedge_log_page kedge_log_page_make(const kedge_allocator *allocator);
void kedge_log_page_free(kedge_log_page *page);

/* Whether the log itself made the entry, or it asks for a snapshot: an entry that is no event. */
bool kedge_log_entry_is_system(const kedge_log_entry *entry);

/* ---- create (create.c) ---- */

/* Create Log. `*created` is false when the log was there before. */
kedge_status kedge_log_create(const kedge_log *log, bool *created, kedge_error *error);

/* ---- the list (list.c) ---- */

typedef kedge_status (*kedge_log_visit)(void *context, kedge_bytes name, int64_t created_s,
                                        kedge_error *error);
/* The logs of a project by name, at most `limit` (1 to KEDGE_LOG_PAGE_MAX) after `after`, which
 * may be empty. `*more`: there are others. An eventually consistent read. */
kedge_status kedge_log_list(const kedge_project *project, kedge_bytes after, uint32_t limit,
                            kedge_log_visit visit, void *context, bool *more, kedge_error *error);

/* ---- append (append.c) ---- */

#define KEDGE_LOG_AT_END (-1)

typedef struct kedge_log_append_request {
    kedge_bytes type; /* as kedge_check_name allows */
    int64_t version;  /* 1 to KEDGE_LOG_VERSION_MAX */
    kedge_bytes body; /* checked JSON; empty: null */
    /* Of the body as canonical JSON, up to KEDGE_LOG_STORED_BYTES_MAX; 0:
     * KEDGE_LOG_BODY_BYTES_MAX. */
    size_t body_bytes_max;
    /* The number that the caller expects for the entry, or KEDGE_LOG_AT_END. A conflict: an event
     * has been appended at this number or after it, or the number is after the end of the log.
     * Entries that are not events may have been appended since. */
    int64_t expected;
    /* The id of the entry; all zeros: a random one. When the entry was appended before under this
     * id, at `expected` or, at the end, from `since` on, then nothing is appended. */
    uint8_t id[KEDGE_LOG_ID_SIZE];
    int64_t since; /* with KEDGE_LOG_AT_END: -1 does not look */
    /* The caller holds a lock of its own, so that only one append of this process runs at a time
     * for the log; no other lock may be taken then. The option `appended` is not called. */
    bool locked;
} kedge_log_append_request;

typedef struct kedge_log_append_result {
    bool conflict;      /* see `expected` */
    bool before;        /* the entry was there already */
    kedge_log_place at; /* of the entry; after a conflict only `number`, the next one */
} kedge_log_append_result;

/* Add Entry. KEDGE_UNAVAILABLE: it may or may not be appended; with an id the caller can repeat
 * it. */
kedge_status kedge_log_append(const kedge_log *log, const kedge_log_append_request *request,
                              kedge_log_append_result *result, kedge_error *error);

/* ---- segments (new_segment.c) ---- */

/* Create New Segment. `*first` is the place of its Snapshot entry. KEDGE_REJECTED
 * "log-snapshot-missing": the current segment has no snapshot yet. */
kedge_status kedge_log_new_segment(const kedge_log *log, kedge_log_place *first,
                                   kedge_error *error);

/* ---- reading (load.c; a page: reader.c; a body: body.c) ---- */

/* A type that the caller can read, up to a version. */
typedef struct kedge_log_type {
    kedge_bytes name;
    int64_t version_max;
} kedge_log_type;

/* A place in a log from which pages are read. Borrows the log. Set up by one of the functions
 * below. */
typedef struct kedge_log_reader {
    const kedge_log *log;
    bool descending;
    bool skips_snapshots; /* entry 0 of a later segment is left out: Load and Update Loaded */
    bool consistent;
    bool ended;
    int64_t segment;       /* where the next page starts */
    int64_t first;         /* the number of the segment's entry 0; -1, descending: not known yet */
    int64_t num;           /* -1, descending: the End Segment entry, which must be there */
    int64_t end;           /* its number then */
    int64_t newest;        /* the newest segment that was seen: those before it have an end */
    int64_t last_snapshot; /* the number of the last one that was seen at the setup; -1: none */
    uint8_t last_id[KEDGE_LOG_ID_SIZE]; /* of the last entry that it gave; zeros: none */
    /* May be set after the setup. Another type or version than these and those of the log is
     * KEDGE_UNSUPPORTED; NULL: all are fine. */
    const kedge_log_type *types;
    size_t type_count;
} kedge_log_reader;

/* Load: the last snapshot's entry and everything after it. Load and Update Loaded never leave a
 * gap: when a truncation has removed entries that are to be read next, the read is
 * KEDGE_UNAVAILABLE, and the load must begin again. */
kedge_status kedge_log_load(const kedge_log *log, kedge_log_reader *reader, kedge_error *error);
/* Update Loaded: the entries after the entry `last`. `*reload`: `last` is too far back, or some of
 * the entries after it were truncated; then the reader is that of Load. */
kedge_status kedge_log_update(const kedge_log *log, int64_t last, kedge_log_reader *reader,
                              bool *reload, kedge_error *error);

typedef enum kedge_log_from {
    KEDGE_LOG_FROM_START,    /* the first entry that is kept */
    KEDGE_LOG_FROM_SNAPSHOT, /* the entry of the last snapshot; without one, the start */
    KEDGE_LOG_FROM_END,      /* the last entry */
    KEDGE_LOG_FROM_NUMBER
} kedge_log_from;

/* Reads from any place, also before the last snapshots, up or down. A number that is no longer kept
 * counts as the start; one after the end gives no entries (up) or starts at the end (down). */
kedge_status kedge_log_query(const kedge_log *log, kedge_log_from from, int64_t number,
                             bool descending, kedge_log_reader *reader, kedge_error *error);

/* The next entries, at most `limit` (1 to KEDGE_LOG_PAGE_MAX); `page` was emptied by the caller.
 * When there are none, `reader->ended` is true. A page ends before an entry that cannot be read;
 * the next call fails with KEDGE_CORRUPT or KEDGE_UNSUPPORTED. External bodies are not read. */
kedge_status kedge_log_read(kedge_log_reader *reader, uint32_t limit, kedge_log_page *page,
                            kedge_error *error);

/* Appends the body of an entry to `body`, also an external one. Removes the tag of a discardable
 * write, if the body still has it. */
kedge_status kedge_log_read_body(const kedge_log *log, const kedge_log_entry *entry,
                                 kedge_buffer *body, kedge_error *error);

/* What is known of a log as a whole. */
typedef struct kedge_log_summary {
    int64_t created_s;             /* of the oldest segment that is kept */
    int64_t first;                 /* the first number that is kept */
    int64_t next;                  /* after the last entry */
    int64_t segment;               /* the newest */
    int64_t last_snapshot;         /* a number; -1: none yet */
    kedge_log_page snapshot_entry; /* of last_snapshot: one entry, or none */
} kedge_log_summary;

/* `summary->snapshot_entry` was made by the caller, who frees it. */
kedge_status kedge_log_summarize(const kedge_log *log, bool consistent, kedge_log_summary *summary,
                                 kedge_error *error);

/* ---- metadata (metadata.c) ---- */

/* A member whose `data` is NULL is not changed, and an empty one is removed. To remove a snapshot
 * is KEDGE_INVALID_ARGUMENT "log-metadata-invalid". */
typedef struct kedge_log_metadata {
    kedge_bytes snapshot;
    kedge_bytes history;
    kedge_bytes pending;
    bool again; /* the snapshot is set, and the revision moves on, also when it is as before */
} kedge_log_metadata;

/* Sets the metadata of an entry. With a snapshot the segment's Last Snapshot moves to it, unless it
 * is further already. KEDGE_NOT_FOUND "log-entry-not-found": there is no such entry in the table;
 * KEDGE_LIMIT_EXCEEDED. */
kedge_status kedge_log_set_metadata(const kedge_log *log, int64_t number,
                                    const kedge_log_metadata *metadata, kedge_error *error);
/* The same while the entry has the revision that the caller has read. `*done` false: the metadata
 * was changed since, to something else, and is left as it is. */
kedge_status kedge_log_set_metadata_at(const kedge_log *log, int64_t number, int64_t revision,
                                       const kedge_log_metadata *metadata, bool *done,
                                       kedge_error *error);

/* ---- old segments (archive.c, truncate.c) ---- */

typedef enum kedge_log_archived_entries {
    KEDGE_LOG_KEEP,   /* they stay in the table, too */
    KEDGE_LOG_DELETE, /* they are deleted, one by one */
    KEDGE_LOG_EXPIRE  /* they get the attribute X: a store with a time to live deletes them */
} kedge_log_archived_entries;

/* Archives an old segment: copies all of its entries to blobs, from which readers then read them.
 * It may be called again, to continue, or to delete what it kept. `expires_s`: since 1970, for
 * KEDGE_LOG_EXPIRE. KEDGE_REJECTED "log-segment-in-use": a load needs the segment;
 * "log-segment-not-found". */
kedge_status kedge_log_archive(const kedge_log *log, int64_t segment,
                               kedge_log_archived_entries entries, int64_t expires_s,
                               kedge_error *error);

/* Removes all entries before a number, with their bodies, archives and snapshots (snapshot.h), for
 * good. May be called again, to continue. KEDGE_REJECTED "log-truncate-too-far": the number is
 * after the last snapshot, or there is none. */
kedge_status kedge_log_truncate(const kedge_log *log, int64_t before, kedge_error *error);

#endif
