/* Backups of a data folder and restores: what is committed meanwhile, and what a crash leaves.
 *
 * The linker gives the program's own calls to the file system to the functions __wrap_… here, so
 * that a test can commit, or end the process, at each of them in turn. SQLite's calls are not among
 * them: what it writes has another name until it is whole. */
#include "tests/backend/api_world.h"

#include "backend/embedded/copy.h"
#include "backend/embedded/embedded.h"
#include "backend/sqlite/sqlite_ports.h"
#include "tests/support/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS_MAX 400 /* of a backup or a restore here */
#define KILLED    9

static kedge_environment environment;

/* ---- the calls ---- */

static struct {
    int count;
    int commit_at; /* the call in front of which `live` gets a commit; 0: none */
    int end_at;    /* … the process ends; 0: never */
    kedge_embedded *live;
    int commits; /* in it */
    bool refuse_links;
    bool quiet; /* the calls of a commit are not counted */
} calls;

static void commit(kedge_embedded *embedded, int number);

static void count_call(void)
{
    if (calls.quiet) return;
    calls.count++;
    if (calls.count == calls.end_at) _exit(KILLED);
    if (calls.count == calls.commit_at) {
        calls.quiet = true;
        commit(calls.live, ++calls.commits);
        calls.quiet = false;
    }
}

int __real_fsync(int file);
int __real_rename(const char *from, const char *to);
int __real_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __real_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __real_mkdirat(int folder, const char *path, mode_t mode);
int __real_unlink(const char *path);
int __real_unlinkat(int folder, const char *path, int flags);
int __wrap_fsync(int file);
int __wrap_rename(const char *from, const char *to);
int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to);
int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int __wrap_mkdirat(int folder, const char *path, mode_t mode);
int __wrap_unlink(const char *path);
int __wrap_unlinkat(int folder, const char *path, int flags);

int __wrap_fsync(int file)
{
    count_call();
    return __real_fsync(file);
}

int __wrap_rename(const char *from, const char *to)
{
    count_call();
    return __real_rename(from, to);
}

int __wrap_renameat(int from_folder, const char *from, int to_folder, const char *to)
{
    count_call();
    return __real_renameat(from_folder, from, to_folder, to);
}

int __wrap_linkat(int from_folder, const char *from, int to_folder, const char *to, int flags)
{
    count_call();
    if (calls.refuse_links) {
        errno = EXDEV;
        return -1;
    }
    return __real_linkat(from_folder, from, to_folder, to, flags);
}

int __wrap_mkdirat(int folder, const char *path, mode_t mode)
{
    count_call();
    return __real_mkdirat(folder, path, mode);
}

int __wrap_unlink(const char *path)
{
    count_call();
    return __real_unlink(path);
}

int __wrap_unlinkat(int folder, const char *path, int flags)
{
    count_call();
    return __real_unlinkat(folder, path, flags);
}

/* ---- folders ---- */

static int set_up(void **state)
{
    char *folder = malloc(64);
    assert_non_null(folder);
    assert_true(temporary_folder(folder, 64, "copy"));
    environment = kedge_environment_system(NULL);
    memset(&calls, 0, sizeof calls);
    *state = folder;
    return 0;
}

static int tear_down(void **state)
{
    char command[256];
    memset(&calls, 0, sizeof calls);
    snprintf(command, sizeof command, "rm -rf '%s'", (char *)*state);
    int result = system(command);
    free(*state);
    return result;
}

static kedge_embedded *open_folder(const char *path)
{
    kedge_error error = {0};
    kedge_embedded *embedded = NULL;
    if (kedge_embedded_open(&environment, path, false, &embedded, &error) != KEDGE_OK)
        fail_msg("%s: %s", path, error.message);
    return embedded;
}

/* As a push does it: first the blob, then the record that refers to it. Every third blob has a tag
 * until its record is there. */
