/* See logged_world.h. */
#include "tests/logged/logged_world.h"

#include "backend/versioned/state/state_internal.h"
#include "mutate/replay.h"
#include "mutate/state_hash.h"
#include "tests/support/project.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const kedge_project_ref sheet_ref = {{"acme", 4}, {"sheet", 5}};

const kedge_project *sheet_of(kedge_backend *backend)
{
    static kedge_project projects[64];
    static size_t next;
    kedge_project *project = &projects[next++ % 64];
    *project = kedge_project_of(backend, &sheet_ref);
    project->history = &kedge_logged_history;
    return project;
}

const kedge_project *sheet(test_world *world)
{
    return sheet_of(world->backend);
}

void sheet_new(test_world *world)
{
    bool created = false;
    kedge_project_found found;
    assert_int_equal(kedge_logged_create(sheet(world), NULL), KEDGE_OK);
    assert_int_equal(
        kedge_project_create_kind(sheet(world), KEDGE_PROJECT_LOG, &created, &found, NULL),
        KEDGE_OK);
    assert_true(created);
}

/* ---- pushing ---- */

kedge_status sheet_send(push_builder *builder, kedge_backend *backend, kedge_push_result *result)
{
    push_set_sender(builder, &ann);
    return kedge_processor_push(sheet_of(backend), &builder->push, result, NULL);
}

int64_t sheet_put(test_world *world, const char *client, int64_t id, const char *item, int value)
{
    static push_builder builder;
    kedge_push_result result = {0};
    push_begin(&builder);
    push_add(&builder, client, id, item, value);
    assert_int_equal(sheet_send(&builder, world->backend, &result), KEDGE_OK);
    assert_int_equal(result.problem, KEDGE_PUSH_FINE);
    return result.version;
}

kedge_status sheet_story(kedge_backend *backend, int i, kedge_push_result *result)
{
    static push_builder builder;
    char item[16];
    char args[200];
    snprintf(item, sizeof item, "a%d", i % 5);
    push_begin(&builder);
    switch (i % 6) {
    case 0:
        push_add_large(&builder, "c1", i, item, i, 20000);
        break;
    case 1:
        push_add_call(&builder, "c1", i, "no.such.mutator", "{\"n\":1}");
        break;
    case 2: /* rejected where the item is absent, and only a replay knows */
        snprintf(args, sizeof args,
                 "{\"collection\":\"items\",\"id\":\"a%d\",\"patch\":[{\"op\":\"replace\","
                 "\"path\":\"/v\",\"value\":%d}]}",
                 i % 7, i);
        push_add_call(&builder, "c1", i, "kedge.patch", args);
        break;
    case 3:
        snprintf(args, sizeof args, "{\"collection\":\"items\",\"id\":\"a%d\"}", (i + 2) % 5);
        push_add_call(&builder, "c1", i, "kedge.delete", args);
        break;
    case 4:
        snprintf(args, sizeof args, "{\"name\":\"n%d\"}", i);
        push_add_call(&builder, "c1", i, "kedge.project", args);
        break;
    default:
        push_add(&builder, "c1", i, item, i);
        push_add(&builder, "c2", i / 6 + 1, "b", i);
        break;
    }
    return sheet_send(&builder, backend, result);
}

int64_t sheet_snap(test_world *world)
{
    int64_t number = -1;
    bool made;
    kedge_error error = {0};
    if (kedge_logged_snapshot_make(sheet(world), &number, &made, &error) != KEDGE_OK)
        fail_msg("%s: %s", error.code, error.message);
    return number;
}

/* ---- looking ---- */

int64_t sheet_lmid(test_world *world, const char *client)
{
    kedge_client_state state;
    const kedge_version *head;
    kedge_backend *backend = world_new_backend(world);
    assert_int_equal(kedge_version_load(sheet_of(backend), 0, &head, NULL), KEDGE_OK);
    assert_int_equal(
        kedge_client_load(sheet_of(backend), head, kedge_bytes_of(client), &state, NULL), KEDGE_OK);
    kedge_version_release(head);
    kedge_backend_free(backend);
    return state.lmid;
}

