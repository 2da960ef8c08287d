/* Index rows and checkpoints are derived: with all of them deleted, the six queries, pulls and
 * retried pushes answer what they answered before, byte for byte. */
#include "tests/backend/api_world.h"

#include "backend/versioned/commit/processor.h"
#include "backend/versioned/state/checkpoint.h"
#include "tests/backend/project_records.h"
#include "tests/backend/stores.h"
#include "tests/support/project.h"

#include <stdlib.h>
#include <string.h>

#define ROUNDS  50 /* rows are written every 16 versions */
#define CLIENTS 3

/* In memory everything is deleted before every single question of every round, so that no question
 * profits from what another one made again. An engine would take minutes for that. */
#ifdef KEDGE_TEST_DYNAMODB
#define ASK_EVERY       24
#define QUESTIONS_APART 6
#else
#define ASK_EVERY       1
#define QUESTIONS_APART 1
#endif

static const kedge_project_ref ref = {{"acme", 4}, {"notes", 5}};

/* c0 and c1 are native clients, each in a group of its own; c2 is one of Replicache. */
typedef struct story {
    api_world *world;
    int64_t lmid[CLIENTS];
    char *cookie[CLIENTS]; /* of the middle version, as a pull told it */
    int64_t version;       /* the last that was pushed */
    bool retired;          /* the client that left */
    /* Asking: what was answered, and whether everything derived goes in front of questions. */
    kedge_buffer responses;
    bool deletes;
    size_t questions;
} story;

/* ---- what is pushed ---- */

static bool is_native(int client)
{
    return client < 2;
}

/* The mutation `id` of a client, always the same; with `other`, another one of that id. */
static void write_mutation(kedge_buffer *out, int client, int64_t id, bool other)
{
    int item = (int)((id * 5 + client) % 9);
    int value = (int)(id * 10 + client) + (other ? 100000 : 0);
    kedge_buffer_append_format(out, "{\"clientID\":\"c%d\",\"id\":%lld,\"timestamp\":%lld,", client,
                               (long long)id, (long long)(1000 + id));
    if (is_native(client))
        kedge_buffer_append_format(out, "\"uid\":\"%016d%016lld\",", client, (long long)id);
    switch ((id * 3 + client) % 8) {
    case 0:
        kedge_buffer_append_format(out,
                                   "\"name\":\"kedge.delete\",\"args\":{\"collection\":\"items\","
                                   "\"id\":\"%d\"%s}}",
                                   item, other ? ",\"x\":1" : "");
        return;
    case 1:
        kedge_buffer_append_format(out, "\"name\":\"no.such.mutator\",\"args\":%d}", value);
        return;
    case 2:
        kedge_buffer_append_format(out, "\"name\":\"kedge.project\",\"args\":{\"name\":%d}}",
                                   value);
        return;
    case 3:
        kedge_buffer_append_format(out,
                                   "\"name\":\"kedge.put\",\"args\":{\"collection\":\"other\","
                                   "\"id\":\"%d\",\"value\":%d}}",
                                   item, value);
        return;
    default:
        /* Some are too large to stand in the version. */
        kedge_buffer_append_format(out,
                                   "\"name\":\"kedge.put\",\"args\":{\"collection\":\"items\","
                                   "\"id\":\"%d\",\"value\":\"%0*d\"}}",
                                   item, id % 10 == 4 ? 9000 : 200, value);
    }
}

static void write_push(kedge_buffer *out, int client, int64_t first, int64_t last, bool other)
{
    kedge_buffer_append_format(out, "{\"pushVersion\":1,\"clientGroupID\":\"g%d\",", client);
    if (is_native(client))
        kedge_buffer_append_format(out, "\"kedge\":{\"client\":\"c%d\"},", client);
    kedge_buffer_append_text(out, "\"mutations\":[");
    for (int64_t id = first; id <= last; id++) {
        if (id > first) kedge_buffer_append_text(out, ",");
        write_mutation(out, client, id, other);
    }
    kedge_buffer_append_text(out, "]}");
}

#define PROJECT "/v1/orgs/acme/projects/notes"

static void push_new(story *told, int client, int64_t count)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    write_push(&body, client, told->lmid[client] + 1, told->lmid[client] + count, false);
    api_ask(told->world, &ann, "POST", PROJECT "/push", kedge_buffer_bytes(&body));
    assert_response_is(told->world, 200, "");
    kedge_buffer_free(&body);
    told->lmid[client] += count;
    told->version++;
    assert_int_equal(api_head(told->world), told->version);
}

