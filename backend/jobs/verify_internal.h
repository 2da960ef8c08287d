/* What the files of verify share. Not for other folders. */
#ifndef KEDGE_BACKEND_JOBS_VERIFY_INTERNAL_H
#define KEDGE_BACKEND_JOBS_VERIFY_INTERNAL_H

#define VERIFY_TOKEN_SIZE ((KEDGE_LINEAGE_HEX - 1) / 2)

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/jobs/key_set.h"
#include "backend/jobs/replay.h"
#include "backend/jobs/verify.h"
#include "backend/jobs/visit.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/versions/versions.h"

/* Where a checkpoint's root stands. */
typedef struct verify_root {
    kedge_bytes collection;
    int64_t number;
    int64_t version;
    char lineage[KEDGE_LINEAGE_HEX];
} verify_root;

/* The last run of a client that was seen. */
typedef struct verify_client {
    uint64_t hash; /* of its id; 0: a free place */
    int64_t last;
    bool retired;
} verify_client;

/* A run that later versions must remember. `texts` is its client, group and user, each after the
 * other's NUL. */
typedef struct verify_run {
    kedge_run run;
    char *texts;
} verify_run;

/* A body that is gone or damaged. */
typedef struct verify_lost {
    kedge_bytes collection;
    kedge_bytes id; /* the first item that was seen to have it, and the version */
    int64_t version;
    uint8_t hash[KEDGE_SHA256_SIZE];
    int64_t size; /* 0: not known */
    bool found;   /* and written back */
    bool told;    /* as lost */
} verify_lost;

/* A checkpoint to write again, and what it is of. */
typedef struct verify_bad_root {
    verify_root root;
    kedge_map map;
} verify_bad_root;

typedef struct verifying {
    const kedge_project *project;
    kedge_key partition;
    const kedge_lines *lines;
    kedge_verify_summary *summary;
    kedge_buffer line;
    kedge_arena arena; /* of what lives as long as the job */
    int64_t oldest;
    int64_t newest;
    int64_t rows_through; /* the rows of all versions up to this one must be there */
    uint8_t *tokens;      /* VERIFY_TOKEN_SIZE bytes for each version from the oldest on */
    bool *there;          /* which of these versions are there and readable */
    bool broken;          /* a version is missing: the fold is not what it should be */
    kedge_replay replay;
    kedge_buffer project_record; /* of the version before */
    kedge_key_set bodies;        /* that were looked at */
    kedge_key_set rows;          /* that versions have */
    verify_root *roots;          /* by version */
    size_t root_count;
    size_t root_capacity;
    size_t next_root;
    verify_client *clients;
    size_t client_count;
    size_t client_capacity;
    verify_run *recent;
    size_t recent_count;
    size_t recent_capacity;
    int64_t indexed_through; /* of the version before */
    int64_t gone;            /* the last of the versions that are no longer kept */
    bool repair;
    bool rows_ensured; /* the first row that was to be put again has asked for it */
    bool puts_rows;    /* and single rows may be put */
    verify_lost *lost;
    size_t lost_count;
    size_t lost_capacity;
    kedge_key_set lost_sizes;
    bool lost_of_any_size; /* of one of them the size is not known */
    verify_bad_root *bad_roots;
    size_t bad_root_count;
    size_t bad_root_capacity;
} verifying;

/* ---- the lines that it puts out (verify_report.c) ---- */

/* Tells a finding. `version` 0: of none; `key` empty: of none. */
kedge_status verify_tell(verifying *work, const char *finding, int64_t version, kedge_bytes key,
                         kedge_error *error, const char *format, ...) KEDGE_PRINTF(6, 7);
/* A failure of a read: damage (KEDGE_CORRUPT and the like) becomes a finding and KEDGE_OK, anything
 * else ends the job. */
kedge_status verify_failure(verifying *work, kedge_status status, const char *finding,
                            int64_t version, kedge_bytes key, const kedge_error *failure,
                            kedge_error *error);
/* The status of a read tells damage, and not that a store did not answer. */
bool verify_is_damage(kedge_status status);
/* Tells that the finding under this key is no more. `from`: of what it was made again. */
kedge_status verify_tell_repaired(verifying *work, const char *what, int64_t version,
                                  kedge_bytes key, const char *from, kedge_error *error);
/* ---- which versions are there (verify_lineage.c) ---- */

/* Notes that this version is there and readable. */
void verify_keep_lineage(verifying *work, const kedge_version *version);
/* Whether a version of this number and lineage is there: one that was looked at, one that is no
 * longer kept, or one that was made since. */
kedge_status verify_knows(verifying *work, int64_t number, kedge_bytes lineage, bool *known,
                          kedge_error *error);

/* ---- parts ---- */

/* One version, the next in order (verify_versions.c). */
kedge_status verify_version(verifying *work, const kedge_version *version, kedge_error *error);
void verify_forget_runs(verifying *work, int64_t through);
kedge_status verify_body(verifying *work, int64_t version, kedge_bytes collection,
                         const kedge_entry *entry, kedge_error *error);

/* The checkpoints that there are, and those of one version (verify_checkpoints.c). */
kedge_status verify_list_roots(verifying *work, kedge_error *error);
kedge_status verify_roots_of(verifying *work, int64_t version, kedge_error *error);
kedge_status verify_other_roots(verifying *work, kedge_error *error);

kedge_status verify_load_root(verifying *work, const verify_root *root, kedge_map *map,
                              kedge_error *error);

/* What repair does: notes during the visit of the versions, and the work after it
 * (repair_bodies.c, repair_checkpoints.c). */
kedge_status verify_note_lost(verifying *work, int64_t version, kedge_bytes collection,
                              const kedge_entry *entry, kedge_error *error);
kedge_status verify_repair_bodies(verifying *work, kedge_error *error);
/* Before a body is written back: its items are owed to clients that have pulled around them, and
 * are delivered after everything else (repair_deliver.c). */
kedge_status verify_note_owed(verifying *work, const verify_lost *lost, kedge_error *error);
kedge_status verify_deliver_repaired(verifying *work, kedge_error *error);
kedge_status verify_note_bad_root(verifying *work, const verify_root *root, kedge_error *error);
kedge_status verify_repair_checkpoints(verifying *work, kedge_error *error);
void verify_forget_bad_roots(verifying *work);

/* The index rows of one version, and in the end all rows (verify_index.c). */
kedge_status verify_rows_of(verifying *work, const kedge_version *version, kedge_error *error);
kedge_status verify_all_rows(verifying *work, kedge_error *error);
kedge_status verify_gone(verifying *work, kedge_error *error);

#endif