int64_t sheet_head(test_world *world)
{
    const kedge_version *head;
    assert_int_equal(kedge_version_load(sheet(world), 0, &head, NULL), KEDGE_OK);
    int64_t number = head->number;
    kedge_version_release(head);
    return number;
}

/* ---- the check ---- */

typedef struct counted {
    char client[32];
    int64_t lmid;
} counted;

typedef struct checking {
    kedge_backend *backend;
    kedge_registry *registry;
    kedge_overlay *overlay; /* the state by replay of all */
    kedge_tx *tx;
    counted clients[16];
    size_t client_count;
    counted rejected[256]; /* by replay: client and id */
    char codes[256][64];
    size_t rejected_count;
} checking;

static counted *client_of(checking *check, kedge_bytes client)
{
    for (size_t i = 0; i < check->client_count; i++) {
        if (kedge_bytes_equal_text(client, check->clients[i].client)) return &check->clients[i];
    }
    assert_true(check->client_count < 16 && client.size < 32);
    counted *made = &check->clients[check->client_count++];
    memcpy(made->client, client.data, client.size);
    return made;
}

static void replay_mutation(checking *check, const kedge_version_mutation *mutation)
{
    kedge_replay_decision decision;
    counted *client = client_of(check, mutation->client);
    assert_int_equal(mutation->id, client->lmid + 1); /* I1, I2 */
    client->lmid = mutation->id;
    if (mutation->outcome != KEDGE_MUTATION_APPLIED) return;
    kedge_replay_mutation replayed = {.call = {.name = mutation->name,
                                               .args = mutation->args,
                                               .args_are_canonical = true,
                                               .caller = {.user = mutation->user.data,
                                                          .role = mutation->role.data,
                                                          .client = mutation->client.data,
                                                          .now_ms = mutation->timestamp_ms}},
                                      .mutator = mutation->mutator};
    assert_int_equal(kedge_replay_decide(check->tx, check->registry, &replayed, &decision, NULL),
                     KEDGE_OK);
    if (decision.outcome != KEDGE_REPLAY_REJECTED) return;
    assert_true(check->rejected_count < 256);
    counted *rejected = &check->rejected[check->rejected_count];
    memcpy(rejected->client, client->client, sizeof rejected->client);
    rejected->lmid = mutation->id;
    memcpy(check->codes[check->rejected_count++], decision.code, 64);
}

static size_t hash_replay(const checking *check, uint8_t hash[KEDGE_SHA256_SIZE])
{
    kedge_state_hash made;
    kedge_overlay_entry entry;
    size_t items = 0;
    kedge_state_hash_begin(&made);
    bool more = kedge_overlay_next(check->overlay, NULL, &entry);
    while (more) {
        if (!entry.deleted) {
            kedge_state_hash_add(&made, entry.collection, entry.id, entry.value);
            items += entry.collection.size > 0;
        }
        more = kedge_overlay_next(check->overlay, &entry, &entry);
    }
    kedge_state_hash_end(&made, hash);
    return items;
}

static void check_items(checking *check, const kedge_logged_snapshot *snapshot)
{
    const kedge_version *version = snapshot->state->version;
    size_t items = 0;
    for (size_t i = 0; i < version->collection_count; i++) {
        kedge_entry entry;
        kedge_bytes name = version->collections[i].name;
        kedge_buffer after = kedge_buffer_make(&kedge_allocator_default);
        bool start = true;
        while (kedge_state_next(snapshot->state, name, start, kedge_buffer_bytes(&after), &entry,
                                NULL) == KEDGE_OK) {
            kedge_overlay_entry expected;
            kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
            assert_int_equal(kedge_state_body(snapshot->state, name, &entry, &value, NULL),
                             KEDGE_OK);
            assert_true(kedge_overlay_get(check->overlay, name, entry.id, &expected));
            assert_true(kedge_bytes_equal(expected.value, kedge_buffer_bytes(&value)));
            kedge_buffer_free(&value);
            kedge_buffer_clear(&after);
            kedge_buffer_append_bytes(&after, entry.id);
            start = false;
            items++;
        }
        kedge_buffer_free(&after);
    }
    uint8_t hash[KEDGE_SHA256_SIZE];
    assert_int_equal(hash_replay(check, hash), items);
    assert_memory_equal(hash, snapshot->hash, sizeof hash);
}

