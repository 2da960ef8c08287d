/* States kept in memory, by project. A state is opened here: it comes from the cache, or is made
 * from the nearest state in the cache. */
#include "backend/versioned/state/cache.h"

#include "backend/versioned/state/state_internal.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

#define BUCKETS            4096
#define STATES_PER_PROJECT 8
#define PROJECT_BYTES      1024 /* what an entry costs besides its states */

struct kedge_cache_project {
    kedge_cache_project *next_in_bucket;
    kedge_cache_project *newer;
    kedge_cache_project *older;
    uint64_t hash;
    kedge_project_ref ref;                   /* after the struct */
    kedge_state *states[STATES_PER_PROJECT]; /* the last used first */
    size_t state_count;
    size_t bytes;
    int64_t indexed_number;
    char indexed_lineage[KEDGE_LINEAGE_HEX];
};

kedge_status kedge_cache_new(const kedge_allocator *allocator, size_t bytes_max,
                             kedge_cache **cache, kedge_error *error)
{
    kedge_cache *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    memset(made, 0, sizeof *made);
    made->buckets = kedge_allocate(allocator, BUCKETS * sizeof(kedge_cache_project *));
    if (made->buckets == NULL) {
        kedge_release(allocator, made);
        return kedge_fail_no_memory(error);
    }
    made->allocator = allocator;
    made->bytes_max = bytes_max;
    pthread_mutex_init(&made->lock, NULL);
    *cache = made;
    return KEDGE_OK;
}

/* ---- the list by last use ---- */

static void unlink_project(kedge_cache *cache, kedge_cache_project *project)
{
    if (project->newer != NULL) project->newer->older = project->older;
    if (project->older != NULL) project->older->newer = project->newer;
    if (cache->newest == project) cache->newest = project->older;
    if (cache->oldest == project) cache->oldest = project->newer;
    project->newer = NULL;
    project->older = NULL;
}

static void link_newest(kedge_cache *cache, kedge_cache_project *project)
{
    KEDGE_ASSERT(project->newer == NULL && project->older == NULL);
    KEDGE_ASSERT((cache->newest == NULL) == (cache->oldest == NULL));
    project->older = cache->newest;
    if (cache->newest != NULL) cache->newest->newer = project;
    cache->newest = project;
    if (cache->oldest == NULL) cache->oldest = project;
}

static void remove_project(kedge_cache *cache, kedge_cache_project *project)
{
    kedge_cache_project **link = &cache->buckets[project->hash % BUCKETS];
    while (*link != project)
        link = &(*link)->next_in_bucket;
    *link = project->next_in_bucket;
    unlink_project(cache, project);
    for (size_t i = 0; i < project->state_count; i++)
        kedge_state_close(project->states[i]);
    KEDGE_ASSERT(cache->bytes >= project->bytes);
    cache->bytes -= project->bytes;
    kedge_release(cache->allocator, project);
}

void kedge_cache_free(kedge_cache *cache)
{
    while (cache->newest != NULL)
        remove_project(cache, cache->newest);
    KEDGE_ASSERT(cache->oldest == NULL && cache->bytes == 0);
    pthread_mutex_destroy(&cache->lock);
    const kedge_allocator *allocator = cache->allocator;
    kedge_release(allocator, cache->buckets);
    kedge_release(allocator, cache);
}

/* ---- accounting ---- */

/* States of one family share nearly everything: only the largest counts. */
static size_t project_bytes(const kedge_cache_project *project)
{
    size_t bytes = PROJECT_BYTES;
    for (size_t i = 0; i < project->state_count; i++) {
        size_t largest = kedge_state_bytes(project->states[i]);
        bool first = true;
        for (size_t k = 0; k < project->state_count; k++) {
            if (project->states[k]->family != project->states[i]->family) continue;
            if (k < i) first = false;
            size_t other = kedge_state_bytes(project->states[k]);
            if (other > largest) largest = other;
        }
        if (first) bytes += largest;
    }
    return bytes;
}

static void count(kedge_cache *cache, kedge_cache_project *project)
{
    size_t bytes = project_bytes(project);
    KEDGE_ASSERT(cache->bytes >= project->bytes);
    cache->bytes = cache->bytes - project->bytes + bytes;
    project->bytes = bytes;
}

