/* text_diff: its changes lead from one text to the other, and a cursor stays at its word. */
#include "text_diff.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define ROUNDS 2000

/* Applies the changes last to first, as a text view does. */
static char *apply(const char *text, const GArray *changes)
{
    GString *made = g_string_new(text);
    for (guint i = changes->len; i-- > 0;) {
        const text_change *change = &g_array_index(changes, text_change, i);
        gssize at = g_utf8_offset_to_pointer(made->str, (glong)change->old_at) - made->str;
        const char *end = g_utf8_offset_to_pointer(made->str + at, (glong)change->old_length);
        g_string_erase(made, at, end - (made->str + at));
        g_string_insert_len(made, at, change->inserted ? change->inserted : "",
                            (gssize)change->inserted_bytes);
    }
    return g_string_free(made, FALSE);
}

static void check_places(const GArray *changes, const char *old_text, const char *new_text)
{
    glong end = g_utf8_strlen(new_text, -1);
    guint length = (guint)g_utf8_strlen(old_text, -1);
    guint before = 0;
    for (guint at = 0; at <= length; at++) {
        guint place = text_diff_place(changes, at);
        assert_in_range(place, before, (guint)end);
        before = place;
    }
}

static void check(const char *old_text, const char *new_text, guint count)
{
    GArray *changes = text_diff(old_text, new_text);
    char *made = apply(old_text, changes);
    assert_string_equal(made, new_text);
    assert_int_equal(changes->len, count);
    check_places(changes, old_text, new_text);
    g_free(made);
    g_array_unref(changes);
}

static void the_changes_are_words(void **state)
{
    (void)state;
    check("", "", 0);
    check("same", "same", 0);
    check("", "new", 1);
    check("old", "", 1);
    check("Train at nine", "Train at ten", 1);
    check("Train at nine, platform 4", "Trains at nine, platform 7", 2);
    check("één café, één thé", "één café crème, deux thé", 2);
    check("日本", "日本語", 1);
}

static void a_cursor_stays_at_its_word(void **state)
{
    (void)state;
    GArray *changes = text_diff("Train at nine, platform 4", "The train at ten, platform 4");
    assert_int_equal(text_diff_place(changes, 0), 0);
    assert_int_equal(text_diff_place(changes, 8), 12);  /* after "at" */
    assert_int_equal(text_diff_place(changes, 24), 27); /* in front of "4" */
    g_array_unref(changes);
    /* What others write where the cursor is comes after it. */
    changes = text_diff("one two", "one two three");
    assert_int_equal(text_diff_place(changes, 7), 7);
    g_array_unref(changes);
}

static char *random_text(GRand *random)
{
    static const char *const words[] = {"a", "bb", "é", "\n", " ", " ", ",", "日"};
    GString *text = g_string_new(NULL);
    for (int i = g_rand_int_range(random, 0, 20); i > 0; i--)
        g_string_append(text, words[g_rand_int_range(random, 0, G_N_ELEMENTS(words))]);
    return g_string_free(text, FALSE);
}

static void any_text_becomes_any_other(void **state)
{
    (void)state;
    GRand *random = g_rand_new_with_seed(7);
    for (int i = 0; i < ROUNDS; i++) {
        char *old_text = random_text(random);
        char *new_text = random_text(random);
        GArray *changes = text_diff(old_text, new_text);
        char *made = apply(old_text, changes);
        assert_string_equal(made, new_text);
        check_places(changes, old_text, new_text);
        g_free(made);
        g_array_unref(changes);
        g_free(old_text);
        g_free(new_text);
    }
    g_rand_free(random);
}

static void texts_too_long_to_compare_are_one_change(void **state)
{
    (void)state;
    GString *old_text = g_string_new("start ");
    GString *new_text = g_string_new("start ");
    for (int i = 0; i < 3000; i++) {
        g_string_append_printf(old_text, "a%d ", i);
        g_string_append_printf(new_text, "b%d ", i);
    }
    check(old_text->str, new_text->str, 1);
    g_string_free(old_text, TRUE);
    g_string_free(new_text, TRUE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_changes_are_words),
        cmocka_unit_test(a_cursor_stays_at_its_word),
        cmocka_unit_test(any_text_becomes_any_other),
        cmocka_unit_test(texts_too_long_to_compare_are_one_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
