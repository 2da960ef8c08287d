/* Starts a version, and fills its runs of earlier versions (`recent`). */
#include "backend/versioned/commit/slice.h"

#include "backend/versioned/index/index.h"
#include "backend/versioned/state/cache.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

kedge_status kedge_version_begin(kedge_backend *backend, const kedge_version *head,
                                 kedge_version_object **object, kedge_error *error)
{
    KEDGE_ASSERT(head->number >= 0 && head->lineage[0] != '\0');
    if (head->number >= KEDGE_VERSION_IMPORTING - 1) {
        return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "too-many-versions",
                          "the project has the highest number of versions");
    }
    kedge_version_object *made = kedge_version_object_new(backend->allocator);
    if (made == NULL) return kedge_fail_no_memory(error);
    kedge_version *version = &made->version;
    version->number = head->number + 1;
    kedge_random_hex(backend->environment, (KEDGE_LINEAGE_HEX - 1) / 2, version->lineage);
    version->created_ms = backend->environment->now_ms(backend->environment->context);
    size_t count = head->collection_count;
    version->collections =
        kedge_arena_take_array(&made->arena, count, sizeof(kedge_version_collection));
    bool fine = version->collections != NULL &&
                (head->project_record.size == 0 ||
                 kedge_arena_copy(&made->arena, head->project_record, &version->project_record));
    for (size_t i = 0; i < count && fine; i++) {
        version->collections[i] = head->collections[i];
        fine = kedge_arena_copy(&made->arena, head->collections[i].name,
                                &version->collections[i].name);
    }
    if (!fine) {
        kedge_version_release(version);
        return kedge_fail_no_memory(error);
    }
    version->collection_count = count;
    *object = made;
    return KEDGE_OK;
}

static bool copy_run(kedge_arena *arena, const kedge_run *from, kedge_run *to)
{
    *to = *from;
    return kedge_arena_copy(arena, from->client, &to->client) &&
           kedge_arena_copy(arena, from->group, &to->group) &&
           kedge_arena_copy(arena, from->user, &to->user);
}

/* Whether the index rows are put in one transaction with the version. */
static bool puts_rows(const kedge_project *project)
{
    return project->history == NULL && project->backend->options.cadence == KEDGE_CADENCE_SEED;
}

/* Whether the head's runs have index rows, so that `recent` can begin anew with this version's.
 * When `recent` is full, or this version's rows go into its transaction, missing rows are put
 * first. */
static kedge_status settle(const kedge_project *project, const kedge_version *head,
                           const kedge_version *version, bool *indexed, kedge_error *error)
{
    bool seed = puts_rows(project);
    bool full = head->recent_count + version->run_count > KEDGE_RECENT_RUNS_MAX ||
                version->number - head->indexed_through > KEDGE_RECENT_VERSIONS_MAX;
    *indexed = head->indexed_through == head->number ||
               kedge_cache_is_indexed(project->backend->cache, &project->ref, head);
    if (*indexed || (!full && !seed)) return KEDGE_OK;
    kedge_status status = kedge_index_complete(project, head, error);
    *indexed = status == KEDGE_OK;
    return status;
}

kedge_status kedge_version_set_recent(const kedge_project *project, const kedge_version *head,
                                      kedge_version_object *object, kedge_error *error)
{
    kedge_version *version = &object->version;
    KEDGE_ASSERT(version->number == head->number + 1);
    KEDGE_ASSERT(version->recent == NULL && version->run_count <= KEDGE_SLICE_RUNS_MAX);
    bool indexed = false;
    kedge_status status = settle(project, head, version, &indexed, error);
    if (status != KEDGE_OK) return status;
    /* The seed cadence puts this version's rows together with it. */
    bool with_rows = puts_rows(project);
    size_t kept = indexed ? 0 : head->recent_count;
    size_t own = with_rows ? 0 : version->run_count;
    version->indexed_through = with_rows ? version->number
                               : indexed ? head->number
                                         : head->indexed_through;
    version->recent = kedge_arena_take_array(&object->arena, kept + own, sizeof *version->recent);
    bool fine = version->recent != NULL;
    for (size_t i = 0; i < kept && fine; i++) {
        fine = copy_run(&object->arena, &head->recent[i], &version->recent[i]);
    }
    if (!fine) return kedge_fail_no_memory(error);
    if (own > 0) memcpy(version->recent + kept, version->runs, own * sizeof *version->runs);
    version->recent_count = kept + own;
    return KEDGE_OK;
}
