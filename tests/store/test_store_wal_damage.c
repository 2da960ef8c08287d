/* A WAL of the outbox that is damaged in the middle is told, and the edits after the damage are
 * saved. */
#include "sdk/store/repair.h"
#include "tests/store/fixture.h"
#include "tests/support/fault_vfs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define EDITS            40
#define WAL_HEADER_BYTES 32
#define FRAME_BYTES      (24 + 4096)

typedef struct scene {
    fixture f;
    char whole[160]; /* the folder as it was before any damage */
    char saved[160];
    char wal[200];
} scene;

/* EDITS edits that have never left, in the WALs. */
static void make_edits(scene *s)
{
    char args[256];
    fixture_open(&s->f);
    for (int i = 1; i <= EDITS; i++) {
        (void)snprintf(args, sizeof args, "{\"id\":\"e%d\",\"by\":1,\"note\":\"%0150d\"}", i, i);
        assert_int_equal(fixture_mutate(&s->f, "add", args), i);
    }
    fixture_close(&s->f);
}

static int setup(void **state)
{
    scene *s = malloc(sizeof *s);
    fixture_begin(&s->f);
    (void)snprintf(s->whole, sizeof s->whole, "%s/whole", s->f.folder);
    (void)snprintf(s->saved, sizeof s->saved, "%s/saved", s->f.folder);
    (void)snprintf(s->wal, sizeof s->wal, "%s/outbox.db-wal", s->f.path);
    make_edits(s);
    fixture_copy_tree(s->f.path, s->whole);
    *state = s;
    return 0;
}

static int teardown(void **state)
{
    scene *s = *state;
    fixture_end(&s->f);
    free(s);
    return 0;
}

static void begin_anew(scene *s)
{
    fixture_remove_tree(s->saved);
    fixture_remove_tree(s->f.path);
    fixture_copy_tree(s->whole, s->f.path);
}

static void flip_bit(const char *path, long offset)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_not_equal(fputc(byte ^ 4, file), EOF);
    assert_int_equal(fclose(file), 0);
}

/* Behind the last frame that has the salts of the header. */
static long wal_end(const char *path)
{
    unsigned char header[WAL_HEADER_BYTES], frame[24];
    long end = WAL_HEADER_BYTES;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(header, 1, sizeof header, file), sizeof header);
    while (fseek(file, end, SEEK_SET) == 0 && fread(frame, 1, sizeof frame, file) == sizeof frame &&
           memcmp(frame + 8, header + 16, 8) == 0)
        end += FRAME_BYTES;
    assert_int_equal(fclose(file), 0);
    return end;
}

/* How many of the edits in a folder with a damaged WAL are read as they were. */
static int64_t count_saved(scene *s, bool *repaired)
{
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    kedge_store *store = NULL;
    *repaired = fixture_try_open(&s->f, s->f.path, &store) == KEDGE_CORRUPT;
    if (*repaired) {
        assert_string_equal(s->f.error.code, "outbox-damaged");
        assert_int_equal(
            kedge_store_repair(&s->f.environment, s->f.path, s->saved, &report, &s->f.error),
            KEDGE_OK);
        assert_int_equal(report.pending + report.damaged + report.missing, EDITS);
        return report.pending;
    }
    s->f.store = store;
    kedge_store_position position = fixture_position(&s->f);
    assert_int_equal(position.pending + position.unrecovered, EDITS);
    fixture_close(&s->f);
    return position.pending;
}

/* SQLite reads a WAL up to the damage. What stands after it was acknowledged, and is still there,
 * but for what stood in the last commit. */
static void test_a_bit_that_flips_in_the_wal_takes_no_edit_behind_it_away(void **state)
{
    scene *s = *state;
    struct stat facts;
    int flips = 0, repairs = 0, lost = 0;
    assert_int_equal(stat(s->wal, &facts), 0);
    for (long at = WAL_HEADER_BYTES; at < facts.st_size; at += 2999) {
        bool repaired;
        begin_anew(s);
        flip_bit(s->wal, at);
        int64_t saved = count_saved(s, &repaired);
        if (saved < EDITS - 1) fail_msg("%ld: %d edits are saved", at, (int)saved);
        lost += saved < EDITS;
        repairs += repaired;
        flips++;
    }
    assert_true(repairs > flips / 2);
    assert_true(lost < flips / 10); /* where the bit stood in the newest copy of a row */
}

/* A frame of the last commit is damaged, as a power cut leaves it: nothing follows it. */
static void test_a_commit_that_a_power_cut_has_torn_is_no_damage(void **state)
{
    scene *s = *state;
    bool repaired;
    flip_bit(s->wal, wal_end(s->wal) - 100);
    assert_int_equal(count_saved(s, &repaired), EDITS - 1);
    assert_false(repaired);
}

/* The offset of the last frame that fills up a commit to its sector, with another commit after
 * it. */
static long last_copy(const char *path)
{
    uint32_t before[2] = {0, 0}, heads[2]; /* page, and size of the database: not 0 at the end */
    long found = 0, end = wal_end(path) - FRAME_BYTES;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (long at = WAL_HEADER_BYTES; at < end; at += FRAME_BYTES) {
        assert_int_equal(fseek(file, at, SEEK_SET), 0);
        assert_int_equal(fread(heads, 1, sizeof heads, file), sizeof heads);
        if (heads[1] != 0 && memcmp(heads, before, sizeof heads) == 0) found = at;
        memcpy(before, heads, sizeof before);
    }
    assert_int_equal(fclose(file), 0);
    assert_int_not_equal(found, 0);
    return found;
}

/* On a disk that may damage what stands beside a write. The power cut came when the next commit had
 * written its first frame. */
static void test_what_fills_up_a_commit_may_be_torn(void **state)
{
    scene *s = *state;
    bool repaired;
    fault_vfs *vfs = fault_vfs_new("kedge-fault", 1);
    assert_non_null(vfs);
    fixture_remove_tree(s->f.path);
    s->f.options.vfs = "kedge-fault";
    make_edits(s);
    s->f.options.vfs = NULL;
    fault_vfs_free(vfs);
    long copy = last_copy(s->wal);
    assert_int_equal(truncate(s->wal, copy + 2 * FRAME_BYTES), 0);
    flip_bit(s->wal, copy + FRAME_BYTES - 100);
    assert_in_range(count_saved(s, &repaired), EDITS - 2, EDITS - 1);
    assert_false(repaired);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            test_a_bit_that_flips_in_the_wal_takes_no_edit_behind_it_away, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_commit_that_a_power_cut_has_torn_is_no_damage, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(test_what_fills_up_a_commit_may_be_torn, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