static void drop_state(kedge_cache_project *project, size_t index)
{
    KEDGE_ASSERT(index < project->state_count && project->state_count <= STATES_PER_PROJECT);
    kedge_state_close(project->states[index]);
    project->state_count--;
    memmove(project->states + index, project->states + index + 1,
            (project->state_count - index) * sizeof *project->states);
}

/* Keeps two families: that of the head, and that of a version whose snapshot is being fetched. */
static void drop_families(kedge_cache_project *project)
{
    uint64_t kept[2];
    size_t kept_count = 0;
    for (size_t i = 0; i < project->state_count;) {
        uint64_t family = project->states[i]->family;
        bool known = false;
        for (size_t k = 0; k < kept_count; k++)
            known = known || kept[k] == family;
        if (!known && kept_count == 2) {
            drop_state(project, i);
            continue;
        }
        if (!known) kept[kept_count++] = family;
        i++;
    }
}

/* A state grows when one of its collections is loaded, so its size is computed again at each use.
 * When the budget is exceeded, other projects are evicted first, then old states of this one, but
 * not states in use, which would be loaded again at once. */
static void account(kedge_cache *cache, kedge_cache_project *project)
{
    count(cache, project);
    while (cache->bytes > cache->bytes_max && cache->oldest != project) {
        remove_project(cache, cache->oldest);
    }
    if (cache->bytes <= cache->bytes_max) return;
    drop_families(project);
    count(cache, project);
}

/* ---- finding ---- */

static kedge_cache_project *find_project(kedge_cache *cache, const kedge_project_ref *ref)
{
    uint64_t hash = kedge_project_ref_hash(ref);
    kedge_cache_project *project = cache->buckets[hash % BUCKETS];
    while (project != NULL &&
           (project->hash != hash || !kedge_bytes_equal(project->ref.project, ref->project) ||
            !kedge_bytes_equal(project->ref.organization, ref->organization))) {
        project = project->next_in_bucket;
    }
    if (project != NULL && cache->newest != project) {
        unlink_project(cache, project);
        link_newest(cache, project);
    }
    return project;
}

static kedge_cache_project *make_project(kedge_cache *cache, const kedge_project_ref *ref)
{
    size_t organization = ref->organization.size;
    size_t size = sizeof(kedge_cache_project) + organization + ref->project.size + 1;
    kedge_cache_project *project = kedge_allocate(cache->allocator, size);
    if (project == NULL) return NULL;
    char *names = (char *)(project + 1);
    memcpy(names, ref->organization.data, organization);
    memcpy(names + organization, ref->project.data, ref->project.size);
    project->ref.organization = (kedge_bytes){names, organization};
    project->ref.project = (kedge_bytes){names + organization, ref->project.size};
    project->hash = kedge_project_ref_hash(ref);
    project->next_in_bucket = cache->buckets[project->hash % BUCKETS];
    cache->buckets[project->hash % BUCKETS] = project;
    link_newest(cache, project);
    return project;
}

/* Moves a state to the front, and gives the caller a reference. */
static kedge_state *use(kedge_cache *cache, kedge_cache_project *project, size_t index)
{
    KEDGE_ASSERT(index < project->state_count && cache->newest == project);
    kedge_state *state = project->states[index];
    memmove(project->states + 1, project->states, index * sizeof *project->states);
    project->states[0] = state;
    kedge_state_retain(state);
    account(cache, project);
    return state;
}

/* The newest state at or below `number`; state_count when there is none. */
static size_t nearest(const kedge_cache_project *project, int64_t number)
{
    size_t found = project->state_count;
    for (size_t i = 0; i < project->state_count; i++) {
        int64_t at = project->states[i]->version->number;
        if (at > number) continue;
        if (found == project->state_count || at > project->states[found]->version->number) {
            found = i;
        }
    }
    return found;
}

