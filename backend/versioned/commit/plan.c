/* The plan of a push: which of its mutations are new at a head, and why the others are not applied.
 *
 * A mutation is decided exactly once: it has one outcome, in one version, for ever. Clients push a
 * mutation as often as they like, a queue delivers a request twice, several processors commit to
 * one project, and each of them may be stopped at any moment. No lock and no queue is relied on.
 * Three rules give the guarantee together:
 *
 *   1. A client numbers its mutations 1, 2, 3… Each version record keeps, for each of its clients,
 *      the run of ids that it decided. The last id of the newest run is the client's lmid.
 *   2. The plan applies the id lmid + 1 and those that follow it without a gap, each once.
 *   3. The version record is put under the condition that its number is free (commit.c). A plan
 *      made at version N can therefore only be committed as version N + 1. When somebody else has
 *      put that version, the put fails, nothing of the plan has happened, and the caller makes
 *      another plan at the newer head. What was decided meanwhile is at or below the lmid there.
 *
 * The plan itself changes nothing. It looks at the mutations in the order of the push, and at each
 * one for the first case that fits. `next` is the client's lmid + 1, and one more for each of its
 * mutations that this plan applies.
 *
 *   case                           plan             why this keeps exactly once
 *   ----------------------------   --------------   ---------------------------------------------
 *   the client is another group's  CLIENT_FOREIGN   Its ids count what its owner made. A mutation
 *   or user's, or its id reserved                   of a stranger would use up one of them, and
 *                                                   the owner's would be taken for a repetition.
 *   the client is retired          RETIRED          The copy that had this id has renumbered what
 *                                                   was pending, and sends it under another id. To
 *                                                   apply it here too would be the second time.
 *   the client is unknown and the  CLIENT_UNKNOWN   A backend that was restored has forgotten what
 *   id above 1                                      it decided below. To apply the id would be to
 *                                                   pass over them, as with a gap.
 *   id > next                      GAP              The lmid would pass over the ids in between.
 *                                                   When they came they would be skipped: lost.
 *   id < next, the same digest     skipped          A repetition. Its outcome stands in a version,
 *                                                   or will stand in the one that this push makes.
 *   id < next, another digest      MISMATCH         Two mutations have one id, for example after a
 *                                                   folder was copied. One is decided. The other
 *                                                   must not pass for it: it would be lost.
 *   id == next, and it waits for   SERVER_OLD       It is not decided, and neither are the ids
 *   a newer mutator                                 after it. The client pushes them again.
 *   id == next                     applied          The only case that decides. `next` goes up, so
 *                                                   the same id further on is a repetition.
 *
 * "Applied" means decided: a mutator that rejects the mutation uses up its id all the same
 * (slice.c). A mutation that was renumbered is new by its id, and may still have been decided under
 * its first one: slice_origin.c looks for that before the mutator runs.
 *
 * A problem blocks the client in the rest of what the same sender pushed, since the ids after it
 * would be gaps. It does not block other clients. Nor does it block the same client in what another
 * sender pushed: a consumer merges messages into one push, and what is wrong in one message must
 * not touch the next. A replay (rebase.c) is the exception: its senders are the users of one job,
 * whose ids are one sequence, and a problem blocks all that is after it. A client that no version
 * knows belongs to the first sender of this push that has a mutation of it applied (is_taken).
 *
 * What the caller must have loaded and checked:
 *
 *   the head   It may come from memory as long as a commit follows, since rule 3 finds out when it
 *              is old. A plan that applies nothing is followed by no commit. So its response must
 *              be of a head from a consistent read, and push.c plans again with such a head.
 *   the push   The ids of clients are well formed, the ids of mutations between 1 and 2^53 - 1, and
 *              the senders' indexes valid (check_push in push.c). The digests are made from what
 *              was received, never taken from it.
 *
 * Index rows need not be there: kedge_client_load and kedge_client_mutations make them again. */
#include "backend/versioned/commit/plan.h"

#include "backend/base/backend.h"
#include "common/assert.h"
#include "common/error.h"
#include "mutate/registry.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define WINDOW_IDS 1000

typedef struct planning {
    const kedge_project *project;
    const kedge_version *head;
    const kedge_push *push;
    kedge_plan *plan;
} planning;

static void block(planning *work, kedge_plan_client *client, size_t sender,
                  kedge_push_problem problem, const char *what, int64_t id)
{
    KEDGE_ASSERT(!client->blocked && problem != KEDGE_PUSH_FINE);
    client->blocked = true;
    client->blocked_sender = sender;
    client->problem = problem;
    work->plan->refused[problem]++;
    if (work->plan->problem != KEDGE_PUSH_FINE) return;
    work->plan->problem = problem;
    snprintf(work->plan->detail, sizeof work->plan->detail,
             "mutation %" PRId64 " of the client \"%.*s\": %s", id, (int)client->client.size,
             client->client.data, what);
}

/* ---- clients ---- */

