/* What a store tells of the commits of another one that has the folder open: the keys with their
 * values, in the order of all commits; anything, where they are not to be had. */
#include "tests/store/cache_scenario.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* What an observer was told: "here a 1>2;", "others …", "pulled …", "*;". */
typedef struct observer {
    char text[8192];
    bool company;
    int set_aside; /* how often it was told that the cache must be pulled again */
} observer;

typedef struct pair {
    fixture f; /* its store is the first */
    kedge_store *other;
    observer first;
    observer second;
} pair;

static bool is_watched(void *context)
{
    (void)context;
    return true;
}

static bool has_company(void *context)
{
    return ((observer *)context)->company;
}

static void note(void *context, const kedge_change_set *changes)
{
    static const char *const by[] = {"", "here", "pulled", "others"};
    observer *to = context;
    kedge_changed change;
    size_t offset = 0;
    size_t size = strlen(to->text);
    if (changes->all) {
        snprintf(to->text + size, sizeof to->text - size, "*;");
        return;
    }
    while (kedge_change_set_next(changes, &offset, &change)) {
        size = strlen(to->text);
        snprintf(to->text + size, sizeof to->text - size, "%s %s %.40s>%.40s;", by[changes->by],
                 change.id.data, change.was_there ? change.before.data : "none",
                 change.is_there ? change.after.data : "none");
    }
}

static void note_set_aside(void *context)
{
    ((observer *)context)->set_aside++;
}

static kedge_store *open_with(pair *p, observer *to)
{
    kedge_store *store = NULL;
    to->text[0] = '\0';
    p->f.options.observer = (kedge_store_observer){to, is_watched, has_company, note};
    p->f.options.set_aside = note_set_aside;
    p->f.options.set_aside_context = to;
    if (fixture_try_open(&p->f, p->f.path, &store) != KEDGE_OK) fail_msg("%s", p->f.error.message);
    return store;
}

static int setup(void **state)
{
    pair *p = calloc(1, sizeof *p);
    fixture_begin(&p->f);
    p->f.store = open_with(p, &p->first);
    p->first.company = p->second.company = true;
    p->other = open_with(p, &p->second);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    pair *p = *state;
    kedge_store_close(p->other);
    fixture_end(&p->f);
    free(p);
    return 0;
}

static void set(pair *p, kedge_store *store, const char *id, const char *value)
{
    kedge_change_set changes = kedge_change_set_make(&kedge_allocator_default);
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_format(&args, "{\"id\":\"%s\",\"value\":%s}", id, value);
    assert_int_equal(kedge_store_mutate(store, KEDGE_BYTES("set"), kedge_buffer_bytes(&args), NULL,
                                        &changes, &p->f.error),
                     KEDGE_OK);
    kedge_buffer_free(&args);
    kedge_change_set_free(&changes);
}

static void follow(pair *p, kedge_store *store)
{
    if (kedge_store_follow(store, &p->f.error) != KEDGE_OK) fail_msg("%s", p->f.error.message);
}

static int64_t count_rows(const fixture *f)
{
    sqlite3 *db = scenario_open_cache(f);
    sqlite3_stmt *count;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM change", -1, &count, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(count), SQLITE_ROW);
    int64_t rows = sqlite3_column_int64(count, 0);
    sqlite3_finalize(count);
    sqlite3_close(db);
    return rows;
}

static void test_the_edits_of_another_store_come_with_keys_and_values(void **state)
{
    pair *p = *state;
    set(p, p->other, "a", "1");
    set(p, p->other, "a", "2");
    follow(p, p->f.store);
    assert_string_equal(p->first.text, "others a none>1;others a 1>2;");
    follow(p, p->f.store);
    assert_string_equal(p->first.text, "others a none>1;others a 1>2;");
    assert_string_equal(p->second.text, "here a none>1;here a 1>2;");
}

/* An edit tells what came before it first, so that the last value that is told is the one that is
 * there. */
static void test_both_tell_all_commits_in_one_order(void **state)
{
    pair *p = *state;
    set(p, p->f.store, "a", "1");
    set(p, p->other, "a", "2");
    set(p, p->f.store, "a", "3");
    set(p, p->other, "a", "4");
    follow(p, p->f.store);
    follow(p, p->other);
    assert_string_equal(p->first.text, "here a none>1;others a 1>2;here a 2>3;others a 3>4;");
    assert_string_equal(p->second.text, "others a none>1;here a 1>2;others a 2>3;here a 3>4;");
}

