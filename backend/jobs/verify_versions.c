/* Verify: one version against the ones before it. */
#include "backend/jobs/verify_internal.h"

#include "backend/versioned/versions/blob.h"
#include "common/error.h"

#include <string.h>

#define CLIENTS_FIRST 256

static kedge_status tell(verifying *work, const kedge_version *version, const char *finding,
                         kedge_bytes what, const char *how, kedge_error *error)
{
    kedge_key key = kedge_key_version(version->number);
    return verify_tell(work, finding, version->number, kedge_key_bytes(&key), error, "\"%.*s\" %s",
                       (int)what.size, what.data, how);
}

/* ---- bodies ---- */

kedge_status verify_body(verifying *work, int64_t version, kedge_bytes collection,
                         const kedge_entry *entry, kedge_error *error)
{
    kedge_key key = kedge_key_body(&work->project->ref, collection, entry->hash);
    if (entry->body.data != NULL) return KEDGE_OK; /* it was checked when it was read */
    bool added = false;
    kedge_error failure = {0};
    kedge_status status = kedge_key_set_add(&work->bodies, kedge_key_bytes(&key), &added, error);
    if (status != KEDGE_OK || !added) return status;
    work->summary->bodies++;
    kedge_buffer body = kedge_buffer_make(work->project->allocator);
    status = kedge_blob_body(work->project, collection, entry->hash, NULL, &body, &failure);
    bool sized = status != KEDGE_OK || entry->size == 0 || (int64_t)body.size == entry->size;
    kedge_buffer_free(&body);
    if (!sized) {
        return verify_tell(work, "body-wrong", version, kedge_key_bytes(&key), error,
                           "the item \"%.*s\" has another size than its body", (int)entry->id.size,
                           entry->id.data);
    }
    bool lost = work->repair && verify_is_damage(status);
    status =
        verify_failure(work, status, failure.code, version, kedge_key_bytes(&key), &failure, error);
    return status == KEDGE_OK && lost ? verify_note_lost(work, version, collection, entry, error)
                                      : status;
}

static kedge_status check_bodies(verifying *work, const kedge_version *version, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < version->change_count && status == KEDGE_OK; i++) {
        const kedge_version_change *change = &version->changes[i];
        if (change->deleted) continue;
        status = verify_body(work, version->number, change->collection, &change->entry, error);
    }
    return status;
}

/* ---- runs ---- */

static uint64_t hash_client(kedge_bytes client)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint64_t short_hash = 0;
    kedge_sha256(client, hash);
    memcpy(&short_hash, hash, sizeof short_hash);
    return short_hash == 0 ? 1 : short_hash;
}

static verify_client *place_of(verify_client *clients, size_t capacity, uint64_t hash)
{
    size_t at = (size_t)hash & (capacity - 1);
    while (clients[at].hash != 0 && clients[at].hash != hash)
        at = (at + 1) & (capacity - 1);
    return &clients[at];
}

static verify_client *find_client(verifying *work, kedge_bytes client)
{
    uint64_t hash = hash_client(client);
    if (work->client_count * 2 >= work->client_capacity) {
        size_t capacity = work->client_capacity == 0 ? CLIENTS_FIRST : work->client_capacity * 2;
        verify_client *grown = kedge_allocate(work->project->allocator, capacity * sizeof *grown);
        if (grown == NULL) return NULL;
        for (size_t i = 0; i < work->client_capacity; i++) {
            const verify_client *old = &work->clients[i];
            if (old->hash != 0) *place_of(grown, capacity, old->hash) = *old;
        }
        kedge_release(work->project->allocator, work->clients);
        work->clients = grown;
        work->client_capacity = capacity;
    }
    verify_client *found = place_of(work->clients, work->client_capacity, hash);
    if (found->hash == 0) {
        *found = (verify_client){.hash = hash, .last = -1};
        work->client_count++;
    }
    return found;
}

/* The mutations of a run, in their places among those of others. */
static bool holds_run(const kedge_version *version, const kedge_run *run)
{
    int64_t next = run->first;
    for (size_t i = 0; i < version->mutation_count; i++) {
        const kedge_version_mutation *mutation = &version->mutations[i];
        if (!kedge_bytes_equal(mutation->client, run->client)) continue;
        if (mutation->id != next++) return false;
    }
    bool empty = run->last < run->first;
    return next == run->last + 1 && run->version == version->number && run->retired == empty &&
           (!run->retired || kedge_bytes_equal(version->retired, run->client));
}

