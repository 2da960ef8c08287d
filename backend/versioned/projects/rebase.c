/* Rebases: gather a part of the range, push it under the job's client, tell its outcomes. */
#include "backend/versioned/projects/rebase.h"

#include "backend/base/backend.h"
#include "backend/versioned/versions/versions.h"
#include "common/arena.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"

#include <stdio.h>
#include <string.h>

/* A mutation of the source, and its place in the push. */
typedef struct taken_mutation {
    int64_t version;
    const kedge_version_mutation *mutation;
    bool left_out;
} taken_mutation;

typedef struct rebasing {
    const kedge_rebase_job *rebase;
    char client[KEDGE_LIMIT_CLIENT_ID_BYTES + 1];
    kedge_arena arena;
    const kedge_version *versions[KEDGE_REBASE_VERSIONS_MAX];
    size_t version_count;
    taken_mutation *taken;
    size_t taken_count;
    kedge_identity *identities; /* of the users, one for each sender */
    kedge_push_sender *senders;
    kedge_push push;
    int64_t first_id;
    int64_t next_version;
} rebasing;

/* ---- what is asked for ---- */

static kedge_status check_request(rebasing *work, kedge_error *error)
{
    const kedge_rebase_job *rebase = work->rebase;
    int size = snprintf(work->client, sizeof work->client, "%s%.*s", KEDGE_CLIENT_RESERVED,
                        (int)rebase->job.size, rebase->job.data);
    bool named = rebase->job.size > 0 && size > 0 && (size_t)size < sizeof work->client &&
                 kedge_check_client_id(kedge_bytes_of(work->client), NULL) == KEDGE_OK;
    if (!named) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "rebase-invalid",
                          "a job is named by 1 to %zu of A-Z a-z 0-9 _ -",
                          KEDGE_LIMIT_CLIENT_ID_BYTES - strlen(KEDGE_CLIENT_RESERVED));
    }
    if (kedge_bytes_equal(rebase->from->ref.organization, rebase->to->ref.organization) &&
        kedge_bytes_equal(rebase->from->ref.project, rebase->to->ref.project)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "rebase-invalid",
                          "a project's mutations are in it already; rebase them onto another one");
    }
    bool resumed = rebase->resume.version != 0;
    if (rebase->from_version < 1 || rebase->to_version < rebase->from_version ||
        (resumed && (rebase->resume.version < rebase->from_version ||
                     rebase->resume.version > rebase->to_version || rebase->resume.id < 1))) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "rebase-invalid",
                          "a range goes from version 1 or above to a later one or the same, and a "
                          "job resumes inside of it");
    }
    return KEDGE_OK;
}

/* What a project was forked from. */
typedef struct parent_version {
    char project[KEDGE_LIMIT_NAME_BYTES + 1]; /* "": it was not forked */
    int64_t number;
    char lineage[KEDGE_LINEAGE_HEX];
} parent_version;

static kedge_status find_parent(const kedge_project *project, parent_version *parent,
                                kedge_error *error)
{
    const kedge_version *creation = NULL;
    kedge_status status = kedge_version_load_creation(project, &creation, error);
    if (status != KEDGE_OK) return status;
    kedge_bytes forked = creation->forked;
    bool is_fork =
        forked.size > 0 &&
        kedge_json_member_chars(forked, "project", parent->project, sizeof parent->project) &&
        kedge_json_member_integer(forked, "version", &parent->number) &&
        kedge_json_member_chars(forked, "lineage", parent->lineage, sizeof parent->lineage);
    if (!is_fork) parent->project[0] = '\0';
    kedge_version_release(creation);
    return KEDGE_OK;
}

/* Whether the source has the version that a project was forked at: it has the project's name, or a
 * version of that number and lineage. A project that was imported under another name has the
 * versions of the one that was exported. */
static kedge_status is_of_source(const rebasing *work, const parent_version *parent,
                                 bool *of_source, kedge_error *error)
{
    const kedge_project *from = work->rebase->from;
    *of_source = kedge_bytes_equal_text(from->ref.project, parent->project);
    if (*of_source) return KEDGE_OK;
    return kedge_version_is_known(from, parent->number, parent->lineage, of_source, error);
}

