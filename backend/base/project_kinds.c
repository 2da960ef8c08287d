/* See project_kinds.h. */
#include "backend/base/project_kinds.h"

#include "common/assert.h"
#include "common/error.h"

#include <string.h>

kedge_status kedge_project_kinds_open(kedge_project_kinds *kinds, const kedge_allocator *allocator,
                                      kedge_error *error)
{
    kinds->allocator = allocator;
    kinds->places = kedge_allocate(allocator, KEDGE_PROJECT_KINDS * sizeof *kinds->places);
    if (kinds->places == NULL) return kedge_fail_no_memory(error);
    pthread_mutex_init(&kinds->lock, NULL);
    return KEDGE_OK;
}

void kedge_project_kinds_close(kedge_project_kinds *kinds)
{
    pthread_mutex_destroy(&kinds->lock);
    kedge_release(kinds->allocator, kinds->places);
}

static kedge_known_kind *place_of(kedge_project_kinds *kinds, const kedge_project_ref *ref)
{
    return &kinds->places[kedge_project_ref_hash(ref) % KEDGE_PROJECT_KINDS];
}

bool kedge_project_kinds_find(kedge_project_kinds *kinds, const kedge_project_ref *ref, int *kind)
{
    pthread_mutex_lock(&kinds->lock);
    const kedge_known_kind *place = place_of(kinds, ref);
    bool found = kedge_bytes_equal_text(ref->organization, place->organization) &&
                 kedge_bytes_equal_text(ref->project, place->project);
    if (found) *kind = place->kind;
    pthread_mutex_unlock(&kinds->lock);
    return found;
}

static void copy_name(kedge_bytes name, char out[KEDGE_LIMIT_NAME_BYTES + 1])
{
    KEDGE_ASSERT(name.size > 0 && name.size <= KEDGE_LIMIT_NAME_BYTES);
    memcpy(out, name.data, name.size);
    out[name.size] = '\0';
}

void kedge_project_kinds_put(kedge_project_kinds *kinds, const kedge_project_ref *ref, int kind)
{
    pthread_mutex_lock(&kinds->lock);
    kedge_known_kind *place = place_of(kinds, ref);
    copy_name(ref->organization, place->organization);
    copy_name(ref->project, place->project);
    place->kind = kind;
    pthread_mutex_unlock(&kinds->lock);
}
