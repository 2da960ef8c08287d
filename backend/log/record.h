/* The records of logs: entries and segments, to and from the records port. Attributes have one
 * letter; docs/reference/storage.md lists them. */
#ifndef KEDGE_BACKEND_LOG_RECORD_H
#define KEDGE_BACKEND_LOG_RECORD_H

#include "backend/log/layout.h"

#define KEDGE_LOG_ATTRIBUTES_MAX 12

/* What readers of a stream look at (backend/effects/apply.h). */
#define KEDGE_LOG_ENTRY_PREFIX       "E#"
#define KEDGE_LOG_ATTRIBUTE_NAME     "N" /* "{organization}/{project}/{log}" */
#define KEDGE_LOG_ATTRIBUTE_TYPE     "T"
#define KEDGE_LOG_ATTRIBUTE_EXTERNAL "E"
#define KEDGE_LOG_ATTRIBUTE_SNAPSHOT "S"

/* Whether a blob of a body can have the name: only then it fits a key. */
bool kedge_log_is_body_name(kedge_bytes name);

/* A record that is to be put, with its keys and attributes; the latter borrow their bytes. */
typedef struct kedge_log_record {
    kedge_log_key partition;
    kedge_log_key sort;
    kedge_attribute attributes[KEDGE_LOG_ATTRIBUTES_MAX];
    size_t count;
} kedge_log_record;

/* One segment. */
typedef struct kedge_log_segment {
    int64_t num;
    int64_t first; /* the number of its entry 0 */
    int64_t created_s;
    int64_t last_snapshot; /* num of an entry; -1: none yet */
    int64_t deleted;       /* entries below this num were truncated */
    bool archived;
    char archive[KEDGE_SHA256_HEX]; /* of the archive's root */
    int64_t revision;               /* every change of the record makes it one more */
} kedge_log_segment;

/* Packs the body into `arena`, unless the entry is external. */
kedge_status kedge_log_entry_encode(const kedge_log *log, const kedge_log_entry *entry,
                                    kedge_arena *arena, kedge_log_record *record,
                                    kedge_error *error);
/* The entry's texts are the arena's. `first` is the number of the segment's entry 0. KEDGE_CORRUPT
 * for what backend/log cannot have written, KEDGE_UNSUPPORTED for a version of a type of the log
 * that it does not know. */
kedge_status kedge_log_entry_decode(const kedge_log *log, int64_t segment, int64_t first,
                                    const kedge_record *record, kedge_arena *arena,
                                    kedge_log_entry *entry, kedge_error *error);

void kedge_log_segment_encode(const kedge_log *log, const kedge_log_segment *segment,
                              kedge_log_record *record);
kedge_status kedge_log_segment_decode(const kedge_log *log, const kedge_record *record,
                                      kedge_log_segment *segment, kedge_error *error);

/* A put of the record, which the write borrows. */
kedge_record_write kedge_log_put(const kedge_log_record *record, kedge_condition condition);
/* A put on condition that the record still has this revision. */
kedge_record_write kedge_log_put_over(const kedge_log_record *record, int64_t revision);

/* `seconds` since 1970, now. */
int64_t kedge_log_now_s(const kedge_log *log);

#endif
