/* The commit: large bodies first, then the version record if its key is free, nothing else.
 *
 * The seed cadence puts collection maps and index rows in one transaction with it. */
#ifndef KEDGE_BACKEND_COMMIT_COMMIT_H
#define KEDGE_BACKEND_COMMIT_COMMIT_H

#include "backend/base/project.h"
#include "backend/versioned/commit/slice.h"
#include "backend/versioned/state/state_internal.h"
#include "backend/versioned/versions/version_codec.h"

/* ---- before ---- */

/* Starts a version on top of a head: number, lineage, time, project record. */
kedge_status kedge_version_begin(kedge_backend *backend, const kedge_version *head,
                                 kedge_version_object **object, kedge_error *error);
/* Fills `recent` and `indexed_through`. Completes the index rows first where the layout requires
 * it: the head's runs may only be left out of `recent` when their rows are durable. */
kedge_status kedge_version_set_recent(const kedge_project *project, const kedge_version *head,
                                      kedge_version_object *object, kedge_error *error);

/* ---- the commit ---- */

/* Puts `version`, which stands on top of `head`; a history may change its number (history.h).
 * `*state` is its state, not yet in the cache. Returns KEDGE_CONFLICT when another version has this
 * number; KEDGE_UNAVAILABLE when it is not known whether the version was put; KEDGE_LIMIT_EXCEEDED,
 * with nothing put, when it is too large for the ports or for one transaction of the seed
 * cadence. */
kedge_status kedge_commit(const kedge_project *project, kedge_state *head, kedge_version *version,
                          const kedge_slice_body *bodies, size_t body_count, kedge_state **state,
                          kedge_error *error);

/* ---- after the commit ---- */

/* Index rows and checkpoints are written after a commit, which does not need them. */

/* Rows are written for so many versions or runs at once, so that a commit is one put. */
#define KEDGE_MAINTAIN_VERSIONS 16
#define KEDGE_MAINTAIN_RUNS     64

/* Failures are reported (background.h), and the next commit tries again; where the layout requires
 * the rows, that commit fails when they cannot be written. */
void kedge_maintain(const kedge_project *project, kedge_state *state);

#endif
