/* What the files of import share. Not for other folders. */
#ifndef KEDGE_BACKEND_JOBS_IMPORT_INTERNAL_H
#define KEDGE_BACKEND_JOBS_IMPORT_INTERNAL_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/jobs/chain.h"
#include "backend/jobs/import.h"
#include "backend/jobs/key_set.h"
#include "backend/jobs/replay.h"
#include "backend/versioned/projects/name_claim.h"
#include "backend/versioned/state/checkpoint_chunks.h"
#include "common/json.h"

typedef struct importing {
    const kedge_project *project;
    kedge_key partition;
    kedge_import_result *result;
    kedge_chain chain;
    /* Of the first line. */
    char id[KEDGE_IMPORT_ID_SIZE];
    char lineage[KEDGE_LINEAGE_HEX];
    int64_t created_ms;
    kedge_buffer forked;
    int64_t oldest;
    int64_t newest;
    char token[KEDGE_LINEAGE_HEX]; /* of the record that takes the name */
    /* How far the lines are, and how far an earlier try was. */
    int64_t version; /* the last one read */
    int64_t there;   /* versions up to this one are there */
    char there_lineage[KEDGE_LINEAGE_HEX];
    int64_t gone; /* the last of those that retention had removed */
    bool ended;
    char oldest_lineage[KEDGE_LINEAGE_HEX];
    kedge_key_set bodies; /* that lines have brought */
    kedge_replay replay;
    kedge_items items; /* of the collection that is being read */
    kedge_bytes value; /* of the line's first member */
} importing;

/* KEDGE_INVALID_ARGUMENT: `what`, which the line has, is not what an export has there. */
#define KEDGE_IMPORT_DAMAGED "export-damaged"
kedge_status import_damaged(const char *what, kedge_error *error);
/* KEDGE_UNAVAILABLE: another process has ended or discarded the import, or goes on with it. */
kedge_status import_raced(kedge_error *error);
/* The attribute that the record which takes the name has while it is this process's. */
kedge_attribute import_token(const importing *work);

/* The lines, by their first member (import_lines.c). */
kedge_status import_line(importing *work, kedge_bytes line, kedge_error *error);

/* Takes the name, or finds that it was taken for this import (import_begin.c). `*done`: this export
 * is there already. */
kedge_status import_begin(importing *work, bool *done, kedge_error *error);
/* Whether the last version that an earlier try has put is the one that the lines have: it has their
 * lineage. KEDGE_CONFLICT "version-exists": it is another one. */
kedge_status import_check_there(const importing *work, kedge_bytes lineage, kedge_error *error);
/* The record of a version, if it is absent and the name is still taken for this import. */
kedge_status import_put_version(importing *work, const kedge_record *record, kedge_error *error);
/* The id of what takes the name of a project that is being deleted (delete.c). No export has it:
 * theirs are hashes. */
#define KEDGE_IMPORT_ID_DELETED "deleted"
/* What discarding and deleting share (import_discard.c). The token that `work` has, of whichever
 * process, becomes a new one of this process. KEDGE_UNAVAILABLE: another one was first. */
kedge_status import_take_over(importing *work, kedge_error *error);
/* The condition that the token is still this process's, for a transaction. `*sort` is its memory.
 */
kedge_record_write import_claim_check(const importing *work, kedge_key *sort);
/* The same by a read, in front of what knows no condition. KEDGE_UNAVAILABLE: it is not. */
kedge_status import_check_ours(const importing *work, kedge_error *error);
/* Removes versions and blobs, and gives the name back. */
kedge_status import_discard(importing *work, kedge_error *error);
/* Makes the project visible. */
kedge_status import_commit(importing *work, kedge_error *error);

#endif