/* Fails when `of` has the first version of the range, as an import has those of the project that
 * was exported. Projects that have a version in common have all versions before it in common. So
 * when `of` does not have the first of the range, it has none of the range. */
static kedge_status check_first(const rebasing *work, const kedge_project *of, kedge_error *error)
{
    const kedge_rebase_job *rebase = work->rebase;
    char lineage[KEDGE_LINEAGE_HEX];
    bool common = false;
    kedge_status status = kedge_version_lineage(rebase->from, rebase->from_version, lineage, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK; /* it is lost: gathering says so */
    if (status == KEDGE_OK)
        status = kedge_version_is_known(of, rebase->from_version, lineage, &common, error);
    if (status != KEDGE_OK || !common) return status;
    return kedge_fail(error, KEDGE_CONFLICT, "rebase-range-in-base",
                      "the target, or a project that it was forked from, has version %lld of the "
                      "source already; the range may start after the last version that both have",
                      (long long)rebase->from_version);
}

/* A fork, or a fork of one, that was made after the beginning of the range has the first mutations
 * in its base. The target holds the versions of each of these projects up to `held`. */
static kedge_status check_base(const rebasing *work, kedge_error *error)
{
    const kedge_rebase_job *rebase = work->rebase;
    char project[KEDGE_LIMIT_NAME_BYTES + 1] = "";
    kedge_project of = *rebase->to;
    int64_t held = INT64_MAX;
    if (!kedge_bytes_equal(of.ref.organization, rebase->from->ref.organization)) return KEDGE_OK;
    for (int generation = 0; generation < KEDGE_REBASE_GENERATIONS_MAX; generation++) {
        parent_version parent = {.number = 0};
        bool of_source = false;
        kedge_status status = find_parent(&of, &parent, error);
        if (status == KEDGE_NOT_FOUND && generation > 0) return KEDGE_OK; /* it is gone */
        if (status == KEDGE_OK && held >= rebase->from_version)
            status = check_first(work, &of, error);
        if (status != KEDGE_OK) return status;
        if (parent.project[0] == '\0') return KEDGE_OK;
        status = is_of_source(work, &parent, &of_source, error);
        if (status != KEDGE_OK) return status;
        if (of_source && parent.number >= rebase->from_version) {
            return kedge_fail(error, KEDGE_CONFLICT, "rebase-range-in-base",
                              "the target was forked from this project at version %lld and holds "
                              "what came before; the range may start at version %lld",
                              (long long)parent.number, (long long)parent.number + 1);
        }
        memcpy(project, parent.project, sizeof project);
        of.ref.project = kedge_bytes_of(project);
        held = parent.number;
        /* Another project may have the name by now. */
        bool same = false;
        status = kedge_version_has_lineage(&of, parent.number, kedge_bytes_of(parent.lineage),
                                           &same, NULL, error);
        if (status != KEDGE_OK || !same) return status;
    }
    return kedge_fail(
        error, KEDGE_CONFLICT, "rebase-range-in-base",
        "the target is a fork in more than %d generations, so it is unknown whether it "
        "holds the range",
        KEDGE_REBASE_GENERATIONS_MAX);
}

/* Checked before anything is applied. */
static kedge_status check_range(const rebasing *work, kedge_error *error)
{
    const kedge_rebase_job *rebase = work->rebase;
    const kedge_version *found = NULL;
    kedge_status status = kedge_version_load_creation(work->rebase->from, &found, error);
    if (status != KEDGE_OK) return status;
    kedge_version_release(found);
    int64_t oldest = 1;
    status = kedge_retained_oldest(work->rebase->from, &oldest, error);
    if (status == KEDGE_OK && work->next_version < oldest) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "version-not-retained",
                          "version %lld of the source is no longer kept; the oldest is %lld",
                          (long long)work->next_version, (long long)oldest);
    }
    if (status != KEDGE_OK) return status;
    status = kedge_version_load_detail(work->rebase->from, rebase->to_version, KEDGE_VERSION_RUNS,
                                       &found, error);
    if (status == KEDGE_OK) kedge_version_release(found);
    if (status != KEDGE_NOT_FOUND) return status;
    return kedge_fail(error, KEDGE_NOT_FOUND, "version-not-found", "the source has no version %lld",
                      (long long)rebase->to_version);
}

