/* Batches through the public API, with a kedge-server: several edits that are one, on every copy.
 * And the example of docs/how-to/edit-several-items.md. */
#include "tests/runtime/client.h"
#include "tests/support/files.h"
#include "tests/support/server_process.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SYNC_MS 120000

kedge_status move_card(kedge_db *db, const char *card, const char *from, const char *to,
                       int64_t *sequence, kedge_error *error);
const kedge_mutator *kedge_plugin_mutators(size_t *count); /* of write-a-mutator.c */

static const char *server_program, *plugin;

typedef struct world {
    char folder[CLIENT_PATH_SIZE];
    char paths[2][FILES_PATH_BYTES];
    char data[FILES_PATH_BYTES];
    server_process server;
    kedge_db *dbs[2];
} world;

static kedge_db *open_copy(world *at, int copy)
{
    kedge_options options = client_options(at->paths[copy], at->server.url);
    options.mutators = kedge_plugin_mutators(&options.mutator_count);
    return client_open(&options);
}

static int open_world(void **state)
{
    static world at;
    *state = &at;
    client_make_folder(at.folder);
    files_path(at.data, at.folder, "server");
    server_process_start_with(&at.server, server_program, at.data, plugin);
    for (int i = 0; i < 2; i++) {
        char name[16];
        snprintf(name, sizeof name, "copy%d", i);
        files_path(at.paths[i], at.folder, name);
        at.dbs[i] = open_copy(&at, i);
    }
    return 0;
}

static int close_world(void **state)
{
    world *at = *state;
    for (int i = 0; i < 2; i++)
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

static void add(kedge_batch *batch, const char *name, const char *args)
{
    kedge_error error = {0};
    if (kedge_batch_add(batch, name, args, strlen(args), &error) != KEDGE_OK)
        fail_msg("%s", error.message);
}

static kedge_batch *begin(kedge_db *db)
{
    kedge_batch *batch = NULL;
    assert_int_equal(kedge_batch_begin(db, &batch, NULL), KEDGE_OK);
    return batch;
}

static void put(kedge_db *db, const char *collection, const char *id, const char *value)
{
    char args[512];
    int size = snprintf(args, sizeof args, "{\"collection\":\"%s\",\"id\":\"%s\",\"value\":%s}",
                        collection, id, value);
    assert_int_equal(kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, NULL), KEDGE_OK);
}

/* The value of the item, or "". */
static const char *item(kedge_db *db, const char *collection, const char *id)
{
    static char value[2][512];
    static int turn;
    kedge_document *document = NULL;
    turn = 1 - turn;
    value[turn][0] = '\0';
    if (kedge_get(db, collection, id, strlen(id), &document, NULL) == KEDGE_OK)
        snprintf(value[turn], sizeof value[turn], "%s", kedge_document_json(document, NULL));
    kedge_document_free(document);
    return value[turn];
}

#define TAKE(count) "{\"id\":\"7\",\"count\":" #count "}"
#define PUT_LOG     "{\"collection\":\"log\",\"id\":\"1\",\"value\":\"taken\"}"

/* ---- one edit ---- */

static void test_a_batch_is_one_edit_here_and_one_version_on_the_server(void **state)
{
    world *at = *state;
    kedge_db *db = at->dbs[0];
    int64_t sequence = 0;
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    put(db, "shelves", "7", "{\"count\":5}");
    sync_copy(db);
    int64_t version = client_status(db).version;
    assert_int_equal(kedge_set_online(db, false, NULL), KEDGE_OK);
    kedge_batch *batch = begin(db);
    add(batch, "stock.take", TAKE(3));
    add(batch, "kedge.put", PUT_LOG);
    add(batch, "stock.take", TAKE(2));
    assert_string_equal(item(db, "shelves", "7"), "{\"count\":5}"); /* nothing is run yet */
    assert_int_equal(kedge_batch_commit(batch, &sequence, NULL), KEDGE_OK);
    kedge_batch_free(batch);
    assert_int_equal(sequence, 2);
    assert_int_equal(client_status(db).pending, 1);
    assert_string_equal(item(db, "shelves", "7"), "{\"count\":0}");
    assert_string_equal(item(db, "log", "1"), "\"taken\"");
    assert_int_equal(kedge_set_online(db, true, NULL), KEDGE_OK);
    assert_int_equal(kedge_wait(db, sequence, SYNC_MS, &outcome, NULL), KEDGE_OK);
    assert_int_equal(outcome, KEDGE_OUTCOME_APPLIED);
    assert_int_equal(client_status(db).version, version + 1);
    sync_copy(at->dbs[1]);
    assert_string_equal(item(at->dbs[1], "shelves", "7"), "{\"count\":0}");
    assert_string_equal(item(at->dbs[1], "log", "1"), "\"taken\"");
}

