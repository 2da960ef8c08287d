/* Clients as a version sees them: what is recent from the version record itself, the rest from
 * index rows.
 *
 * `recent` of a version covers the versions above its `indexed_through`, the rows cover those up to
 * it: the two never overlap, and together they are everything. When a required row is missing (all
 * may have been deleted), the rows are made again from the version records and the read is
 * repeated. */
#include "backend/versioned/index/index.h"

#include "backend/base/backend.h"
#include "backend/versioned/model/version.h"
#include "common/assert.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

/* ---- one client ---- */

bool kedge_client_is_reserved(kedge_bytes client)
{
    return kedge_bytes_start_with(client, KEDGE_BYTES(KEDGE_CLIENT_RESERVED));
}

static void keep_text(kedge_bytes text, char *out, size_t out_size)
{
    size_t size = text.size < out_size ? text.size : out_size - 1;
    if (size > 0) memcpy(out, text.data, size);
    out[size] = '\0';
}

static void fill_state(const kedge_run *run, kedge_client_state *state)
{
    state->known = true;
    state->retired = run->retired;
    state->lmid = run->last;
    keep_text(run->group, state->group, sizeof state->group);
    keep_text(run->user, state->user, sizeof state->user);
}

static const kedge_run *newest_recent(const kedge_version *at, kedge_bytes client)
{
    for (size_t i = at->recent_count; i-- > 0;) {
        if (kedge_bytes_equal(at->recent[i].client, client)) return &at->recent[i];
    }
    return NULL;
}

static kedge_status load_from_rows(const kedge_project *project, const kedge_version *at,
                                   kedge_bytes client, kedge_client_state *state, bool *gone,
                                   kedge_error *error)
{
    kedge_run_row row = {0};
    kedge_status status = kedge_index_newest_run(project, at, client, &row, error);
    if (status == KEDGE_OK && row.found) fill_state(&row.run, state);
    *gone = row.gone;
    kedge_run_row_free(&row);
    return status;
}

kedge_status kedge_client_load(const kedge_project *project, const kedge_version *at,
                               kedge_bytes client, kedge_client_state *state, kedge_error *error)
{
    kedge_client_state found = {0};
    const kedge_run *recent = newest_recent(at, client);
    kedge_status status = KEDGE_OK;
    if (recent != NULL) {
        fill_state(recent, &found);
    } else if (at->indexed_through > 0) {
        bool repaired = false;
        bool gone = false;
        status = load_from_rows(project, at, client, &found, &gone, error);
        /* A row of a removed version is kept for ever, even when newer rows are missing. */
        if (status == KEDGE_OK && (!found.known || gone)) {
            status = kedge_index_repair(project, at, false, &repaired, error);
        }
        if (status == KEDGE_OK && repaired) {
            status = load_from_rows(project, at, client, &found, &gone, error);
        }
    }
    if (status == KEDGE_OK) *state = found;
    return status;
}

/* ---- its mutations ---- */

/* A cursor over ids in order, from rows and then from recent versions. */
typedef struct mutation_cursor {
    const kedge_project *project;
    const kedge_version *at;
    kedge_bytes client;
    int64_t next_id;
    int64_t to;
    uint32_t left;
    kedge_mutation_visit visit;
    void *context;
} mutation_cursor;

static kedge_status pass_on(void *context, int64_t version, const kedge_version_mutation *mutation,
                            kedge_error *error)
{
    mutation_cursor *cursor = context;
    KEDGE_ASSERT(mutation->id >= cursor->next_id && mutation->id <= cursor->to);
    if (cursor->left == 0) return KEDGE_DONE;
    kedge_status status = cursor->visit(cursor->context, version, mutation, error);
    if (status != KEDGE_OK) return status;
    cursor->left--;
    cursor->next_id = mutation->id + 1;
    return KEDGE_OK;
}

static const kedge_run *recent_run_of(const mutation_cursor *cursor, int64_t id)
{
    for (size_t i = 0; i < cursor->at->recent_count; i++) {
        const kedge_run *run = &cursor->at->recent[i];
        if (kedge_bytes_equal(run->client, cursor->client) && run->first <= id && id <= run->last) {
            return run;
        }
    }
    return NULL;
}

/* KEDGE_NOT_FOUND: the version is no longer there. */
static kedge_status visit_version(mutation_cursor *cursor, int64_t number, kedge_error *error)
{
    const kedge_version *version = cursor->at;
    kedge_status status = KEDGE_OK;
    if (number == cursor->at->number) {
        kedge_version_retain(version);
    } else {
        status = kedge_version_load_detail(cursor->project, number, KEDGE_VERSION_OUTCOMES,
                                           &version, error);
    }
    if (status != KEDGE_OK) return status;
    for (size_t i = 0; i < version->mutation_count && status == KEDGE_OK; i++) {
        const kedge_version_mutation *mutation = &version->mutations[i];
        if (mutation->id < cursor->next_id || mutation->id > cursor->to) continue;
        if (!kedge_bytes_equal(mutation->client, cursor->client)) continue;
        status = pass_on(cursor, number, mutation, error);
    }
    kedge_version_release(version);
    return status;
}

static kedge_status visit_row(mutation_cursor *cursor, int64_t through, bool *found,
                              kedge_error *error)
{
    kedge_run_row row = {0};
    kedge_status status = kedge_index_run_of(cursor->project, cursor->at, through, cursor->client,
                                             cursor->next_id, &row, error);
    *found = status == KEDGE_OK && row.found;
    if (*found) {
        status = kedge_index_visit_outcomes(cursor->project->backend, &row, cursor->next_id,
                                            cursor->to, pass_on, cursor, error);
    }
    kedge_run_row_free(&row);
    return status;
}

