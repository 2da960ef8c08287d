/* Verify: reads all of a project and reports everything that is not as it must be.
 *
 * It checks every version that is kept, in order: its record, its number, its runs against its
 * mutations and against those of the versions before, what it remembers (`recent`), its collections
 * and items against the fold of all deltas, every body against the hash that it is named by. It
 * checks every checkpoint against that fold, every index row against the version that it is made
 * from, and every row and checkpoint against the lineage of its version. It changes nothing, and
 * may run beside pushes: it looks at what was there when it began.
 *
 * Repair does the same, and then writes again what can be made again: bodies of which a copy is
 * found, checkpoints and index rows. It does not change what is right, and it may be repeated.
 * Clients that pulled while a body was lost have left out the items that have it. So repair commits
 * versions that put each such item of the newest version again, unchanged. */
#ifndef KEDGE_BACKEND_JOBS_VERIFY_H
#define KEDGE_BACKEND_JOBS_VERIFY_H

#include "backend/base/project.h"
#include "backend/jobs/lines.h"
#include "backend/versioned/versions/versions.h"

typedef struct kedge_verify_summary {
    int64_t oldest; /* the versions that were looked at */
    int64_t newest;
    int64_t mutations;
    int64_t items;  /* at the newest version */
    int64_t bodies; /* different ones, in blobs */
    int64_t checkpoints;
    int64_t rows;
    int64_t findings;
    int64_t repaired; /* of the findings */
    int64_t lost;     /* bodies that stay lost */
} kedge_verify_summary;

/* A line for each finding, {"finding", "version"?, "key"?, "detail"}, and one for the summary.
 * KEDGE_OK also with findings; KEDGE_NOT_FOUND: no such project; KEDGE_UNAVAILABLE: a store did not
 * answer, or versions were removed meanwhile. */
kedge_status kedge_verify_project(const kedge_project *project, const kedge_lines *lines,
                                  kedge_verify_summary *summary, kedge_error *error);

/* The same, with a line for each finding that was repaired, {"repaired", "version", "key", "from"},
 * one for each version that delivers items again, {"delivered", "version"} with their number, and
 * one for each item and version whose body stays lost, {"lost":"item-body", "collection", "id",
 * "version", "newest", "hash"}; `newest`: the item still has it at the newest version. */
kedge_status kedge_repair_project(const kedge_project *project, const kedge_lines *lines,
                                  kedge_verify_summary *summary, kedge_error *error);

#endif