/* ---- gathering ---- */

/* The code of a mutation that stays rejected, NULL for one that is decided anew. A mutation stays
 * rejected when its args were not kept, and when the policy has refused it to its user: a rebase
 * has the role of the admin who runs it. */
static const char *lasting_code(const kedge_version_mutation *mutation)
{
    static const char *const codes[] = {"mutation-invalid", "args-invalid", "args-too-large"};
    if (mutation->outcome != KEDGE_MUTATION_REJECTED) return NULL;
    if (kedge_bytes_equal_text(mutation->code, KEDGE_POLICY_REJECTION))
        return KEDGE_POLICY_REJECTION;
    if (!kedge_bytes_equal_text(mutation->args, "null")) return NULL;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        if (kedge_bytes_equal_text(mutation->code, codes[i])) return codes[i];
    }
    return NULL;
}

static kedge_status find_sender(rebasing *work, kedge_bytes user, size_t *sender,
                                kedge_error *error)
{
    for (size_t i = work->push.sender_count; i-- > 0;) {
        if (!kedge_bytes_equal_text(user, work->identities[i].user)) continue;
        *sender = i;
        return KEDGE_OK;
    }
    kedge_bytes kept;
    if (!kedge_arena_copy(&work->arena, user, &kept)) return kedge_fail_no_memory(error);
    size_t added = work->push.sender_count++;
    work->identities[added] = (kedge_identity){
        .user = kept.data, .role = work->rebase->role, .organization = "*", .admin = true};
    work->senders[added] =
        (kedge_push_sender){kedge_bytes_of(work->client), &work->identities[added]};
    *sender = added;
    return KEDGE_OK;
}

static kedge_status check_mutator(const rebasing *work, int64_t version,
                                  const kedge_version_mutation *mutation, kedge_error *error)
{
    kedge_batch_part lack;
    const kedge_registry *registry = work->rebase->to->backend->options.registry;
    /* Of which version a mutator was, a version tells of the parts of a batch alone. */
    if (mutation->outcome != KEDGE_MUTATION_APPLIED ||
        !kedge_registry_lacks(registry, mutation->name, 1, mutation->args, &lack)) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_CONFLICT, "mutator-unknown",
                      "version %lld of the source applied \"%s\", for which there is no mutator of "
                      "version %lld or above here: it would be rejected for good",
                      (long long)version, lack.name, (long long)lack.version);
}

static kedge_status take(rebasing *work, int64_t version, const kedge_version_mutation *mutation,
                         kedge_error *error)
{
    taken_mutation *taken = &work->taken[work->taken_count++];
    *taken = (taken_mutation){version, mutation, mutation->outcome == KEDGE_MUTATION_DUPLICATE};
    if (taken->left_out) return KEDGE_OK;
    kedge_status status = check_mutator(work, version, mutation, error);
    if (status != KEDGE_OK) return status;
    bool renumbered = mutation->origin_client.size > 0;
    kedge_push_mutation *pushed = &work->push.mutations[work->push.count];
    *pushed = (kedge_push_mutation){.client = kedge_bytes_of(work->client),
                                    .id = work->first_id + (int64_t)work->push.count,
                                    .name = mutation->name,
                                    .args = mutation->args,
                                    .timestamp_ms = mutation->timestamp_ms,
                                    .uid = mutation->uid,
                                    .origin_client =
                                        renumbered ? mutation->origin_client : mutation->client,
                                    .origin_id = renumbered ? mutation->origin_id : mutation->id,
                                    .invalid_code = lasting_code(mutation)};
    memcpy(pushed->digest, mutation->digest, sizeof pushed->digest);
    if (pushed->invalid_code != NULL) {
        snprintf(pushed->invalid_message, sizeof pushed->invalid_message, "%.*s",
                 (int)mutation->message.size, mutation->message.data);
    }
    work->push.count++;
    return find_sender(work, mutation->user, &pushed->sender, error);
}

