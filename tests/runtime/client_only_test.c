/* Client-only mutators with a kedge-server that does not have them: what they do is sent as data,
 * and made again when somebody else was first. */
#include "sdk/runtime/db.h"
#include "tests/runtime/client.h"
#include "tests/support/append_line.h"
#include "tests/support/fault_vfs.h"
#include "tests/support/files.h"
#include "tests/support/server_process.h"

#include <inttypes.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SYNC_MS 120000
#define COPIES  2

const kedge_mutator *kedge_plugin_mutators(size_t *count); /* stock.take, of write-a-mutator.c */

static const char *server_program;

/* At each push of copy 0 the other copy is first, as often as is wanted. */
typedef struct rival {
    struct world *world;
    int conflicts;  /* still to come */
    int edits;      /* of copy 0 itself, at each of them */
    atomic_int won; /* conflicts that came */
} rival;

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    char paths[COPIES][FILES_PATH_BYTES];
    char data[FILES_PATH_BYTES];
    server_process server;
    kedge_mutator mutators[2];
    kedge_db *dbs[COPIES];
    rival rival;
    fault_vfs *disk; /* NULL: the system's */
} world;

/* `with`: with its client-only mutators. */
static void open_copy(world *at, int copy, bool with)
{
    kedge_options options = client_options(at->paths[copy], at->server.url);
    options.client_mutators = at->mutators;
    options.client_mutator_count = with ? 2 : 0;
    at->dbs[copy] = client_open(&options);
}

static int open_world(void **state)
{
    static world at;
    size_t count;
    *state = &at;
    client_make_folder(at.folder);
    files_path(at.data, at.folder, "server");
    server_process_start(&at.server, server_program, at.data);
    at.mutators[0] = kedge_plugin_mutators(&count)[0];
    at.mutators[1] = append_line_mutator;
    for (int i = 0; i < COPIES; i++) {
        char name[16];
        snprintf(name, sizeof name, "copy%d", i);
        files_path(at.paths[i], at.folder, name);
        open_copy(&at, i, true);
    }
    return 0;
}

static int close_world(void **state)
{
    world *at = *state;
    for (int i = 0; i < COPIES; i++)
        kedge_close(at->dbs[i]);
    server_process_stop(&at->server);
    client_remove_folder(at->folder);
    return 0;
}

static void sync_copy(kedge_db *db)
{
    kedge_error error = {0};
    if (kedge_sync(db, SYNC_MS, &error) != KEDGE_OK) fail_msg("%s", error.message);
}

static void go(kedge_db *db, bool online)
{
    assert_int_equal(kedge_set_online(db, online, NULL), KEDGE_OK);
}

