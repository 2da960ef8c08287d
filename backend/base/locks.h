/* The locks of projects and logs, and the maintenance of projects after a commit.
 *
 * Each project and each log has a lock of its own, so no project waits for another one. Threads get
 * a lock in the order in which they asked for it. Nothing is allocated: a place in the queue is a
 * variable of the caller. */
#ifndef KEDGE_BACKEND_BASE_LOCKS_H
#define KEDGE_BACKEND_BASE_LOCKS_H

#include "backend/base/project_ref.h"

#include <kedge/kedge.h>
#include <pthread.h>
#include <stdbool.h>

#define KEDGE_MAINTAINED_PROJECTS 64 /* that have maintenance at one moment */

/* What is locked: a project, or a log of it. */
typedef struct kedge_lock_name {
    kedge_project_ref project;
    kedge_bytes log; /* its id; empty: the project itself */
} kedge_lock_name;

/* A place in the queue of a lock, from kedge_lock to kedge_unlock. Of one thread. */
typedef struct kedge_lock_place {
    kedge_lock_name name; /* borrowed */
    pthread_cond_t granted;
    struct kedge_lock_place *next; /* that came later, for this name or for another */
} kedge_lock_place;

typedef struct kedge_locks {
    pthread_mutex_t mutex; /* of the members below; held for a few comparisons */
    kedge_lock_place *first;
    const kedge_project_ref *maintained[KEDGE_MAINTAINED_PROJECTS]; /* NULL: free */
} kedge_locks;

void kedge_locks_open(kedge_locks *locks);
void kedge_locks_close(kedge_locks *locks);

/* Waits until all that came earlier have unlocked. No call holds two locks. */
void kedge_lock(kedge_locks *locks, const kedge_lock_name *name, kedge_lock_place *place);
void kedge_unlock(kedge_locks *locks, kedge_lock_place *place);

/* Whether the caller is to write the checkpoints or the snapshot that are due for the project.
 * False when another thread is writing for it, or when KEDGE_MAINTAINED_PROJECTS projects have a
 * writer: what is due is then written after a later commit. `project` must live until
 * kedge_locks_end_maintenance, which any thread may call. */
bool kedge_locks_begin_maintenance(kedge_locks *locks, const kedge_project_ref *project);
void kedge_locks_end_maintenance(kedge_locks *locks, const kedge_project_ref *project);

#endif