static kedge_status check_run(verifying *work, const kedge_version *version, const kedge_run *run,
                              kedge_error *error)
{
    verify_client *client = find_client(work, run->client);
    if (client == NULL) return kedge_fail_no_memory(error);
    bool first = client->last < 0;
    /* What retention has removed is not known here. */
    bool follows = first ? work->oldest > 1 || run->first == 1 : run->first == client->last + 1;
    bool alive = !client->retired;
    client->last = run->last;
    client->retired = client->retired || run->retired;
    if (!holds_run(version, run)) {
        return tell(work, version, "run-wrong", run->client, "has a run that is not its mutations",
                    error);
    }
    if (!alive) {
        return tell(work, version, "run-wrong", run->client, "has a run after it was retired",
                    error);
    }
    if (follows || work->broken) return KEDGE_OK;
    return tell(work, version, "run-wrong", run->client,
                "has a run that does not begin after the one before", error);
}

static kedge_status check_runs(verifying *work, const kedge_version *version, kedge_error *error)
{
    int64_t mutations = 0;
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < version->run_count && status == KEDGE_OK; i++) {
        const kedge_run *run = &version->runs[i];
        mutations += run->last - run->first + 1;
        for (size_t k = 0; k < i && status == KEDGE_OK; k++) {
            if (!kedge_bytes_equal(version->runs[k].client, run->client)) continue;
            status = tell(work, version, "run-wrong", run->client, "has two runs", error);
        }
        if (status == KEDGE_OK) status = check_run(work, version, run, error);
    }
    work->summary->mutations += (int64_t)version->mutation_count;
    if (status != KEDGE_OK || mutations == (int64_t)version->mutation_count) return status;
    return tell(work, version, "run-wrong", KEDGE_BYTES("runs"), "do not hold all mutations",
                error);
}

/* ---- what a version remembers of those before ---- */

void verify_forget_runs(verifying *work, int64_t through)
{
    size_t kept = 0;
    for (size_t i = 0; i < work->recent_count; i++) {
        if (work->recent[i].run.version > through) {
            work->recent[kept++] = work->recent[i];
        } else {
            kedge_release(work->project->allocator, work->recent[i].texts);
        }
    }
    work->recent_count = kept;
}

static void place(char **at, kedge_bytes text, kedge_bytes *placed)
{
    if (text.size > 0) memcpy(*at, text.data, text.size);
    *placed = (kedge_bytes){*at, text.size};
    *at += text.size + 1;
}