static void test_of_a_batch_that_is_refused_here_nothing_stays(void **state)
{
    world *at = *state;
    kedge_db *db = at->dbs[0];
    kedge_error error = {0};
    int64_t sequence = 0;
    put(db, "shelves", "7", "{\"count\":4}");
    kedge_batch *batch = begin(db);
    add(batch, "kedge.put", PUT_LOG);
    add(batch, "stock.take", TAKE(3));
    add(batch, "stock.take", TAKE(2));
    assert_int_equal(kedge_batch_commit(batch, &sequence, &error), KEDGE_REJECTED);
    assert_string_equal(error.code, "not-enough");
    assert_string_equal(error.message,
                        "mutation 2 of the batch (stock.take): there are not that many pieces");
    assert_string_equal(item(db, "log", "1"), "");
    assert_string_equal(item(db, "shelves", "7"), "{\"count\":4}");
    /* It is as it was, and may be made when there are more. */
    put(db, "shelves", "7", "{\"count\":9}");
    assert_int_equal(kedge_batch_commit(batch, &sequence, &error), KEDGE_OK);
    assert_int_equal(sequence, 3);
    assert_string_equal(item(db, "shelves", "7"), "{\"count\":4}");
    assert_int_equal(kedge_batch_commit(batch, &sequence, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "batch-empty");
    kedge_batch_free(batch);
}

static void check_rejected(kedge_db *db, int64_t sequence)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    assert_int_equal(kedge_rejected_open(db, &list, NULL), KEDGE_OK);
    assert_int_equal(kedge_mutation_list_next(list, &mutation, NULL), KEDGE_OK);
    assert_int_equal(mutation.sequence, sequence);
    assert_string_equal(mutation.name, "kedge.batch");
    assert_string_equal(mutation.code, "not-enough");
    assert_non_null(strstr(mutation.message, "mutation 1 of the batch (stock.take)"));
    assert_int_equal(kedge_mutation_list_next(list, &mutation, NULL), KEDGE_DONE);
    kedge_mutation_list_close(list);
}

static void test_of_a_batch_that_the_server_rejects_nothing_stays_anywhere(void **state)
{
    world *at = *state;
    int64_t sequence = 0, again = 0;
    put(at->dbs[0], "shelves", "7", "{\"count\":5}");
    sync_copy(at->dbs[0]);
    sync_copy(at->dbs[1]);
    assert_int_equal(kedge_set_online(at->dbs[0], false, NULL), KEDGE_OK);
    kedge_batch *batch = begin(at->dbs[0]);
    add(batch, "kedge.put", PUT_LOG);
    add(batch, "stock.take", TAKE(3));
    assert_int_equal(kedge_batch_commit(batch, &sequence, NULL), KEDGE_OK);
    kedge_batch_free(batch);
    assert_string_equal(item(at->dbs[0], "shelves", "7"), "{\"count\":2}");
    put(at->dbs[1], "shelves", "7", "{\"count\":1}");
    sync_copy(at->dbs[1]);
    assert_int_equal(kedge_set_online(at->dbs[0], true, NULL), KEDGE_OK);
    sync_copy(at->dbs[0]);
    sync_copy(at->dbs[1]);
    for (int i = 0; i < 2; i++) {
        assert_string_equal(item(at->dbs[i], "shelves", "7"), "{\"count\":1}");
        assert_string_equal(item(at->dbs[i], "log", "1"), "");
    }
    check_rejected(at->dbs[0], sequence);
    /* The inbox sends it again as a whole. */
    put(at->dbs[0], "shelves", "7", "{\"count\":8}");
    assert_int_equal(kedge_rejected_resubmit(at->dbs[0], sequence, &again, NULL), KEDGE_OK);
    sync_copy(at->dbs[0]);
    sync_copy(at->dbs[1]);
    assert_string_equal(item(at->dbs[1], "shelves", "7"), "{\"count\":5}");
    assert_string_equal(item(at->dbs[1], "log", "1"), "\"taken\"");
}

