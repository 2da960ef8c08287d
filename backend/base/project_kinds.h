/* Of which kind projects are, remembered: a kind never changes. In the memory of this process; a
 * project that is forgotten is read again. Any thread. */
#ifndef KEDGE_BACKEND_BASE_PROJECT_KINDS_H
#define KEDGE_BACKEND_BASE_PROJECT_KINDS_H

#include "backend/base/project_ref.h"

#include <kedge/limits.h>
#include <pthread.h>

#define KEDGE_PROJECT_KINDS 1024 /* so many places; of two projects in one, the later stays */

typedef struct kedge_known_kind {
    char organization[KEDGE_LIMIT_NAME_BYTES + 1]; /* empty: free */
    char project[KEDGE_LIMIT_NAME_BYTES + 1];
    int kind;
} kedge_known_kind;

typedef struct kedge_project_kinds {
    pthread_mutex_t lock;
    kedge_known_kind *places;
    const kedge_allocator *allocator;
} kedge_project_kinds;

kedge_status kedge_project_kinds_open(kedge_project_kinds *kinds, const kedge_allocator *allocator,
                                      kedge_error *error);
void kedge_project_kinds_close(kedge_project_kinds *kinds);

/* False: it is not known. */
bool kedge_project_kinds_find(kedge_project_kinds *kinds, const kedge_project_ref *ref, int *kind);
/* The names are checked ones. */
void kedge_project_kinds_put(kedge_project_kinds *kinds, const kedge_project_ref *ref, int kind);

#endif