static void commit(kedge_embedded *embedded, int number)
{
    char blob[32], text[32], sort[16];
    kedge_blobs blobs = kedge_embedded_blobs(embedded);
    kedge_records records = kedge_embedded_records(embedded);
    kedge_blob_tag tag = {KEDGE_BYTES("kedge-discard"), KEDGE_BYTES("yes")};
    bool tagged = number % 3 == 0;
    snprintf(blob, sizeof blob, "acme/%d/blob%d", number % 4, number);
    snprintf(text, sizeof text, "text %d", number);
    snprintf(sort, sizeof sort, "%04d", number);
    assert_int_equal(blobs.vtable->put_tagged(blobs.self, kedge_bytes_of(blob),
                                              kedge_bytes_of(text), tagged ? &tag : NULL, NULL),
                     KEDGE_OK);
    const kedge_attribute attribute = {.name = "blob", .bytes = kedge_bytes_of(blob)};
    const kedge_record_write write = {
        .kind = KEDGE_WRITE_PUT,
        .record = {{KEDGE_BYTES("P"), kedge_bytes_of(sort)}, &attribute, 1}};
    assert_int_equal(records.vtable->write(records.self, &write, NULL), KEDGE_OK);
    if (tagged)
        assert_int_equal(blobs.vtable->tag(blobs.self, kedge_bytes_of(blob), tag.name,
                                           (kedge_bytes){"", 0}, NULL),
                         KEDGE_OK);
}

/* The data folder `path` with this many commits, open. */
static kedge_embedded *make_data(const char *path, int commits)
{
    kedge_embedded *embedded = open_folder(path);
    for (int number = 1; number <= commits; number++)
        commit(embedded, number);
    calls.commits = commits;
    calls.count = 0;
    return embedded;
}

/* The commits in a folder; the blob of each is there. */
static int count_commits(const char *path)
{
    kedge_record_set set = {0};
    kedge_embedded *embedded = open_folder(path);
    kedge_records records = kedge_embedded_records(embedded);
    kedge_blobs blobs = kedge_embedded_blobs(embedded);
    kedge_records_query query = {
        .partition = KEDGE_BYTES("P"), .limit = KEDGE_RECORDS_QUERY_MAX, .consistent = true};
    assert_int_equal(records.vtable->query(records.self, &query, &set, NULL), KEDGE_OK);
    for (size_t i = 0; i < set.count; i++) {
        kedge_error error = {0};
        kedge_buffer text = kedge_buffer_make(environment.allocator);
        kedge_bytes key = kedge_record_attribute(&set.records[i], "blob")->bytes;
        if (blobs.vtable->get(blobs.self, key, &text, &error) != KEDGE_OK)
            fail_msg("%s: record %zu: %s", path, i, error.message);
        assert_memory_equal(text.data, "text ", 5);
        kedge_buffer_free(&text);
    }
    int count = (int)set.count;
    kedge_record_set_free(&set);
    kedge_embedded_close(embedded);
    return count;
}