/* I5. */
static void check_snapshot(checking *check, int64_t number)
{
    kedge_error error = {0};
    kedge_logged_snapshot snapshot;
    if (kedge_logged_snapshot_open(sheet_of(check->backend), number, &snapshot, &error) != KEDGE_OK)
        fail_msg("snapshot %" PRId64 ": %s", number, error.message);
    check_items(check, &snapshot);
    const kedge_version *rejections = snapshot.rejections->version;
    /* Each by its own name and by its first one. */
    assert_int_equal(rejections->collection_count == 0 ? 0 : rejections->collections[0].items,
                     2 * check->rejected_count);
    for (size_t i = 0; i < check->rejected_count; i++) {
        bool found = false;
        kedge_buffer code = kedge_buffer_make(&kedge_allocator_default);
        kedge_buffer message = kedge_buffer_make(&kedge_allocator_default);
        assert_int_equal(
            kedge_logged_rejection(&snapshot, kedge_bytes_of(check->rejected[i].client),
                                   check->rejected[i].lmid, NULL, &found, &code, &message, NULL),
            KEDGE_OK);
        assert_true(found);
        assert_string_equal(code.data, check->codes[i]);
        kedge_buffer_free(&code);
        kedge_buffer_free(&message);
    }
    kedge_logged_snapshot_close(&snapshot);
}

static void check_lmids(checking *check)
{
    const kedge_version *head;
    const kedge_project *project = sheet_of(check->backend);
    assert_int_equal(kedge_version_load(project, 0, &head, NULL), KEDGE_OK);
    for (size_t i = 0; i < check->client_count; i++) {
        kedge_client_state state;
        assert_int_equal(kedge_client_load(project, head, kedge_bytes_of(check->clients[i].client),
                                           &state, NULL),
                         KEDGE_OK);
        assert_int_equal(state.lmid, check->clients[i].lmid);
    }
    kedge_version_release(head);
}

static size_t check_entries(checking *check)
{
    kedge_logged_reader reader;
    kedge_logged_entry entry;
    kedge_error error = {0};
    size_t snapshots = 0;
    int64_t number = 0;
    assert_int_equal(
        kedge_logged_reader_open(sheet_of(check->backend), 0, false, 7, &reader, &error), KEDGE_OK);
    kedge_status status = kedge_logged_read(&reader, &entry, &error);
    while (status == KEDGE_OK) {
        assert_int_equal(entry.version->number, number++); /* I3 */
        for (size_t i = 0; i < entry.version->mutation_count; i++)
            replay_mutation(check, &entry.version->mutations[i]);
        if (entry.snapshot[0] != '\0') {
            check_snapshot(check, entry.version->number);
            snapshots++;
        }
        kedge_version_release(entry.version);
        status = kedge_logged_read(&reader, &entry, &error);
    }
    if (status != KEDGE_DONE) fail_msg("%s", error.message);
    kedge_logged_reader_close(&reader);
    return snapshots;
}

size_t sheet_check(test_world *world)
{
    checking *check = calloc(1, sizeof *check);
    assert_non_null(check);
    check->backend = world_new_backend(world);
    check->registry = world->registry;
    check->overlay = kedge_overlay_new(&kedge_allocator_default);
    assert_int_equal(kedge_tx_new(&kedge_allocator_default, check->registry, check->overlay,
                                  kedge_state_reader_empty, &check->tx, NULL),
                     KEDGE_OK);
    size_t snapshots = check_entries(check);
    check_lmids(check);
    kedge_tx_free(check->tx);
    kedge_overlay_free(check->overlay);
    kedge_backend_free(check->backend);
    free(check);
    return snapshots;
}
