/* Running a slice of a push: each mutation in a savepoint of its own, over one
 * overlay on the head. */
#include "backend/versioned/commit/slice.h"

#include "backend/ports/deadline.h"
#include "backend/versioned/commit/commit.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/gzip.h"
#include "common/json.h"
#include "common/names.h"
#include "common/utf8.h"
#include "mutate/batch.h"

#include <stdio.h>
#include <string.h>

#define ROLE_READER         "reader"
#define NAME_SHOWN_BYTES    128 /* what a version keeps of a name that is longer than a mutator's */
#define UID_BYTES_MAX       64
#define MUTATION_TEXT_BYTES 160   /* what a mutation's JSON takes besides its texts */
#define RESPONSE_BYTES      65536 /* what a pull's response has besides the args of one mutation */

/* ---- texts that the version keeps ---- */

/* What JSON can hold as an integer. */
static int64_t clamp(int64_t number)
{
    if (number > KEDGE_LIMIT_MUTATION_ID) return KEDGE_LIMIT_MUTATION_ID;
    return number < -KEDGE_LIMIT_MUTATION_ID ? -KEDGE_LIMIT_MUTATION_ID : number;
}

static const kedge_push_sender *sender_of(const kedge_slice *slice,
                                          const kedge_push_mutation *pushed)
{
    return &slice->push->senders[pushed->sender];
}

static kedge_status keep_texts(kedge_slice *slice, const kedge_push_mutation *pushed,
                               kedge_version_mutation *mutation, kedge_error *error)
{
    kedge_arena *arena = &slice->object->arena;
    kedge_bytes user = kedge_bytes_of(sender_of(slice, pushed)->identity->user);
    kedge_bytes role = kedge_bytes_of(sender_of(slice, pushed)->identity->role);
    bool fine =
        kedge_arena_copy(arena, pushed->client, &mutation->client) &&
        kedge_arena_copy(arena, kedge_utf8_clip(pushed->name, NAME_SHOWN_BYTES), &mutation->name) &&
        kedge_arena_copy(arena, user, &mutation->user) &&
        kedge_arena_copy(arena, role, &mutation->role) &&
        kedge_arena_copy(arena, kedge_utf8_clip(pushed->uid, UID_BYTES_MAX), &mutation->uid) &&
        kedge_arena_copy(arena, pushed->origin_client, &mutation->origin_client);
    if (!fine) return kedge_fail_no_memory(error);
    mutation->id = pushed->id;
    mutation->timestamp_ms = clamp(pushed->timestamp_ms);
    mutation->origin_id = pushed->origin_id;
    mutation->mutator = pushed->mutator < 1 ? 1 : pushed->mutator;
    memcpy(mutation->digest, pushed->digest, KEDGE_DIGEST_SIZE);
    return KEDGE_OK;
}

static kedge_status keep_rejection(kedge_slice *slice, kedge_version_mutation *mutation,
                                   const char *code, const char *message, kedge_error *error)
{
    kedge_arena *arena = &slice->object->arena;
    if (code[0] == '\0') code = "rejected"; /* only rejections have a code */
    kedge_bytes code_text = kedge_utf8_clip(kedge_bytes_of(code), KEDGE_LIMIT_REJECTION_CODE_BYTES);
    kedge_bytes text =
        kedge_utf8_clip(kedge_bytes_of(message), KEDGE_LIMIT_REJECTION_MESSAGE_BYTES);
    KEDGE_ASSERT(code_text.size > 0);
    mutation->outcome = KEDGE_MUTATION_REJECTED;
    bool fine = kedge_arena_copy(arena, code_text, &mutation->code) &&
                kedge_arena_copy(arena, text, &mutation->message);
    return fine ? KEDGE_OK : kedge_fail_no_memory(error);
}

/* Canonical args; "null" for what is not JSON or is over a limit, which the transaction then
 * rejects. */
