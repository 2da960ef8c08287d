/* What retention leaves: which versions are kept, and how those that are not are still known.
 *
 *   Retention                    oldest (number), lineage: the oldest version that is kept. Without
 *                                the record it is version 1
 *   Lineage#pv_{12 digits}       first (number), tokens (binary): 16 bytes for each version from
 *                                `first` on, up to 1,000: the lineages of versions that are gone
 *
 * Below the oldest version its checkpoints and the index rows are the truth: nothing else holds
 * them. Versions below it may still be there while retention is at work; nobody is shown them. */
#ifndef KEDGE_BACKEND_CORE_RETAINED_H
#define KEDGE_BACKEND_CORE_RETAINED_H

#include "backend/core/version.h"

#define KEDGE_LINEAGES_PER_RECORD 1000
#define KEDGE_LINEAGE_SIZE        ((KEDGE_LINEAGE_HEX - 1) / 2)

/* The oldest version that is kept, by a consistent read. */
kedge_status kedge_retained_oldest(kedge_backend *backend, const kedge_project_ref *ref,
                                   int64_t *oldest, kedge_error *error);

/* Whether version `number`, which is above 0, has or had this lineage; one that is gone is told by
 * what retention has kept of it. */
kedge_status kedge_retained_knows(kedge_backend *backend, const kedge_project_ref *ref,
                                  int64_t number, const char *lineage, bool *known,
                                  kedge_error *error);

/* A version that a walk needs was not there: gone meanwhile (KEDGE_UNAVAILABLE: ask again), or lost
 * (KEDGE_CORRUPT). `wanted` is the version whose state or rows the walk is for. */
kedge_status kedge_retained_fail(kedge_backend *backend, const kedge_project_ref *ref,
                                 int64_t wanted, int64_t missing, kedge_error *error);

#endif
