/* Processes a push: plans at the head, then runs and commits slice by slice. After any failure it
 * reloads the head and plans again; slices that were committed before are then decided in the
 * plan. */
#include "backend/versioned/commit/processor.h"

#include "backend/base/pause.h"
#include "backend/ports/deadline.h"
#include "backend/versioned/commit/commit.h"
#include "backend/versioned/index/index.h"
#include "backend/versioned/state/cache.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/names.h"

#include <stdio.h>
#include <string.h>

#define TRIES_MAX 16 /* without a commit in between */
#define AWAY_MAX  4  /* tries in a row that could not even read the head: the store is away */

typedef struct pushing {
    const kedge_project *project;
    const kedge_push *push;
    kedge_push_result *result;
    kedge_state *head;
    bool cached; /* the head is from memory: only a commit may follow */
    bool read;   /* this try has a head */
    kedge_plan plan;
    size_t mutations_max; /* of a slice */
    bool refuse;          /* the next mutation is too large by itself */
    size_t decided;       /* of the plan's mutations, when the push makes room before it is done */
    int64_t committed;    /* a version that covers those that this push made; 0: none made */
} pushing;

static bool has_origins(const pushing *work)
{
    for (size_t i = 0; i < work->plan.apply_count; i++) {
        if (work->push->mutations[work->plan.apply[i]].origin_client.size > 0) return true;
    }
    return false;
}

/* ---- one slice ---- */

static void move_to(pushing *work, kedge_state *state)
{
    KEDGE_ASSERT(state->version->number > work->head->version->number);
    KEDGE_ASSERT(state->version->number > work->committed);
    kedge_cache_add(work->project->backend->cache, &work->project->ref, state, true);
    kedge_state_close(work->head);
    work->head = state;
    work->committed = state->version->number;
    work->cached = false;
    work->refuse = false;
    work->mutations_max *= 2;
    if (work->mutations_max > KEDGE_SLICE_MUTATIONS_MAX) {
        work->mutations_max = KEDGE_SLICE_MUTATIONS_MAX;
    }
    kedge_maintain(work->project, state);
}

/* A slice that is too large for a transaction is tried again with half its mutations. A single
 * mutation that is too large is rejected without its args, since it must not block its client for
 * ever. Returns false when nothing is left to try. */
static bool make_smaller(pushing *work, const kedge_version *version)
{
    KEDGE_ASSERT(version->mutation_count >= 1);
    KEDGE_ASSERT(version->mutation_count <= work->mutations_max);
    if (version->mutation_count > 1) {
        work->mutations_max = version->mutation_count / 2;
        return true;
    }
    if (work->refuse) return false;
    work->mutations_max = 1;
    work->refuse = true;
    return true;
}

/* What has run is committed, also when the deadline came meanwhile. */
static kedge_status store_slice(const pushing *work, kedge_slice *slice, kedge_state **state,
                                kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    kedge_deadline_begin_commit();
    if (slice->overlay != NULL) status = kedge_slice_build_delta(slice, error);
    if (status == KEDGE_OK)
        status = kedge_version_set_recent(work->project, work->head->version, slice->object, error);
    if (status == KEDGE_OK)
        status = kedge_commit(work->project, work->head, &slice->object->version, slice->bodies,
                              slice->body_count, state, error);
    kedge_deadline_end_commit();
    return status;
}

static kedge_status commit_slice(pushing *work, size_t *position, kedge_error *error)
{
    KEDGE_ASSERT(*position < work->plan.apply_count);
    KEDGE_ASSERT(work->mutations_max >= 1 && work->mutations_max <= KEDGE_SLICE_MUTATIONS_MAX);
    kedge_slice slice = {.project = work->project,
                         .push = work->push,
                         .plan = &work->plan,
                         .head = work->head,
                         .mutations_max = work->mutations_max,
                         .refuse = work->refuse};
    kedge_state *state = NULL;
    kedge_status status = kedge_slice_run(&slice, *position, error);
    if (status != KEDGE_OK) goto out;
    size_t next = slice.next;
    KEDGE_ASSERT(next > *position && next <= work->plan.apply_count);
    if (slice.object->version.mutation_count == 0) {
        *position = next;
        goto out;
    }
    status = store_slice(work, &slice, &state, error);
    if (status == KEDGE_LIMIT_EXCEEDED && make_smaller(work, &slice.object->version)) {
        status = KEDGE_OK;
    } else if (status == KEDGE_OK) {
        *position = next;
        move_to(work, state);
    }
out:
    kedge_slice_free(&slice);
    return status;
}

/* ---- one try ---- */

static kedge_status load_head(pushing *work, bool from_memory, kedge_error *error)
{
    kedge_state_close(work->head);
    work->head =
        from_memory ? kedge_cache_head(work->project->backend->cache, &work->project->ref) : NULL;
    work->cached = work->head != NULL;
    if (work->cached) return KEDGE_OK;
    return kedge_state_open_newest(work->project, &work->head, error);
}

