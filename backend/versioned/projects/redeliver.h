/* Redelivery: versions in which items stand in the delta again as they are.
 *
 * A pull leaves out an item whose body is lost, and the client's cookie still advances. When the
 * body is back, later deltas would not have the item, since its hash has not changed. So a version
 * without mutations is committed that has the item in its delta, with the same hash and metadata.
 * Every delta from an older version to a newer one has it. */
#ifndef KEDGE_BACKEND_PROJECTS_REDELIVER_H
#define KEDGE_BACKEND_PROJECTS_REDELIVER_H

#include "backend/base/backend.h"
#include "backend/base/project.h"
#include "backend/versioned/model/layout.h"

/* A body that was lost, and is there again. */
typedef struct kedge_redelivery {
    kedge_bytes collection;
    uint8_t hash[KEDGE_SHA256_SIZE];
    bool unread; /* set when the newest version cannot be read: the item must be delivered later */
} kedge_redelivery;

/* Called for each version that was committed. */
typedef kedge_status (*kedge_redelivered)(void *context, int64_t version, int64_t items,
                                          kedge_error *error);

/* Commits versions with every item that has one of these bodies at the newest version; none when no
 * item has one. Sorts `bodies`. May be repeated, and may run beside pushes. KEDGE_UNAVAILABLE: not
 * all of it was committed; do it again. */
kedge_status kedge_processor_redeliver(const kedge_project *project, kedge_redelivery *bodies,
                                       size_t count, kedge_redelivered committed, void *context,
                                       kedge_error *error);

#endif