/* The other process may be gone again when this one commits. */
static void test_what_a_store_wrote_that_is_gone_is_told_before_the_next_commit(void **state)
{
    pair *p = *state;
    set(p, p->other, "a", "1");
    p->first.company = false;
    set(p, p->f.store, "a", "2");
    assert_string_equal(p->first.text, "others a none>1;here a 1>2;");
    assert_int_equal(count_rows(&p->f), 1);
}

/* A turn in between saw that commit, and had nothing to tell. */
static void test_it_is_told_so_behind_a_turn_that_commits_nothing_too(void **state)
{
    pair *p = *state;
    kedge_change_set changes = kedge_change_set_make(&kedge_allocator_default);
    set(p, p->other, "a", "1");
    p->first.company = false;
    assert_int_equal(kedge_store_catch_up(p->f.store, &changes, &p->f.error), KEDGE_OK);
    set(p, p->f.store, "a", "2");
    assert_string_equal(p->first.text, "others a none>1;here a 1>2;");
    kedge_change_set_free(&changes);
}

static void (*at_next_unlock)(void); /* runs behind it, once; NULL: nothing does */

int __real_flock(int file, int operation);
int __wrap_flock(int file, int operation);
int __wrap_flock(int file, int operation)
{
    int result = __real_flock(file, operation);
    void (*run)(void) = operation == LOCK_UN ? at_next_unlock : NULL;
    if (run != NULL) {
        at_next_unlock = NULL;
        run();
    }
    return result;
}

static pair *opening;

static void commit_in_between(void)
{
    set(opening, opening->f.store, "a", "1");
}

/* A store opens its files, and then takes its first turn. */
static void test_what_another_store_commits_while_one_is_opened_is_told_in_order(void **state)
{
    pair *p = opening = *state;
    kedge_store_close(p->other);
    at_next_unlock = commit_in_between;
    p->second.company = false;
    p->other = open_with(p, &p->second);
    assert_null(at_next_unlock);
    set(p, p->other, "a", "2");
    follow(p, p->other);
    assert_string_equal(p->second.text, "others a none>1;here a 1>2;");
}

static void test_a_pull_is_told_as_one_whichever_store_made_it(void **state)
{
    pair *p = *state;
    naive_server_edit(p->f.server, "set", "{\"id\":\"a\",\"value\":1}");
    fixture_pull(&p->f);
    naive_server_edit(p->f.server, "set", "{\"id\":\"a\",\"value\":2}");
    fixture_pull(&p->f);
    p->second.text[0] = '\0';
    naive_server_edit(p->f.server, "set", "{\"id\":\"a\",\"value\":3}");
    fixture_pull(&p->f);
    follow(p, p->other);
    assert_non_null(strstr(p->second.text, "pulled a 2>3;"));
}

static void test_a_store_that_is_alone_writes_nothing_down(void **state)
{
    pair *p = *state;
    p->first.company = false;
    set(p, p->f.store, "a", "1");
    assert_int_equal(count_rows(&p->f), 0);
}

static void test_only_the_newest_commits_are_kept_and_the_rest_is_told_as_anything(void **state)
{
    pair *p = *state;
    char value[16];
    for (int i = 0; i < 300; i++) {
        snprintf(value, sizeof value, "%d", i);
        set(p, p->other, "a", value);
    }
    assert_int_equal(count_rows(&p->f), 256);
    follow(p, p->f.store);
    assert_int_equal(strncmp(p->first.text, "*;others a 43>44;", 17), 0);
    assert_non_null(strstr(p->first.text, "others a 298>299;"));
    follow(p, p->f.store);
}

static void test_a_commit_that_is_too_large_is_told_as_anything(void **state)
{
    pair *p = *state;
    size_t size = 300000;
    char *value = malloc(size + 3);
    memset(value, 'x', size + 2);
    value[0] = value[size + 1] = '"';
    value[size + 2] = '\0';
    set(p, p->other, "a", value);
    set(p, p->other, "b", "1");
    follow(p, p->f.store);
    assert_string_equal(p->first.text, "*;others b none>1;");
    free(value);
}

