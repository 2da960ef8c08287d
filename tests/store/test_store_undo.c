/* Undo and redo, with generated edits: they are exact when nobody else edits, and never remove what
 * others wrote. */
#include "tests/store/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES          60
#define CASES_A_FOLDER 10 /* each of at most GROUPS groups, so that no group is forgotten */

/* Splitmix64. */
static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static int below(uint64_t *seed, int bound)
{
    return (int)(next(seed) % (uint64_t)bound);
}

static void begin_group(fixture *f, const char *label)
{
    if (kedge_store_undo_begin(f->store, label, &f->error) != KEDGE_OK)
        fail_msg("%s", f->error.message);
}

static void end_group(fixture *f)
{
    if (kedge_store_undo_end(f->store, &f->error) != KEDGE_OK) fail_msg("%s", f->error.message);
}

static kedge_status take_back(fixture *f, bool redo, kedge_undo_result *result)
{
    memset(&f->error, 0, sizeof f->error);
    return kedge_store_undo(f->store, redo, result, &f->changes, &f->error);
}

static void takes_back(fixture *f, bool redo)
{
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    if (take_back(f, redo, &result) != KEDGE_OK) fail_msg("%s", f->error.message);
    assert_true(result.sequence > 0);
    assert_int_equal(result.kept, 0);
}

static kedge_undo_state state_of(fixture *f)
{
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    assert_int_equal(kedge_store_undo_state(f->store, &state, NULL), KEDGE_OK);
    return state;
}

/* ---- alone ---- */

static void random_value(uint64_t *seed, char *out, size_t size)
{
    static const char *const values[] = {
        "1",
        "\"one two\"",
        "[1,{\"a\":2}]",
        "{}",
        "{\"n\":3,\"t\":\"milk and bread\"}",
        "{\"in\":{\"a\":1,\"~/\":{\"b\":[]}},\"n\":5}",
        "{\"in\":{\"a\":2,\"c\":null},\"t\":\"milk, bread\\nand jam\"}",
        "{\"in\":7,\"n\":0.5}",
    };
    snprintf(out, size, "%s", values[below(seed, sizeof values / sizeof values[0])]);
}

/* Makes a random edit, which may be rejected in the present state. */
static void random_edit(fixture *f, uint64_t *seed)
{
    char args[1024], value[256];
    const char *name = "kedge.put";
    int id = below(seed, 3);
    random_value(seed, value, sizeof value);
    snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%d\",\"value\":%s}", id, value);
    switch (below(seed, 8)) {
    case 0:
        name = "kedge.delete";
        snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%d\"}", id);
        break;
    case 1:
    case 2:
        name = "kedge.merge";
        snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%d\",\"patch\":%s}", id,
                 value);
        break;
    case 3:
        name = "kedge.increment";
        snprintf(args, sizeof args,
                 "{\"collection\":\"notes\",\"id\":\"%d\",\"add\":{\"n\":%d,\"in\":{\"a\":1}}}", id,
                 below(seed, 9) - 4);
        break;
    case 4:
        name = "kedge.text";
        snprintf(
            args, sizeof args,
            "{\"collection\":\"notes\",\"id\":\"%d\",\"path\":\"/t\",\"base\":\"milk and bread\","
            "\"text\":\"milk and %d, bread\"}",
            id, below(seed, 100));
        break;
    case 5:
        name = "kedge.project";
        snprintf(args, sizeof args, "{\"name\":%s,\"x\":%d}", value, below(seed, 3));
        break;
    case 6:
        name = "kedge.batch";
        snprintf(
            args, sizeof args,
            "{\"mutations\":[{\"name\":\"kedge.put\",\"args\":{\"collection\":\"notes\",\"id\":"
            "\"%d\",\"value\":%s}},{\"name\":\"kedge.merge\",\"args\":{\"collection\":\"more\","
            "\"id\":\"x\",\"patch\":{\"m\":%s}}}]}",
            id, value, value);
        break;
    default:
        break;
    }
    kedge_status status = kedge_store_mutate(f->store, kedge_bytes_of(name), kedge_bytes_of(args),
                                             NULL, &f->changes, &f->error);
    if (status != KEDGE_OK && status != KEDGE_REJECTED) fail_msg("%s", f->error.message);
}

