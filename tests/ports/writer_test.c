/* Group commit: works of many threads in one transaction, each with its own end. */
#include "backend/sqlite/writer.h"
#include "common/error.h"
#include "tests/ports/world.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

#define FOLLOWERS 8

enum statement { INSERT, COUNT };

static const char *const statements[] = {"INSERT INTO t(x) VALUES(?1)",
                                         "SELECT count(*), sum(x) FROM t"};
static const kedge_sqlite_kind kind = {.name = "test",
                                       .application_id = 99,
                                       .version = 1,
                                       .schema = "CREATE TABLE t(x INTEGER PRIMARY KEY)",
                                       .statements = statements,
                                       .statement_count = 2};

typedef struct crowd {
    world around;
    char path[128];
    kedge_sqlite_writer writer;
    atomic_int next;
    atomic_bool leader_runs;
    atomic_int wrong;
    bool breaks; /* a follower ends the whole transaction */
    size_t followers;
    kedge_status ends[FOLLOWERS]; /* of those that come one after the other */
} crowd;

static int start(void **state)
{
    static crowd self;
    memset(&self, 0, sizeof self);
    self.followers = FOLLOWERS;
    world_make(&self.around, &kedge_allocator_default);
    world_path(&self.around, "writer.db", self.path);
    *state = &self;
    return kedge_sqlite_writer_open(&self.writer, self.path, &kind, NULL) == KEDGE_OK ? 0 : -1;
}

static int end(void **state)
{
    crowd *self = *state;
    kedge_sqlite_writer_close(&self->writer);
    world_end(&self->around);
    return 0;
}