/* What a client pushed again under a new id, after a change of its identity, is applied once. */
static void push_duplicate(story *told, int64_t id, int64_t origin)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&body,
                               "{\"pushVersion\":1,\"clientGroupID\":\"g9\",\"kedge\":{\"client\":"
                               "\"c9\"},\"mutations\":[{\"clientID\":\"c9\",\"id\":%lld,\"name\":"
                               "\"kedge.put\",\"args\":{\"collection\":\"items\",\"id\":\"9\","
                               "\"value\":1},\"timestamp\":1,\"uid\":\"%032d\",\"origin\":{"
                               "\"client\":\"c8\",\"id\":%lld}}]}",
                               (long long)id, 7, (long long)origin);
    api_ask(told->world, &ann, "POST", PROJECT "/push", kedge_buffer_bytes(&body));
    assert_response_is(told->world, 200, "");
    kedge_buffer_free(&body);
    api_get(told->world, api_format("clients/c9/mutations/%lld", (long long)id));
    assert_response_is(told->world, 200, "");
    assert_string_equal(api_string(told->world, "outcome"), id == 1 ? "applied" : "duplicate");
}

/* ---- what is asked ---- */

static void ask(story *told, const kedge_identity *who, const char *method, const char *path,
                kedge_bytes body)
{
    if (told->deletes && told->questions++ % QUESTIONS_APART == 0)
        project_records_delete_derived(&told->world->records, &ref);
    api_ask(told->world, who, method, path, body);
    kedge_buffer_append_format(&told->responses, "%s %s ", method, path);
    kedge_buffer_append_bytes(&told->responses, body);
    kedge_buffer_append_format(&told->responses, ": %d ", told->world->response.status);
    kedge_buffer_append_bytes(&told->responses, kedge_buffer_bytes(&told->world->response.body));
    kedge_buffer_append_text(&told->responses, "\n");
}

static void ask_get(story *told, const char *path)
{
    ask(told, &ann, "GET", api_format(PROJECT "/%s", path), (kedge_bytes){NULL, 0});
}

static void ask_post(story *told, const char *path, const char *body)
{
    ask(told, &ann, "POST", api_format(PROJECT "/%s", path), kedge_bytes_of(body));
}

/* Queries 1 to 4, the pages of a version, and both look-ups of the project. */
static void ask_versions(story *told)
{
    const char *middle = api_format("%lld", (long long)(told->version / 2 + 1));
    const char *const at[] = {"1", middle, "latest"};
    kedge_bytes none = {NULL, 0};
    ask_get(told, "versions?limit=10");
    ask_get(told, api_format("versions?limit=3&before=%s", middle));
    for (size_t i = 0; i < sizeof at / sizeof at[0]; i++) {
        ask_get(told, api_format("versions/%s", at[i]));
        ask_get(told, api_format("versions/%s?items=1", at[i]));
        ask_get(told, api_format("versions/%s/collections/items", at[i]));
        ask_get(told, api_format("versions/%s/collections/items/%lld", at[i],
                                 (long long)(told->version % 9)));
        ask_get(told, api_format("snapshot?version=%s&limit_bytes=500", at[i]));
    }
    ask(told, &ann, "GET", PROJECT, none);
    ask(told, &root, "GET", "/v1/projects/notes", none);
}

/* Queries 5 and 6. */
static void ask_mutations(story *told, int client)
{
    long long lmid = (long long)told->lmid[client];
    ask_get(told, api_format("clients/c%d/mutations/1", client));
    ask_get(told, api_format("clients/c%d/mutations/%lld", client, lmid / 2 + 1));
    ask_get(told, api_format("clients/c%d/mutations/%lld", client, lmid + 1));
    ask_get(told, api_format("clients/c%d/mutations/latest", client));
    ask_get(told, api_format("clients/c%d/mutations?from=2&to=%lld", client, lmid));
    ask_get(told, api_format("clients/c%d/mutations?version=%lld", client,
                             (long long)(told->version / 2 + 1)));
}

static void ask_pull(story *told, int client, const char *cookie)
{
    const char *native = "";
    if (is_native(client)) {
        native =
            api_format(",\"kedge\":{\"client\":\"c%d\",\"lowest_pending\":1,\"highest_id\":%lld}",
                       client, (long long)told->lmid[client]);
    }
    ask_post(told, "pull",
             api_format("{\"pullVersion\":1,\"profileID\":\"p\",\"schemaVersion\":\"\","
                        "\"clientGroupID\":\"g%d\",\"cookie\":%s%s}",
                        client, cookie, native));
}

static void ask_push(story *told, int client, int64_t first, int64_t last, bool other)
{
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    write_push(&body, client, first, last, other);
    ask(told, &ann, "POST", PROJECT "/push", kedge_buffer_bytes(&body));
    kedge_buffer_free(&body);
}