static kedge_status keep_args(kedge_slice *slice, const kedge_push_mutation *pushed,
                              kedge_version_mutation *mutation, kedge_error *error)
{
    mutation->args = KEDGE_BYTES("null");
    if (pushed->invalid_code != NULL || pushed->args.size == 0) return KEDGE_OK;
    kedge_buffer made = kedge_buffer_make(slice->project->allocator);
    kedge_bytes canonical = pushed->args;
    kedge_error ignored;
    kedge_status status = KEDGE_OK;
    if (!pushed->args_are_canonical) {
        status = kedge_json_normalize(pushed->args, KEDGE_LIMIT_JSON_DEPTH, &made, &ignored);
        canonical = kedge_buffer_bytes(&made);
    }
    if (status == KEDGE_NO_MEMORY) {
        status = kedge_fail_no_memory(error);
    } else if (status == KEDGE_OK && canonical.size <= KEDGE_LIMIT_ARGS_BYTES) {
        bool fine = kedge_arena_copy(&slice->object->arena, canonical, &mutation->args);
        status = fine ? KEDGE_OK : kedge_fail_no_memory(error);
    } else {
        status = KEDGE_OK;
    }
    kedge_buffer_free(&made);
    return status;
}

/* ---- deciding one mutation ---- */

/* A mutation that reads a lost body is rejected, since it must not block its client for ever. */
static bool is_decision(kedge_status status, const kedge_error *failure)
{
    if (status == KEDGE_REJECTED) return true;
    return status == KEDGE_CORRUPT && (strcmp(failure->code, "item-body-missing") == 0 ||
                                       strcmp(failure->code, "item-body-damaged") == 0);
}

static kedge_status run_mutator(kedge_slice *slice, const kedge_push_mutation *pushed,
                                kedge_version_mutation *mutation, kedge_error *error)
{
    kedge_error failure = {0};
    const kedge_identity *identity = sender_of(slice, pushed)->identity;
    bool canonical = mutation->args.size > 0 && pushed->args.size > 0 &&
                     !kedge_bytes_equal_text(mutation->args, "null");
    kedge_call call = {.name = pushed->name,
                       .args = canonical ? mutation->args : pushed->args,
                       .args_are_canonical = canonical,
                       .caller = {.user = identity->user,
                                  .role = identity->role,
                                  .client = mutation->client.data,
                                  .now_ms = mutation->timestamp_ms}};
    kedge_status status = kedge_tx_run(slice->tx, &call, &failure);
    if (status == KEDGE_OK) {
        mutation->outcome = KEDGE_MUTATION_APPLIED;
        return KEDGE_OK;
    }
    if (is_decision(status, &failure)) {
        return keep_rejection(slice, mutation, failure.code, failure.message, error);
    }
    return kedge_fail(error, status, failure.code, "%s", failure.message);
}

/* Whether a replay may have a mutator of this name. A server without the app's mutators has no list
 * of their names: to it each valid one may be the app's, except those of Kedge. */
static bool may_be_run(const kedge_slice *slice, kedge_bytes name)
{
    const kedge_registry *registry = slice->project->backend->options.registry;
    if (kedge_registry_find(registry, name) != NULL) return true;
    return kedge_check_name("mutator", name, NULL) == KEDGE_OK &&
           !kedge_bytes_start_with(name, KEDGE_BYTES("kedge.")) &&
           !kedge_registry_has_app(registry);
}

/* Whether each part of a batch may be run. Args that are no batch's are rejected by each replay. */
static bool may_run_parts(const kedge_slice *slice, kedge_bytes args)
{
    kedge_batch_part part;
    if (kedge_batch_check(args, NULL) != KEDGE_OK) return true;
    kedge_json_iterator parts = kedge_batch_iterate(args);
    while (kedge_batch_next(&parts, &part))
        if (!may_be_run(slice, kedge_bytes_of(part.name))) return false;
    return true;
}

/* Where each replay decides, only a mutation that no replay could run is rejected. */
static kedge_status leave_open(kedge_slice *slice, const kedge_push_mutation *pushed,
                               kedge_version_mutation *mutation, kedge_error *error)
{
    bool batch = kedge_bytes_equal_text(pushed->name, KEDGE_BATCH_MUTATOR);
    mutation->outcome = KEDGE_MUTATION_APPLIED;
    if (may_be_run(slice, pushed->name) && (!batch || may_run_parts(slice, mutation->args)))
        return KEDGE_OK;
    return keep_rejection(slice, mutation, "mutator-unknown", "there is no such mutator here",
                          error);
}

