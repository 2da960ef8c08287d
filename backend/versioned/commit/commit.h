/* The commit: large bodies first, then the version record if its key is free, nothing else.
 *
 * The seed cadence puts collection maps and index rows in one transaction with it. */
#ifndef KEDGE_BACKEND_COMMIT_COMMIT_H
#define KEDGE_BACKEND_COMMIT_COMMIT_H

#include "backend/base/project.h"
#include "backend/versioned/commit/slice.h"
#include "backend/versioned/versions/version_codec.h"

/* Puts `version`, which stands on top of `head`; a history may change its number (history.h).
 * `*state` is its state, not yet in the cache. Returns KEDGE_CONFLICT when another version has this
 * number; KEDGE_UNAVAILABLE when it is not known whether the version was put; KEDGE_LIMIT_EXCEEDED,
 * with nothing put, when it is too large for the ports or for one transaction of the seed
 * cadence. */
kedge_status kedge_commit(const kedge_project *project, kedge_state *head, kedge_version *version,
                          const kedge_slice_body *bodies, size_t body_count, kedge_state **state,
                          kedge_error *error);

/* Puts bodies that are too large for what stands around them. Repeatable. */
kedge_status kedge_commit_bodies(const kedge_project *project, const kedge_slice_body *bodies,
                                 size_t count, kedge_error *error);

/* One transaction with the version record and everything that the seed cadence writes with it.
 * (commit_seed.c) */
kedge_status kedge_commit_seed(kedge_state *state, const kedge_version_record *record,
                               kedge_error *error);

#endif