/* Pushes, syncs or does nothing, so that edits are pending, decided or pulled when they are
 * undone. */
static void perhaps_sync(fixture *f, uint64_t *seed)
{
    switch (below(seed, 4)) {
    case 0:
        assert_int_equal(fixture_push(f), NAIVE_OK);
        break;
    case 1:
        fixture_sync(f);
        break;
    default:
        break;
    }
}

static char *dump(fixture *f)
{
    return fixture_dump(f->store, false);
}

static bool state_is(fixture *f, const char *expected)
{
    char *now = dump(f);
    bool same = strcmp(now, expected) == 0;
    free(now);
    return same;
}

static void assert_state(fixture *f, const char *expected, uint64_t seed, const char *when)
{
    char *now = dump(f);
    if (strcmp(now, expected) != 0)
        fail_msg("seed %d, %s:\n%s\nnot\n%s", (int)seed, when, now, expected);
    free(now);
}

#define GROUPS 4

static void undo_and_redo_all(fixture *f, uint64_t *seed, uint64_t number)
{
    char *states[GROUPS + 1];
    int groups = 0;
    while (groups < GROUPS) {
        states[groups] = dump(f);
        uint32_t before = state_of(f).undo_count;
        begin_group(f, "group");
        for (int edits = below(seed, 4); edits >= 0; edits--) {
            random_edit(f, seed);
            perhaps_sync(f, seed);
        }
        end_group(f);
        if (state_is(f, states[groups])) {
            /* The edits changed nothing in the end. If there is a group all the same, its undo
             * changes nothing. */
            if (state_of(f).undo_count > before) takes_back(f, false);
            assert_state(f, states[groups], number, "undone of nothing");
            free(states[groups]);
        } else {
            groups++;
        }
    }
    states[groups] = dump(f);
    for (int round = 0; round < 2; round++) {
        for (int i = groups; i > 0; i--) {
            takes_back(f, false);
            perhaps_sync(f, seed);
            assert_state(f, states[i - 1], number, "undone");
        }
        for (int i = 0; i < groups; i++) {
            takes_back(f, true);
            perhaps_sync(f, seed);
            assert_state(f, states[i + 1], number, "redone");
        }
    }
    fixture_sync(f);
    assert_state(f, states[groups], number, "synced");
    fixture_check(f);
    for (int i = 0; i <= groups; i++)
        free(states[i]);
}

static void test_undo_and_redo_are_exact_when_nobody_else_edits(void **state)
{
    (void)state;
    fixture f;
    for (uint64_t number = 0; number < CASES; number++) {
        uint64_t seed = number;
        if (number % CASES_A_FOLDER == 0) {
            fixture_begin(&f);
            fixture_open(&f);
            fixture_mutate(&f, "kedge.project", "{\"name\":\"plan\"}");
        }
        random_edit(&f, &seed);
        undo_and_redo_all(&f, &seed, number);
        if (number % CASES_A_FOLDER == CASES_A_FOLDER - 1) fixture_end(&f);
    }
}

/* ---- with others ---- */

#define PLACES 4

/* The values that others have written last. */
typedef struct places {
    char values[PLACES][32];
    int written; /* how many values were written, so that each is another one */
} places;

static void write_place(fixture *f, places *all, int place, bool by_others)
{
    char args[256], value[32];
    snprintf(value, sizeof value, "%s-%d", by_others ? "theirs" : "mine", all->written++);
    snprintf(args, sizeof args,
             "{\"collection\":\"notes\",\"id\":\"1\",\"patch\":{\"p%d\":\"%s\"}}", place, value);
    if (by_others) {
        memcpy(all->values[place], value, sizeof value);
        naive_server_edit(f->server, "kedge.merge", args);
        fixture_pull(f);
    } else {
        fixture_mutate(f, "kedge.merge", args);
    }
}

