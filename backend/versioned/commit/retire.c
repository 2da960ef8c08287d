/* Retiring a client: a version with an empty run of it. Nothing of the client is applied after
 * that. */
#include "backend/versioned/commit/processor.h"

#include "backend/base/pause.h"
#include "backend/versioned/commit/commit.h"
#include "backend/versioned/state/cache.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/names.h"

#include <string.h>

#define TRIES_MAX 16

typedef struct retiring {
    const kedge_project *project;
    const kedge_identity *identity;
    kedge_bytes group;
    kedge_bytes client;
    const kedge_version *at; /* the result */
    int64_t committed;       /* a version that was made, or may have been; 0: none */
} retiring;

static kedge_status build(const retiring *work, const kedge_version *head, int64_t lmid,
                          kedge_version_object **object, kedge_error *error)
{
    kedge_version_object *made = NULL;
    kedge_status status = kedge_version_begin(work->project->backend, head, &made, error);
    if (status != KEDGE_OK) return status;
    kedge_version *version = &made->version;
    kedge_run *run = kedge_arena_take(&made->arena, sizeof *run);
    bool fine = run != NULL && kedge_arena_copy(&made->arena, work->client, &run->client) &&
                kedge_arena_copy(&made->arena, work->group, &run->group) &&
                kedge_arena_copy(&made->arena, kedge_bytes_of(work->identity->user), &run->user);
    if (fine) {
        run->version = version->number;
        run->first = lmid + 1;
        run->last = lmid;
        run->retired = true;
        version->runs = run;
        version->run_count = 1;
        version->retired = run->client;
        status = kedge_version_set_recent(work->project, head, made, error);
    } else {
        status = kedge_fail_no_memory(error);
    }
    if (status != KEDGE_OK) {
        kedge_version_release(version);
        return status;
    }
    *object = made;
    return KEDGE_OK;
}

static kedge_status commit(retiring *work, kedge_state *head, int64_t lmid, kedge_error *error)
{
    kedge_version_object *object = NULL;
    kedge_state *state = NULL;
    kedge_status status = build(work, head->version, lmid, &object, error);
    if (status != KEDGE_OK) return status;
    status = kedge_commit(work->project, head, &object->version, NULL, 0, &state, error);
    if (status == KEDGE_OK) {
        kedge_cache_add(work->project->backend->cache, &work->project->ref, state, true);
        kedge_maintain(work->project, state);
        kedge_state_close(state);
        kedge_version_retain(&object->version);
        work->at = &object->version;
        work->committed = object->version.number;
    }
    kedge_version_release(&object->version);
    return status;
}

/* Always reads the head consistently, since most retires are not followed by a commit. */
static kedge_status try_once(retiring *work, kedge_error *error)
{
    kedge_state *head = NULL;
    kedge_client_state client;
    kedge_status status = kedge_state_open_newest(work->project, &head, error);
    if (status != KEDGE_OK) return status;
    status = kedge_client_load(work->project, head->version, work->client, &client, error);
    if (status != KEDGE_OK) goto out;
    bool foreign = kedge_client_is_reserved(work->client) ||
                   (client.known && (!kedge_bytes_equal_text(work->group, client.group) ||
                                     strcmp(client.user, work->identity->user) != 0));
    if (foreign) {
        status = kedge_fail(error, KEDGE_NOT_FOUND, "client-not-found", "there is no such client");
    } else if (client.retired) {
        kedge_version_retain(head->version);
        work->at = head->version;
    } else {
        status = commit(work, head, client.lmid, error);
    }
out:
    kedge_state_close(head);
    return status;
}

static kedge_status retire_locked(retiring *work, kedge_error *error)
{
    for (uint32_t tries = 1;; tries++) {
        kedge_status status = try_once(work, error);
        bool again = status == KEDGE_CONFLICT || status == KEDGE_UNAVAILABLE ||
                     status == KEDGE_BUSY || status == KEDGE_TIMEOUT;
        /* A failed try may have committed. */
        if (status == KEDGE_OK && tries > 1) work->committed = work->at->number;
        if (!again) return status;
        if (tries == TRIES_MAX) {
            return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable",
                              "the client could not be retired in %d tries", TRIES_MAX);
        }
        kedge_backend_pause(work->project->backend, tries);
    }
}

kedge_status kedge_processor_retire(const kedge_project *project, const kedge_identity *identity,
                                    kedge_bytes group, kedge_bytes client, const kedge_version **at,
                                    kedge_error *error)
{
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status == KEDGE_OK) status = kedge_check_client_id(group, error);
    if (status == KEDGE_OK) status = kedge_check_client_id(client, error);
    if (status == KEDGE_OK && strlen(identity->user) > KEDGE_USER_BYTES_MAX) {
        status = kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "user-too-long",
                            "the name of the user is longer than %d bytes", KEDGE_USER_BYTES_MAX);
    }
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(client.size > 0 && client.size <= KEDGE_LIMIT_CLIENT_ID_BYTES);
    retiring work = {.project = project, .identity = identity, .group = group, .client = client};
    const kedge_lock_name name = {.project = project->ref};
    kedge_lock_place place;
    kedge_lock(&project->backend->locks, &name, &place);
    status = retire_locked(&work, error);
    kedge_unlock(&project->backend->locks, &place);
    if (status != KEDGE_OK) return status;
    if (work.committed > 0 && project->backend->options.committed != NULL) {
        project->backend->options.committed(project->backend->options.committed_context,
                                            project->ref.organization, project->ref.project,
                                            work.committed);
    }
    *at = work.at;
    return KEDGE_OK;
}
