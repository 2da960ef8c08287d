/* The queue in SQLite against the queue in memory: the same calls, drawn from a seed, with the same
 * answers; and its rows of groups against its messages, after every call. */
#include "backend/memory/memory_ports.h"
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/world.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define STEPS    500
#define GROUPS   5
#define RECEIPTS 32

typedef struct pair {
    world around;
    kedge_queue memory;
    kedge_queue sqlite;
    sqlite3 *look;
    uint64_t seed;
    bool compare;         /* the answers; the queues bury at different moments */
    bool clock_goes_back; /* now and then, by minutes */
    int sent;
    char receipts[RECEIPTS][48];
    size_t receipt_count;
    char letters[RECEIPTS][48];
    size_t letter_count;
} pair;

static uint64_t draw(pair *p, uint64_t bound)
{
    uint64_t z = (p->seed += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % bound;
}

static void open_pair(pair *p, uint64_t seed, uint32_t receive_max)
{
    char path[128];
    memset(p, 0, sizeof *p);
    world_make(&p->around, &kedge_allocator_default);
    world_path(&p->around, "queue.db", path);
    p->seed = seed;
    const kedge_environment *environment = &p->around.environment;
    assert_ok(kedge_memory_queue_open(environment, receive_max, &p->memory, NULL));
    assert_ok(kedge_sqlite_queue_open(environment, path, receive_max, &p->sqlite, NULL));
    assert_int_equal(sqlite3_open(path, &p->look), SQLITE_OK);
    sqlite3_exec(p->look, "PRAGMA wal_autocheckpoint = 0", NULL, NULL, NULL);
}

static void close_pair(pair *p)
{
    sqlite3_db_config(p->look, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_close(p->look);
    p->memory.vtable->close(p->memory.self);
    p->sqlite.vtable->close(p->sqlite.self);
    world_end(&p->around);
}

/* ---- what must hold ---- */

/* A row may say that a group is busy after its visibility ended, until the next receive looks. It
 * must never say so for longer than its messages do, nor that a group is free which is not; but for
 * one that was freed before the clock went back. */
static const char wrong_rows[] =
    "WITH waiting AS (SELECT group_id, min(id) AS first_id,"
    "  max(CASE WHEN receive_count > 0 AND visible_ms > ?1 AND changed_ms <= ?1 + 60000"
    "      THEN visible_ms END) AS until,"
    "  max(CASE WHEN receive_count > 0 THEN visible_ms END) AS at_most"
    "  FROM message WHERE dead = 0 GROUP BY group_id)"
    "SELECT (SELECT count(*) FROM waiting LEFT JOIN waiting_group USING(group_id)"
    "  WHERE waiting_group.group_id IS NULL OR waiting.first_id <> waiting_group.first_id"
    "  OR (?2 AND until IS NOT NULL AND (busy_until_ms IS NULL OR busy_until_ms < until))"
    "  OR busy_until_ms > ifnull(at_most, 0) OR (busy_until_ms IS NULL) <> (changed_ms IS NULL))"
    " + (SELECT count(*) FROM waiting_group WHERE group_id NOT IN (SELECT group_id FROM waiting))"
    " + (SELECT count(*) FROM waiting_owner"
    "  WHERE owner NOT IN (SELECT owner FROM waiting_group) OR free <> (SELECT"
    "  max(busy_until_ms IS NULL) FROM waiting_group WHERE owner = waiting_owner.owner))"
    " + (SELECT count(*) FROM waiting_group LEFT JOIN waiting_owner USING(owner)"
    "  WHERE waiting_owner.turn IS NULL OR waiting_group.turn > waiting_owner.turn"
    "  OR owner <> (SELECT owner FROM message WHERE id = first_id))"
    " + (SELECT count(*) - count(DISTINCT turn) FROM waiting_owner)";

static void check_rows(pair *p)
{
    sqlite3_stmt *select;
    assert_int_equal(sqlite3_prepare_v2(p->look, wrong_rows, -1, &select, NULL), SQLITE_OK);
    sqlite3_bind_int64(select, 1, atomic_load(&p->around.now_ms));
    sqlite3_bind_int(select, 2, !p->clock_goes_back);
    assert_int_equal(sqlite3_step(select), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(select, 0), 0);
    sqlite3_finalize(select);
}

static void assert_same(const pair *p, const kedge_queue_batch *a, const kedge_queue_batch *b)
{
    if (!p->compare) return;
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_string_equal(a->messages[i].receipt, b->messages[i].receipt);
        assert_true(kedge_bytes_equal(a->messages[i].group, b->messages[i].group));
        assert_true(kedge_bytes_equal(a->messages[i].body, b->messages[i].body));
        assert_int_equal(a->messages[i].receive_count, b->messages[i].receive_count);
    }
}

static void keep(char receipts[RECEIPTS][48], size_t *count, const kedge_queue_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        snprintf(receipts[(*count)++ % RECEIPTS], 48, "%s", batch->messages[i].receipt);
}

/* ---- calls ---- */

static void send_one(pair *p)
{
    char group[8], body[16];
    uint64_t number = draw(p, GROUPS);
    snprintf(group, sizeof group, "g%d", (int)number);
    /* Now and then a name for the second time. */
    snprintf(body, sizeof body, "%d", draw(p, 8) == 0 ? p->sent : ++p->sent);
    kedge_bytes text = kedge_bytes_of(body), to = kedge_bytes_of(group);
    kedge_bytes owner = number % 3 == 0 ? KEDGE_BYTES("a") : KEDGE_BYTES("b");
    assert_ok(p->memory.vtable->send(p->memory.self, owner, to, text, text, NULL));
    assert_ok(p->sqlite.vtable->send(p->sqlite.self, owner, to, text, text, NULL));
}

static void receive_some(pair *p)
{
    kedge_queue_batch a = {0}, b = {0};
    uint32_t count = 1 + (uint32_t)draw(p, 10);
    int64_t visibility_ms = (int64_t)draw(p, 4) * 500;
    assert_ok(p->memory.vtable->receive(p->memory.self, count, visibility_ms, 0, NULL, &a, NULL));
    assert_ok(p->sqlite.vtable->receive(p->sqlite.self, count, visibility_ms, 0, NULL, &b, NULL));
    assert_same(p, &a, &b);
    keep(p->receipts, &p->receipt_count, &b);
    kedge_queue_batch_free(&a);
    kedge_queue_batch_free(&b);
}

static void end_one(pair *p)
{
    if (p->receipt_count == 0) return;
    size_t known = p->receipt_count < RECEIPTS ? p->receipt_count : RECEIPTS;
    const char *receipt = p->receipts[draw(p, known)];
    bool extend = draw(p, 3) == 0;
    int64_t visibility_ms = (int64_t)draw(p, 3) * 700;
    kedge_status a = extend ? p->memory.vtable->extend(p->memory.self, receipt, visibility_ms, NULL)
                            : p->memory.vtable->done(p->memory.self, receipt, NULL);
    kedge_status b = extend ? p->sqlite.vtable->extend(p->sqlite.self, receipt, visibility_ms, NULL)
                            : p->sqlite.vtable->done(p->sqlite.self, receipt, NULL);
    if (p->compare) assert_int_equal(a, b);
}

static void redrive_one(pair *p)
{
    kedge_queue_batch dead = {0};
    assert_ok(p->sqlite.vtable->dead_letters(p->sqlite.self, 10, &dead, NULL));
    keep(p->letters, &p->letter_count, &dead);
    kedge_queue_batch_free(&dead);
    if (p->letter_count == 0) return;
    size_t known = p->letter_count < RECEIPTS ? p->letter_count : RECEIPTS;
    kedge_status status =
        p->sqlite.vtable->redrive(p->sqlite.self, p->letters[draw(p, known)], NULL);
    assert_true(status == KEDGE_OK || status == KEDGE_CONFLICT);
}

static void step(pair *p)
{
    uint64_t chosen = draw(p, 100);
    if (chosen < 30)
        send_one(p);
    else if (chosen < 55)
        receive_some(p);
    else if (chosen < 80)
        end_one(p);
    else if (chosen < 96)
        atomic_fetch_add(&p->around.now_ms, (int64_t)draw(p, 700));
    else if (chosen < 97 && p->clock_goes_back)
        atomic_fetch_sub(&p->around.now_ms, (int64_t)draw(p, 200000));
    else if (!p->compare)
        redrive_one(p);
    check_rows(p);
}

static void test_the_same_calls_have_the_same_answers(void **state)
{
    (void)state;
    static pair p;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        open_pair(&p, seed, KEDGE_QUEUE_DELIVERIES_MAX);
        p.compare = true;
        for (int i = 0; i < STEPS; i++)
            step(&p);
        close_pair(&p);
    }
}

static void test_the_rows_of_groups_hold_when_messages_die_and_come_back(void **state)
{
    (void)state;
    static pair p;
    size_t letters = 0;
    for (uint64_t seed = 1; seed <= 4; seed++) {
        open_pair(&p, seed, 1 + (uint32_t)seed % 2);
        p.clock_goes_back = seed > 2;
        for (int i = 0; i < STEPS; i++)
            step(&p);
        letters += p.letter_count;
        close_pair(&p);
    }
    assert_true(letters > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_calls_have_the_same_answers),
        cmocka_unit_test(test_the_rows_of_groups_hold_when_messages_die_and_come_back),
    };
    return cmocka_run_group_tests_name("queue: SQLite against memory", tests, NULL, NULL);
}