static kedge_embedded_copied back_up(const char *data, const char *backup)
{
    kedge_error error = {0};
    kedge_embedded_copied copied = {0};
    if (kedge_embedded_backup(&environment, data, backup, &copied, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    return copied;
}

static kedge_embedded_copied restore(const char *backup, const char *data)
{
    kedge_error error = {0};
    kedge_embedded_copied copied = {0};
    if (kedge_embedded_restore(&environment, backup, data, &copied, &error) != KEDGE_OK)
        fail_msg("%s", error.message);
    return copied;
}

static kedge_status serve(const char *path, kedge_error *error)
{
    kedge_embedded *embedded = NULL;
    kedge_status status = kedge_embedded_open(&environment, path, true, &embedded, error);
    kedge_embedded_close(embedded);
    return status;
}

/* Paths below the test's folder; each call site has its own. */
#define PATH(name, number)                                                                         \
    char name[128];                                                                                \
    snprintf(name, sizeof name, "%s/" #name "%d", (char *)*state, number)

/* ---- commits meanwhile ---- */

static void
test_a_commit_at_any_moment_of_a_backup_is_in_it_with_its_blob_or_not_at_all(void **state)
{
    int with = 0, without = 0;
    for (int at = 1; at <= CALLS_MAX; at++) {
        PATH(data, at);
        PATH(backup, at);
        calls.live = make_data(data, 6);
        calls.commit_at = at;
        back_up(data, backup);
        calls.commit_at = 0;
        bool committed = calls.commits == 7;
        kedge_embedded_close(calls.live);
        int commits = count_commits(backup);
        assert_in_range(commits, 6, calls.commits);
        if (!committed) break;
        (*(commits == 6 ? &without : &with))++;
        assert_true(at < CALLS_MAX);
    }
    /* Both happened: commits before and after the copy of the records. */
    assert_true(with > 10);
    assert_true(without > 3);
}

/* ---- crashes ---- */

/* Runs it in a process of its own, which ends in front of the call `at`. False: it has no so many
 * calls, and was done. */
static bool is_killed(int at, bool restoring, const char *from, const char *to)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        kedge_embedded_copied copied;
        calls.count = 0;
        calls.end_at = at;
        kedge_status done = restoring
                                ? kedge_embedded_restore(&environment, from, to, &copied, NULL)
                                : kedge_embedded_backup(&environment, from, to, &copied, NULL);
        _exit(done == KEDGE_OK ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_true(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == KILLED);
    return WEXITSTATUS(status) == KILLED;
}

static void test_a_first_backup_that_is_cut_off_is_refused_and_completed_by_the_next(void **state)
{
    PATH(data, 0);
    int at = 1, refused = 0;
    kedge_embedded_close(make_data(data, 6));
    for (;; at++) {
        PATH(backup, at);
        PATH(restored, at);
        bool killed = is_killed(at, false, data, backup);
        kedge_error error = {0};
        kedge_embedded_copied copied;
        kedge_status status =
            kedge_embedded_restore(&environment, backup, restored, &copied, &error);
        if (status == KEDGE_OK) {
            assert_int_equal(count_commits(restored), 6);
        } else {
            refused++;
            assert_true(strcmp(error.code, "backup-unfinished") == 0 ||
                        strcmp(error.code, "not-a-backup") == 0);
            assert_int_not_equal(access(restored, F_OK), 0);
        }
        if (!killed) break;
        back_up(data, backup);
        assert_int_equal(count_commits(backup), 6);
    }
    assert_true(refused > 10);
    assert_true(at > refused);
}

static void test_a_later_backup_that_is_cut_off_leaves_a_whole_one(void **state)
{
    int at = 1, old = 0;
    for (;; at++) {
        PATH(data, at);
        PATH(backup, at);
        PATH(restored, at);
        kedge_embedded *live = make_data(data, 6);
        back_up(data, backup);
        kedge_embedded_close(open_folder(backup)); /* leaves a write-ahead log there */
        commit(live, 7);
        bool killed = is_killed(at, false, data, backup);
        kedge_embedded_close(live);
        restore(backup, restored);
        int commits = count_commits(restored);
        assert_in_range(commits, killed ? 6 : 7, 7);
        old += commits == 6;
        if (!killed) break;
    }
    assert_true(old > 10);
    assert_true(at - old > 1); /* it was killed also when it was as good as done */
}

static void test_no_server_starts_on_a_restore_that_was_cut_off_and_it_is_completed(void **state)
{
    PATH(data, 0);
    PATH(backup, 0);
    int at = 1, refused = 0;
    kedge_embedded_close(make_data(data, 6));
    back_up(data, backup);
    for (;; at++) {
        PATH(restored, at);
        bool killed = is_killed(at, true, backup, restored);
        kedge_error error = {0};
        struct stat found;
        char records[160];
        snprintf(records, sizeof records, "%s/restore-unfinished", restored);
        bool marked = stat(records, &found) == 0;
        kedge_status status = marked ? serve(restored, &error) : KEDGE_OK;
        if (marked) {
            refused++;
            assert_int_equal(status, KEDGE_NOT_A_DATABASE);
            assert_string_equal(error.code, "restore-unfinished");
        }
        snprintf(records, sizeof records, "%s/records.db", restored);
        bool whole = !marked && stat(records, &found) == 0;
        if (killed && !whole) restore(backup, restored);
        assert_int_equal(serve(restored, &error), KEDGE_OK);
        assert_int_equal(count_commits(restored), 6);
        if (!killed) break;
    }
    assert_true(refused > 10);
}

/* ---- what is in it ---- */

static void test_a_later_backup_adds_what_is_new(void **state)
{
    PATH(data, 0);
    PATH(backup, 0);
    kedge_embedded *live = make_data(data, 6);
    kedge_embedded_copied copied = back_up(data, backup);
    assert_int_equal(copied.blobs, 6);
    assert_int_equal(copied.linked, 6);
    assert_int_equal(copied.copied, 0);
    commit(live, 7);
    copied = back_up(data, backup);
    assert_int_equal(copied.blobs, 7);
    assert_int_equal(copied.bytes, 7 * strlen("text n"));
    assert_int_equal(copied.linked, 1);
    assert_int_equal(count_commits(backup), 7);
    kedge_embedded_close(live);
}

static int64_t time_of(const char *folder, const char *blob)
{
    struct stat found;
    assert_int_equal(stat(api_format("%s/blobs/%s", folder, blob), &found), 0);
    return (int64_t)found.st_mtim.tv_sec * 1000 + found.st_mtim.tv_nsec / 1000000;
}

static void test_on_another_file_system_blobs_are_copied_once_and_keep_their_times(void **state)
{
    PATH(data, 0);
    PATH(backup, 0);
    kedge_embedded *live = make_data(data, 6);
    calls.refuse_links = true;
    kedge_embedded_copied copied = back_up(data, backup);
    assert_int_equal(copied.linked, 0);
    assert_int_equal(copied.copied, 6);
    assert_int_equal(time_of(backup, "acme+/1+/blob1"), time_of(data, "acme+/1+/blob1"));
    copied = back_up(data, backup);
    assert_int_equal(copied.copied, 0);
    assert_int_equal(copied.blobs, 6);
    calls.refuse_links = false;
    assert_int_equal(count_commits(backup), 6);
    kedge_embedded_close(live);
}

static kedge_status tag_of(const char *path, const char *blob)
{
    kedge_embedded *embedded = open_folder(path);
    kedge_blobs blobs = kedge_embedded_blobs(embedded);
    kedge_buffer value = kedge_buffer_make(environment.allocator);
    kedge_status status =
        blobs.vtable->get_tag(blobs.self, kedge_bytes_of(blob), KEDGE_BYTES("t"), &value, NULL);
    kedge_buffer_free(&value);
    kedge_embedded_close(embedded);
    return status;
}

static void test_tags_are_in_a_backup_as_they_are_then(void **state)
{
    PATH(data, 0);
    PATH(backup, 0);
    kedge_embedded *live = make_data(data, 1);
    kedge_blobs blobs = kedge_embedded_blobs(live);
    kedge_bytes blob = KEDGE_BYTES("acme/1/blob1");
    assert_int_equal(blobs.vtable->tag(blobs.self, blob, KEDGE_BYTES("t"), KEDGE_BYTES("v"), NULL),
                     KEDGE_OK);
    back_up(data, backup);
    assert_int_equal(tag_of(backup, "acme/1/blob1"), KEDGE_OK);
    assert_int_equal(
        blobs.vtable->tag(blobs.self, blob, KEDGE_BYTES("t"), (kedge_bytes){"", 0}, NULL),
        KEDGE_OK);
    assert_int_equal(tag_of(backup, "acme/1/blob1"), KEDGE_OK);
    back_up(data, backup);
    assert_int_equal(tag_of(backup, "acme/1/blob1"), KEDGE_NOT_FOUND);
    kedge_embedded_close(live);
}

static void test_messages_of_the_queue_are_restored(void **state)
{
    PATH(data, 0);
    PATH(backup, 0);
    PATH(restored, 0);
    kedge_queue_batch batch = {0};
    kedge_embedded *live = make_data(data, 1);
    kedge_queue queue = kedge_embedded_queue(live);
    assert_int_equal(queue.vtable->send(queue.self, KEDGE_BYTES("o"), KEDGE_BYTES("g"),
                                        KEDGE_BYTES("1"), KEDGE_BYTES("a push"), NULL),
                     KEDGE_OK);
    back_up(data, backup);
    kedge_embedded_close(live);
    restore(backup, restored);
    live = open_folder(restored);
    queue = kedge_embedded_queue(live);
    assert_int_equal(queue.vtable->receive(queue.self, 10, 1000, 0, NULL, &batch, NULL), KEDGE_OK);
    assert_int_equal(batch.count, 1);
    assert_true(kedge_bytes_equal_text(batch.messages[0].body, "a push"));
    kedge_queue_batch_free(&batch);
    kedge_embedded_close(live);
}

/* ---- refusals ---- */

#define REFUSED(call, wanted)                                                                      \
    do {                                                                                           \
        kedge_error error = {0};                                                                   \
        kedge_embedded_copied copied;                                                              \
        assert_int_not_equal(call, KEDGE_OK);                                                      \
        assert_string_equal(error.code, wanted);                                                   \
    } while (0)
#define BACKUP(from, to)  kedge_embedded_backup(&environment, from, to, &copied, &error)
#define RESTORE(from, to) kedge_embedded_restore(&environment, from, to, &copied, &error)

static void test_folders_that_are_something_else_are_refused(void **state)
{
    PATH(data, 0);
    PATH(other, 0);
    PATH(backup, 0);
    PATH(restored, 0);
    PATH(none, 0);
    kedge_error told = {0};
    kedge_embedded_close(make_data(data, 2));
    kedge_embedded_close(make_data(other, 3));
    back_up(data, backup);
    REFUSED(BACKUP(none, restored), "not-a-data-folder");
    REFUSED(BACKUP(data, other), "not-a-backup");
    REFUSED(BACKUP(data, data), "not-a-backup");
    REFUSED(BACKUP(data, api_format("%s/blobs/backup", data)), "folder-inside");
    REFUSED(RESTORE(other, restored), "not-a-backup");
    REFUSED(RESTORE(backup, other), "folder-not-empty");
    REFUSED(RESTORE(backup, api_format("%s/new", backup)), "folder-inside");
    assert_int_equal(count_commits(other), 3);
    assert_int_equal(serve(backup, &told), KEDGE_NOT_A_DATABASE);
    assert_string_equal(told.code, "data-folder-is-backup");
}

static void test_a_folder_that_is_in_use_is_refused(void **state)
{
    PATH(data, 0);
    PATH(backup, 0);
    PATH(restored, 0);
    kedge_embedded *server = NULL;
    kedge_embedded_close(make_data(data, 2));
    back_up(data, backup);
    assert_int_equal(mkdir(restored, 0700), 0);
    int lock = open(api_format("%s/server.lock", restored), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    assert_true(lock >= 0);
    assert_int_equal(flock(lock, LOCK_EX), 0);
    REFUSED(RESTORE(backup, restored), "data-folder-in-use");
    close(lock);
    restore(backup, restored);
    /* A server on the data folder itself is in nobody's way. */
    assert_int_equal(kedge_embedded_open(&environment, restored, true, &server, NULL), KEDGE_OK);
    PATH(next, 0);
    back_up(restored, next);
    kedge_embedded_close(server);
}

static void test_a_damaged_database_does_not_replace_the_backup_of_before(void **state)
{
    PATH(data, 0);
    PATH(backup, 0);
    const char junk[64] = "junk";
    kedge_embedded_close(make_data(data, 6));
    back_up(data, backup);
    /* The file has all of it when no log stands beside it. */
    const char *records = api_format("%s/records.db", data);
    assert_int_equal(kedge_sqlite_end_log(records, NULL), KEDGE_OK);
    int file = open(records, O_WRONLY | O_CLOEXEC);
    assert_true(file >= 0);
    for (off_t page = 1; page < 4; page++)
        assert_int_equal(pwrite(file, junk, sizeof junk, page * 4096), (ssize_t)sizeof junk);
    close(file);
    REFUSED(BACKUP(data, backup), "corrupt");
    assert_int_equal(count_commits(backup), 6);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_commit_at_any_moment_of_a_backup_is_in_it_with_its_blob_or_not_at_all),
        TEST(test_a_first_backup_that_is_cut_off_is_refused_and_completed_by_the_next),
        TEST(test_a_later_backup_that_is_cut_off_leaves_a_whole_one),
        TEST(test_no_server_starts_on_a_restore_that_was_cut_off_and_it_is_completed),
        TEST(test_a_later_backup_adds_what_is_new),
        TEST(test_on_another_file_system_blobs_are_copied_once_and_keep_their_times),
        TEST(test_tags_are_in_a_backup_as_they_are_then),
        TEST(test_messages_of_the_queue_are_restored),
        TEST(test_folders_that_are_something_else_are_refused),
        TEST(test_a_folder_that_is_in_use_is_refused),
        TEST(test_a_damaged_database_does_not_replace_the_backup_of_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