/* The run that holds the next id. All ids up to the lmid were decided, so that it must be
 * somewhere. */
static kedge_status visit_run(mutation_cursor *cursor, kedge_error *error)
{
    const kedge_run *recent = recent_run_of(cursor, cursor->next_id);
    kedge_status status = KEDGE_NOT_FOUND;
    int64_t through = cursor->at->indexed_through;
    int64_t wanted = cursor->next_id;
    bool found = false;
    if (recent != NULL) {
        status = visit_version(cursor, recent->version, error);
        if (status != KEDGE_NOT_FOUND) return status;
        through = recent->version; /* its rows were durable before it was removed */
    }
    status = visit_row(cursor, through, &found, error);
    if (status != KEDGE_OK || found) return status;
    bool repaired = false;
    status = kedge_index_repair(cursor->project, cursor->at, true, &repaired, error);
    if (status == KEDGE_OK && repaired) status = visit_row(cursor, through, &found, error);
    if (status == KEDGE_OK && !found) {
        return kedge_fail(error, KEDGE_CORRUPT, "mutation-missing",
                          "mutation %lld of the client \"%.*s\" is not in the versions",
                          (long long)wanted, (int)cursor->client.size, cursor->client.data);
    }
    return status;
}

kedge_status kedge_client_mutations(const kedge_project *project, const kedge_version *at,
                                    kedge_bytes client, int64_t from, int64_t to, uint32_t limit,
                                    kedge_mutation_visit visit, void *context, int64_t *next,
                                    kedge_error *error)
{
    kedge_client_state state;
    kedge_status status = kedge_client_load(project, at, client, &state, error);
    if (status != KEDGE_OK) return status;
    mutation_cursor cursor = {.project = project,
                              .at = at,
                              .client = client,
                              .next_id = from < 1 ? 1 : from,
                              .to = to < state.lmid ? to : state.lmid,
                              .left = limit,
                              .visit = visit,
                              .context = context};
    while (cursor.next_id <= cursor.to && cursor.left > 0) {
        int64_t before = cursor.next_id;
        status = visit_run(&cursor, error);
        if (status != KEDGE_OK) break;
        if (cursor.next_id == before) {
            return kedge_fail(error, KEDGE_CORRUPT, "mutation-missing",
                              "mutation %lld of a client is not in the version that has its run",
                              (long long)before);
        }
    }
    if (status != KEDGE_OK && status != KEDGE_DONE) return status;
    if (next != NULL) *next = cursor.next_id <= cursor.to ? cursor.next_id : 0;
    return KEDGE_OK;
}

/* ---- the clients of a group ---- */

/* Names gathered from rows and from recent runs, then sorted: each client once. */
typedef struct names {
    kedge_arena arena;
    kedge_bytes *items;
    size_t count;
    size_t capacity;
} names;

static kedge_status add_name(void *context, kedge_bytes client, kedge_error *error)
{
    names *list = context;
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 32 : list->capacity * 2;
        kedge_bytes *grown = kedge_arena_take_array(&list->arena, capacity, sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        if (list->count > 0) memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
        list->capacity = capacity;
    }
    if (!kedge_arena_copy(&list->arena, client, &list->items[list->count])) {
        return kedge_fail_no_memory(error);
    }
    list->count++;
    return KEDGE_OK;
}

static int compare_names(const void *a, const void *b)
{
    return kedge_bytes_compare(*(const kedge_bytes *)a, *(const kedge_bytes *)b);
}

static kedge_status gather(const kedge_project *project, const kedge_version *at, kedge_bytes group,
                           int64_t since, names *list, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < at->recent_count && status == KEDGE_OK; i++) {
        const kedge_run *run = &at->recent[i];
        if (run->version <= since || !kedge_bytes_equal(run->group, group)) continue;
        status = add_name(list, run->client, error);
    }
    if (status != KEDGE_OK || since >= at->indexed_through) return status;
    bool repaired = false;
    status = kedge_index_repair(project, at, false, &repaired, error);
    if (status != KEDGE_OK) return status;
    return kedge_index_group(project, at, group, add_name, list, error);
}

/* The version of the client's newest run, and its last id. */
static kedge_status newest_run(const kedge_project *project, const kedge_version *at,
                               kedge_bytes client, int64_t *version, int64_t *lmid,
                               kedge_error *error)
{
    const kedge_run *recent = newest_recent(at, client);
    if (recent != NULL) {
        *version = recent->version;
        *lmid = recent->last;
        return KEDGE_OK;
    }
    kedge_run_row row = {0};
    kedge_status status = kedge_index_newest_run(project, at, client, &row, error);
    *version = row.found ? row.run.version : 0;
    *lmid = row.found ? row.run.last : 0;
    kedge_run_row_free(&row);
    return status;
}

kedge_status kedge_group_clients(const kedge_project *project, const kedge_version *at,
                                 kedge_bytes group, int64_t since, kedge_client_visit visit,
                                 void *context, kedge_error *error)
{
    names list = {.arena = kedge_arena_make(project->allocator)};
    kedge_status status = gather(project, at, group, since, &list, error);
    if (status == KEDGE_OK && list.count > 1) {
        qsort(list.items, list.count, sizeof *list.items, compare_names);
    }
    for (size_t i = 0; i < list.count && status == KEDGE_OK; i++) {
        int64_t version = 0;
        int64_t lmid = 0;
        if (i > 0 && kedge_bytes_equal(list.items[i], list.items[i - 1])) continue;
        status = newest_run(project, at, list.items[i], &version, &lmid, error);
        if (status == KEDGE_OK && version > since && lmid > 0) {
            status = visit(context, list.items[i], lmid, error);
        }
    }
    kedge_arena_free(&list.arena);
    return status;
}
