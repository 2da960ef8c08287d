/* kill -9 in the midst of writing: what a port acknowledged is there, what it did not is there
 * whole or not at all. A child writes and reports each acknowledged number over a pipe; the parent
 * kills it after a number of reports that the seed chooses, opens the port again, and looks. */
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/world.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS_MAX  25
#define DEADLINE_MS 1000
#define REPORTS_MAX 60
#define WRITTEN_MAX 4000
#define BLOB_BYTES  30000

typedef struct subject {
    const char *name;
    /* Writes numbers from `first` on, and reports each; never returns. */
    void (*write)(const char *path, int first, int pipe);
    /* Asserts that 0 … `acknowledged` - 1 are there, and returns how many there are in a row. */
    int (*check)(const char *path, int acknowledged);
} subject;

static kedge_environment environment;

static void report(int pipe, int number)
{
    if (write(pipe, &number, sizeof number) != (ssize_t)sizeof number) _exit(1);
}

/* ---- records ---- */

static kedge_record_write record_of(int number, char sort[16], kedge_attribute *attribute)
{
    snprintf(sort, 16, "%08d", number);
    *attribute = (kedge_attribute){.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = number};
    return (kedge_record_write){.record = {{KEDGE_BYTES("p"), kedge_bytes_of(sort)}, attribute, 1},
                                .condition = KEDGE_IF_ABSENT};
}

/* Two records a number, in one transaction: both or none must be there. */
static void write_records(const char *path, int first, int pipe)
{
    kedge_records records;
    if (kedge_sqlite_records_open(&environment, path, &records, NULL) != KEDGE_OK) _exit(2);
    for (int number = first; number < WRITTEN_MAX; number++) {
        char sort[16];
        kedge_attribute attribute;
        kedge_record_write writes[2];
        writes[0] = writes[1] = record_of(number, sort, &attribute);
        writes[1].record.key.partition = KEDGE_BYTES("q");
        if (records.vtable->transact(records.self, writes, 2, NULL) != KEDGE_OK) _exit(3);
        report(pipe, number);
    }
    _exit(4);
}

static int check_records(const char *path, int acknowledged)
{
    kedge_records records;
    int number = 0;
    assert_ok(kedge_sqlite_records_open(&environment, path, &records, NULL));
    for (;; number++) {
        char sort[16];
        kedge_attribute attribute;
        kedge_record_set set = {0};
        kedge_record_write write = record_of(number, sort, &attribute);
        kedge_record_key keys[2] = {write.record.key, write.record.key};
        keys[1].partition = KEDGE_BYTES("q");
        assert_ok(records.vtable->batch_get(records.self, keys, 2, true, &set, NULL));
        size_t count = set.count;
        kedge_record_set_free(&set);
        if (count == 0) break;
        assert_int_equal(count, 2);
    }
    records.vtable->close(records.self);
    assert_true(number >= acknowledged);
    return number;
}

/* ---- queue ---- */

static void write_messages(const char *path, int first, int pipe)
{
    kedge_queue queue;
    if (kedge_sqlite_queue_open(&environment, path, 1000, &queue, NULL) != KEDGE_OK) _exit(2);
    for (int number = first; number < WRITTEN_MAX; number++) {
        char body[16];
        snprintf(body, sizeof body, "%08d", number);
        kedge_bytes bytes = kedge_bytes_of(body);
        if (queue.vtable->send(queue.self, KEDGE_BYTES("o"), KEDGE_BYTES("g"), bytes, bytes,
                               NULL) != KEDGE_OK)
            _exit(3);
        report(pipe, number);
    }
    _exit(4);
}

/* The messages stay: they are received for no time at all, in steps of ten. */
static int check_messages(const char *path, int acknowledged)
{
    kedge_queue queue;
    int count = 0;
    assert_ok(kedge_sqlite_queue_open(&environment, path, 1000, &queue, NULL));
    for (bool more = true; more;) {
        kedge_queue_batch batch = {0};
        assert_ok(queue.vtable->receive(queue.self, 10, 0, 0, NULL, &batch, NULL));
        more = batch.count > 0;
        for (size_t i = 0; i < batch.count; i++) {
            char body[16];
            snprintf(body, sizeof body, "%08d", count++);
            assert_bytes(batch.messages[i].body, body);
            assert_ok(queue.vtable->done(queue.self, batch.messages[i].receipt, NULL));
        }
        kedge_queue_batch_free(&batch);
    }
    queue.vtable->close(queue.self);
    assert_true(count >= acknowledged);
    return count;
}