static void assert_places(fixture *f, const places *all, uint64_t number, const char *when)
{
    char expected[512];
    size_t size = 0;
    for (int i = 0; i < PLACES; i++)
        size += (size_t)snprintf(expected + size, sizeof expected - size, "%s\"p%d\":\"%s\"",
                                 i == 0 ? "{" : ",", i, all->values[i]);
    snprintf(expected + size, sizeof expected - size, "}");
    kedge_buffer value = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(
        kedge_store_get(f->store, KEDGE_BYTES("notes"), KEDGE_BYTES("1"), &value, &f->error),
        KEDGE_OK);
    if (strcmp(value.data, expected) != 0)
        fail_msg("seed %d, %s: %s, not %s", (int)number, when, value.data, expected);
    kedge_buffer_free(&value);
}

static void undo_all(fixture *f)
{
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    kedge_status status;
    while ((status = take_back(f, false, &result)) != KEDGE_NOT_FOUND)
        if (status != KEDGE_OK) assert_string_equal(f->error.code, "undo-conflict");
}

static void edit_beside_others(fixture *f, places *all, uint64_t *seed)
{
    for (int groups = below(seed, 3); groups >= 0; groups--) {
        begin_group(f, "");
        for (int edits = below(seed, 4); edits >= 0; edits--) {
            write_place(f, all, below(seed, PLACES), false);
            if (below(seed, 3) == 0)
                write_place(f, all, below(seed, PLACES), true);
            else
                perhaps_sync(f, seed);
        }
        end_group(f);
        for (int steps = below(seed, 4); steps > 0; steps--) {
            if (below(seed, 2) == 0)
                write_place(f, all, below(seed, PLACES), true);
            else
                perhaps_sync(f, seed);
        }
    }
}

static void test_an_undo_leaves_what_others_wrote_also_under_pending_edits(void **state)
{
    (void)state;
    fixture f;
    places all = {.written = 0};
    fixture_begin(&f);
    fixture_open(&f);
    for (uint64_t number = 0; number < 2 * CASES; number++) {
        uint64_t seed = number;
        for (int i = 0; i < PLACES; i++)
            write_place(&f, &all, i, true);
        edit_beside_others(&f, &all, &seed);
        undo_all(&f);
        assert_places(&f, &all, number, "undone");
        fixture_sync(&f);
        assert_places(&f, &all, number, "synced");
    }
    fixture_check(&f);
    fixture_end(&f);
}

/* The first edit of the group is decided, the second one is pending. */
static void test_an_undo_brings_back_what_others_wrote_between_two_edits_of_the_group(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_open(&f);
    fixture_mutate(&f, "set", "{\"id\":\"1\",\"value\":\"A\"}");
    fixture_mutate(&f, "set", "{\"id\":\"2\",\"value\":\"A\"}");
    fixture_sync(&f);
    begin_group(&f, "");
    fixture_mutate(&f, "set", "{\"id\":\"1\",\"value\":\"B\"}");
    fixture_mutate(&f, "set", "{\"id\":\"2\",\"value\":\"B\"}");
    fixture_sync(&f);
    fixture_mutate(&f, "set", "{\"id\":\"1\",\"value\":\"C\"}");
    fixture_mutate(&f, "set", "{\"id\":\"2\",\"value\":\"C\"}");
    end_group(&f);
    naive_server_edit(f.server, "set", "{\"id\":\"1\",\"value\":\"theirs\"}");
    fixture_pull(&f);
    fixture_expect(&f, "1", "\"C\"");
    takes_back(&f, false);
    fixture_expect(&f, "1", "\"theirs\"");
    fixture_expect(&f, "2", "\"A\"");
    fixture_sync(&f);
    fixture_expect_canonical(&f, "1", "\"theirs\"");
    fixture_expect_canonical(&f, "2", "\"A\"");
    fixture_end(&f);
}

static void test_an_undo_brings_back_what_others_wrote_when_another_process_pulls(void **state)
{
    (void)state;
    fixture f;
    kedge_store *mine, *other = NULL;
    fixture_begin(&f);
    f.options.observer = fixture_in_company;
    fixture_open(&f);
    fixture_mutate(&f, "set", "{\"id\":\"1\",\"value\":\"A\"}");
    fixture_sync(&f);
    begin_group(&f, "");
    fixture_mutate(&f, "set", "{\"id\":\"1\",\"value\":\"B\"}");
    end_group(&f);
    mine = f.store;
    assert_int_equal(fixture_try_open(&f, f.path, &other), KEDGE_OK);
    f.store = other;
    naive_server_edit(f.server, "set", "{\"id\":\"1\",\"value\":\"theirs\"}");
    fixture_pull(&f);
    assert_int_equal(kedge_store_follow(mine, &f.error), KEDGE_OK);
    fixture_sync(&f);
    assert_int_equal(kedge_store_follow(mine, &f.error), KEDGE_OK);
    f.store = mine;
    fixture_expect(&f, "1", "\"B\"");
    takes_back(&f, false);
    fixture_expect(&f, "1", "\"theirs\"");
    kedge_store_close(other);
    fixture_end(&f);
}