static void test_cancelling_takes_the_whole_batch_back(void **state)
{
    world *at = *state;
    int64_t sequence = 0;
    assert_int_equal(kedge_set_online(at->dbs[0], false, NULL), KEDGE_OK);
    kedge_batch *batch = begin(at->dbs[0]);
    add(batch, "kedge.put", PUT_LOG);
    add(batch, "kedge.put", "{\"collection\":\"log\",\"id\":\"2\",\"value\":2}");
    assert_int_equal(kedge_batch_commit(batch, &sequence, NULL), KEDGE_OK);
    kedge_batch_free(batch);
    assert_string_equal(item(at->dbs[0], "log", "2"), "2");
    assert_int_equal(kedge_cancel(at->dbs[0], sequence, NULL), KEDGE_OK);
    assert_string_equal(item(at->dbs[0], "log", "1"), "");
    assert_string_equal(item(at->dbs[0], "log", "2"), "");
}

/* ---- what is allowed ---- */

static void refuses(kedge_batch *batch, const char *name, const char *args, kedge_status status,
                    const char *code, const char *words)
{
    kedge_error error = {0};
    assert_int_equal(kedge_batch_add(batch, name, args, args ? strlen(args) : 0, &error), status);
    assert_string_equal(error.code, code);
    if (strstr(error.message, words) == NULL) fail_msg("\"%s\" lacks %s", error.message, words);
}