/* The client has predicted with a version of a mutator that this backend does not have. One that is
 * unknown is rejected when it is run. */
static bool is_newer(const kedge_slice *slice, const kedge_push_mutation *pushed,
                     const kedge_version_mutation *mutation)
{
    kedge_batch_part lack;
    const kedge_registry *registry = slice->project->backend->options.registry;
    return kedge_registry_lacks(registry, pushed->name, pushed->mutator, mutation->args, &lack) &&
           kedge_registry_find(registry, kedge_bytes_of(lack.name)) != NULL;
}

/* Rejects, and sets `*rejected`, what the sender's role or the policy does not allow it to push. No
 * mutator is run for that. */
static kedge_status check_sender(kedge_slice *slice, const kedge_push_mutation *pushed,
                                 kedge_version_mutation *mutation, bool *rejected,
                                 kedge_error *error)
{
    char message[KEDGE_POLICY_MESSAGE_SIZE];
    const kedge_backend_options *options = &slice->project->backend->options;
    const char *role = sender_of(slice, pushed)->identity->role;
    const char *forbidden =
        kedge_registry_forbidden(options->registry, pushed->name, mutation->args);
    bool reads_only =
        strcmp(role, ROLE_READER) == 0 && !kedge_bytes_equal_text(pushed->name, "kedge.noop");
    bool refused =
        !reads_only && forbidden == NULL &&
        kedge_policy_refuses(options->policy, role, pushed->name, mutation->args, message);
    *rejected = reads_only || forbidden != NULL || refused;
    if (reads_only)
        return keep_rejection(slice, mutation, "not-allowed",
                              "the role " ROLE_READER " changes nothing", error);
    if (refused) return keep_rejection(slice, mutation, KEDGE_POLICY_REJECTION, message, error);
    if (forbidden == NULL) return KEDGE_OK;
    snprintf(message, sizeof message, "this server does not take the built-in mutator %s",
             forbidden);
    return keep_rejection(slice, mutation, "not-allowed", message, error);
}

static kedge_status decide(kedge_slice *slice, size_t position, kedge_version_mutation *mutation,
                           kedge_error *error)
{
    const kedge_push_mutation *pushed = &slice->push->mutations[slice->plan->apply[position]];
    kedge_status status = keep_texts(slice, pushed, mutation, error);
    if (status == KEDGE_OK) status = keep_args(slice, pushed, mutation, error);
    if (status != KEDGE_OK) return status;
    bool duplicate = false;
    if (pushed->origin_client.size > 0) {
        status = kedge_slice_find_origin(slice, position, mutation, &duplicate, error);
        if (status != KEDGE_OK || duplicate) return status;
    }
    if (pushed->invalid_code != NULL) {
        return keep_rejection(slice, mutation, pushed->invalid_code, pushed->invalid_message,
                              error);
    }
    bool rejected = false;
    status = check_sender(slice, pushed, mutation, &rejected, error);
    if (status != KEDGE_OK || rejected) return status;
    if (slice->refuse) {
        return keep_rejection(slice, mutation, "version-too-large",
                              "the mutation does not fit one version", error);
    }
    if (slice->project->history == NULL && is_newer(slice, pushed, mutation)) {
        return keep_rejection(slice, mutation, "server-too-old",
                              "the server has an older version of the mutator", error);
    }
    if (slice->project->history != NULL) return leave_open(slice, pushed, mutation, error);
    return run_mutator(slice, pushed, mutation, error);
}

/* ---- what clients must get ---- */

/* A client gets the args of a log project's mutation, as gzip, in one response. Args up to this
 * size are taken without compressing them. Larger ones are compressed, to see whether they fit. */