static void test_a_row_that_is_damaged_or_missing_is_told_as_anything(void **state)
{
    static const char *const damages[] = {
        "UPDATE change SET changes = zeroblob(20) WHERE number = 2",
        "UPDATE change SET changes = NULL WHERE number = 2",
        "UPDATE change SET by = 2 WHERE number = 2",
        "UPDATE change SET writer = writer + 1 WHERE number = 2",
        "DELETE FROM change WHERE number = 2",
    };
    pair *p = *state;
    for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
        kedge_store_close(p->other);
        kedge_store_close(p->f.store);
        scenario_run_sql(&p->f, "DELETE FROM change");
        p->f.store = open_with(p, &p->first);
        p->other = open_with(p, &p->second);
        set(p, p->other, "a", i % 2 == 0 ? "1" : "2");
        set(p, p->other, "b", i % 2 == 0 ? "1" : "2");
        set(p, p->other, "c", i % 2 == 0 ? "1" : "2");
        assert_int_equal(scenario_run_sql(&p->f, damages[i]), 1);
        follow(p, p->f.store);
        if (!strstr(p->first.text, "*;") || !strstr(p->first.text, "others c"))
            fail_msg("%s: %s", damages[i], p->first.text);
    }
}

/* The other process may be killed before it asks for the pull itself. */
static void test_a_cache_that_another_store_has_replaced_is_told_and_is_to_be_pulled(void **state)
{
    pair *p = *state;
    set(p, p->f.store, "a", "1");
    follow(p, p->other);
    p->second.text[0] = '\0';
    scenario_run_sql(&p->f, "UPDATE meta SET lmid = 7");
    kedge_store_position position;
    (void)kedge_store_position_get(p->f.store, &position, NULL);
    set(p, p->f.store, "a", "2");
    assert_int_equal(p->first.set_aside, 1);
    assert_int_equal(p->second.set_aside, 0);
    follow(p, p->other);
    assert_non_null(strstr(p->second.text, "*;"));
    assert_int_equal(p->second.set_aside, 1);
    follow(p, p->other);
    assert_int_equal(p->second.set_aside, 1);
}

static void kill_between_the_commits(void *context, const char *phase)
{
    (void)context;
    if (strcmp(phase, "mutate-between-commits") == 0) kill(getpid(), SIGKILL);
}

/* Makes an edit once the parent says so, of which only the outbox has anything. */
static pid_t fork_editor(pair *p, int *go)
{
    char byte;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        p->f.options.phase = kill_between_the_commits;
        if (read(ends[0], &byte, 1) == 1) set(p, open_with(p, &p->second), "a", "1");
        _exit(1);
    }
    close(ends[0]);
    *go = ends[1];
    return child;
}

/* While it opens the folder, a process does not ask yet who else is there. */
static void test_what_opening_the_folder_has_repaired_is_told_to_the_others(void **state)
{
    pair *p = calloc(1, sizeof *p);
    int go, ended;
    (void)state;
    fixture_begin(&p->f);
    pid_t child = fork_editor(p, &go);
    p->f.store = open_with(p, &p->first);
    assert_int_equal(write(go, "x", 1), 1);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
    p->other = open_with(p, &p->second);
    fixture_expect(&p->f, "a", "1");
    assert_string_equal(p->first.text, "");
    follow(p, p->f.store);
    assert_string_equal(p->first.text, "*;");
    close(go);
    kedge_store_close(p->other);
    fixture_end(&p->f);
    free(p);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_edits_of_another_store_come_with_keys_and_values),
        TEST(test_both_tell_all_commits_in_one_order),
        TEST(test_what_a_store_wrote_that_is_gone_is_told_before_the_next_commit),
        TEST(test_it_is_told_so_behind_a_turn_that_commits_nothing_too),
        TEST(test_what_another_store_commits_while_one_is_opened_is_told_in_order),
        TEST(test_a_pull_is_told_as_one_whichever_store_made_it),
        TEST(test_a_store_that_is_alone_writes_nothing_down),
        TEST(test_only_the_newest_commits_are_kept_and_the_rest_is_told_as_anything),
        TEST(test_a_commit_that_is_too_large_is_told_as_anything),
        TEST(test_a_row_that_is_damaged_or_missing_is_told_as_anything),
        TEST(test_a_cache_that_another_store_has_replaced_is_told_and_is_to_be_pulled),
        cmocka_unit_test(test_what_opening_the_folder_has_repaired_is_told_to_the_others),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