static kedge_status make_plan(pushing *work, kedge_error *error)
{
    kedge_arena_free(&work->plan.arena);
    return kedge_plan_make(work->project, work->head->version, work->push, &work->plan, error);
}

/* Each push decides something before it makes room, so that pushing again comes to an end. */
static bool goes_on(const pushing *work)
{
    return work->committed == 0 || kedge_deadline_ask() == KEDGE_DEADLINE_GO_ON;
}

static kedge_status try_once(pushing *work, bool from_memory, kedge_error *error)
{
    work->refuse = false; /* another mutation may be the next one now */
    kedge_status status = load_head(work, from_memory, error);
    work->read = status == KEDGE_OK;
    if (status == KEDGE_OK) status = make_plan(work, error);
    if (status != KEDGE_OK) return status;
    if (work->plan.apply_count == 0 && work->cached) {
        status = load_head(work, false, error);
        if (status == KEDGE_OK) status = make_plan(work, error);
        if (status != KEDGE_OK) return status;
    }
    if (has_origins(work)) {
        status = kedge_index_complete(work->project, work->head->version, error);
        if (status != KEDGE_OK) return status;
    }
    size_t position = 0;
    while (position < work->plan.apply_count && status == KEDGE_OK && goes_on(work)) {
        status = commit_slice(work, &position, error);
    }
    work->decided = position;
    return status;
}

static bool is_transient(kedge_status status)
{
    return status == KEDGE_CONFLICT || status == KEDGE_UNAVAILABLE || status == KEDGE_BUSY ||
           status == KEDGE_TIMEOUT;
}

static void tell_problem(const kedge_plan *plan, kedge_push_result *result)
{
    result->problem = plan->problem;
    snprintf(result->detail, sizeof result->detail, "%s", plan->detail);
    snprintf(result->mutator, sizeof result->mutator, "%s", plan->lack.name);
    result->mutator_version = plan->lack.version;
    memcpy(result->refused, plan->refused, sizeof result->refused);
}

static kedge_status push_locked(pushing *work, kedge_error *error)
{
    kedge_error failure = {0};
    kedge_status status = KEDGE_OK;
    uint32_t tries = 0, away = 0;
    for (;;) {
        int64_t before = work->committed;
        status = kedge_deadline_check(&failure);
        if (status != KEDGE_OK) break;
        status = try_once(work, tries == 0 && work->committed == 0, &failure);
        if (!is_transient(status)) break;
        tries = work->committed > before ? 1 : tries + 1;
        away = work->read ? 0 : away + 1;
        if (tries >= TRIES_MAX || away >= AWAY_MAX) {
            return kedge_fail(error, KEDGE_UNAVAILABLE, "unavailable",
                              "the push could not be committed in %u tries: %s", tries,
                              failure.message);
        }
        kedge_backend_pause(work->project->backend, tries);
    }
    if (status != KEDGE_OK) return kedge_fail(error, status, failure.code, "%s", failure.message);
    /* A cached head is only a hint: a result must come from a head that was read consistently or
     * committed. */
    work->result->version = work->head->version->number;
    /* A failed try may have committed its version, which is not above this one. */
    if (tries > 0) work->committed = work->result->version;
    if (work->decided == work->plan.apply_count) {
        tell_problem(&work->plan, work->result);
    } else {
        /* Its problems are told when the rest is pushed. */
        work->result->taken = work->plan.apply[work->decided];
        work->result->cut = true;
    }
    return KEDGE_OK;
}

/* ---- the clients of origins ---- */

typedef struct origins {
    kedge_bytes clients[KEDGE_PUSH_ORIGINS_MAX];
    const kedge_identity *identities[KEDGE_PUSH_ORIGINS_MAX];
    size_t count;
} origins;

/* Adds the client unless it is there. False: there is no room for it. */
static bool add_origin(origins *all, kedge_bytes client, const kedge_identity *identity)
{
    for (size_t i = all->count; i-- > 0;) {
        if (all->identities[i] == identity && kedge_bytes_equal(all->clients[i], client))
            return true;
    }
    if (all->count == KEDGE_PUSH_ORIGINS_MAX) return false;
    all->identities[all->count] = identity;
    all->clients[all->count++] = client;
    return true;
}

/* The mutations of the push up to the first one whose origin has no room in `all`. They alone are
 * decided: to retire the client of an origin may take a version, so a push has a bound of them. */
static kedge_push first_part(const kedge_push *push, origins *all)
{
    kedge_push part = *push;
    for (size_t i = 0; i < push->count; i++) {
        kedge_bytes client = push->mutations[i].origin_client;
        const kedge_push_sender *sender = &push->senders[push->mutations[i].sender];
        if (client.size == 0 || add_origin(all, client, sender->identity)) continue;
        part.count = i;
        break;
    }
    KEDGE_ASSERT(part.count > 0 || push->count == 0);
    return part;
}

