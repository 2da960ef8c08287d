/* Opens a state: takes it from the cache, or makes it from the nearest state in the cache. */
#include "backend/versioned/state/cache.h"
#include "backend/versioned/state/state_internal.h"

/* A state in memory that the version came from; NULL: none. */
static kedge_status find_parent(const kedge_project *project, const kedge_version *version,
                                kedge_state **parent, kedge_error *error)
{
    /* A history has whole states only at its snapshots, and nothing leads from one to the next. */
    bool alone = version->number == 0 || project->history != NULL;
    *parent =
        alone ? NULL
              : kedge_cache_nearest(project->backend->cache, &project->ref, version->number - 1);
    if (*parent == NULL || (*parent)->version->number == 0) return KEDGE_OK;
    bool same = false;
    kedge_status status =
        kedge_version_has_lineage(project, (*parent)->version->number,
                                  kedge_bytes_of((*parent)->version->lineage), &same, NULL, error);
    if (status == KEDGE_OK && same) return KEDGE_OK;
    kedge_state_close(*parent);
    *parent = NULL;
    return status;
}

static kedge_status open_version(const kedge_project *project, const kedge_version *version,
                                 bool head, kedge_state **state, kedge_error *error)
{
    kedge_state *found =
        kedge_cache_find(project->backend->cache, &project->ref, version->number, version->lineage);
    if (found == NULL) {
        kedge_state *parent = NULL;
        kedge_status status = find_parent(project, version, &parent, error);
        if (status == KEDGE_OK) {
            status = kedge_state_derive(project, parent, version, &found, error);
        }
        kedge_state_close(parent);
        if (status != KEDGE_OK) return status;
    }
    kedge_cache_add(project->backend->cache, &project->ref, found, head);
    *state = found;
    return KEDGE_OK;
}

kedge_status kedge_state_open(const kedge_project *project, const kedge_version *version,
                              kedge_state **state, kedge_error *error)
{
    return open_version(project, version, false, state, error);
}

kedge_status kedge_state_open_newest(const kedge_project *project, kedge_state **state,
                                     kedge_error *error)
{
    const kedge_version *version = NULL;
    kedge_status status = kedge_version_load(project, 0, &version, error);
    if (status != KEDGE_OK) return status;
    status = open_version(project, version, true, state, error);
    kedge_version_release(version);
    return status;
}