static bool is_same_sender(const kedge_push_sender *a, const kedge_push_sender *b)
{
    return a == b || (kedge_bytes_equal(a->group, b->group) &&
                      strcmp(a->identity->user, b->identity->user) == 0);
}

static kedge_status add_client(planning *work, kedge_bytes client, const kedge_push_sender *sender,
                               size_t *index, kedge_error *error)
{
    kedge_plan *plan = work->plan;
    if (plan->client_count == plan->client_capacity) {
        size_t capacity = plan->client_capacity == 0 ? 8 : plan->client_capacity * 2;
        kedge_plan_client *grown = kedge_arena_take_array(&plan->arena, capacity, sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        if (plan->client_count > 0) {
            memcpy(grown, plan->clients, plan->client_count * sizeof *grown);
        }
        plan->clients = grown;
        plan->client_capacity = capacity;
    }
    kedge_plan_client *added = &plan->clients[plan->client_count];
    kedge_status status =
        kedge_client_load(work->project, work->head, client, &added->state, error);
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(added->state.known || (added->state.lmid == 0 && !added->state.retired));
    added->client = client;
    added->sender = sender;
    added->next = added->state.lmid + 1;
    *index = plan->client_count++;
    return KEDGE_OK;
}

static kedge_status find_client(planning *work, const kedge_push_mutation *mutation, size_t *index,
                                kedge_error *error)
{
    kedge_plan *plan = work->plan;
    const kedge_push_sender *sender = &work->push->senders[mutation->sender];
    for (size_t i = plan->client_count; i-- > 0;) {
        if (kedge_bytes_equal(plan->clients[i].client, mutation->client) &&
            (work->push->replays || is_same_sender(plan->clients[i].sender, sender))) {
            *index = i;
            return KEDGE_OK;
        }
    }
    return add_client(work, mutation->client, sender, index, error);
}

/* ---- what was decided before ---- */

static kedge_status keep_digest(void *context, int64_t version,
                                const kedge_version_mutation *mutation, kedge_error *error)
{
    (void)version;
    (void)error;
    kedge_plan_client *client = context;
    if (client->window_count == WINDOW_IDS) return KEDGE_DONE;
    memcpy(client->window[client->window_count++], mutation->digest, KEDGE_DIGEST_SIZE);
    return KEDGE_OK;
}

/* The digest under which an id was decided in an earlier push. */
static kedge_status decided_digest(planning *work, kedge_plan_client *client, int64_t id,
                                   const uint8_t **digest, kedge_error *error)
{
    KEDGE_ASSERT(id >= 1 && id <= client->state.lmid);
    bool inside = client->window_count > 0 && id >= client->window_first &&
                  id - client->window_first < (int64_t)client->window_count;
    if (!inside) {
        if (client->window == NULL) {
            client->window =
                kedge_arena_take_array(&work->plan->arena, WINDOW_IDS, KEDGE_DIGEST_SIZE);
        }
        if (client->window == NULL) return kedge_fail_no_memory(error);
        client->window_first = id;
        client->window_count = 0;
        kedge_status status = kedge_client_mutations(work->project, work->head, client->client, id,
                                                     client->state.lmid, WINDOW_IDS, keep_digest,
                                                     client, NULL, error);
        if (status != KEDGE_OK) return status;
        if (client->window_count == 0) {
            return kedge_fail(error, KEDGE_CORRUPT, "mutation-missing",
                              "the decided mutation %" PRId64 " of a client has no outcome", id);
        }
    }
    KEDGE_ASSERT(id - client->window_first < (int64_t)client->window_count);
    *digest = client->window[id - client->window_first];
    return KEDGE_OK;
}

/* The digest under which an id is going to be decided by this push. */
static const uint8_t *planned_digest(const planning *work, size_t owner, int64_t id)
{
    const kedge_plan *plan = work->plan;
    for (size_t i = plan->apply_count; i-- > 0;) {
        const kedge_push_mutation *mutation = &work->push->mutations[plan->apply[i]];
        if (plan->owner[plan->apply[i]] == owner && mutation->id == id) return mutation->digest;
    }
    return NULL;
}

static kedge_status check_decided(planning *work, size_t owner, const kedge_push_mutation *mutation,
                                  kedge_error *error)
{
    kedge_plan_client *client = &work->plan->clients[owner];
    const uint8_t *digest = NULL;
    kedge_status status = KEDGE_OK;
    KEDGE_ASSERT(mutation->id < client->next);
    if (mutation->id <= client->state.lmid) {
        status = decided_digest(work, client, mutation->id, &digest, error);
    } else {
        digest = planned_digest(work, owner, mutation->id);
        KEDGE_ASSERT(digest != NULL);
    }
    if (status != KEDGE_OK) return status;
    if (digest == NULL || memcmp(digest, mutation->digest, KEDGE_DIGEST_SIZE) != 0) {
        block(work, client, mutation->sender, KEDGE_PUSH_MISMATCH,
              "another mutation was decided under this id", mutation->id);
    }
    return KEDGE_OK;
}

/* ---- one mutation ---- */

/* Another sender of this push has already used this new client id. */
static bool is_taken(const planning *work, const kedge_plan_client *client)
{
    const kedge_plan *plan = work->plan;
    for (size_t i = 0; i < plan->client_count; i++) {
        const kedge_plan_client *other = &plan->clients[i];
        if (other != client && other->next > 1 && kedge_bytes_equal(other->client, client->client))
            return true;
    }
    return false;
}

static bool is_foreign(const planning *work, const kedge_plan_client *client)
{
    const kedge_client_state *state = &client->state;
    const kedge_push_sender *sender = client->sender;
    if (kedge_client_is_reserved(client->client)) return !work->push->replays;
    if (!state->known) return client->next == 1 && is_taken(work, client);
    return !kedge_bytes_equal_text(sender->group, state->group) ||
           strcmp(sender->identity->user, state->user) != 0;
}

/* Whether the mutation waits for a mutator that this backend lacks, which `lack` then names. What
 * is pushed to a log project is not run. */
static bool has_to_wait(const planning *work, const kedge_push_mutation *mutation,
                        kedge_batch_part *lack)
{
    if (!mutation->waits || mutation->invalid_code != NULL || work->project->history != NULL)
        return false;
    /* A batch that is not canonical is none of our clients'. */
    kedge_bytes args = mutation->args_are_canonical ? mutation->args : KEDGE_BYTES("null");
    return kedge_registry_lacks(work->project->backend->options.registry, mutation->name,
                                mutation->mutator, args, lack);
}

static void block_waiting(planning *work, kedge_plan_client *client,
                          const kedge_push_mutation *mutation, const kedge_batch_part *lack)
{
    char what[160];
    snprintf(what, sizeof what, "it waits for a server with version %" PRId64 " of \"%s\"",
             lack->version, lack->name);
    if (work->plan->problem == KEDGE_PUSH_FINE) {
        work->plan->lack = *lack;
        work->plan->lack.args = (kedge_bytes){NULL, 0};
    }
    block(work, client, mutation->sender, KEDGE_PUSH_SERVER_OLD, what, mutation->id);
}

static kedge_status plan_mutation(planning *work, size_t index, kedge_error *error)
{
    const kedge_push_mutation *mutation = &work->push->mutations[index];
    KEDGE_ASSERT(mutation->sender < work->push->sender_count);
    KEDGE_ASSERT(mutation->id >= 1 && mutation->id <= KEDGE_LIMIT_MUTATION_ID);
    KEDGE_ASSERT(work->plan->apply_count <= index);
    size_t owner = 0;
    kedge_status status = find_client(work, mutation, &owner, error);
    if (status != KEDGE_OK) return status;
    kedge_plan *plan = work->plan;
    kedge_plan_client *client = &plan->clients[owner];
    plan->owner[index] = owner;
    /* A problem in one sender's mutations does not stop those of later senders. A replay has one
     * sender for each user, but one sequence of ids: after a problem nothing is applied. */
    bool of_another = client->blocked_sender != mutation->sender && !work->push->replays;
    if (client->blocked && of_another) client->blocked = false;
    if (client->blocked) {
        plan->refused[client->problem]++;
        return KEDGE_OK;
    }

    kedge_batch_part lack;
    bool unknown = !client->state.known && client->next == 1 && mutation->id > 1;
    if (is_foreign(work, client)) {
        block(work, client, mutation->sender, KEDGE_PUSH_CLIENT_FOREIGN, "there is no such client",
              mutation->id);
    } else if (client->state.retired) {
        block(work, client, mutation->sender, KEDGE_PUSH_RETIRED, "the client is retired",
              mutation->id);
    } else if (unknown) {
        block(work, client, mutation->sender, KEDGE_PUSH_CLIENT_UNKNOWN,
              "the client is unknown and its first mutation is not 1", mutation->id);
    } else if (mutation->id > client->next) {
        block(work, client, mutation->sender, KEDGE_PUSH_GAP, "the mutations before it are missing",
              mutation->id);
    } else if (mutation->id < client->next) {
        status = check_decided(work, owner, mutation, error);
    } else if (has_to_wait(work, mutation, &lack)) {
        block_waiting(work, client, mutation, &lack);
    } else {
        KEDGE_ASSERT(mutation->id > client->state.lmid && !client->state.retired);
        plan->apply[plan->apply_count++] = index;
        client->next++;
    }
    return status;
}

kedge_status kedge_plan_make(const kedge_project *project, const kedge_version *head,
                             const kedge_push *push, kedge_plan *plan, kedge_error *error)
{
    memset(plan, 0, sizeof *plan);
    plan->arena = kedge_arena_make(project->allocator);
    planning work = {project, head, push, plan};
    plan->owner = kedge_arena_take_array(&plan->arena, push->count, sizeof *plan->owner);
    plan->apply = kedge_arena_take_array(&plan->arena, push->count, sizeof *plan->apply);
    if (plan->owner == NULL || plan->apply == NULL) return kedge_fail_no_memory(error);
    for (size_t i = 0; i < push->count; i++) {
        kedge_status status = plan_mutation(&work, i, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}
