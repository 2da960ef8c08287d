/* What the SQLite ports promise beyond the contract: what is on the disk, what they refuse to open,
 * the write-ahead log. */
#include "backend/sqlite/sqlite_ports.h"
#include "backend/sqlite/writer.h"
#include "tests/ports/world.h"
#include "tests/support/sqlite_memory.h"

#include <sqlite3.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct fixture {
    world around;
    char path[128];
    kedge_error error;
} fixture;

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    world_path(&f.around, "port.db", f.path);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    world_end(&((fixture *)*state)->around);
    return 0;
}

/* ---- short forms ---- */

static kedge_records open_records(fixture *f)
{
    kedge_records records;
    assert_ok(kedge_sqlite_records_open(&f->around.environment, f->path, &records, &f->error));
    return records;
}

static kedge_status open_status(fixture *f)
{
    kedge_records records;
    return kedge_sqlite_records_open(&f->around.environment, f->path, &records, &f->error);
}

static kedge_status put(const kedge_records *records, const char *sort, size_t size)
{
    static char bytes[400000];
    kedge_attribute attribute = {"b", KEDGE_ATTRIBUTE_BINARY, {bytes, size}, 0};
    kedge_record_write write = {
        .record = {{KEDGE_BYTES("p"), kedge_bytes_of(sort)}, &attribute, 1}};
    return records->vtable->write(records->self, &write, NULL);
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *handle;
    assert_int_equal(sqlite3_open(path, &handle), SQLITE_OK);
    assert_int_equal(sqlite3_exec(handle, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

static int64_t file_size(const char *path, const char *suffix)
{
    char name[160];
    struct stat about;
    snprintf(name, sizeof name, "%s%s", path, suffix);
    return stat(name, &about) == 0 ? (int64_t)about.st_size : -1;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* ---- opening ---- */

static void test_records_are_there_after_reopening(void **state)
{
    fixture *f = *state;
    kedge_records records = open_records(f);
    assert_ok(put(&records, "s", 100));
    records.vtable->close(records.self);
    records = open_records(f);
    kedge_record_key key = {KEDGE_BYTES("p"), KEDGE_BYTES("s")};
    kedge_record_set set = {0};
    assert_ok(records.vtable->get(records.self, &key, true, &set, &f->error));
    assert_int_equal(set.records[0].attributes[0].bytes.size, 100);
    kedge_record_set_free(&set);
    records.vtable->close(records.self);
}

static void test_messages_receipts_and_deduplication_outlive_a_reopening(void **state)
{
    fixture *f = *state;
    kedge_queue queue;
    kedge_queue_batch batch = {0}, again = {0};
    kedge_bytes text = KEDGE_BYTES("x");
    const kedge_environment *environment = &f->around.environment;
    assert_ok(kedge_sqlite_queue_open(environment, f->path, 3, &queue, &f->error));
    assert_ok(queue.vtable->send(queue.self, text, text, text, text, &f->error));
    assert_ok(queue.vtable->receive(queue.self, 1, 1000, 0, NULL, &batch, &f->error));
    queue.vtable->close(queue.self);
    assert_ok(kedge_sqlite_queue_open(environment, f->path, 3, &queue, &f->error));
    assert_ok(queue.vtable->receive(queue.self, 1, 1000, 0, NULL, &again, &f->error));
    assert_int_equal(again.count, 0);
    assert_ok(queue.vtable->done(queue.self, batch.messages[0].receipt, &f->error));
    assert_ok(queue.vtable->send(queue.self, text, text, text, text, &f->error));
    assert_ok(queue.vtable->receive(queue.self, 1, 1000, 0, NULL, &again, &f->error));
    assert_int_equal(again.count, 0);
    kedge_queue_batch_free(&batch);
    queue.vtable->close(queue.self);
}

static void test_a_file_that_is_no_database_is_refused_and_kept(void **state)
{
    fixture *f = *state;
    const char *text = "This is a letter, and has been one for a long time. It is not short.\n"
                       "It is longer than the first hundred bytes that tell a database.\n";
    write_file(f->path, text);
    assert_status(open_status(f), KEDGE_NOT_A_DATABASE);
    assert_non_null(strstr(f->error.message, f->path));
    assert_int_equal(file_size(f->path, ""), strlen(text));
}

static void test_the_database_of_another_application_is_refused_and_kept(void **state)
{
    fixture *f = *state;
    execute(f->path, "CREATE TABLE theirs(x)");
    int64_t size = file_size(f->path, "");
    assert_status(open_status(f), KEDGE_NOT_A_DATABASE);
    assert_non_null(strstr(f->error.message, f->path));
    assert_int_equal(file_size(f->path, ""), size);
    assert_int_equal(file_size(f->path, "-wal"), -1);
    execute(f->path, "PRAGMA application_id = 77");
    assert_status(open_status(f), KEDGE_NOT_A_DATABASE);
}

/* ---- without memory ---- */

/* In UTF-16 every text that SQLite gives needs memory. */
static void test_an_opening_survives_every_failed_allocation_of_sqlite(void **state)
{
    fixture *f = *state;
    bool opened = false;
    int failed = 0;
    execute(f->path, "PRAGMA encoding = 'UTF-16'; CREATE TABLE t(a); DROP TABLE t");
    for (uint64_t nth = 1; !opened; nth++) {
        kedge_records records;
        sqlite_memory_fail_at(nth);
        kedge_status status =
            kedge_sqlite_records_open(&f->around.environment, f->path, &records, &f->error);
        opened = status == KEDGE_OK && sqlite_memory_calls() < nth;
        if (status == KEDGE_OK)
            records.vtable->close(records.self);
        else
            assert_status(status, KEDGE_NO_MEMORY);
        failed += status != KEDGE_OK;
    }
    sqlite_memory_fail_at(0);
    assert_true(failed > 10);
}

static void test_a_copy_without_memory_is_not_damaged(void **state)
{
    fixture *f = *state;
    char copy[128];
    bool copied = false;
    uint64_t nth = 1;
    world_path(&f->around, "copy.db", copy);
    execute(f->path, "PRAGMA encoding = 'UTF-16'; CREATE TABLE t(a); DROP TABLE t");
    kedge_records records = open_records(f);
    for (int i = 0; i < 30; i++) {
        char sort[8];
        snprintf(sort, sizeof sort, "%d", i);
        assert_ok(put(&records, sort, 20000));
    }
    records.vtable->close(records.self);
    for (; !copied; nth++) {
        sqlite_memory_fail_at(nth);
        kedge_status status = kedge_sqlite_copy(f->path, copy, &f->error);
        copied = status == KEDGE_OK && sqlite_memory_calls() < nth;
        /* SQLite's check does not always say why it could not read a page. */
        if (status == KEDGE_IO)
            assert_non_null(strstr(f->error.message, "failed to get page"));
        else if (status != KEDGE_OK)
            assert_status(status, KEDGE_NO_MEMORY);
    }
    sqlite_memory_fail_at(0);
    assert_true(nth > 10);
}

/* ---- two processes ---- */

/* Another process makes the database when a statement with this word begins; NULL: it did. */
static const char *made_at;
static fixture *made_in;

static int make_elsewhere(unsigned kind, void *context, void *statement, void *sql)
{
    kedge_records records;
    (void)kind, (void)context, (void)statement;
    if (made_at == NULL || strstr(sql, made_at) == NULL) return 0;
    made_at = NULL;
    records = open_records(made_in);
    assert_ok(put(&records, "a", 10));
    records.vtable->close(records.self);
    return 0;
}

static int watch(sqlite3 *handle, char **message, const struct sqlite3_api_routines *routines)
{
    (void)message, (void)routines;
    return sqlite3_trace_v2(handle, SQLITE_TRACE_STMT, make_elsewhere, NULL);
}

static void test_a_database_that_another_process_makes_at_the_same_time_is_ours(void **state)
{
    static const char *const words[] = {"sqlite_schema", "user_version", "application_id",
                                        "journal_mode", "BEGIN IMMEDIATE"};
    made_in = *state;
    assert_int_equal(sqlite3_auto_extension((void (*)(void))watch), SQLITE_OK);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        char name[16];
        snprintf(name, sizeof name, "%zu.db", i);
        world_path(&made_in->around, name, made_in->path);
        made_at = words[i];
        kedge_records records = open_records(made_in);
        assert_null(made_at);
        assert_ok(put(&records, "b", 10));
        records.vtable->close(records.self);
    }
    sqlite3_reset_auto_extension();
}

static void test_a_queue_is_not_opened_as_records(void **state)
{
    fixture *f = *state;
    kedge_queue queue;
    assert_ok(kedge_sqlite_queue_open(&f->around.environment, f->path, 3, &queue, &f->error));
    queue.vtable->close(queue.self);
    assert_status(open_status(f), KEDGE_NOT_A_DATABASE);
}

/* What version 1 of the queue was: without the groups. */
static const char first_queue[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA application_id = 1262768469;"
    "PRAGMA user_version = 1;"
    "CREATE TABLE message(id INTEGER PRIMARY KEY AUTOINCREMENT, group_id BLOB NOT NULL,"
    "  sent_ms INTEGER NOT NULL, receive_count INTEGER NOT NULL DEFAULT 0,"
    "  changed_ms INTEGER NOT NULL DEFAULT 0, visible_ms INTEGER NOT NULL DEFAULT 0,"
    "  dead INTEGER NOT NULL DEFAULT 0, body BLOB NOT NULL);"
    "CREATE INDEX message_waiting ON message(id, group_id) WHERE dead = 0;"
    "CREATE INDEX message_received ON message(visible_ms, changed_ms, group_id)"
    "  WHERE dead = 0 AND receive_count > 0;"
    "CREATE INDEX message_dead ON message(id) WHERE dead = 1;"
    "CREATE TABLE deduplication(name BLOB PRIMARY KEY, sent_ms INTEGER NOT NULL) WITHOUT ROWID;"
    "CREATE INDEX deduplication_sent ON deduplication(sent_ms);"
    "INSERT INTO message(group_id, sent_ms, receive_count, changed_ms, visible_ms, dead, body)"
    "  VALUES(X'67', 1, 3, 5, 5, 1, X'31'), (X'67', 1, 1, 1700000000000, 1700000001000, 0, X'32'),"
    "  (X'67', 1, 0, 0, 0, 0, X'33'), (X'68', 1, 1, 5, 5, 0, X'34'), (X'68', 1, 0, 0, 0, 0, "
    "X'35');";

static void assert_received(const kedge_queue *queue, const char *expected)
{
    kedge_queue_batch batch = {0};
    char seen[16] = "";
    assert_ok(queue->vtable->receive(queue->self, 10, 60000, 0, NULL, &batch, NULL));
    for (size_t i = 0; i < batch.count; i++)
        seen[i] = batch.messages[i].body.data[0];
    assert_string_equal(seen, expected);
    kedge_queue_batch_free(&batch);
}

static void test_a_queue_of_the_first_version_is_upgraded(void **state)
{
    fixture *f = *state;
    kedge_queue queue;
    const kedge_environment *environment = &f->around.environment;
    execute(f->path, first_queue);
    assert_ok(kedge_sqlite_queue_open(environment, f->path, 3, &queue, &f->error));
    assert_received(&queue, "45");
    atomic_fetch_add(&f->around.now_ms, 1000);
    assert_received(&queue, "23");
    queue.vtable->close(queue.self);
    assert_ok(kedge_sqlite_queue_open(environment, f->path, 3, &queue, &f->error));
    assert_received(&queue, "");
    kedge_queue_batch dead = {0};
    assert_ok(queue.vtable->dead_letters(queue.self, 10, &dead, &f->error));
    assert_int_equal(dead.count, 1);
    kedge_queue_batch_free(&dead);
    queue.vtable->close(queue.self);
}

/* What version 1 of the records was: without the stream. */
static const char first_records[] =
    "PRAGMA journal_mode = WAL;"
    "PRAGMA application_id = 1262768707;"
    "PRAGMA user_version = 1;"
    "CREATE TABLE record(partition BLOB NOT NULL, sort BLOB NOT NULL, inverted TEXT,"
    "  attributes BLOB NOT NULL, PRIMARY KEY(partition, sort)) WITHOUT ROWID;"
    "CREATE INDEX record_inverted ON record(inverted, partition, sort)"
    "  WHERE inverted IS NOT NULL;"
    "INSERT INTO record VALUES(X'70', X'61', NULL, X'0100');";

static void test_records_of_the_first_version_are_upgraded(void **state)
{
    fixture *f = *state;
    kedge_record_set set = {0};
    kedge_record_key key = {KEDGE_BYTES("p"), KEDGE_BYTES("a")};
    kedge_stream_batch batch = {0};
    kedge_stream stream;
    execute(f->path, first_records);
    kedge_records records = open_records(f);
    assert_ok(records.vtable->get(records.self, &key, true, &set, &f->error));
    assert_int_equal(set.records[0].attribute_count, 0);
    kedge_record_set_free(&set);
    const kedge_sqlite_stream_options options = {0};
    assert_ok(kedge_sqlite_stream_open(&records, &options, &stream, &f->error));
    kedge_record_write removal = {.kind = KEDGE_WRITE_DELETE, .record = {.key = key}};
    assert_ok(records.vtable->write(records.self, &removal, &f->error));
    kedge_stream_query query = {.shard = "shard-00000000000000000000", .limit = 10};
    assert_ok(stream.vtable->read(stream.self, &query, &batch, &f->error));
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.changes[0].kind, KEDGE_STREAM_REMOVE);
    kedge_stream_batch_free(&batch);
    records.vtable->close(records.self);
}

static void test_a_newer_schema_is_refused(void **state)
{
    fixture *f = *state;
    kedge_records records = open_records(f);
    records.vtable->close(records.self);
    execute(f->path, "PRAGMA user_version = 3");
    assert_status(open_status(f), KEDGE_NEWER_DATABASE);
    assert_non_null(strstr(f->error.message, f->path));
    assert_non_null(strstr(f->error.message, "version 3"));
}

static void test_a_path_that_cannot_be_opened_is_named(void **state)
{
    fixture *f = *state;
    world_path(&f->around, "no/such/folder/port.db", f->path);
    assert_status(open_status(f), KEDGE_IO);
    assert_non_null(strstr(f->error.message, f->path));
    f->path[0] = '\0';
    assert_status(open_status(f), KEDGE_INVALID_ARGUMENT);
}

static void test_damaged_attributes_are_corrupt_and_harm_no_other_record(void **state)
{
    fixture *f = *state;
    kedge_records records = open_records(f);
    assert_ok(put(&records, "a", 10));
    assert_ok(put(&records, "b", 10));
    records.vtable->close(records.self);
    static const char *const damages[] = {"x''",
                                          "x'00'",
                                          "x'0101'",
                                          "x'01010162'",
                                          "x'0121'",
                                          "x'01ffffffffffffffffffff'",
                                          "x'010101620003'",
                                          "x'0101016200010562'",
                                          "zeroblob(100)",
                                          "attributes || x'00'"};
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        char sql[160];
        kedge_record_set set = {0};
        snprintf(sql, sizeof sql,
                 "UPDATE record SET attributes = CAST(%s AS BLOB) "
                 "WHERE sort = x'61'",
                 damages[i]);
        execute(f->path, sql);
        records = open_records(f);
        kedge_record_key key = {KEDGE_BYTES("p"), KEDGE_BYTES("a")};
        assert_status(records.vtable->get(records.self, &key, true, &set, &f->error),
                      KEDGE_CORRUPT);
        key.sort = KEDGE_BYTES("b");
        assert_ok(records.vtable->get(records.self, &key, true, &set, &f->error));
        kedge_record_set_free(&set);
        records.vtable->close(records.self);
    }
}

/* ---- the write-ahead log ---- */

static void test_closing_does_not_checkpoint(void **state)
{
    fixture *f = *state;
    kedge_records records = open_records(f);
    assert_ok(put(&records, "s", 100000));
    records.vtable->close(records.self);
    assert_true(file_size(f->path, "-wal") > 100000);
    assert_true(file_size(f->path, "") < 100000);
}

static void test_the_log_stays_bounded_however_much_is_written(void **state)
{
    fixture *f = *state;
    kedge_records records = open_records(f);
    for (int i = 0; i < 300; i++) {
        char sort[8];
        snprintf(sort, sizeof sort, "%03d", i % 20);
        assert_ok(put(&records, sort, 390000));
    }
    records.vtable->close(records.self);
    int64_t bound = (int64_t)4200 * (KEDGE_SQLITE_CHECKPOINT_PAGES + 400);
    assert_in_range(file_size(f->path, "-wal"), 1, (uintmax_t)bound);
    assert_true(file_size(f->path, "") > (int64_t)19 * 390000);
}

#define apart(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    sqlite_memory_watch();
    const struct CMUnitTest tests[] = {
        apart(test_records_are_there_after_reopening),
        apart(test_messages_receipts_and_deduplication_outlive_a_reopening),
        apart(test_a_file_that_is_no_database_is_refused_and_kept),
        apart(test_the_database_of_another_application_is_refused_and_kept),
        apart(test_an_opening_survives_every_failed_allocation_of_sqlite),
        apart(test_a_copy_without_memory_is_not_damaged),
        apart(test_a_database_that_another_process_makes_at_the_same_time_is_ours),
        apart(test_a_queue_is_not_opened_as_records),
        apart(test_a_queue_of_the_first_version_is_upgraded),
        apart(test_records_of_the_first_version_are_upgraded),
        apart(test_a_newer_schema_is_refused),
        apart(test_a_path_that_cannot_be_opened_is_named),
        apart(test_damaged_attributes_are_corrupt_and_harm_no_other_record),
        apart(test_closing_does_not_checkpoint),
        apart(test_the_log_stays_bounded_however_much_is_written),
    };
    return cmocka_run_group_tests_name("ports: SQLite", tests, NULL, NULL);
}