#define WORDS 12

static void print_words(char words[WORDS][16], char *out, size_t size)
{
    out[0] = '\0';
    for (int i = 0; i < WORDS; i++) {
        strncat(out, words[i], size - strlen(out) - 1);
        strncat(out, i % 5 == 4 ? "\\n" : " ", size - strlen(out) - 1);
    }
}

static void text_args(char words[WORDS][16], int changed, const char *by, char *out, size_t size)
{
    char base[256], text[256];
    print_words(words, base, sizeof base);
    snprintf(words[changed], 16, "%s%d", by, changed);
    print_words(words, text, sizeof text);
    snprintf(
        out, size,
        "{\"collection\":\"notes\",\"id\":\"1\",\"path\":\"/t\",\"base\":\"%s\",\"text\":\"%s\"}",
        base, text);
}

/* Others edit words that are not next to those that the group edits. */
static void test_an_undo_of_a_text_leaves_the_words_of_others(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_open(&f);
    for (uint64_t number = 0; number < CASES; number++) {
        uint64_t seed = number;
        char theirs[WORDS][16], seen[WORDS][16], args[1024], text[256], expected[300];
        for (int i = 0; i < WORDS; i++)
            snprintf(theirs[i], sizeof theirs[i], "w%d", i);
        memcpy(seen, theirs, sizeof seen);
        print_words(theirs, text, sizeof text);
        snprintf(args, sizeof args,
                 "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"t\":\"%s\"}}", text);
        naive_server_edit(f.server, "kedge.put", args);
        fixture_pull(&f);
        begin_group(&f, "typing");
        for (int edits = 0; edits < 3; edits++) {
            text_args(seen, 4 * edits + below(&seed, 2), "mine", args, sizeof args);
            fixture_mutate(&f, "kedge.text", args);
        }
        end_group(&f);
        for (int edits = 0; edits < 2; edits++) {
            perhaps_sync(&f, &seed);
            text_args(theirs, 4 * edits + 2, "theirs", args, sizeof args);
            naive_server_edit(f.server, "kedge.text", args);
        }
        fixture_pull(&f);
        takes_back(&f, false);
        print_words(theirs, text, sizeof text);
        snprintf(expected, sizeof expected, "{\"t\":\"%s\"}", text);
        fixture_expect(&f, "1", expected);
        fixture_sync(&f);
        fixture_expect(&f, "1", expected);
        takes_back(&f, true);
        fixture_sync(&f);
    }
    fixture_end(&f);
}

static void test_an_undo_of_an_increment_subtracts_from_what_is_there(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_open(&f);
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"n\":5}}");
    begin_group(&f, "vote");
    fixture_mutate(&f, "kedge.increment",
                   "{\"collection\":\"notes\",\"id\":\"1\",\"add\":{\"n\":2}}");
    end_group(&f);
    fixture_sync(&f);
    naive_server_edit(f.server, "kedge.increment",
                      "{\"collection\":\"notes\",\"id\":\"1\",\"add\":{\"n\":10}}");
    fixture_sync(&f);
    takes_back(&f, false);
    fixture_expect(&f, "1", "{\"n\":15}");
    takes_back(&f, true);
    fixture_expect(&f, "1", "{\"n\":17}");
    fixture_end(&f);
}

