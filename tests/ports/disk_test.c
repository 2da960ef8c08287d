/* The SQLite ports on a disk that fails at each of their calls in turn: an I/O error, a full disk,
 * a torn write, a process that dies, a power cut. What was acknowledged is there afterwards, what
 * failed is not, and nothing is there by half; the port works on as soon as the disk does.
 *
 * Above POINTS calls the points are spread evenly. */
#include "tests/ports/disk_subject.h"
#include "tests/support/sampling.h"

#include <sqlite3.h>
#include <string.h>

#define VFS_NAME     "kedge-ports-fault"
#define POINTS       (100 / SAMPLING_FEWER)
#define POINTS_LARGE 12

kedge_status disk_note(disk *self, kedge_status status)
{
    kedge_status expected = self->kind == FAULT_FULL ? KEDGE_DISK_FULL : KEDGE_IO;
    if (status != KEDGE_OK) self->failed++;
    if (status != KEDGE_OK && status != KEDGE_UNAVAILABLE) assert_int_equal(status, expected);
    return status;
}

/* ---- one run ---- */

static void begin(disk *self, uint64_t seed, fault_kind kind)
{
    memset(self, 0, sizeof *self);
    world_make(&self->around, &kedge_allocator_default);
    world_path(&self->around, "port.db", self->path);
    self->kind = kind;
    self->vfs = fault_vfs_new(VFS_NAME, seed);
    assert_non_null(self->vfs);
    /* The ports open the default one. */
    assert_int_equal(sqlite3_vfs_register(sqlite3_vfs_find(VFS_NAME), 1), SQLITE_OK);
}

static void end(disk *self)
{
    fault_vfs_free(self->vfs); /* it aborts when a connection was left open */
    world_end(&self->around);
}

typedef enum ending { GO_ON, DIE, LOSE_POWER } ending;

static void fail_once(const disk_subject *subject, fault_kind kind, uint64_t nth, bool sticky,
                      ending after, uint64_t *failed, uint64_t *dropped)
{
    disk self;
    begin(&self, nth, kind);
    fault_vfs_arm(self.vfs, kind, nth, sticky);
    subject->run(&self);
    if (after == GO_ON) {
        fault_vfs_arm(self.vfs, kind, 0, false);
        subject->check(&self);
        subject->close(&self);
    } else {
        fault_vfs_crash(self.vfs);
        subject->close(&self);
        fault_vfs_arm(self.vfs, kind, 0, false);
        if (after == DIE) fault_vfs_revive(self.vfs);
        if (after == LOSE_POWER) fault_vfs_power_cut(self.vfs);
    }
    subject->check(&self);
    subject->close(&self);
    *failed += self.failed > 0;
    *dropped += fault_vfs_counts(self.vfs).dropped;
    end(&self);
}

static uint64_t count_calls(const disk_subject *subject, fault_kind kind)
{
    disk self;
    begin(&self, 1, kind);
    fault_vfs_arm(self.vfs, kind, 0, false);
    subject->run(&self);
    uint64_t calls = fault_vfs_armed_calls(self.vfs);
    assert_int_equal(self.failed, 0);
    subject->check(&self);
    subject->close(&self);
    end(&self);
    return calls;
}

/* Returns in how many runs a call of the port failed. */
static uint64_t fail_each(const disk_subject *subject, fault_kind kind, bool sticky, ending after)
{
    uint64_t calls = count_calls(subject, kind), failed = 0, dropped = 0, runs = 0;
    uint64_t points = subject == &disk_large_records ? POINTS_LARGE : POINTS;
    for (uint64_t nth = 1; nth <= calls; nth += calls / points + 1, runs++)
        fail_once(subject, kind, nth, sticky, after, &failed, &dropped);
    print_message("%s: %llu runs of %llu points, %llu with failures, %llu sectors dropped\n",
                  subject->name, (unsigned long long)runs, (unsigned long long)calls,
                  (unsigned long long)failed, (unsigned long long)dropped);
    if (after == LOSE_POWER) assert_true(dropped > 0);
    return failed;
}

static void fail_all(fault_kind kind, bool sticky, ending after)
{
    assert_true(fail_each(&disk_crowd, kind, sticky, after) > 10);
    if (SAMPLING_ONLY_THREADS) return;
    assert_true(fail_each(&disk_records, kind, sticky, after) > 10);
    assert_true(fail_each(&disk_queue, kind, sticky, after) > 10);
}

/* ---- the faults ---- */

static void test_an_io_error_at_any_call_loses_nothing_and_leaves_no_halves(void **state)
{
    (void)state;
    fail_all(FAULT_IO, false, GO_ON);
}

static void test_a_disk_that_goes_away_and_comes_back_loses_nothing(void **state)
{
    (void)state;
    fail_all(FAULT_IO, true, GO_ON);
}

static void test_a_disk_that_is_full_at_any_write_loses_nothing(void **state)
{
    (void)state;
    fail_all(FAULT_FULL, false, GO_ON);
}

static void test_a_disk_that_stays_full_from_any_write_on_loses_nothing(void **state)
{
    (void)state;
    fail_all(FAULT_FULL, true, GO_ON);
}

static void test_a_torn_write_loses_nothing(void **state)
{
    (void)state;
    fail_all(FAULT_TORN_WRITE, false, GO_ON);
}

static void test_a_process_that_dies_at_any_call_loses_nothing(void **state)
{
    (void)state;
    fail_all(FAULT_IO, true, DIE);
}

static void test_a_power_cut_at_any_call_loses_nothing(void **state)
{
    (void)state;
    fail_all(FAULT_IO, true, LOSE_POWER);
}

static void test_a_disk_that_fails_while_the_log_is_copied_loses_nothing(void **state)
{
    (void)state;
    if (SAMPLING_ONLY_THREADS) skip(); /* it has one thread */
    assert_true(fail_each(&disk_large_records, FAULT_IO, false, GO_ON) > 5);
    assert_true(fail_each(&disk_large_records, FAULT_FULL, true, GO_ON) > 5);
    assert_true(fail_each(&disk_large_records, FAULT_IO, true, LOSE_POWER) > 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_io_error_at_any_call_loses_nothing_and_leaves_no_halves),
        cmocka_unit_test(test_a_disk_that_goes_away_and_comes_back_loses_nothing),
        cmocka_unit_test(test_a_disk_that_is_full_at_any_write_loses_nothing),
        cmocka_unit_test(test_a_disk_that_stays_full_from_any_write_on_loses_nothing),
        cmocka_unit_test(test_a_torn_write_loses_nothing),
        cmocka_unit_test(test_a_process_that_dies_at_any_call_loses_nothing),
        cmocka_unit_test(test_a_power_cut_at_any_call_loses_nothing),
        cmocka_unit_test(test_a_disk_that_fails_while_the_log_is_copied_loses_nothing),
    };
    return cmocka_run_group_tests_name("ports: failing disks", tests, NULL, NULL);
}