kedge_state *kedge_cache_nearest(kedge_cache *cache, const kedge_project_ref *ref, int64_t number)
{
    kedge_state *state = NULL;
    pthread_mutex_lock(&cache->lock);
    kedge_cache_project *project = find_project(cache, ref);
    if (project != NULL) {
        size_t index = nearest(project, number);
        if (index < project->state_count) state = use(cache, project, index);
    }
    pthread_mutex_unlock(&cache->lock);
    return state;
}

kedge_state *kedge_cache_head(kedge_cache *cache, const kedge_project_ref *ref)
{
    return kedge_cache_nearest(cache, ref, INT64_MAX);
}

static bool is_version(const kedge_state *state, int64_t number, const char *lineage)
{
    return state->version->number == number && strcmp(state->version->lineage, lineage) == 0;
}

kedge_state *kedge_cache_find(kedge_cache *cache, const kedge_project_ref *ref, int64_t number,
                              const char *lineage)
{
    kedge_state *state = NULL;
    pthread_mutex_lock(&cache->lock);
    kedge_cache_project *project = find_project(cache, ref);
    for (size_t i = 0; project != NULL && i < project->state_count && state == NULL; i++) {
        if (is_version(project->states[i], number, lineage)) state = use(cache, project, i);
    }
    pthread_mutex_unlock(&cache->lock);
    return state;
}

/* ---- keeping ---- */

/* A consistent read has shown that `head` is the newest version. States above it, or with its
 * number and another lineage, are from before a restore of the backend. */
static void forget_above(kedge_cache_project *project, const kedge_state *head)
{
    for (size_t i = project->state_count; i-- > 0;) {
        const kedge_version *version = project->states[i]->version;
        if (version->number > head->version->number ||
            (version->number == head->version->number &&
             strcmp(version->lineage, head->version->lineage) != 0)) {
            drop_state(project, i);
        }
    }
}

void kedge_cache_add(kedge_cache *cache, const kedge_project_ref *ref, kedge_state *state,
                     bool head)
{
    KEDGE_ASSERT(kedge_bytes_equal(state->project.ref.organization, ref->organization));
    KEDGE_ASSERT(kedge_bytes_start_with(ref->project, state->project.ref.project));
    pthread_mutex_lock(&cache->lock);
    kedge_cache_project *project = find_project(cache, ref);
    if (project == NULL) project = make_project(cache, ref);
    if (project == NULL) goto out;
    if (head) forget_above(project, state);
    for (size_t i = project->state_count; i-- > 0;) {
        if (is_version(project->states[i], state->version->number, state->version->lineage)) {
            drop_state(project, i);
        }
    }
    if (project->state_count == STATES_PER_PROJECT) drop_state(project, STATES_PER_PROJECT - 1);
    memmove(project->states + 1, project->states, project->state_count * sizeof *project->states);
    project->states[0] = state;
    project->state_count++;
    kedge_state_retain(state);
    account(cache, project);
    KEDGE_ASSERT(!head || nearest(project, INT64_MAX) == 0);
out:
    pthread_mutex_unlock(&cache->lock);
}

/* ---- what is indexed ---- */

void kedge_cache_set_indexed(kedge_cache *cache, const kedge_project_ref *ref,
                             const kedge_version *version)
{
    pthread_mutex_lock(&cache->lock);
    kedge_cache_project *project = find_project(cache, ref);
    if (project != NULL) {
        project->indexed_number = version->number;
        memcpy(project->indexed_lineage, version->lineage, sizeof project->indexed_lineage);
    }
    pthread_mutex_unlock(&cache->lock);
}

bool kedge_cache_is_indexed(kedge_cache *cache, const kedge_project_ref *ref,
                            const kedge_version *version)
{
    pthread_mutex_lock(&cache->lock);
    kedge_cache_project *project = find_project(cache, ref);
    bool indexed = project != NULL && project->indexed_number == version->number &&
                   strcmp(project->indexed_lineage, version->lineage) == 0;
    pthread_mutex_unlock(&cache->lock);
    return indexed;
}

/* ---- opening a state ---- */

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
    kedge_status status =
        kedge_version_load_detail(project, 0, KEDGE_VERSION_STATE, &version, error);
    if (status != KEDGE_OK) return status;
    status = open_version(project, version, true, state, error);
    kedge_version_release(version);
    return status;
}
