/* What the folder of blobs promises beyond the contract: where its files stand, what it refuses to
 * open, and what it does with what a crash left. */
#include "backend/sqlite/folder_path.h"
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/world.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct fixture {
    world around;
    char path[128];
    kedge_blobs blobs;
    kedge_error error;
} fixture;

static int start(void **state)
{
    static fixture f;
    memset(&f, 0, sizeof f);
    world_make(&f.around, &kedge_allocator_default);
    world_path(&f.around, "blobs", f.path);
    *state = &f;
    return 0;
}

static int end(void **state)
{
    world_end(&((fixture *)*state)->around);
    return 0;
}

static kedge_status open_folder(fixture *f)
{
    return kedge_folder_blobs_open(&f->around.environment, f->path, &f->blobs, &f->error);
}

static void close_folder(fixture *f)
{
    f->blobs.vtable->close(f->blobs.self);
}

static kedge_status put(fixture *f, const char *key)
{
    return f->blobs.vtable->put_if_absent(f->blobs.self, kedge_bytes_of(key), KEDGE_BYTES("x"),
                                          &f->error);
}

static void write_file(const fixture *f, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool has_file(const fixture *f, const char *name)
{
    char path[256];
    struct stat about;
    snprintf(path, sizeof path, "%s/%s", f->path, name);
    return stat(path, &about) == 0;
}

/* ---- names ---- */

static void assert_path(const char *key, const char *expected)
{
    char path[KEDGE_FOLDER_PATH_SIZE];
    kedge_folder_path(kedge_bytes_of(key), path);
    assert_string_equal(path, expected);
}

static void test_keys_become_names_that_file_systems_keep_apart(void **state)
{
    (void)state;
    assert_path("acme/projects/p1/notes/0a1b.json.gz", "acme+/projects+/p1+/notes+/0a1b.json.gz");
    assert_path("Ab", "%41b");
    assert_path("ab/", "ab+/%");
    assert_path("/", "%+/%");
    assert_path("..", "%2e.");
    assert_path("../x", "%2e.+/x");
    assert_path("a%41", "a%2541");
    assert_path("\xc3\xa9", "%c3%a9");
    assert_path("a+~=@", "a%2b%7e%3d%40");
}

static int looked_at;

static int assert_portable_name(const char *path, const struct stat *about, int kind,
                                struct FTW *at)
{
    (void)about;
    (void)kind;
    const char *name = path + at->base;
    if (at->level == 0) return 0;
    assert_true(strlen(name) <= 255);
    for (size_t i = 0; name[i] != '\0'; i++)
        assert_non_null(strchr("abcdefghijklmnopqrstuvwxyz0123456789-_.%+~=@", name[i]));
    looked_at++;
    return 0;
}

static void test_all_names_in_the_folder_are_short_plain_and_lower_case(void **state)
{
    fixture *f = *state;
    char key[KEDGE_BLOB_KEY_BYTES_MAX + 1];
    memset(key, 'K', sizeof key - 1);
    key[sizeof key - 1] = '\0';
    assert_ok(open_folder(f));
    assert_ok(put(f, key));
    assert_ok(put(f, "\xf0\x9f\x98\x80/A b\\c:d*e?f\"<>|"));
    assert_ok(put(f, "../../up"));
    assert_ok(f->blobs.vtable->tag(f->blobs.self, kedge_bytes_of(key), KEDGE_BYTES("t"),
                                   KEDGE_BYTES("v"), NULL));
    close_folder(f);
    looked_at = 0;
    assert_int_equal(nftw(f->path, assert_portable_name, 16, FTW_PHYS), 0);
    assert_true(looked_at > 10);
}

static void test_nothing_is_written_outside_the_folder(void **state)
{
    fixture *f = *state;
    static const char *const keys[] = {"../out", "a/../../out", "/out", "./../out", "..", "../.."};
    assert_ok(open_folder(f));
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        assert_ok(put(f, keys[i]));
    close_folder(f);
    DIR *names = opendir(f->around.folder);
    assert_non_null(names);
    size_t count = 0;
    while (readdir(names) != NULL)
        count++;
    closedir(names);
    assert_int_equal(count, 3); /* ".", "..", and the folder */
    assert_int_not_equal(access("/out", F_OK), 0);
}

/* ---- opening ---- */

static void test_blobs_and_tags_are_there_after_reopening(void **state)
{
    fixture *f = *state;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    assert_ok(open_folder(f));
    assert_ok(put(f, "k"));
    assert_ok(f->blobs.vtable->tag(f->blobs.self, KEDGE_BYTES("k"), KEDGE_BYTES("t"),
                                   KEDGE_BYTES("v"), NULL));
    close_folder(f);
    assert_ok(open_folder(f));
    assert_ok(f->blobs.vtable->get(f->blobs.self, KEDGE_BYTES("k"), &out, NULL));
    assert_ok(
        f->blobs.vtable->get_tag(f->blobs.self, KEDGE_BYTES("k"), KEDGE_BYTES("t"), &out, NULL));
    assert_bytes(kedge_buffer_bytes(&out), "xv");
    kedge_buffer_free(&out);
    close_folder(f);
}

static void test_a_folder_with_files_of_others_is_refused_and_kept(void **state)
{
    fixture *f = *state;
    assert_int_equal(mkdir(f->path, 0700), 0);
    write_file(f, "letter.txt", "dear");
    assert_status(open_folder(f), KEDGE_NOT_A_DATABASE);
    assert_non_null(strstr(f->error.message, f->path));
    assert_true(has_file(f, "letter.txt"));
    assert_false(has_file(f, "@lock"));
    assert_false(has_file(f, "@format"));
}

static void test_a_newer_or_foreign_format_is_refused(void **state)
{
    fixture *f = *state;
    assert_int_equal(mkdir(f->path, 0700), 0);
    write_file(f, "@format", "kedge blobs 2\n");
    assert_status(open_folder(f), KEDGE_NEWER_DATABASE);
    assert_non_null(strstr(f->error.message, f->path));
    write_file(f, "@format", "something else\n");
    assert_status(open_folder(f), KEDGE_NOT_A_DATABASE);
}

static void test_a_file_instead_of_a_folder_is_refused(void **state)
{
    fixture *f = *state;
    world_path(&f->around, ".", f->path);
    write_file(f, "blobs", "x");
    world_path(&f->around, "blobs", f->path);
    assert_status(open_folder(f), KEDGE_NOT_A_DATABASE);
    world_path(&f->around, "no/such/blobs", f->path);
    assert_status(open_folder(f), KEDGE_IO);
    assert_non_null(strstr(f->error.message, f->path));
}

/* ---- crashes ---- */

static void test_unfinished_files_go_at_the_next_opening_but_not_under_a_living_user(void **state)
{
    fixture *f = *state;
    kedge_blobs first;
    assert_ok(open_folder(f));
    write_file(f, "@temporary/left", "x");
    first = f->blobs;
    assert_ok(open_folder(f));
    assert_true(has_file(f, "@temporary/left"));
    close_folder(f);
    first.vtable->close(first.self);
    assert_ok(open_folder(f));
    assert_false(has_file(f, "@temporary/left"));
    close_folder(f);
}

static void test_tags_that_outlived_their_blob_do_not_come_back_with_it(void **state)
{
    fixture *f = *state;
    kedge_buffer out = kedge_buffer_make(&kedge_allocator_default);
    kedge_bytes k = KEDGE_BYTES("k"), t = KEDGE_BYTES("t");
    assert_ok(open_folder(f));
    assert_ok(put(f, "k"));
    assert_ok(f->blobs.vtable->tag(f->blobs.self, k, t, KEDGE_BYTES("v"), NULL));
    char path[256];
    snprintf(path, sizeof path, "%s/k", f->path);
    assert_int_equal(unlink(path), 0); /* as a crash within remove leaves it */
    assert_status(f->blobs.vtable->get_tag(f->blobs.self, k, t, &out, NULL), KEDGE_NOT_FOUND);
    assert_ok(put(f, "k"));
    assert_status(f->blobs.vtable->get_tag(f->blobs.self, k, t, &out, NULL), KEDGE_NOT_FOUND);
    close_folder(f);
}

static void test_a_listing_passes_over_files_of_others(void **state)
{
    fixture *f = *state;
    kedge_blob_list list = {0};
    kedge_bytes none = {0};
    assert_ok(open_folder(f));
    assert_ok(put(f, "k/1"));
    write_file(f, "k+/.DS_Store", "x");
    write_file(f, "k+/%61", "x");
    write_file(f, "Readme", "x");
    assert_ok(f->blobs.vtable->list(f->blobs.self, none, none, 10, &list, NULL));
    assert_int_equal(list.count, 1);
    assert_string_equal(list.blobs[0].key, "k/1");
    assert_true(list.blobs[0].modified_ms == WORLD_START_MS);
    kedge_blob_list_free(&list);
    close_folder(f);
}

#define apart(test) cmocka_unit_test_setup_teardown(test, start, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        apart(test_keys_become_names_that_file_systems_keep_apart),
        apart(test_all_names_in_the_folder_are_short_plain_and_lower_case),
        apart(test_nothing_is_written_outside_the_folder),
        apart(test_blobs_and_tags_are_there_after_reopening),
        apart(test_a_folder_with_files_of_others_is_refused_and_kept),
        apart(test_a_newer_or_foreign_format_is_refused),
        apart(test_a_file_instead_of_a_folder_is_refused),
        apart(test_unfinished_files_go_at_the_next_opening_but_not_under_a_living_user),
        apart(test_tags_that_outlived_their_blob_do_not_come_back_with_it),
        apart(test_a_listing_passes_over_files_of_others),
    };
    return cmocka_run_group_tests_name("ports: folder", tests, NULL, NULL);
}
