/* Archives of segments: all entries of one segment in blobs.
 *
 * A part is gzip of {"format":1,"entries":[…]}, where an entry is
 *     {"n":num,"c":created,"t":type,"v":version,"i":id,"r":revision}
 * with "b":body or "e":name of a body's blob, and its metadata "s", "h", "p". The root is
 *     {"format":1,"segment":N,"first":F,"parts":[{"from":num,"count":N,"sha256":H}],"entries":N}
 * Parts and root are named by the SHA-256 of their text, so that an archive that is written twice
 * is the same. */
#ifndef KEDGE_BACKEND_LOG_ARCHIVE_H
#define KEDGE_BACKEND_LOG_ARCHIVE_H

#include "backend/log/record.h"

#define KEDGE_LOG_ARCHIVE_FORMAT         1
#define KEDGE_LOG_ARCHIVE_PART_BYTES     4194304  /* a part ends after the entry that passes it */
#define KEDGE_LOG_ARCHIVE_PART_BYTES_MAX 16777216 /* of text, when it is read */
#define KEDGE_LOG_ARCHIVE_PARTS_MAX      65536

typedef struct kedge_log_archive_part {
    int64_t from; /* num of its first entry */
    int64_t count;
    char hash[KEDGE_SHA256_HEX];
} kedge_log_archive_part;

typedef struct kedge_log_archive_root {
    int64_t segment;
    int64_t first;
    int64_t entries;
    kedge_log_archive_part *parts; /* the arena's */
    size_t part_count;
} kedge_log_archive_root;

/* Writes all entries of an ended segment, and gives the name of the root. Changes no record. */
kedge_status kedge_log_archive_write(const kedge_log *log, const kedge_log_segment *segment,
                                     char hash[KEDGE_SHA256_HEX], kedge_error *error);

kedge_status kedge_log_archive_open(const kedge_log *log, const kedge_log_segment *segment,
                                    kedge_arena *arena, kedge_log_archive_root *root,
                                    kedge_error *error);
/* All entries of one part, which are the arena's. */
typedef struct kedge_log_archived {
    kedge_log_entry *entries;
    size_t count;
} kedge_log_archived;

/* The part that has `num`. */
kedge_status kedge_log_archive_read(const kedge_log *log, const kedge_log_archive_root *root,
                                    int64_t num, kedge_arena *arena, kedge_log_archived *out,
                                    kedge_error *error);
/* Removes the parts, the root, and the bodies of the entries. After a failure some are removed; the
 * call may be repeated. */
kedge_status kedge_log_archive_remove(const kedge_log *log, const kedge_log_segment *segment,
                                      kedge_error *error);

#endif