static int64_t edit(kedge_db *db, const char *name, const char *args)
{
    int64_t sequence = 0;
    kedge_error error = {0};
    if (kedge_mutate(db, name, args, strlen(args), &sequence, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    return sequence;
}

static void put_shelf(kedge_db *db, const char *value)
{
    char args[256];
    (void)snprintf(args, sizeof args, "{\"collection\":\"shelves\",\"id\":\"7\",\"value\":%s}",
                   value);
    edit(db, "kedge.put", args);
}

static int64_t take(kedge_db *db, int count)
{
    char args[64];
    (void)snprintf(args, sizeof args, "{\"id\":\"7\",\"count\":%d}", count);
    return edit(db, "stock.take", args);
}

static kedge_outcome wait_for(kedge_db *db, int64_t sequence)
{
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    kedge_error error = {0};
    if (kedge_wait(db, sequence, SYNC_MS, &outcome, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    return outcome;
}

/* The value of the item, or "". */
static const char *item(kedge_db *db, const char *collection, const char *id)
{
    static char value[4][512];
    static int turn;
    kedge_document *document = NULL;
    turn = (turn + 1) % 4;
    value[turn][0] = '\0';
    if (kedge_get(db, collection, id, strlen(id), &document, NULL) == KEDGE_OK)
        snprintf(value[turn], sizeof value[turn], "%s", kedge_document_json(document, NULL));
    kedge_document_free(document);
    return value[turn];
}

static void both_have(const world *at, const char *collection, const char *id, const char *value)
{
    for (int i = 0; i < COPIES; i++)
        assert_string_equal(item(at->dbs[i], collection, id), value);
}

/* The first row of the list: "sequence name args code", or "". */
static const char *first_row(kedge_db *db, bool rejected)
{
    static char row[512];
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    row[0] = '\0';
    assert_int_equal(rejected ? kedge_rejected_open(db, &list, NULL)
                              : kedge_pending_open(db, &list, NULL),
                     KEDGE_OK);
    if (kedge_mutation_list_next(list, &mutation, NULL) == KEDGE_OK) {
        assert_int_equal(strlen(mutation.args), mutation.args_size);
        snprintf(row, sizeof row, "%" PRId64 " %s %s %s", mutation.sequence, mutation.name,
                 mutation.args, mutation.code);
    }
    kedge_mutation_list_close(list);
    return row;
}

/* Both copies have a shelf with 5 pieces, and are offline. */
static void stock(world *at)
{
    put_shelf(at->dbs[0], "{\"count\":5,\"label\":\"oak\"}");
    for (int i = 0; i < COPIES; i++) {
        sync_copy(at->dbs[i]);
        go(at->dbs[i], false);
    }
}

/* ---- sent as data ---- */

static void test_the_server_applies_what_it_has_no_mutator_for(void **state)
{
    world *at = *state;
    stock(at);
    int64_t sequence = take(at->dbs[0], 3);
    assert_string_equal(item(at->dbs[0], "shelves", "7"), "{\"count\":2,\"label\":\"oak\"}");
    assert_string_equal(first_row(at->dbs[0], false), "2 stock.take {\"count\":3,\"id\":\"7\"} ");
    go(at->dbs[0], true);
    assert_int_equal(wait_for(at->dbs[0], sequence), KEDGE_OUTCOME_APPLIED);
    go(at->dbs[1], true);
    sync_copy(at->dbs[1]);
    both_have(at, "shelves", "7", "{\"count\":2,\"label\":\"oak\"}");
    assert_string_equal(first_row(at->dbs[0], false), "");
}

static void test_a_refusal_of_a_client_only_mutator_is_told_at_once(void **state)
{
    world *at = *state;
    kedge_error error = {0};
    stock(at);
    assert_int_equal(
        kedge_mutate(at->dbs[0], "stock.take", "{\"id\":\"7\",\"count\":6}", 20, NULL, &error),
        KEDGE_REJECTED);
    assert_string_equal(error.code, "not-enough");
    assert_string_equal(first_row(at->dbs[0], false), "");
}

static void test_an_app_cannot_say_who_made_an_apply(void **state)
{
    world *at = *state;
    kedge_error error = {0};
    const char *args = "{\"reads\":[],\"ops\":[],\"made\":{\"name\":\"stock.take\",\"args\":{}}}";
    assert_int_equal(kedge_mutate(at->dbs[0], "kedge.apply", args, strlen(args), NULL, &error),
                     KEDGE_INVALID_ARGUMENT);
    assert_non_null(strstr(error.message, "written by Kedge itself"));
}

/* ---- conflicts ---- */

static void test_an_edit_that_conflicts_is_made_again_under_its_sequence(void **state)
{
    world *at = *state;
    stock(at);
    int64_t first = take(at->dbs[0], 1), second = take(at->dbs[0], 2);
    take(at->dbs[1], 1);
    go(at->dbs[1], true);
    sync_copy(at->dbs[1]);
    go(at->dbs[0], true);
    assert_int_equal(wait_for(at->dbs[0], first), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(wait_for(at->dbs[0], second), KEDGE_OUTCOME_APPLIED);
    sync_copy(at->dbs[1]);
    both_have(at, "shelves", "7", "{\"count\":1,\"label\":\"oak\"}");
    assert_int_equal(client_status(at->dbs[0]).rejected, 0);
    assert_int_equal(client_status(at->dbs[0]).pending, 0);
}

/* ---- a sync waits for edits that are made again ---- */

/* Called on the worker thread of copy 0, before it writes the request to the connection. */
static void come_first(void *userdata, kedge_log_level level, const char *event,
                       const char *message)
{
    rival *other = userdata;
    (void)level;
    if (strcmp(event, "request") != 0 || strstr(message, "push") == NULL) return;
    if (other->conflicts == 0) return;
    other->conflicts--;
    put_shelf(other->world->dbs[1],
              other->conflicts % 2 == 0 ? "{\"count\":90}" : "{\"count\":80}");
    sync_copy(other->world->dbs[1]);
    for (int i = 0; i < other->edits; i++)
        take(other->world->dbs[0], 1);
    atomic_fetch_add(&other->won, 1);
}

/* Whether copy 0 has an edit that waits to be made again. */
static bool has_conflict(const world *at)
{
    static const char sql[] = "SELECT 1 FROM rejected WHERE state = 4";
    char path[FILES_PATH_BYTES];
    sqlite3 *outbox;
    sqlite3_stmt *find;
    files_path(path, at->paths[0], "outbox.db");
    assert_int_equal(sqlite3_open(path, &outbox), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(outbox, sql, -1, &find, NULL), SQLITE_OK);
    bool found = sqlite3_step(find) == SQLITE_ROW;
    sqlite3_finalize(find);
    sqlite3_close(outbox);
    return found;
}

/* Behind the pull that brings the conflict, the disk is full. */
static void fill_behind_conflict(void *context, const char *phase)
{
    world *at = context;
    if (at->disk != NULL && strcmp(phase, "pull-done") == 0 && has_conflict(at))
        fault_vfs_refuse_writes(at->disk, true);
}

/* Copy 0 has a client-only edit, and goes online. */
static int64_t take_against(world *at, int conflicts, int edits)
{
    kedge_options options = client_options(at->paths[0], at->server.url);
    stock(at);
    kedge_close(at->dbs[0]);
    at->rival = (rival){.world = at, .conflicts = conflicts, .edits = edits};
    options.client_mutators = at->mutators;
    options.client_mutator_count = 2;
    options.offline = true;
    options.log = come_first;
    options.log_level = KEDGE_LOG_DEBUG;
    options.userdata = &at->rival;
    assert_int_equal(kedge_open_with_phases(&options, fill_behind_conflict, at, &at->dbs[0], NULL),
                     KEDGE_OK);
    int64_t sequence = take(at->dbs[0], 3);
    go(at->dbs[1], true);
    go(at->dbs[0], true);
    return sequence;
}

static kedge_outcome outcome_now(kedge_db *db, int64_t sequence)
{
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    kedge_status status = kedge_wait(db, sequence, 0, &outcome, NULL);
    return status == KEDGE_TIMEOUT ? KEDGE_OUTCOME_PENDING : outcome;
}

static void test_a_sync_waits_until_an_edit_that_is_made_again_is_decided(void **state)
{
    world *at = *state;
    int64_t sequence = take_against(at, 2, 0);
    sync_copy(at->dbs[0]);
    assert_int_equal(atomic_load(&at->rival.won), 2);
    assert_int_equal(outcome_now(at->dbs[0], sequence), KEDGE_OUTCOME_APPLIED);
    assert_int_equal(client_status(at->dbs[0]).pending, 0);
    assert_string_equal(item(at->dbs[0], "shelves", "7"), "{\"count\":87}");
}

/* Each of them conflicts, too, and so there is always one that is made again. */
static void test_a_sync_ends_while_edits_that_are_made_after_it_conflict(void **state)
{
    world *at = *state;
    int64_t sequence = take_against(at, 1000, 1);
    sync_copy(at->dbs[0]);
    assert_int_equal(outcome_now(at->dbs[0], sequence), KEDGE_OUTCOME_REJECTED);
    assert_true(client_status(at->dbs[0]).pending > 0);
    go(at->dbs[0], false);
}

static void begin_disk(world *at)
{
    at->disk = fault_vfs_new("client-only", 1); /* the default, from here on */
    assert_non_null(at->disk);
    assert_int_equal(sqlite3_vfs_register(sqlite3_vfs_find("client-only"), 1), SQLITE_OK);
}

static void end_disk(world *at)
{
    for (int i = 0; i < COPIES; i++)
        kedge_close(at->dbs[i]);
    fault_vfs_free(at->disk);
    at->disk = NULL;
    for (int i = 0; i < COPIES; i++)
        open_copy(at, i, true);
}

static void test_a_sync_says_that_the_disk_has_no_room_to_make_an_edit_again(void **state)
{
    world *at = *state;
    kedge_error error = {0};
    begin_disk(at);
    int64_t sequence = take_against(at, 1, 0);
    assert_int_equal(kedge_sync(at->dbs[0], SYNC_MS, &error), KEDGE_DISK_FULL);
    assert_string_equal(error.code, "disk-full");
    assert_int_equal(client_status(at->dbs[0]).pending, 1);
    /* It is made again, and sent, once there is room. */
    fault_vfs_refuse_writes(at->disk, false);
    assert_int_equal(wait_for(at->dbs[0], sequence), KEDGE_OUTCOME_APPLIED);
    assert_string_equal(item(at->dbs[0], "shelves", "7"), "{\"count\":87}");
    end_disk(at);
}

/* A push holds 1,000 edits. Each edit builds on the one before it, and on what the other copy has
 * changed. */
static void test_a_backlog_of_more_than_a_push_meets_what_another_copy_has_changed(void **state)
{
    world *at = *state;
    put_shelf(at->dbs[0], "{\"count\":2000,\"label\":\"oak\"}");
    for (int i = 0; i < COPIES; i++)
        sync_copy(at->dbs[i]);
    go(at->dbs[0], false);
    for (int i = 0; i < 1100; i++)
        take(at->dbs[0], 1);
    edit(at->dbs[1], "kedge.merge",
         "{\"collection\":\"shelves\",\"id\":\"7\",\"patch\":{\"label\":\"ash\"}}");
    sync_copy(at->dbs[1]);
    go(at->dbs[0], true);
    for (int i = 0; i < COPIES; i++)
        sync_copy(at->dbs[i]);
    both_have(at, "shelves", "7", "{\"count\":900,\"label\":\"ash\"}");
    assert_string_equal(first_row(at->dbs[0], false), "");
    assert_string_equal(first_row(at->dbs[0], true), "");
}

static void
test_an_edit_that_was_undone_stays_undone_beside_what_another_copy_has_changed(void **state)
{
    world *at = *state;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    stock(at);
    assert_int_equal(kedge_undo_begin(at->dbs[0], NULL, NULL), KEDGE_OK);
    take(at->dbs[0], 1);
    assert_int_equal(kedge_undo_end(at->dbs[0], NULL), KEDGE_OK);
    assert_int_equal(kedge_undo(at->dbs[0], &result, NULL), KEDGE_OK);
    put_shelf(at->dbs[1], "{\"count\":5,\"label\":\"ash\"}");
    for (int i = COPIES - 1; i >= 0; i--) {
        go(at->dbs[i], true);
        sync_copy(at->dbs[i]);
    }
    sync_copy(at->dbs[1]);
    both_have(at, "shelves", "7", "{\"count\":5,\"label\":\"ash\"}");
    assert_string_equal(first_row(at->dbs[0], true), "");
}

static void test_two_copies_that_write_what_they_have_scanned_both_keep_their_lines(void **state)
{
    world *at = *state;
    for (int i = 0; i < COPIES; i++) {
        sync_copy(at->dbs[i]);
        go(at->dbs[i], false);
    }
    for (int i = 0; i < COPIES; i++) {
        edit(at->dbs[i], "lines.append", i == 0 ? "{\"text\":\"a\"}" : "{\"text\":\"c\"}");
        edit(at->dbs[i], "lines.append", i == 0 ? "{\"text\":\"b\"}" : "{\"text\":\"d\"}");
    }
    for (int i = 0; i < COPIES; i++) {
        go(at->dbs[i], true);
        assert_int_equal(wait_for(at->dbs[i], 2), KEDGE_OUTCOME_APPLIED);
    }
    sync_copy(at->dbs[0]);
    both_have(at, "lines", "0001", "\"a\"");
    both_have(at, "lines", "0002", "\"b\"");
    both_have(at, "lines", "0003", "\"c\"");
    both_have(at, "lines", "0004", "\"d\"");
}

static void test_what_the_mutator_refuses_on_the_new_state_goes_to_the_inbox(void **state)
{
    world *at = *state;
    int64_t again = 0;
    stock(at);
    int64_t sequence = take(at->dbs[0], 3);
    take(at->dbs[1], 4);
    go(at->dbs[1], true);
    sync_copy(at->dbs[1]);
    go(at->dbs[0], true);
    assert_int_equal(wait_for(at->dbs[0], sequence), KEDGE_OUTCOME_REJECTED);
    assert_string_equal(first_row(at->dbs[0], true),
                        "2 stock.take {\"count\":3,\"id\":\"7\"} not-enough");
    assert_string_equal(item(at->dbs[0], "shelves", "7"), "{\"count\":1,\"label\":\"oak\"}");
    put_shelf(at->dbs[0], "{\"count\":9}");
    assert_int_equal(kedge_rejected_resubmit(at->dbs[0], sequence, &again, NULL), KEDGE_OK);
    assert_int_equal(wait_for(at->dbs[0], again), KEDGE_OUTCOME_APPLIED);
    assert_string_equal(item(at->dbs[0], "shelves", "7"), "{\"count\":6}");
    assert_string_equal(first_row(at->dbs[0], true), "");
}

static void test_a_batch_with_a_client_only_mutator_is_made_again_as_a_whole(void **state)
{
    world *at = *state;
    int64_t sequence = 0;
    kedge_batch *batch = NULL;
    const char *note = "{\"collection\":\"log\",\"id\":\"1\",\"value\":\"taken\"}";
    stock(at);
    assert_int_equal(kedge_batch_begin(at->dbs[0], &batch, NULL), KEDGE_OK);
    assert_int_equal(kedge_batch_add(batch, "stock.take", "{\"id\":\"7\",\"count\":2}", 20, NULL),
                     KEDGE_OK);
    assert_int_equal(kedge_batch_add(batch, "kedge.put", note, strlen(note), NULL), KEDGE_OK);
    assert_int_equal(kedge_batch_commit(batch, &sequence, NULL), KEDGE_OK);
    kedge_batch_free(batch);
    take(at->dbs[1], 1);
    go(at->dbs[1], true);
    sync_copy(at->dbs[1]);
    go(at->dbs[0], true);
    assert_int_equal(wait_for(at->dbs[0], sequence), KEDGE_OUTCOME_APPLIED);
    sync_copy(at->dbs[1]);
    both_have(at, "shelves", "7", "{\"count\":2,\"label\":\"oak\"}");
    both_have(at, "log", "1", "\"taken\"");
}

/* ---- the inbox ---- */

typedef struct told {
    int64_t sequences[8];
    size_t count;
} told;

static void hear_rejected(void *userdata, const kedge_mutation *mutation)
{
    told *all = userdata;
    assert_true(all->count < 8);
    all->sequences[all->count++] = mutation->sequence;
}

/* Another version, which copy 0 pulls. */
static void bring_version(world *at, int number)
{
    char value[32];
    (void)snprintf(value, sizeof value, "{\"count\":%d}", 5 + number);
    put_shelf(at->dbs[1], value);
    sync_copy(at->dbs[1]);
}

/* The edit that conflicts until it is given up stands after the other one, under a lower
 * sequence. */
static void test_each_rejected_edit_is_told_once(void **state)
{
    world *at = *state;
    kedge_sync_watch *watch = NULL;
    told all = {.count = 0};
    const char *note = "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"a\":1}}";
    const char *patch = "{\"collection\":\"notes\",\"id\":\"1\",\"patch\":[{\"op\":\"add\","
                        "\"path\":\"/b\",\"value\":2}]}";
    edit(at->dbs[1], "kedge.put", note);
    put_shelf(at->dbs[1], "{\"count\":5}");
    sync_copy(at->dbs[1]);
    sync_copy(at->dbs[0]);
    kedge_close(at->dbs[0]);
    kedge_options options = client_options(at->paths[0], at->server.url);
    options.client_mutators = at->mutators;
    options.client_mutator_count = 2;
    options.caller_driven = true;
    at->dbs[0] = client_open(&options);
    int64_t first = take(at->dbs[0], 1);
    int64_t second = edit(at->dbs[0], "kedge.patch", patch);
    edit(at->dbs[1], "kedge.delete", "{\"collection\":\"notes\",\"id\":\"1\"}");
    assert_int_equal(kedge_watch_rejected(at->dbs[0], hear_rejected, &all, NULL, &watch, NULL),
                     KEDGE_OK);
    int number = 0;
    while (client_status(at->dbs[0]).rejected < 2) {
        bring_version(at, ++number);
        assert_int_equal(kedge_loop_run(at->dbs[0], NULL, NULL), KEDGE_OK);
    }
    for (int i = 0; i < 3; i++) {
        bring_version(at, ++number);
        sync_copy(at->dbs[0]);
    }
    kedge_sync_watch_free(watch);
    assert_int_equal(all.count, 2);
    assert_int_equal(all.sequences[0], second);
    assert_int_equal(all.sequences[1], first);
}

/* ---- a build without the mutator ---- */

static void test_a_build_without_the_mutator_sends_the_edit_as_it_was_made(void **state)
{
    world *at = *state;
    stock(at);
    int64_t sequence = take(at->dbs[0], 3);
    kedge_close(at->dbs[0]);
    open_copy(at, 0, false);
    assert_string_equal(item(at->dbs[0], "shelves", "7"), "{\"count\":2,\"label\":\"oak\"}");
    assert_int_equal(wait_for(at->dbs[0], sequence), KEDGE_OUTCOME_APPLIED);
    go(at->dbs[1], true);
    sync_copy(at->dbs[1]);
    both_have(at, "shelves", "7", "{\"count\":2,\"label\":\"oak\"}");
}

static void test_a_build_without_the_mutator_shows_the_conflict(void **state)
{
    world *at = *state;
    kedge_error error = {0};
    stock(at);
    int64_t sequence = take(at->dbs[0], 3);
    kedge_close(at->dbs[0]);
    take(at->dbs[1], 1);
    go(at->dbs[1], true);
    sync_copy(at->dbs[1]);
    open_copy(at, 0, false);
    assert_int_equal(wait_for(at->dbs[0], sequence), KEDGE_OUTCOME_REJECTED);
    assert_string_equal(first_row(at->dbs[0], true),
                        "2 stock.take {\"count\":3,\"id\":\"7\"} conflict");
    assert_int_equal(kedge_rejected_resubmit(at->dbs[0], sequence, NULL, &error), KEDGE_REJECTED);
    assert_string_equal(error.code, "conflict");
    /* With the mutator the app can make it again. */
    kedge_close(at->dbs[0]);
    open_copy(at, 0, true);
    assert_int_equal(kedge_rejected_resubmit(at->dbs[0], sequence, &sequence, &error), KEDGE_OK);
    assert_int_equal(wait_for(at->dbs[0], sequence), KEDGE_OUTCOME_APPLIED);
    assert_string_equal(item(at->dbs[0], "shelves", "7"), "{\"count\":1,\"label\":\"oak\"}");
    kedge_stats stats = KEDGE_STATS_INIT;
    assert_int_equal(kedge_get_stats(at->dbs[0], &stats, NULL), KEDGE_OK);
    assert_int_equal(stats.edits, 1);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    server_program = argv[1];
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        TEST(test_the_server_applies_what_it_has_no_mutator_for),
        TEST(test_a_refusal_of_a_client_only_mutator_is_told_at_once),
        TEST(test_an_app_cannot_say_who_made_an_apply),
        TEST(test_an_edit_that_conflicts_is_made_again_under_its_sequence),
        TEST(test_a_sync_waits_until_an_edit_that_is_made_again_is_decided),
        TEST(test_a_sync_ends_while_edits_that_are_made_after_it_conflict),
        TEST(test_a_sync_says_that_the_disk_has_no_room_to_make_an_edit_again),
        TEST(test_a_backlog_of_more_than_a_push_meets_what_another_copy_has_changed),
        TEST(test_an_edit_that_was_undone_stays_undone_beside_what_another_copy_has_changed),
        TEST(test_two_copies_that_write_what_they_have_scanned_both_keep_their_lines),
        TEST(test_what_the_mutator_refuses_on_the_new_state_goes_to_the_inbox),
        TEST(test_a_batch_with_a_client_only_mutator_is_made_again_as_a_whole),
        TEST(test_each_rejected_edit_is_told_once),
        TEST(test_a_build_without_the_mutator_sends_the_edit_as_it_was_made),
        TEST(test_a_build_without_the_mutator_shows_the_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