static void test_an_undo_of_the_first_increment_leaves_those_of_others(void **state)
{
    (void)state;
    fixture f;
    fixture_begin(&f);
    fixture_open(&f);
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"n\":5}}");
    begin_group(&f, "vote");
    fixture_mutate(&f, "kedge.increment",
                   "{\"collection\":\"notes\",\"id\":\"1\",\"add\":{\"votes\":2}}");
    end_group(&f);
    takes_back(&f, false);
    fixture_expect(&f, "1", "{\"n\":5}");
    takes_back(&f, true);
    fixture_expect(&f, "1", "{\"n\":5,\"votes\":2}");
    fixture_sync(&f);
    naive_server_edit(f.server, "kedge.increment",
                      "{\"collection\":\"notes\",\"id\":\"1\",\"add\":{\"votes\":10}}");
    fixture_sync(&f);
    takes_back(&f, false);
    fixture_expect(&f, "1", "{\"n\":5,\"votes\":10}");
    takes_back(&f, true);
    fixture_expect(&f, "1", "{\"n\":5,\"votes\":12}");
    fixture_end(&f);
}

static void test_what_others_changed_is_kept_and_reported(void **state)
{
    (void)state;
    fixture f;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    fixture_begin(&f);
    fixture_open(&f);
    fixture_mutate(&f, "kedge.put",
                   "{\"collection\":\"notes\",\"id\":\"1\",\"value\":{\"a\":1,\"b\":1}}");
    begin_group(&f, "both");
    fixture_mutate(&f, "kedge.merge",
                   "{\"collection\":\"notes\",\"id\":\"1\",\"patch\":{\"a\":2,\"b\":2}}");
    end_group(&f);
    fixture_sync(&f);
    naive_server_edit(f.server, "kedge.merge",
                      "{\"collection\":\"notes\",\"id\":\"1\",\"patch\":{\"b\":3}}");
    fixture_sync(&f);
    assert_int_equal(take_back(&f, false, &result), KEDGE_OK);
    assert_int_equal(result.restored, 1);
    assert_int_equal(result.kept, 1);
    fixture_expect(&f, "1", "{\"a\":1,\"b\":3}");

    begin_group(&f, "one");
    fixture_mutate(&f, "kedge.merge",
                   "{\"collection\":\"notes\",\"id\":\"1\",\"patch\":{\"a\":4}}");
    end_group(&f);
    fixture_sync(&f);
    naive_server_edit(f.server, "kedge.delete", "{\"collection\":\"notes\",\"id\":\"1\"}");
    fixture_sync(&f);
    assert_int_equal(take_back(&f, false, &result), KEDGE_CONFLICT);
    assert_string_equal(f.error.code, "undo-conflict");
    fixture_expect(&f, "1", NULL);
    assert_int_equal(take_back(&f, false, &result), KEDGE_NOT_FOUND);
    fixture_end(&f);
}

/* The undo is pending when somebody else changes the place. */
static void test_an_undo_that_comes_too_late_waits_in_the_inbox(void **state)
{
    (void)state;
    fixture f;
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    fixture_begin(&f);
    fixture_open(&f);
    begin_group(&f, "");
    fixture_mutate(&f, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":1}");
    end_group(&f);
    fixture_sync(&f);
    assert_int_equal(take_back(&f, false, &result), KEDGE_OK);
    fixture_expect(&f, "1", NULL);
    naive_server_edit(f.server, "kedge.put", "{\"collection\":\"notes\",\"id\":\"1\",\"value\":2}");
    fixture_sync(&f);
    fixture_expect(&f, "1", "2");
    assert_int_equal(fixture_outcome(&f, result.sequence), KEDGE_OUTCOME_REJECTED);
    fixture_end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undo_and_redo_are_exact_when_nobody_else_edits),
        cmocka_unit_test(test_an_undo_leaves_what_others_wrote_also_under_pending_edits),
        cmocka_unit_test(test_an_undo_brings_back_what_others_wrote_between_two_edits_of_the_group),
        cmocka_unit_test(test_an_undo_brings_back_what_others_wrote_when_another_process_pulls),
        cmocka_unit_test(test_an_undo_of_a_text_leaves_the_words_of_others),
        cmocka_unit_test(test_an_undo_of_an_increment_subtracts_from_what_is_there),
        cmocka_unit_test(test_an_undo_of_the_first_increment_leaves_those_of_others),
        cmocka_unit_test(test_what_others_changed_is_kept_and_reported),
        cmocka_unit_test(test_an_undo_that_comes_too_late_waits_in_the_inbox),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
