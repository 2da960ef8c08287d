/* A project of a backend: the parameter of nearly every function of the layout. */
#ifndef KEDGE_BACKEND_BASE_PROJECT_H
#define KEDGE_BACKEND_BASE_PROJECT_H

#include "backend/base/backend.h"

/* Where the versions of a project are kept (backend/versioned/versions/history.h). */
typedef struct kedge_version_history kedge_version_history;

/* Made on the stack and handed down as `const kedge_project *`. Everything is borrowed: the names
 * in `ref` must outlive it, as must the backend. Several may name the same project. */
typedef struct kedge_project {
    kedge_backend *backend; /* for the cache of states, the locks and the options */
    const kedge_environment *environment;
    const kedge_allocator *allocator;
    const kedge_records *records;
    const kedge_blobs *blobs;
    kedge_project_ref ref;
    const kedge_version_history *history; /* NULL: in version records */
} kedge_project;

static inline kedge_project kedge_project_of(kedge_backend *backend, const kedge_project_ref *ref)
{
    return (kedge_project){.backend = backend,
                           .environment = backend->environment,
                           .allocator = backend->allocator,
                           .records = &backend->options.records,
                           .blobs = &backend->options.blobs,
                           .ref = *ref};
}

#endif