static size_t args_bytes_max(const kedge_slice *slice)
{
    size_t most = slice->project->backend->options.response_bytes_max / 2;
    bool bounded = slice->project->history != NULL && most > 0 && most < KEDGE_SLICE_ARGS_BYTES;
    return bounded ? most : KEDGE_SLICE_ARGS_BYTES;
}

/* Rejects args that no response of this front end can carry: clients could not get past them. */
static kedge_status bound_args(kedge_slice *slice, kedge_version_mutation *mutation,
                               kedge_error *error)
{
    if (mutation->args.size <= args_bytes_max(slice)) return KEDGE_OK;
    kedge_buffer packed = kedge_buffer_make(slice->project->allocator);
    kedge_status status = kedge_gzip(mutation->args, &packed, error);
    size_t size = packed.size + RESPONSE_BYTES;
    kedge_buffer_free(&packed);
    if (status != KEDGE_OK || size <= slice->project->backend->options.response_bytes_max)
        return status;
    mutation->args = KEDGE_BYTES("null");
    if (mutation->outcome != KEDGE_MUTATION_APPLIED) return KEDGE_OK;
    return keep_rejection(slice, mutation, "args-too-large",
                          "no response of this server can carry the args", error);
}

/* ---- runs ---- */

static kedge_run *find_run(kedge_version *version, kedge_bytes client)
{
    for (size_t i = version->run_count; i-- > 0;) {
        if (kedge_bytes_equal(version->runs[i].client, client)) return &version->runs[i];
    }
    return NULL;
}

static kedge_status add_to_run(kedge_slice *slice, const kedge_push_mutation *pushed,
                               const kedge_version_mutation *mutation, kedge_error *error)
{
    kedge_version *version = &slice->object->version;
    kedge_run *run = find_run(version, mutation->client);
    KEDGE_ASSERT(run == NULL || mutation->id == run->last + 1);
    if (run == NULL) {
        KEDGE_ASSERT(version->run_count < KEDGE_SLICE_RUNS_MAX);
        run = &version->runs[version->run_count++];
        run->client = mutation->client;
        run->user = mutation->user;
        run->version = version->number;
        run->first = mutation->id;
        if (!kedge_arena_copy(&slice->object->arena, sender_of(slice, pushed)->group,
                              &run->group)) {
            return kedge_fail_no_memory(error);
        }
    }
    run->last = mutation->id;
    return KEDGE_OK;
}

/* ---- the slice ---- */

static size_t text_bytes(const kedge_slice *slice, const kedge_push_mutation *pushed)
{
    size_t rejection = KEDGE_LIMIT_REJECTION_CODE_BYTES + KEDGE_LIMIT_REJECTION_MESSAGE_BYTES;
    return MUTATION_TEXT_BYTES + rejection / 4 + pushed->client.size +
           kedge_utf8_clip(pushed->name, NAME_SHOWN_BYTES).size +
           strlen(sender_of(slice, pushed)->identity->user) +
           strlen(sender_of(slice, pushed)->identity->role) + pushed->uid.size +
           pushed->origin_client.size;
}

/* Whether the slice ends because of the bytes that it changes. A mutation more may edit the largest
 * item again, whose edits are to be in one version: its bytes are allowed on top. */
static bool has_changed_much(const kedge_slice *slice)
{
    return slice->overlay != NULL &&
           kedge_overlay_bytes(slice->overlay) > KEDGE_LIMIT_ITEM_BYTES + KEDGE_SLICE_CHANGED_BYTES;
}

static bool fits(const kedge_slice *slice, const kedge_push_mutation *pushed)
{
    kedge_version *version = &slice->object->version;
    if (version->mutation_count == 0) return true;
    if (version->run_count == KEDGE_SLICE_RUNS_MAX && find_run(version, pushed->client) == NULL) {
        return false;
    }
    return kedge_deadline_ask() == KEDGE_DEADLINE_GO_ON &&
           version->mutation_count < slice->mutations_max &&
           slice->text_bytes + text_bytes(slice, pushed) <= KEDGE_SLICE_TEXT_BYTES &&
           slice->args_bytes + pushed->args.size <= args_bytes_max(slice) &&
           !has_changed_much(slice);
}