static kedge_status load_versions(rebasing *work, size_t *mutations, kedge_error *error)
{
    const kedge_rebase_job *rebase = work->rebase;
    size_t bytes = 0;
    *mutations = 0;
    while (work->next_version <= rebase->to_version &&
           work->version_count < KEDGE_REBASE_VERSIONS_MAX &&
           *mutations < KEDGE_REBASE_MUTATIONS_MAX && bytes < KEDGE_REBASE_ARGS_BYTES) {
        const kedge_version *version = NULL;
        kedge_status status =
            kedge_version_load(work->rebase->from, work->next_version, &version, error);
        if (status != KEDGE_OK) return status;
        work->versions[work->version_count++] = version;
        work->next_version++;
        *mutations += version->mutation_count;
        for (size_t i = 0; i < version->mutation_count; i++) {
            bytes += version->mutations[i].args.size;
        }
    }
    return KEDGE_OK;
}

static kedge_status gather(rebasing *work, kedge_error *error)
{
    size_t count = 0;
    kedge_status status = load_versions(work, &count, error);
    if (status != KEDGE_OK) return status;
    work->taken = kedge_arena_take_array(&work->arena, count, sizeof *work->taken);
    work->identities = kedge_arena_take_array(&work->arena, count, sizeof *work->identities);
    work->senders = kedge_arena_take_array(&work->arena, count, sizeof *work->senders);
    work->push.mutations =
        kedge_arena_take_array(&work->arena, count, sizeof *work->push.mutations);
    work->push.senders = work->senders;
    if (work->taken == NULL || work->identities == NULL || work->senders == NULL ||
        work->push.mutations == NULL) {
        return kedge_fail_no_memory(error);
    }
    for (size_t i = 0; i < work->version_count; i++) {
        const kedge_version *version = work->versions[i];
        for (size_t k = 0; k < version->mutation_count && status == KEDGE_OK; k++) {
            status = take(work, version->number, &version->mutations[k], error);
        }
    }
    return status;
}

/* ---- clients that the target knows ---- */

static kedge_status retire_known(rebasing *work, const kedge_version *head,
                                 const kedge_push_mutation *pushed, kedge_error *error)
{
    kedge_client_state client;
    const kedge_version *at = NULL;
    const kedge_identity *identity = work->senders[pushed->sender].identity;
    kedge_status status =
        kedge_client_load(work->rebase->to, head, pushed->origin_client, &client, error);
    if (status != KEDGE_OK || !client.known || client.retired ||
        strcmp(client.user, identity->user) != 0) {
        return status;
    }
    status = kedge_processor_retire(work->rebase->to, identity, kedge_bytes_of(client.group),
                                    pushed->origin_client, &at, error);
    if (status == KEDGE_OK) kedge_version_release(at);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

/* Each client once, however often it comes. */
static kedge_status retire_origins(rebasing *work, kedge_error *error)
{
    const kedge_version *head = NULL;
    const kedge_push_mutation *all = work->push.mutations;
    kedge_status status =
        kedge_version_load_detail(work->rebase->to, 0, KEDGE_VERSION_STATE, &head, error);
    if (status != KEDGE_OK) return status;
    for (size_t i = 0; i < work->push.count && status == KEDGE_OK; i++) {
        bool seen = false;
        for (size_t k = 0; k < i && !seen; k++) {
            seen = all[k].sender == all[i].sender &&
                   kedge_bytes_equal(all[k].origin_client, all[i].origin_client);
        }
        if (!seen) status = retire_known(work, head, &all[i], error);
    }
    kedge_version_release(head);
    return status;
}

/* ---- replaying ---- */

static kedge_status replay(rebasing *work, int64_t *version, kedge_error *error)
{
    kedge_push_result result = {.version = 0};
    kedge_status status = kedge_processor_push(work->rebase->to, &work->push, &result, error);
    if (status != KEDGE_OK) return status;
    if (result.cut) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "rebase-unfinished",
                          "the time of the request was over; the same request replays the rest");
    }
    *version = result.version;
    switch (result.problem) {
    case KEDGE_PUSH_FINE:
        return KEDGE_OK;
    case KEDGE_PUSH_MISMATCH:
        return kedge_fail(error, KEDGE_CONFLICT, "job-mismatch",
                          "the job has replayed other mutations before: %s", result.detail);
    default:
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "rebase-invalid",
                          "the job has not replayed what comes before the place to resume at: %s",
                          result.detail);
    }
}

