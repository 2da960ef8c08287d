/* Where the versions of a project are kept: in version records, or elsewhere.
 *
 * The folders above this one deduplicate, index and retire by versions: their numbers, lineages,
 * mutations and runs. They do not depend on where a version is kept. A project with a history keeps
 * its versions there; one without has version records (versions.c). backend/logged keeps them as
 * entries of a log. */
#ifndef KEDGE_BACKEND_VERSIONS_HISTORY_H
#define KEDGE_BACKEND_VERSIONS_HISTORY_H

#include "backend/base/project.h"
#include "backend/versioned/model/version.h"

struct kedge_state; /* backend/versioned/state */

/* All reads are consistent. */
struct kedge_version_history {
    /* The newest version; its number may be 0. */
    kedge_status (*newest)(const kedge_project *project, const kedge_version **version,
                           kedge_error *error);
    /* Version `number`, from 1 on. KEDGE_NOT_FOUND. */
    kedge_status (*load)(const kedge_project *project, int64_t number,
                         const kedge_version **version, kedge_error *error);
    /* Up to `limit` versions below `before`, the newest first, without a gap; `recent` may be left
     * out. */
    kedge_status (*list)(const kedge_project *project, int64_t before, uint32_t limit,
                         const kedge_version **versions, size_t *count, kedge_error *error);
    /* From 0 on. KEDGE_NOT_FOUND: there is no such version, or it is no longer kept. */
    kedge_status (*lineage)(const kedge_project *project, int64_t number,
                            char lineage[KEDGE_LINEAGE_HEX], kedge_error *error);
    /* The oldest version that is kept, from 1 on. */
    kedge_status (*oldest)(const kedge_project *project, int64_t *oldest, kedge_error *error);
    /* The commit: puts `version` on top of `head`. It may get a higher number than head + 1, when
     * versions without mutations have come since. KEDGE_CONFLICT, KEDGE_UNAVAILABLE and
     * KEDGE_LIMIT_EXCEEDED as of kedge_commit. */
    kedge_status (*append)(const kedge_project *project, const kedge_version *head,
                           kedge_version *version, kedge_error *error);
    /* Behind a commit: work that is due, by `later` where the backend has it. */
    void (*maintain)(struct kedge_state *state);
};

#endif