static kedge_status run_one(kedge_slice *slice, size_t position, kedge_error *error)
{
    size_t index = slice->plan->apply[position];
    kedge_version *version = &slice->object->version;
    const kedge_push_mutation *pushed = &slice->push->mutations[index];
    kedge_version_mutation *mutation = &version->mutations[version->mutation_count];
    KEDGE_ASSERT(version->mutation_count < slice->mutations_max);
    KEDGE_ASSERT(pushed->id < slice->plan->clients[slice->plan->owner[index]].next);
    kedge_status status = decide(slice, position, mutation, error);
    if (slice->refuse) mutation->args = KEDGE_BYTES("null");
    if (status == KEDGE_OK) status = bound_args(slice, mutation, error);
    if (status != KEDGE_OK) return status;
    status = add_to_run(slice, pushed, mutation, error);
    if (status != KEDGE_OK) return status;
    version->mutation_count++;
    slice->text_bytes += text_bytes(slice, pushed);
    slice->args_bytes += pushed->args.size;
    return KEDGE_OK;
}

static kedge_status open_slice(kedge_slice *slice, size_t count, kedge_error *error)
{
    kedge_state *head = slice->head;
    kedge_state_reader reader = kedge_state_reader_of(head);
    kedge_status status =
        kedge_version_begin(slice->project->backend, head->version, &slice->object, error);
    if (status != KEDGE_OK) return status;
    kedge_arena *arena = &slice->object->arena;
    kedge_version *version = &slice->object->version;
    version->mutations = kedge_arena_take_array(arena, count, sizeof *version->mutations);
    size_t runs = count < KEDGE_SLICE_RUNS_MAX ? count : KEDGE_SLICE_RUNS_MAX;
    version->runs = kedge_arena_take_array(arena, runs, sizeof *version->runs);
    if (version->mutations == NULL || version->runs == NULL) return kedge_fail_no_memory(error);
    if (slice->project->history != NULL) return KEDGE_OK; /* no mutator runs */
    slice->overlay = kedge_overlay_new(slice->project->allocator);
    if (slice->overlay == NULL) return kedge_fail_no_memory(error);
    status = kedge_tx_new(slice->project->allocator, slice->project->backend->options.registry,
                          slice->overlay, reader, &slice->tx, error);
    if (status == KEDGE_OK) kedge_tx_set_accept(slice->tx, kedge_slice_accept, slice);
    return status;
}

/* The deadline came while a mutation ran. It left nothing behind, and what ran before it is worth a
 * version. */
static bool is_stopped(const kedge_slice *slice, kedge_status status)
{
    return status == KEDGE_UNAVAILABLE && slice->object->version.mutation_count > 0 &&
           kedge_deadline_ask() == KEDGE_DEADLINE_STOP;
}

kedge_status kedge_slice_run(kedge_slice *slice, size_t from, kedge_error *error)
{
    const kedge_plan *plan = slice->plan;
    KEDGE_ASSERT(from < plan->apply_count && slice->object == NULL);
    KEDGE_ASSERT(slice->mutations_max >= 1 && slice->mutations_max <= KEDGE_SLICE_MUTATIONS_MAX);
    size_t count = plan->apply_count - from;
    if (count > slice->mutations_max) count = slice->mutations_max;
    kedge_status status = open_slice(slice, count, error);
    slice->next = from;
    while (status == KEDGE_OK && slice->next < plan->apply_count &&
           fits(slice, &slice->push->mutations[plan->apply[slice->next]])) {
        status = run_one(slice, slice->next, error);
        if (is_stopped(slice, status)) {
            status = KEDGE_OK;
            break;
        }
        slice->next++;
    }
    KEDGE_ASSERT(status != KEDGE_OK || slice->next > from);
    return status;
}

void kedge_slice_free(kedge_slice *slice)
{
    kedge_tx_free(slice->tx);
    kedge_overlay_free(slice->overlay);
    if (slice->object != NULL) kedge_version_release(&slice->object->version);
    slice->tx = NULL;
    slice->overlay = NULL;
    slice->object = NULL;
}