/* ---- telling ---- */

typedef struct telling {
    const rebasing *work;
    size_t at; /* the next of the mutations that were taken */
    kedge_rebase_visit visit;
    void *context;
} telling;

static kedge_status tell_left_out(telling *told, kedge_error *error)
{
    const rebasing *work = told->work;
    kedge_status status = KEDGE_OK;
    while (status == KEDGE_OK && told->at < work->taken_count && work->taken[told->at].left_out) {
        const taken_mutation *taken = &work->taken[told->at++];
        kedge_rebase_outcome outcome = {.from_version = taken->version, .from = taken->mutation};
        status = told->visit(told->context, &outcome, error);
    }
    return status;
}

static kedge_status tell_decided(void *context, int64_t version,
                                 const kedge_version_mutation *decided, kedge_error *error)
{
    telling *told = context;
    kedge_status status = tell_left_out(told, error);
    if (status != KEDGE_OK || told->at == told->work->taken_count) return status;
    const taken_mutation *taken = &told->work->taken[told->at++];
    kedge_rebase_outcome outcome = {.from_version = taken->version,
                                    .from = taken->mutation,
                                    .id = decided->id,
                                    .version = version,
                                    .decided = decided};
    return told->visit(told->context, &outcome, error);
}

static kedge_status tell(const rebasing *work, int64_t version, kedge_rebase_visit visit,
                         void *context, kedge_error *error)
{
    telling told = {work, 0, visit, context};
    kedge_status status = KEDGE_OK;
    if (work->push.count > 0) {
        const kedge_version *at = NULL;
        int64_t last = work->first_id + (int64_t)work->push.count - 1;
        status =
            kedge_version_load_detail(work->rebase->to, version, KEDGE_VERSION_STATE, &at, error);
        if (status == KEDGE_OK) {
            status = kedge_client_mutations(work->rebase->to, at, kedge_bytes_of(work->client),
                                            work->first_id, last, UINT32_MAX, tell_decided, &told,
                                            NULL, error);
            kedge_version_release(at);
        }
    }
    return status == KEDGE_OK ? tell_left_out(&told, error) : status;
}

/* ---- a part of a job ---- */

static kedge_status run_part(rebasing *work, kedge_rebase_visit visit, void *context,
                             int64_t *version, kedge_error *error)
{
    kedge_status status = check_request(work, error);
    if (status == KEDGE_OK) status = check_range(work, error);
    if (status == KEDGE_OK) status = check_base(work, error);
    if (status == KEDGE_OK) status = gather(work, error);
    if (status == KEDGE_OK) status = retire_origins(work, error);
    if (status == KEDGE_OK) status = replay(work, version, error);
    if (status == KEDGE_OK) status = tell(work, *version, visit, context, error);
    return status;
}

kedge_status kedge_rebase_run(const kedge_rebase_job *rebase, kedge_rebase_visit visit,
                              void *context, kedge_rebase_place *next, int64_t *version,
                              kedge_error *error)
{
    bool resumed = rebase->resume.version != 0;
    rebasing work = {.rebase = rebase,
                     .arena = kedge_arena_make(rebase->to->allocator),
                     .push = {.replays = true},
                     .first_id = resumed ? rebase->resume.id : 1,
                     .next_version = resumed ? rebase->resume.version : rebase->from_version};
    int64_t covered = 0;
    kedge_status status = run_part(&work, visit, context, &covered, error);
    if (status == KEDGE_OK) {
        bool done = work.next_version > rebase->to_version;
        *next = (kedge_rebase_place){done ? 0 : work.next_version,
                                     work.first_id + (int64_t)work.push.count};
        *version = covered;
    }
    while (work.version_count > 0)
        kedge_version_release(work.versions[--work.version_count]);
    kedge_arena_free(&work.arena);
    return status;
}