static void test_a_wrong_edit_is_refused_when_it_is_added(void **state)
{
    world *at = *state;
    char nested[160] = "";
    kedge_error error = {0};
    kedge_batch *batch = NULL;
    assert_int_equal(kedge_batch_begin(NULL, &batch, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_batch_begin(at->dbs[0], NULL, &error), KEDGE_INVALID_ARGUMENT);
    assert_int_equal(kedge_batch_commit(NULL, NULL, &error), KEDGE_INVALID_ARGUMENT);
    kedge_batch_free(NULL);
    batch = begin(at->dbs[0]);
    assert_int_equal(kedge_batch_commit(batch, NULL, &error), KEDGE_INVALID_ARGUMENT);
    assert_string_equal(error.code, "batch-empty");
    memset(nested, '[', 62);
    memset(nested + 62, ']', 62);
    refuses(batch, NULL, "1", KEDGE_INVALID_ARGUMENT, "argument-null", "name");
    refuses(batch, "kedge.noop", NULL, KEDGE_INVALID_ARGUMENT, "argument-null", "args");
    refuses(batch, "stock.give", "{}", KEDGE_NOT_FOUND, "mutator-unknown", "stock.give");
    refuses(batch, "kedge.batch", "{}", KEDGE_INVALID_ARGUMENT, "batch-in-batch", "its edits");
    refuses(batch, "kedge.noop", "{\"a\":1,\"a\":2}", KEDGE_INVALID_JSON, "json-duplicate-member",
            "");
    refuses(batch, "kedge.noop", nested, KEDGE_LIMIT_EXCEEDED, "json-too-deep", "61");
    /* None of them is in it. */
    nested[123] = '\0';
    add(batch, "kedge.noop", nested + 1);
    add(batch, "kedge.noop", "");
    assert_int_equal(kedge_batch_commit(batch, NULL, &error), KEDGE_OK);
    kedge_batch_free(batch);
    sync_copy(at->dbs[0]);
    assert_int_equal(client_status(at->dbs[0]).rejected, 0);
}

static void test_a_batch_that_grows_too_large_keeps_what_it_has(void **state)
{
    world *at = *state;
    kedge_db *db = at->dbs[0];
    size_t size = 5 << 20;
    char *text = malloc(size);
    assert_non_null(text);
    kedge_batch *batch = begin(db);
    int length = snprintf(text, size, "{\"collection\":\"log\",\"id\":\"1\",\"value\":\"");
    memset(text + length, 'x', size - (size_t)length);
    memcpy(text + size - 3, "\"}", 3);
    add(batch, "kedge.put", text);
    refuses(batch, "kedge.put", text, KEDGE_LIMIT_EXCEEDED, "batch-too-large", "at most 8388608");
    for (int i = 1; i < KEDGE_LIMIT_BATCH_MUTATIONS; i++)
        add(batch, "kedge.noop", "null");
    refuses(batch, "kedge.noop", "null", KEDGE_LIMIT_EXCEEDED, "batch-too-large", "10000 edits");
    assert_int_equal(kedge_batch_commit(batch, NULL, NULL), KEDGE_OK);
    kedge_batch_free(batch);
    free(text);
    sync_copy(db);
    assert_int_equal(client_status(db).rejected, 0);
    assert_int_equal(client_status(db).pending, 0);
}

/* Appends a kedge.put whose place in the args of a batch takes so many bytes. */
static kedge_status add_sized(kedge_batch *batch, size_t size, kedge_error *error)
{
    static const char front[] = "{\"collection\":\"log\",\"id\":\"1\",\"value\":\"";
    static const char frame[] = "{\"args\":,\"name\":\"kedge.put\"}";
    size_t args_size = size - (sizeof frame - 1);
    char *args = malloc(args_size + 1);
    assert_non_null(args);
    memset(args, 'x', args_size);
    memcpy(args, front, sizeof front - 1);
    memcpy(args + args_size - 2, "\"}", 3);
    kedge_status status = kedge_batch_add(batch, "kedge.put", args, args_size, error);
    free(args);
    return status;
}

static void test_a_batch_that_is_full_to_the_last_byte_takes_nothing_more(void **state)
{
    world *at = *state;
    kedge_error error = {0};
    const size_t first = 1000, around = strlen("{\"mutations\":[,]}");
    kedge_batch *batch = begin(at->dbs[0]);
    assert_int_equal(add_sized(batch, first, &error), KEDGE_OK);
    size_t rest = KEDGE_LIMIT_ARGS_BYTES - around - first;
    assert_int_equal(add_sized(batch, rest + 1, &error), KEDGE_LIMIT_EXCEEDED);
    assert_int_equal(add_sized(batch, rest, &error), KEDGE_OK);
    refuses(batch, "kedge.noop", "null", KEDGE_LIMIT_EXCEEDED, "batch-too-large",
            "at most 8388608");
    assert_int_equal(kedge_batch_commit(batch, NULL, NULL), KEDGE_OK);
    kedge_batch_free(batch);
}

/* ---- the example ---- */

static void test_the_example_moves_a_card_once_whoever_moves_it(void **state)
{
    world *at = *state;
    kedge_error error = {0};
    int64_t sequence = 0;
    put(at->dbs[0], "cards", "c", "{\"column\":\"open\",\"title\":\"oak\"}");
    put(at->dbs[0], "columns", "open", "{\"cards\":1}");
    sync_copy(at->dbs[0]);
    sync_copy(at->dbs[1]);
    for (int i = 0; i < 2; i++)
        assert_int_equal(kedge_set_online(at->dbs[i], false, NULL), KEDGE_OK);
    /* Both copies move the same card. */
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            move_card(at->dbs[i], "c", "open", i == 0 ? "done" : "doing", &sequence, &error),
            KEDGE_OK);
    assert_int_equal(move_card(at->dbs[0], "c", "open", "done", &sequence, &error), KEDGE_REJECTED);
    assert_string_equal(error.code, "patch-test-failed");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(kedge_set_online(at->dbs[i], true, NULL), KEDGE_OK);
        sync_copy(at->dbs[i]);
    }
    assert_int_equal(client_status(at->dbs[1]).rejected, 1);
    assert_string_equal(item(at->dbs[1], "cards", "c"), "{\"column\":\"done\",\"title\":\"oak\"}");
    assert_string_equal(item(at->dbs[1], "columns", "open"), "{\"cards\":0}");
    assert_string_equal(item(at->dbs[1], "columns", "done"), "{\"cards\":1}");
    assert_string_equal(item(at->dbs[1], "columns", "doing"), "");
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    server_program = argv[1];
    plugin = argv[2];
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)
    const struct CMUnitTest tests[] = {
        TEST(test_a_batch_is_one_edit_here_and_one_version_on_the_server),
        TEST(test_of_a_batch_that_is_refused_here_nothing_stays),
        TEST(test_of_a_batch_that_the_server_rejects_nothing_stays_anywhere),
        TEST(test_cancelling_takes_the_whole_batch_back),
        TEST(test_a_wrong_edit_is_refused_when_it_is_added),
        TEST(test_a_batch_that_grows_too_large_keeps_what_it_has),
        TEST(test_a_batch_that_is_full_to_the_last_byte_takes_nothing_more),
        TEST(test_the_example_moves_a_card_once_whoever_moves_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
