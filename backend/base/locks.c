/* See locks.h. The queue holds the places of all names in the order in which they came; it is as
 * long as there are threads that hold a lock or wait for one. */
#include "backend/base/locks.h"

#include "common/assert.h"

#include <string.h>

void kedge_locks_open(kedge_locks *locks)
{
    memset(locks, 0, sizeof *locks);
    pthread_mutex_init(&locks->mutex, NULL);
}

void kedge_locks_close(kedge_locks *locks)
{
    KEDGE_ASSERT(locks->first == NULL);
    pthread_mutex_destroy(&locks->mutex);
}

static bool is_same_project(const kedge_project_ref *left, const kedge_project_ref *right)
{
    return kedge_bytes_equal(left->organization, right->organization) &&
           kedge_bytes_equal(left->project, right->project);
}

/* The first place at or after `at` for the name; NULL: there is none. */
static kedge_lock_place *find(kedge_lock_place *at, const kedge_lock_name *name)
{
    while (at != NULL && !(is_same_project(&at->name.project, &name->project) &&
                           kedge_bytes_equal(at->name.log, name->log)))
        at = at->next;
    return at;
}

void kedge_lock(kedge_locks *locks, const kedge_lock_name *name, kedge_lock_place *place)
{
    *place = (kedge_lock_place){.name = *name};
    pthread_cond_init(&place->granted, NULL);
    pthread_mutex_lock(&locks->mutex);
    kedge_lock_place **end = &locks->first;
    while (*end != NULL)
        end = &(*end)->next;
    *end = place;
    while (find(locks->first, name) != place)
        pthread_cond_wait(&place->granted, &locks->mutex);
    pthread_mutex_unlock(&locks->mutex);
}

void kedge_unlock(kedge_locks *locks, kedge_lock_place *place)
{
    pthread_mutex_lock(&locks->mutex);
    KEDGE_ASSERT(find(locks->first, &place->name) == place);
    kedge_lock_place **link = &locks->first;
    while (*link != place)
        link = &(*link)->next;
    *link = place->next;
    kedge_lock_place *heir = find(place->next, &place->name);
    if (heir != NULL) pthread_cond_signal(&heir->granted);
    pthread_mutex_unlock(&locks->mutex);
    pthread_cond_destroy(&place->granted);
}

bool kedge_locks_begin_maintenance(kedge_locks *locks, const kedge_project_ref *project)
{
    const kedge_project_ref **place = NULL;
    bool taken = false;
    pthread_mutex_lock(&locks->mutex);
    for (size_t i = 0; i < KEDGE_MAINTAINED_PROJECTS; i++) {
        if (locks->maintained[i] == NULL)
            place = &locks->maintained[i];
        else if (is_same_project(locks->maintained[i], project))
            taken = true;
    }
    bool begins = !taken && place != NULL;
    if (begins) *place = project;
    pthread_mutex_unlock(&locks->mutex);
    return begins;
}

void kedge_locks_end_maintenance(kedge_locks *locks, const kedge_project_ref *project)
{
    pthread_mutex_lock(&locks->mutex);
    for (size_t i = 0; i < KEDGE_MAINTAINED_PROJECTS; i++) {
        if (locks->maintained[i] == project) locks->maintained[i] = NULL;
    }
    pthread_mutex_unlock(&locks->mutex);
}