static kedge_status insert(kedge_sqlite_connection *connection, int64_t number, kedge_error *error)
{
    sqlite3_stmt *statement;
    kedge_status status = kedge_sqlite_statement(connection, INSERT, &statement, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(statement, 1, number);
    return kedge_sqlite_run(connection, statement, error);
}

static void assert_rows(crowd *self, int64_t count, int64_t sum)
{
    sqlite3_stmt *statement;
    kedge_sqlite_connection *connection = &self->writer.connection;
    assert_ok(kedge_sqlite_statement(connection, COUNT, &statement, NULL));
    assert_ok(kedge_sqlite_step(connection, statement, NULL));
    assert_int_equal(sqlite3_column_int64(statement, 0), count);
    assert_int_equal(sqlite3_column_int64(statement, 1), sum);
    kedge_sqlite_reset(statement);
}

static void wait_until_so_many_wait(crowd *self, size_t count)
{
    for (bool all = false; !all; sched_yield()) {
        pthread_mutex_lock(&self->writer.mutex);
        all = self->writer.waiting_count == count;
        pthread_mutex_unlock(&self->writer.mutex);
    }
}

/* The leader's own work lasts until all the others wait, so that they become one batch. */
static kedge_status wait_for_the_others(kedge_sqlite_connection *connection, void *argument,
                                        kedge_error *error)
{
    crowd *self = argument;
    atomic_store(&self->leader_runs, true);
    wait_until_so_many_wait(self, self->followers);
    return insert(connection, 1000, error);
}

typedef struct follower {
    crowd *self;
    int number;
} follower;

/* Every odd work writes and then fails. */
static kedge_status insert_or_fail(kedge_sqlite_connection *connection, void *argument,
                                   kedge_error *error)
{
    follower *me = argument;
    kedge_status status = insert(connection, me->number, error);
    if (status != KEDGE_OK) return status;
    if (me->self->breaks && me->number == 6) {
        sqlite3_exec(connection->handle, "ROLLBACK", NULL, NULL, NULL);
        return kedge_fail(error, KEDGE_DISK_FULL, "disk-full", "as SQLite does");
    }
    return me->number % 2 == 0
               ? KEDGE_OK
               : kedge_fail(error, KEDGE_CONFLICT, "odd", "the number is %d", me->number);
}

static void *lead_or_follow(void *argument)
{
    crowd *self = argument;
    follower me = {self, atomic_fetch_add(&self->next, 1)};
    kedge_error error = {0};
    if (me.number == FOLLOWERS) {
        if (kedge_sqlite_write(&self->writer, wait_for_the_others, self, &error) != KEDGE_OK)
            atomic_fetch_add(&self->wrong, 1);
        return NULL;
    }
    kedge_status expected = me.number % 2 == 0 ? KEDGE_OK : KEDGE_CONFLICT;
    while (!atomic_load(&self->leader_runs))
        sched_yield();
    kedge_status status = kedge_sqlite_write(&self->writer, insert_or_fail, &me, &error);
    bool right = status == expected && error.status == expected;
    if (self->breaks) right = status == KEDGE_CONFLICT || error.status == status;
    if (self->breaks && status == KEDGE_OK) right = false;
    if (!right) atomic_fetch_add(&self->wrong, 1);
    return NULL;
}

static void test_one_commit_serves_all_that_wait_and_each_has_its_own_end(void **state)
{
    crowd *self = *state;
    world_run_threads(lead_or_follow, self, FOLLOWERS + 1);
    assert_int_equal(atomic_load(&self->wrong), 0);
    assert_int_equal(self->writer.batch_count, 2);
    assert_rows(self, 1 + FOLLOWERS / 2, 1000 + 0 + 2 + 4 + 6);
}

static void test_when_the_transaction_is_lost_no_work_of_the_batch_succeeded(void **state)
{
    crowd *self = *state;
    self->breaks = true;
    world_run_threads(lead_or_follow, self, FOLLOWERS + 1);
    assert_int_equal(atomic_load(&self->wrong), 0);
    assert_int_equal(self->writer.batch_count, 2);
    assert_rows(self, 1, 1000);
    follower later = {self, 2};
    assert_ok(kedge_sqlite_write(&self->writer, insert_or_fail, &later, NULL));
    assert_rows(self, 2, 1002);
}

/* The first one inserts, the second one finds that it has, the third one loses the transaction. */
static kedge_status insert_if_absent(kedge_sqlite_connection *connection, void *argument,
                                     kedge_error *error)
{
    follower *me = argument;
    sqlite3_stmt *statement;
    if (me->number == 2) {
        sqlite3_exec(connection->handle, "ROLLBACK", NULL, NULL, NULL);
        return kedge_fail(error, KEDGE_DISK_FULL, "disk-full", "as SQLite does");
    }
    kedge_status status = kedge_sqlite_statement(connection, COUNT, &statement, error);
    if (status == KEDGE_OK) status = kedge_sqlite_step(connection, statement, error);
    if (status != KEDGE_OK) return status;
    bool taken = sqlite3_column_int64(statement, 0) > 1;
    kedge_sqlite_reset(statement);
    return taken ? kedge_fail(error, KEDGE_CONFLICT, "taken", "another one has inserted")
                 : insert(connection, 1, error);
}

static void *lead_or_follow_in_turn(void *argument)
{
    crowd *self = argument;
    follower me = {self, atomic_fetch_add(&self->next, 1)};
    if (me.number == (int)self->followers) {
        assert_ok(kedge_sqlite_write(&self->writer, wait_for_the_others, self, NULL));
        return NULL;
    }
    while (!atomic_load(&self->leader_runs))
        sched_yield();
    wait_until_so_many_wait(self, (size_t)me.number);
    self->ends[me.number] = kedge_sqlite_write(&self->writer, insert_if_absent, &me, NULL);
    return NULL;
}

static void test_a_conflict_with_a_write_of_a_lost_transaction_is_none(void **state)
{
    crowd *self = *state;
    self->followers = 3;
    world_run_threads(lead_or_follow_in_turn, self, self->followers + 1);
    assert_int_equal(self->writer.batch_count, 2);
    assert_rows(self, 1, 1000);
    for (size_t i = 0; i < self->followers; i++)
        assert_int_equal(self->ends[i], KEDGE_DISK_FULL);
}

static void test_a_writer_of_another_connection_is_waited_for(void **state)
{
    crowd *self = *state;
    kedge_sqlite_connection other;
    kedge_error error = {0};
    assert_ok(kedge_sqlite_open(&other, self->path, &kind, &error));
    assert_int_equal(sqlite3_exec(other.handle, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_busy_timeout(self->writer.connection.handle, 1);
    follower me = {self, 2};
    assert_status(kedge_sqlite_write(&self->writer, insert_or_fail, &me, &error), KEDGE_BUSY);
    assert_int_equal(sqlite3_exec(other.handle, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_ok(kedge_sqlite_write(&self->writer, insert_or_fail, &me, &error));
    assert_rows(self, 1, 2);
    kedge_sqlite_close(&other);
}

#define apart(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        apart(test_one_commit_serves_all_that_wait_and_each_has_its_own_end),
        apart(test_when_the_transaction_is_lost_no_work_of_the_batch_succeeded),
        apart(test_a_conflict_with_a_write_of_a_lost_transaction_is_none),
        apart(test_a_writer_of_another_connection_is_waited_for),
    };
    return cmocka_run_group_tests_name("ports: group commit", tests, NULL, NULL);
}