/* ---- blobs ---- */

static kedge_bytes blob_of(int number, char key[48], char bytes[BLOB_BYTES])
{
    int size = snprintf(key, 48, "Folder-%d/%d", number / 10, number);
    memset(bytes, 'a' + number % 26, BLOB_BYTES);
    return (kedge_bytes){key, (size_t)size};
}

static void write_blobs(const char *path, int first, int pipe)
{
    kedge_blobs blobs;
    static char bytes[BLOB_BYTES];
    char key[48];
    if (kedge_folder_blobs_open(&environment, path, &blobs, NULL) != KEDGE_OK) _exit(2);
    for (int number = first; number < WRITTEN_MAX; number++) {
        kedge_bytes at = blob_of(number, key, bytes);
        kedge_bytes content = {bytes, sizeof bytes};
        if (blobs.vtable->put_if_absent(blobs.self, at, content, NULL) != KEDGE_OK) _exit(3);
        report(pipe, number);
    }
    _exit(4);
}

static int check_blobs(const char *path, int acknowledged)
{
    kedge_blobs blobs;
    static char bytes[BLOB_BYTES];
    char key[48];
    int number = 0;
    assert_ok(kedge_folder_blobs_open(&environment, path, &blobs, NULL));
    for (;; number++) {
        kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
        kedge_bytes at = blob_of(number, key, bytes);
        kedge_status status = blobs.vtable->get(blobs.self, at, &out, NULL);
        if (status == KEDGE_NOT_FOUND) break;
        assert_ok(status);
        assert_true(
            kedge_bytes_equal(kedge_buffer_bytes(&out), (kedge_bytes){bytes, sizeof bytes}));
        kedge_buffer_free(&out);
    }
    blobs.vtable->close(blobs.self);
    assert_true(number >= acknowledged);
    return number;
}

/* ---- the loop ---- */

static int64_t milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads reports until `wanted` have come, kills, and reads what was still under way. */
static int read_and_kill(int pipe, pid_t child, int wanted, int next)
{
    int number;
    for (int i = 0;; i++) {
        if (i == wanted) assert_int_equal(kill(child, SIGKILL), 0);
        if (read(pipe, &number, sizeof number) != (ssize_t)sizeof number) break;
        assert_int_equal(number, next);
        next++;
    }
    return next;
}

static int run_round(const subject *tested, const char *path, int next, int wanted)
{
    int pipes[2], status;
    assert_int_equal(pipe(pipes), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        close(pipes[0]);
        tested->write(path, next, pipes[1]);
    }
    close(pipes[1]);
    int acknowledged = read_and_kill(pipes[0], child, wanted, next);
    close(pipes[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return acknowledged;
}

/* A queue's messages are taken away by the check, so that each of its rounds has a new file. */
static void kill_in_rounds(const subject *tested, bool anew)
{
    world around;
    world_make(&around, &kedge_allocator_default);
    environment = kedge_environment_system(NULL);
    unsigned seed = 20240229;
    int64_t deadline = milliseconds() + DEADLINE_MS;
    int rounds = 0, next = 0;
    for (; rounds < ROUNDS_MAX && (rounds < 3 || milliseconds() < deadline); rounds++) {
        char path[128], name[32];
        snprintf(name, sizeof name, "port-%d", anew ? rounds : 0);
        world_path(&around, name, path);
        seed = seed * 1103515245u + 12345u;
        int wanted = (int)(seed >> 16) % REPORTS_MAX;
        int acknowledged = run_round(tested, path, anew ? 0 : next, wanted);
        next = tested->check(path, acknowledged);
    }
    print_message("%s: killed %d times\n", tested->name, rounds);
    world_end(&around);
}

static void test_records_outlive_a_kill(void **state)
{
    (void)state;
    kill_in_rounds(&(subject){"records", write_records, check_records}, false);
}

static void test_messages_outlive_a_kill(void **state)
{
    (void)state;
    kill_in_rounds(&(subject){"messages", write_messages, check_messages}, true);
}

static void test_blobs_outlive_a_kill_and_are_whole(void **state)
{
    (void)state;
    kill_in_rounds(&(subject){"blobs", write_blobs, check_blobs}, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_outlive_a_kill),
        cmocka_unit_test(test_messages_outlive_a_kill),
        cmocka_unit_test(test_blobs_outlive_a_kill_and_are_whole),
    };
    return cmocka_run_group_tests_name("ports: kill -9", tests, NULL, NULL);
}
