/* What the queue in SQLite promises beyond the contract: which owner is next stands in the file,
 * also in one of an older version, and a receive costs the same however much waits. */
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/world.h"

#include <sqlite3.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LONG_MS 60000

typedef struct fixture {
    world around;
    char path[128];
    kedge_queue queue;
} fixture;

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    world_path(&f.around, "queue.db", f.path);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    world_end(&((fixture *)*state)->around);
    return 0;
}

static void open_queue(fixture *f)
{
    assert_ok(kedge_sqlite_queue_open(&f->around.environment, f->path, 3, &f->queue, NULL));
}

static void close_queue(fixture *f)
{
    f->queue.vtable->close(f->queue.self);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static void send(fixture *f, const char *owner, const char *body)
{
    kedge_bytes text = kedge_bytes_of(body);
    assert_ok(f->queue.vtable->send(f->queue.self, kedge_bytes_of(owner), text, text, text, NULL));
}

/* Receives one message; it stays in flight. */
static void take(fixture *f, const char *expected)
{
    kedge_queue_batch batch = {0};
    assert_ok(f->queue.vtable->receive(f->queue.self, 1, LONG_MS, 0, NULL, &batch, NULL));
    assert_int_equal(batch.count, 1);
    assert_bytes(batch.messages[0].body, expected);
    kedge_queue_batch_free(&batch);
}

static void test_turns_outlive_a_reopening(void **state)
{
    fixture *f = *state;
    open_queue(f);
    send(f, "a", "a1");
    send(f, "a", "a2");
    send(f, "a", "a3");
    send(f, "b", "b1");
    send(f, "b", "b2");
    take(f, "a1");
    close_queue(f);
    open_queue(f);
    take(f, "b1");
    close_queue(f);
    open_queue(f);
    take(f, "a2");
    take(f, "b2");
    take(f, "a3");
    close_queue(f);
}

static void test_a_redriven_message_has_its_owner_again(void **state)
{
    fixture *f = *state;
    kedge_queue_batch dead = {0};
    open_queue(f);
    send(f, "a", "a1");
    for (int i = 0; i < 3; i++) {
        take(f, "a1");
        atomic_fetch_add(&f->around.now_ms, LONG_MS);
    }
    for (int i = 2; i <= 4; i++) {
        char body[4];
        snprintf(body, sizeof body, "a%d", i);
        send(f, "a", body);
        body[0] = 'b';
        send(f, "b", body);
    }
    take(f, "a2");
    take(f, "b2");
    assert_ok(f->queue.vtable->dead_letters(f->queue.self, 1, &dead, NULL));
    assert_ok(f->queue.vtable->redrive(f->queue.self, dead.messages[0].receipt, NULL));
    kedge_queue_batch_free(&dead);
    take(f, "a3");
    take(f, "b3");
    take(f, "a4"); /* the redriven one has no place of its own */
    take(f, "b4");
    take(f, "a1");
    close_queue(f);
}

/* ---- an older file ---- */

/* What version 2 was: without the owners. */
static const char second_queue[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA application_id = 1262768469;"
    "PRAGMA user_version = 2;"
    "CREATE TABLE message(id INTEGER PRIMARY KEY AUTOINCREMENT, group_id BLOB NOT NULL,"
    "  sent_ms INTEGER NOT NULL, receive_count INTEGER NOT NULL DEFAULT 0,"
    "  changed_ms INTEGER NOT NULL DEFAULT 0, visible_ms INTEGER NOT NULL DEFAULT 0,"
    "  dead INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL);"
    "CREATE INDEX message_dead ON message(id) WHERE dead = 1;"
    "CREATE INDEX message_of_group ON message(group_id, id) WHERE dead = 0;"
    "CREATE INDEX message_received ON message(group_id, visible_ms, changed_ms)"
    "  WHERE dead = 0 AND receive_count > 0;"
    "CREATE TABLE waiting_group(group_id BLOB PRIMARY KEY, first_id INTEGER NOT NULL,"
    "  busy_until_ms INTEGER, changed_ms INTEGER) WITHOUT ROWID;"
    "CREATE INDEX group_free ON waiting_group(first_id) WHERE busy_until_ms IS NULL;"
    "CREATE INDEX group_busy ON waiting_group(busy_until_ms) WHERE busy_until_ms IS NOT NULL;"
    "CREATE INDEX group_changed ON waiting_group(changed_ms) WHERE changed_ms IS NOT NULL;"
    "CREATE TABLE deduplication(name BLOB PRIMARY KEY, sent_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX deduplication_sent ON deduplication(sent_ms);";

/* An organization's requests of snapshots, and pushes of two; one that nobody can read; one that is
 * in flight for a second, and a dead one. */
static const char waiting_in_it[] =
    "INSERT INTO message(group_id, sent_ms, receive_count, changed_ms, visible_ms, dead, body)"
    " VALUES"
    "(CAST('x1' AS BLOB), 1, 1, 1700000000000, 1700000001000, 0,"
    "  CAST('{\"format\":1,\"organization\":\"x\",\"project\":\"1\"}' AS BLOB)),"
    "(CAST('x2' AS BLOB), 1, 0, 0, 0, 0, CAST('{\"log\":\"l\",\"organization\":\"x\"}' AS BLOB)),"
    "(CAST('x3' AS BLOB), 1, 0, 0, 0, 0, CAST('{\"log\":\"m\",\"organization\":\"x\"}' AS BLOB)),"
    "(CAST('y1' AS BLOB), 1, 0, 0, 0, 0, CAST('{\"organization\":\"y\",\"n\":1}' AS BLOB)),"
    "(CAST('y2' AS BLOB), 1, 0, 0, 0, 0, CAST('{\"organization\":\"y\",\"n\":2}' AS BLOB)),"
    "(CAST('z' AS BLOB), 1, 0, 0, 0, 0, CAST('what is \"organization\":\"this' AS BLOB)),"
    "(CAST('y3' AS BLOB), 1, 3, 5, 5, 1, CAST('{\"organization\":\"y\",\"n\":3}' AS BLOB));"
    "INSERT INTO waiting_group SELECT group_id, id, max(visible_ms, 0), max(changed_ms, 0)"
    "  FROM message WHERE dead = 0 AND receive_count > 0;"
    "INSERT INTO waiting_group SELECT group_id, id, NULL, NULL"
    "  FROM message WHERE dead = 0 AND receive_count = 0;";

static void test_a_queue_of_the_second_version_is_upgraded(void **state)
{
    fixture *f = *state;
    kedge_queue_batch dead = {0};
    execute(f->path, second_queue);
    execute(f->path, waiting_in_it);
    open_queue(f);
    take(f, "what is \"organization\":\"this"); /* the owner without a name is first */
    take(f, "{\"log\":\"l\",\"organization\":\"x\"}");
    take(f, "{\"organization\":\"y\",\"n\":1}");
    take(f, "{\"log\":\"m\",\"organization\":\"x\"}");
    assert_ok(f->queue.vtable->dead_letters(f->queue.self, 10, &dead, NULL));
    assert_int_equal(dead.count, 1);
    assert_ok(f->queue.vtable->redrive(f->queue.self, dead.messages[0].receipt, NULL));
    kedge_queue_batch_free(&dead);
    atomic_fetch_add(&f->around.now_ms, 1000);
    take(f, "{\"organization\":\"y\",\"n\":2}");
    take(f, "{\"format\":1,\"organization\":\"x\",\"project\":\"1\"}");
    take(f, "{\"organization\":\"y\",\"n\":3}");
    close_queue(f);
}

/* ---- cost ---- */

/* The queue's connections. */
static sqlite3 *opened[4];
static size_t opened_count;

static int note_connection(sqlite3 *handle)
{
    assert_in_range(opened_count, 0, sizeof opened / sizeof opened[0] - 1);
    opened[opened_count++] = handle;
    return SQLITE_OK;
}

/* Steps of SQLite's machine in all statements of the queue. */
static int64_t steps(void)
{
    int64_t sum = 0;
    for (size_t i = 0; i < opened_count; i++) {
        sqlite3_stmt *at = NULL;
        while ((at = sqlite3_next_stmt(opened[i], at)) != NULL)
            sum += sqlite3_stmt_status(at, SQLITE_STMTSTATUS_VM_STEP, 0);
    }
    return sum;
}

/* So many messages, of so many owners and groups, and one of another owner. */
static void fill(fixture *f, int messages, int owners, int groups)
{
    char sql[1024];
    (void)snprintf(
        sql, sizeof sql,
        "WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n < %d)"
        "INSERT INTO message(group_id, sent_ms, body) SELECT CAST('g' || (n %% %d) AS BLOB), 1,"
        "  CAST('{\"organization\":\"o' || (n %% %d) || '\",\"n\":' || n || '}' AS BLOB)"
        "  FROM number WHERE n < %d;"
        "INSERT INTO message(group_id, sent_ms, body)"
        "  VALUES(X'68', 1, CAST('{\"organization\":\"h\"}' AS BLOB));",
        messages, groups, owners, messages);
    execute(f->path, second_queue);
    execute(f->path, sql);
}

/* What two receives and the end of the messages cost in steps, when that much waits. */
static int64_t cost_of(int messages, int owners, int groups)
{
    void *state;
    kedge_queue_batch batch = {0};
    start(&state);
    fixture *f = state;
    opened_count = 0;
    fill(f, messages, owners, groups);
    opened_count = 0;
    open_queue(f);
    int64_t before = 0;
    for (int i = 0; i < 3; i++) {
        if (i == 1) before = steps(); /* what is prepared at its first use is */
        assert_ok(f->queue.vtable->receive(f->queue.self, 1, LONG_MS, 0, NULL, &batch, NULL));
        assert_int_equal(batch.count, 1);
        assert_ok(f->queue.vtable->done(f->queue.self, batch.messages[0].receipt, NULL));
        kedge_queue_batch_free(&batch);
    }
    int64_t cost = steps() - before;
    print_message("%6d messages, %5d owners, %5d groups: %" PRId64 " steps\n", messages, owners,
                  groups, cost);
    close_queue(f);
    end(&state);
    return cost;
}

/* A shape is the owners and the groups of 100 messages; 0 grows with the messages. */
static void assert_same_cost(int owners, int groups)
{
    int64_t least = INT64_MAX, most = 0;
    for (int messages = 100; messages <= 10000; messages *= 10) {
        int64_t cost =
            cost_of(messages, owners > 0 ? owners : messages, groups > 0 ? groups : messages);
        if (cost < least) least = cost;
        if (cost > most) most = cost;
    }
    assert_true(least > 0 && most <= least + least / 10);
}

static void test_a_receive_costs_the_same_however_much_waits(void **state)
{
    (void)state;
    assert_int_equal(sqlite3_auto_extension((void (*)(void))note_connection), SQLITE_OK);
    assert_same_cost(1, 1);
    assert_same_cost(1, 0);
    assert_same_cost(0, 0);
    sqlite3_reset_auto_extension();
}

#define apart(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        apart(test_turns_outlive_a_reopening),
        apart(test_a_redriven_message_has_its_owner_again),
        apart(test_a_queue_of_the_second_version_is_upgraded),
        cmocka_unit_test(test_a_receive_costs_the_same_however_much_waits),
    };
    return cmocka_run_group_tests_name("queue: SQLite's file", tests, NULL, NULL);
}
