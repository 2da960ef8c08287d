/* Forks: a project at a version becomes the first version of a new project.
 *
 * The new project has the state and the project record of that version and no mutations: no client
 * is known in it. Bodies are copied first, since their keys name the project. Then one transaction
 * puts the project's record and its version 1, both if absent: until then there is no such project.
 * Both records tell what they were forked from, so that a fork which is asked for again, after a
 * crash at any point, is the same one. */
#ifndef KEDGE_BACKEND_PROJECTS_FORK_H
#define KEDGE_BACKEND_PROJECTS_FORK_H

#include "backend/base/project.h"
#include "backend/versioned/versions/versions.h"

/* The limits of one call, so that it ends within a request: it stops after the body that exceeds
 * either. */
#define KEDGE_FORK_BODIES_MAX 256
#define KEDGE_FORK_BYTES_MAX  67108864 /* as they are stored: 64 MiB */

typedef struct kedge_fork {
    bool done;      /* the project is there; otherwise call again */
    bool created;   /* by this call */
    int64_t copied; /* bodies that this call copied */
    int64_t left;   /* bodies that the next calls have to copy */
} kedge_fork;

/* `number` is a version of `from`, which is of the same organization as `to`. KEDGE_NOT_FOUND: no
 * such project or version. KEDGE_CONFLICT, "project-exists": `to` is another project already;
 * "import-under-way": one is being imported there. KEDGE_UNAVAILABLE: also when an import there
 * was discarded meanwhile. KEDGE_LIMIT_EXCEEDED, "fork-too-large": the state does not fit one
 * version. KEDGE_CORRUPT: a body is gone. */
kedge_status kedge_fork_project(const kedge_project *from, int64_t number, const kedge_project *to,
                                kedge_fork *fork, kedge_error *error);

#endif