static kedge_status keep_run(verifying *work, const kedge_run *run, kedge_error *error)
{
    const kedge_allocator *allocator = work->project->allocator;
    if (work->recent_count == work->recent_capacity) {
        size_t capacity = work->recent_capacity == 0 ? 64 : work->recent_capacity * 2;
        verify_run *grown =
            allocator->reallocate(allocator->context, work->recent, capacity * sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        work->recent = grown;
        work->recent_capacity = capacity;
    }
    char *texts =
        kedge_allocate(allocator, run->client.size + run->group.size + run->user.size + 3);
    if (texts == NULL) return kedge_fail_no_memory(error);
    verify_run *kept = &work->recent[work->recent_count++];
    char *at = texts;
    kept->texts = texts;
    kept->run = *run;
    place(&at, run->client, &kept->run.client);
    place(&at, run->group, &kept->run.group);
    place(&at, run->user, &kept->run.user);
    return KEDGE_OK;
}

static bool same_run(const kedge_run *a, const kedge_run *b)
{
    return a->version == b->version && a->first == b->first && a->last == b->last &&
           a->retired == b->retired && kedge_bytes_equal(a->client, b->client) &&
           kedge_bytes_equal(a->group, b->group) && kedge_bytes_equal(a->user, b->user);
}

static bool remembers(const verifying *work, const kedge_version *version)
{
    if (version->recent_count != work->recent_count) return false;
    for (size_t i = 0; i < work->recent_count; i++) {
        if (!same_run(&version->recent[i], &work->recent[i].run)) return false;
    }
    return true;
}

/* Checks the runs that a version remembers, those of the versions after `indexed_through`, against
 * the runs of the versions that were read before it. For the first version that is read there are
 * none: what it remembers is taken as it is. */
static kedge_status check_recent(verifying *work, const kedge_version *version, kedge_error *error)
{
    bool first = version->number == work->oldest || work->broken;
    bool forward = version->indexed_through <= version->number &&
                   (first || version->indexed_through >= work->indexed_through);
    kedge_status status = KEDGE_OK;
    verify_forget_runs(work, first ? INT64_MAX : version->indexed_through);
    size_t count = first ? version->recent_count : version->run_count;
    const kedge_run *runs = first ? version->recent : version->runs;
    bool own = version->indexed_through < version->number;
    for (size_t i = 0; i < count && own && status == KEDGE_OK; i++)
        status = keep_run(work, &runs[i], error);
    work->indexed_through = version->indexed_through;
    if (status == KEDGE_OK && !forward) {
        status = tell(work, version, "recent-wrong", KEDGE_BYTES("indexed_through"),
                      "moves back or is above the version", error);
    }
    if (status != KEDGE_OK || first || remembers(work, version)) return status;
    return tell(work, version, "recent-wrong", KEDGE_BYTES("recent"),
                "is not the runs of the versions after indexed_through", error);
}

/* ---- collections ---- */

static kedge_status check_collection(verifying *work, const kedge_version *version,
                                     const kedge_version_collection *collection, kedge_error *error)
{
    const kedge_replayed_collection *folded = kedge_replay_find(&work->replay, collection->name);
    if (folded == NULL) {
        return tell(work, version, "collection-wrong", collection->name, "was never written",
                    error);
    }
    if (folded->number != collection->number || folded->last != collection->last ||
        folded->previous != collection->previous) {
        return tell(work, version, "collection-wrong", collection->name,
                    "has another number or other changes than the deltas say", error);
    }
    if ((int64_t)folded->map.count == collection->items) return KEDGE_OK;
    return tell(work, version, "collection-wrong", collection->name,
                "has another number of items than the deltas say", error);
}

static kedge_status check_collections(verifying *work, const kedge_version *version,
                                      kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    work->summary->items = 0;
    for (size_t i = 0; i < version->collection_count; i++) {
        work->summary->items += version->collections[i].items;
    }
    if (work->broken) return KEDGE_OK;
    for (size_t i = 0; i < version->collection_count && status == KEDGE_OK; i++) {
        status = check_collection(work, version, &version->collections[i], error);
    }
    for (size_t i = 0; i < work->replay.count && status == KEDGE_OK; i++) {
        kedge_bytes name = kedge_bytes_of(work->replay.collections[i].name);
        if (kedge_version_find_collection(version, name) != NULL) continue;
        status = tell(work, version, "collection-wrong", name, "is not in the version", error);
    }
    return status;
}

/* ---- the project record ---- */

static kedge_status check_project(verifying *work, const kedge_version *version, kedge_error *error)
{
    bool same =
        kedge_bytes_equal(version->project_record, kedge_buffer_bytes(&work->project_record));
    bool comparable = version->number > work->oldest && !work->broken;
    kedge_status status = KEDGE_OK;
    if (comparable && !version->project_changed && !same) {
        status = tell(work, version, "project-record-wrong", KEDGE_BYTES("project"),
                      "is another one although the version did not change it", error);
    }
    if (status == KEDGE_OK && version->forked.size > 0 && version->number != 1) {
        status = tell(work, version, "project-record-wrong", KEDGE_BYTES("forked"),
                      "is in a version that is not the first", error);
    }
    kedge_buffer_clear(&work->project_record);
    kedge_buffer_append_bytes(&work->project_record, version->project_record);
    return status == KEDGE_OK ? kedge_buffer_status(&work->project_record, error) : status;
}

/* ---- a version ---- */

kedge_status verify_version(verifying *work, const kedge_version *version, kedge_error *error)
{
    kedge_status status = check_runs(work, version, error);
    if (status == KEDGE_OK) status = check_recent(work, version, error);
    if (status == KEDGE_OK) status = check_project(work, version, error);
    if (status == KEDGE_OK) status = check_bodies(work, version, error);
    if (status == KEDGE_OK) status = kedge_replay_take(&work->replay, version, error);
    if (status == KEDGE_OK) status = check_collections(work, version, error);
    if (status == KEDGE_OK) status = verify_roots_of(work, version->number, error);
    if (status == KEDGE_OK) status = verify_rows_of(work, version, error);
    return status;
}