/* A client that renumbers its mutations has retired its old id. A restored backend may not know
 * that: an old copy of the folder could then push the same mutations under their first ids. So the
 * client of an origin is retired before the mutation is decided. Only libkedge renumbers, and the
 * group of its clients is their own id. A client of another group or user is not retired. */
static kedge_status retire_origins(const kedge_project *project, const origins *all,
                                   kedge_error *error)
{
    for (size_t i = 0; i < all->count; i++) {
        kedge_bytes client = all->clients[i];
        const kedge_version *at = NULL;
        kedge_status status =
            kedge_processor_retire(project, all->identities[i], client, client, &at, error);
        if (status == KEDGE_OK) kedge_version_release(at);
        if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    }
    return KEDGE_OK;
}

/* ---- the push ---- */

static kedge_status check_sender(const kedge_push_sender *sender, kedge_error *error)
{
    kedge_status status = kedge_check_client_id(sender->group, error);
    if (status == KEDGE_OK && strlen(sender->identity->user) > KEDGE_USER_BYTES_MAX) {
        status = kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "user-too-long",
                            "the name of the user is longer than %d bytes", KEDGE_USER_BYTES_MAX);
    }
    return status;
}

static kedge_status check_push(const kedge_project_ref *ref, const kedge_push *push,
                               kedge_error *error)
{
    kedge_status status = kedge_project_ref_check(ref, error);
    for (size_t i = 0; i < push->sender_count && status == KEDGE_OK; i++) {
        status = check_sender(&push->senders[i], error);
    }
    for (size_t i = 0; i < push->count && status == KEDGE_OK; i++) {
        const kedge_push_mutation *mutation = &push->mutations[i];
        KEDGE_ASSERT(mutation->sender < push->sender_count);
        status = kedge_check_client_id(mutation->client, error);
        if (status == KEDGE_OK && mutation->origin_client.size > 0) {
            status = kedge_check_client_id(mutation->origin_client, error);
        }
        bool origin_fine =
            mutation->origin_client.size == 0 ||
            (mutation->origin_id >= 1 && mutation->origin_id <= KEDGE_LIMIT_MUTATION_ID);
        if (status == KEDGE_OK &&
            (mutation->id < 1 || mutation->id > KEDGE_LIMIT_MUTATION_ID || !origin_fine)) {
            status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, "mutation-id-invalid",
                                "the id of a mutation is not between 1 and 2^53 - 1");
        }
    }
    return status;
}

kedge_status kedge_processor_push(const kedge_project *project, const kedge_push *push,
                                  kedge_push_result *result, kedge_error *error)
{
    kedge_status status = check_push(&project->ref, push, error);
    if (status != KEDGE_OK) return status;
    origins all = {.count = 0};
    kedge_push part = push->replays ? *push : first_part(push, &all);
    status = retire_origins(project, &all, error);
    if (status != KEDGE_OK) return status;
    result->taken = part.count;
    pushing work = {.project = project,
                    .push = &part,
                    .result = result,
                    .mutations_max = KEDGE_SLICE_MUTATIONS_MAX};
    work.plan.arena = kedge_arena_make(project->allocator);
    const kedge_lock_name name = {.project = project->ref};
    kedge_lock_place place;
    kedge_lock(&project->backend->locks, &name, &place);
    status = push_locked(&work, error);
    kedge_unlock(&project->backend->locks, &place);
    kedge_arena_free(&work.plan.arena);
    kedge_state_close(work.head);
    if (work.committed > 0 && project->backend->options.committed != NULL) {
        project->backend->options.committed(project->backend->options.committed_context,
                                            project->ref.organization, project->ref.project,
                                            work.committed);
    }
    return status;
}

/* ---- only looking ---- */

kedge_status kedge_processor_examine(const kedge_project *project, const kedge_push *push,
                                     kedge_push_result *result, size_t *undecided,
                                     kedge_error *error)
{
    const kedge_version *head = NULL;
    kedge_plan plan = {.arena = kedge_arena_make(project->allocator)};
    kedge_status status = check_push(&project->ref, push, error);
    if (status == KEDGE_OK)
        status = kedge_version_load_detail(project, 0, KEDGE_VERSION_STATE, &head, error);
    if (status == KEDGE_OK) status = kedge_plan_make(project, head, push, &plan, error);
    if (status == KEDGE_OK) {
        result->version = head->number;
        result->taken = push->count;
        tell_problem(&plan, result);
        KEDGE_ASSERT(plan.apply_count <= push->count);
        *undecided = plan.apply_count + plan.refused[KEDGE_PUSH_GAP] +
                     plan.refused[KEDGE_PUSH_CLIENT_UNKNOWN];
    }
    kedge_arena_free(&plan.arena);
    kedge_version_release(head);
    return status;
}
