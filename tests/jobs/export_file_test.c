/* The file of an export: it is on the disk when the command has ended well, or it is gone. */
#include "tests/jobs/jobs_world.h"

#include "backend/admin/verbs.h"
#include "tests/support/temporary.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- fsync ---- */

static struct {
    off_t file_bytes; /* that the file had when it was synced last; -1: it was not */
    int folders;
    int calls;
    int fail_at;
} synced;

int __real_fsync(int file);
int __wrap_fsync(int file);

int __wrap_fsync(int file)
{
    struct stat about;
    assert_int_equal(fstat(file, &about), 0);
    if (S_ISDIR(about.st_mode))
        synced.folders++;
    else
        synced.file_bytes = about.st_size;
    if (++synced.calls == synced.fail_at) {
        errno = EIO;
        return -1;
    }
    return __real_fsync(file);
}

/* ---- the command ---- */

static int export_file(test_world *world, const char *path, int fail_at)
{
    const kedge_admin_line line = {
        .organization = "acme", .project = "notes", .arguments = {path}, .argument_count = 1};
    const kedge_admin admin = {.backend = world->backend,
                               .environment = &world->environment,
                               .allocator = world->environment.allocator,
                               .line = &line};
    memset(&synced, 0, sizeof synced);
    synced.file_bytes = -1;
    synced.fail_at = fail_at;
    return kedge_admin_export(&admin);
}

static void test_an_export_is_on_the_disk_when_it_has_ended_well(void **state)
{
    char folder[64], path[80];
    jobs_story story;
    struct stat about;
    assert_true(temporary_folder(folder, sizeof folder, "export"));
    snprintf(path, sizeof path, "%s/p.jsonl", folder);
    story_begin(&story, 1);
    story_tell(&story, *state, 10);
    assert_int_equal(export_file(*state, path, 0), 0);
    assert_int_equal(stat(path, &about), 0);
    assert_true(about.st_size > 0);
    assert_int_equal(synced.file_bytes, about.st_size);
    assert_int_equal(synced.folders, 1);
    assert_int_equal(unlink(path), 0);
    for (int at = 1; at <= 2; at++) {
        assert_int_equal(export_file(*state, path, at), KEDGE_ADMIN_NO_RESPONSE);
        assert_int_equal(synced.calls, at);
        assert_int_equal(access(path, F_OK), -1);
    }
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        OVER_MEMORY(test_an_export_is_on_the_disk_when_it_has_ended_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