static void ask_all(story *told)
{
    kedge_buffer_clear(&told->responses);
    ask_versions(told);
    for (int client = 0; client < CLIENTS; client++) {
        int64_t lmid = told->lmid[client];
        ask_mutations(told, client);
        ask_pull(told, client, "null");
        if (told->cookie[client] != NULL) ask_pull(told, client, told->cookie[client]);
        if (lmid == 0) continue;
        ask_push(told, client, 1, 1, false);
        ask_push(told, client, (lmid + 1) / 2, lmid, false);
        ask_push(told, client, 1, 1, true);
        ask_push(told, client, lmid + 2, lmid + 2, false);
    }
    if (told->retired) {
        ask_get(told, "clients/gone/mutations/latest");
        ask_post(told, "clients/gone/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":1}");
    }
    assert_int_equal(api_head(told->world), told->version);
}

/* ---- before and after ---- */

/* The rows of all versions, and a checkpoint of each collection though none is due. */
static void write_all_derived(story *told)
{
    kedge_backend *backend = told->world->backend;
    kedge_state *state = NULL;
    assert_int_equal(kedge_processor_index(HANDLE(backend, &ref), NULL), KEDGE_OK);
    assert_int_equal(kedge_state_open_newest(HANDLE(backend, &ref), &state, NULL), KEDGE_OK);
    for (size_t i = 0; i < state->version->collection_count; i++) {
        const kedge_version_collection *collection = &state->version->collections[i];
        assert_int_equal(kedge_checkpoint_write(state, collection, true, NULL), KEDGE_OK);
    }
    kedge_state_close(state);
}

static void assert_same_responses(const char *before, const char *after)
{
    while (*before != '\0' || *after != '\0') {
        size_t a = strcspn(before, "\n");
        size_t b = strcspn(after, "\n");
        if (a != b || memcmp(before, after, a) != 0) {
            fail_msg("with everything derived deleted, the answer\n%.*s\nbecame\n%.*s",
                     (int)(a < 3000 ? a : 3000), before, (int)(b < 3000 ? b : 3000), after);
        }
        before += a + 1;
        after += b + 1;
    }
}

static void ask_before_and_after(story *told, bool restarts)
{
    told->deletes = false;
    ask_all(told);
    kedge_buffer before = told->responses;
    told->responses = kedge_buffer_make(&kedge_allocator_default);
    told->deletes = true;
    if (restarts) api_world_restart(told->world);
    ask_all(told);
    assert_same_responses(before.data, told->responses.data);
    kedge_buffer_free(&before);
}

static void keep_cookies(story *told)
{
    told->deletes = false;
    for (int client = 0; client < CLIENTS; client++) {
        ask_pull(told, client, "null");
        told->cookie[client] = strdup(api_cookie(told->world));
    }
}

/* The beginning: an origin that is applied, and a client that comes and leaves. */
static void begin(story *told)
{
    told->world = api_world_new();
    told->responses = kedge_buffer_make(&kedge_allocator_default);
    push_duplicate(told, 1, 5);
    api_put(told->world, "gone", 1, "items/1", "1");
    api_post(told->world, "clients/gone/retire", "{\"clientGroupID\":\"g\",\"lowest_pending\":1}");
    assert_response_is(told->world, 200, "");
    told->version = api_head(told->world);
    told->retired = true;
}

static void end(story *told)
{
    for (int client = 0; client < CLIENTS; client++)
        free(told->cookie[client]);
    kedge_buffer_free(&told->responses);
    api_world_free(told->world);
}

static void test_without_rows_and_checkpoints_all_answers_are_the_same(void **state)
{
    static const char *const kinds[] = {"Mutation#", "Group#", "Origin#", "Collection#"};
    story told = {.version = 0};
    size_t seen[4] = {0};
    (void)state;
    begin(&told);
    for (int round = 0; round < ROUNDS; round++) {
        push_new(&told, round % CLIENTS, 1 + round % 2);
        if (round == ROUNDS / 2) keep_cookies(&told);
        if (round % ASK_EVERY != 0) continue;
        /* What is compared is told by rows and checkpoints of all versions, then by none. */
        if (round % 2 == 0) write_all_derived(&told);
        for (size_t i = 0; i < 4; i++) {
            size_t count = project_records_count(&told.world->records, &ref, kinds[i]);
            if (count > seen[i]) seen[i] = count;
        }
        ask_before_and_after(&told, round % 3 != 0);
        project_records_delete_derived(&told.world->records, &ref); /* in front of a push */
        if (round % 4 == 0) api_world_restart(told.world);
    }
    /* There was something of each kind to delete. */
    for (size_t i = 0; i < 4; i++)
        assert_true(seen[i] > 0);
    push_duplicate(&told, 2, 5);
    end(&told);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_without_rows_and_checkpoints_all_answers_are_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
