/* The three-way merge of texts: cases that are written down, and properties over generated ones. */
#include "mutate/text_merge.h"

#include "common/utf8.h"
#include "mutate/text_diff.h"
#include "mutate/text_tokens.h"
#include "tests/support/failing_allocator.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define COST_MAX  67108864
#define CASES     20000
#define TEXT_SIZE 4096

typedef struct merged_text {
    char text[3 * TEXT_SIZE];
    size_t overlaps;
} merged_text;

static void merge_bytes(kedge_bytes base, kedge_bytes theirs, kedge_bytes ours, merged_text *out)
{
    kedge_error error = {0};
    kedge_text_merge_result result;
    kedge_buffer merged = kedge_buffer_make(&kedge_allocator_default);
    assert_int_equal(kedge_text_merge(&kedge_allocator_default, base, theirs, ours, COST_MAX,
                                      &merged, &result, &error),
                     KEDGE_OK);
    assert_true(merged.size < sizeof out->text);
    assert_true(kedge_bytes_are_utf8(kedge_buffer_bytes(&merged)));
    snprintf(out->text, sizeof out->text, "%s", merged.size == 0 ? "" : merged.data);
    out->overlaps = result.overlaps;
    kedge_buffer_free(&merged);
}

static void merge(const char *base, const char *theirs, const char *ours, merged_text *out)
{
    merge_bytes(kedge_bytes_of(base), kedge_bytes_of(theirs), kedge_bytes_of(ours), out);
}

/* ---- cases ---- */

typedef struct merge_case {
    const char *base, *theirs, *ours, *merged;
    size_t overlaps;
} merge_case;

static void check_cases(const merge_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        merged_text out;
        merge(cases[i].base, cases[i].theirs, cases[i].ours, &out);
        if (strcmp(out.text, cases[i].merged) != 0 || out.overlaps != cases[i].overlaps)
            fail_msg("case %zu: \"%s\" with %zu overlaps", i, out.text, out.overlaps);
    }
}

static void test_changes_that_do_not_overlap_are_both_made(void **state)
{
    (void)state;
    static const merge_case cases[] = {
        {"milk\nbread\n", "milk\nbread\njam\n", "oat milk\nbread\n", "oat milk\nbread\njam\n", 0},
        {"a\nb\nc\n", "a\nc\n", "a\nb\nc\nd\n", "a\nc\nd\n", 0},
        {"Train at nine", "Train at ten, platform 4", "Train at nine, bring the tickets",
         "Train at ten, platform 4, bring the tickets", 0},
        {"the cat and the dog and the bird", "the cow and the pig and the bird",
         "the cat and the dog and the bat", "the cow and the pig and the bat", 0},
        {"one two three", "one three", "one two three four", "one three four", 0},
        {"first", "title\nfirst", "first\nlast", "title\nfirst\nlast", 0},
        {"\xe7\x8c\xab\xe3\x81\xa8\xe7\x8a\xac", "\xe7\x8c\xab\xe3\x81\xa8\xe9\xb3\xa5",
         "\xe9\xad\x9a\xe3\x81\xa8\xe7\x8a\xac", "\xe9\xad\x9a\xe3\x81\xa8\xe9\xb3\xa5", 0},
    };
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

static void test_what_both_changed_alike_or_only_one_changed_is_there_once(void **state)
{
    (void)state;
    static const merge_case cases[] = {
        {"", "", "", "", 0},
        {"a", "a", "a", "a", 0},
        {"a", "b", "a", "b", 0},
        {"a", "a", "b", "b", 0},
        {"a", "b", "b", "b", 0},
        {"", "typed", "", "typed", 0},
        {"typed", "", "typed", "", 0},
        {"teh cat\nsat\n", "the cat\nsat\n", "the cat\nsat\ndown\n", "the cat\nsat\ndown\n", 0},
    };
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

static void test_what_both_changed_differently_stays_twice_theirs_first(void **state)
{
    (void)state;
    static const merge_case cases[] = {
        {"", "milk", "bread", "milk bread", 1},
        {"a\n", "a\nb\n", "a\nc\n", "a\nb\nc\n", 1},
        {"a", "a\nb", "a\nc", "a\nb\nc", 1},
        {"at nine", "at ten", "at eight", "at ten eight", 1},
        {"x y z.", "p q r.", "s t u.", "p q r s t u.", 1},
        {"one\ntwo", "uno\ndos", "eins\nzwei", "uno\ndos\neins\nzwei", 1},
        {"\xe7\x8c\xab", "\xe7\x8a\xac", "\xe9\xb3\xa5", "\xe7\x8a\xac\xe9\xb3\xa5", 1},
        /* An edit wins over a deletion around it. */
        {"the quick fox", "the fox", "the slow quick fox", "the slow fox", 0},
        {"quick brown fox", "", "quick red fox", "quick red fox", 1},
        {"keep\nquick brown fox\n", "keep\n", "keep\nquick red fox\n", "keep\nquick red fox\n", 1},
    };
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

/* Two edits of one word overlap, and those of two words do not. */
static void test_letters_digits_and_underscores_make_a_word(void **state)
{
    (void)state;
    static const merge_case cases[] = {
        {"aBc", "aBd", "xBc", "aBd xBc", 1},
        {"aZc", "aZd", "xZc", "aZd xZc", 1},
        {"a_c", "a_d", "x_c", "a_d x_c", 1},
        {"a0c", "a0d", "x0c", "a0d x0c", 1},
        {"a9c", "a9d", "x9c", "a9d x9c", 1},
        {"a[c", "a[d", "x[c", "x[d", 0},
        {"a{c", "a{d", "x{c", "x{d", 0},
        {"a:c", "a:d", "x:c", "x:d", 0},
        {"a`c", "a`d", "x`c", "x`d", 0},
        {"a@c", "a@d", "x@c", "x@d", 0},
        {"a/c", "a/d", "x/c", "x/d", 0},
        /* A character that is in no range counts as a letter. */
        {"a\xf3\xb0\x80\x80"
         "c",
         "a\xf3\xb0\x80\x80"
         "d",
         "x\xf3\xb0\x80\x80"
         "c",
         "a\xf3\xb0\x80\x80"
         "d x\xf3\xb0\x80\x80"
         "c",
         1},
    };
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

static void test_a_mark_stays_with_its_character(void **state)
{
    (void)state;
    static const merge_case cases[] = {
        /* An e, and one with an acute accent as a mark of its own. */
        {"! e !", "! e\xcc\x81 !", "! e\xcc\x80 !", "! e\xcc\x81 e\xcc\x80 !", 1},
        {"!", "!\xcc\x81", "!\xcc\x80", "!\xcc\x81 !\xcc\x80", 1},
        /* A family, whose members are joined. */
        {"\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9",
         "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa7",
         "\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9",
         "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa7\xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa9",
         1},
    };
    check_cases(cases, sizeof cases / sizeof cases[0]);
}

static void test_typing_goes_on_behind_an_overlap(void **state)
{
    (void)state;
    merged_text out, next;
    merge("fox", "cat", "do", &out);
    assert_string_equal(out.text, "cat do");
    merge("do", out.text, "dog", &next);
    assert_string_equal(next.text, "cat dog");
    merge("dog", next.text, "dogs bark", &out);
    assert_string_equal(out.text, "cat dogs bark");
}

/* ---- generated texts ---- */

/* Splitmix64. */
static uint64_t next(uint64_t *seed)
{
    uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t below(uint64_t *seed, uint64_t bound)
{
    return next(seed) % bound;
}

#define WORDS_MAX 24

/* A text as words, each with what stands after it: " ", ", " or a newline. */
typedef struct generated {
    char words[WORDS_MAX][24];
    const char *ends[WORDS_MAX];
    size_t count;
} generated;

static const char *random_end(uint64_t *seed)
{
    static const char *const ends[] = {" ", " ", " ", ", ", "\n", "\n\n", ". "};
    return ends[below(seed, sizeof ends / sizeof ends[0])];
}

/* `kinds`: how many different words there are; 0: no word comes twice. */
static void generate(uint64_t *seed, uint64_t kinds, generated *out)
{
    static const char *const letters[] = {"a", "b", "\xc3\xa4", "e\xcc\x81", "\xe7\x8c\xab", "Z9"};
    out->count = (size_t)below(seed, WORDS_MAX / 2) + 1;
    for (size_t i = 0; i < out->count; i++) {
        uint64_t number = kinds == 0 ? i : below(seed, kinds);
        snprintf(out->words[i], sizeof out->words[i], "%s%d", letters[number % 6], (int)number);
        out->ends[i] = random_end(seed);
    }
}

static void print(const generated *from, char text[TEXT_SIZE])
{
    text[0] = '\0';
    for (size_t i = 0; i < from->count; i++) {
        strncat(text, from->words[i], TEXT_SIZE - strlen(text) - 1);
        strncat(text, from->ends[i], TEXT_SIZE - strlen(text) - 1);
    }
}

static void remove_word(generated *from, size_t at)
{
    from->count--;
    memmove(from->words[at], from->words[at + 1], (from->count - at) * sizeof from->words[0]);
    memmove(&from->ends[at], &from->ends[at + 1], (from->count - at) * sizeof from->ends[0]);
}

static void insert_word(generated *into, size_t at, const char *word, const char *end)
{
    if (into->count == WORDS_MAX) return;
    memmove(into->words[at + 1], into->words[at], (into->count - at) * sizeof into->words[0]);
    memmove(&into->ends[at + 1], &into->ends[at], (into->count - at) * sizeof into->ends[0]);
    snprintf(into->words[at], sizeof into->words[at], "%s", word);
    into->ends[at] = end;
    into->count++;
}

/* Up to three changes; each word that is typed is one that nobody else types. */
static void edit(uint64_t *seed, char who, generated *text, char typed[3][24], size_t *typed_count)
{
    *typed_count = 0;
    for (uint64_t changes = below(seed, 3) + 1; changes > 0; changes--) {
        char *word = typed[*typed_count];
        size_t at = (size_t)below(seed, text->count + 1);
        snprintf(word, 24, "%c%dx%d", who, (int)*typed_count, (int)below(seed, 1000));
        switch (at == text->count ? 0 : below(seed, 3)) {
        case 0:
            if (text->count == WORDS_MAX) continue;
            insert_word(text, at, word, random_end(seed));
            ++*typed_count;
            break;
        case 1:
            /* What this one has typed itself stays. */
            if (strchr(text->words[at], 'x') != NULL) continue;
            snprintf(text->words[at], sizeof text->words[at], "%s", word);
            ++*typed_count;
            break;
        default:
            if (strchr(text->words[at], 'x') != NULL) continue;
            remove_word(text, at);
        }
    }
}

static size_t occurrences(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        count++;
    return count;
}

static void test_nothing_that_was_typed_disappears(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t seed = i;
        generated base;
        char texts[3][TEXT_SIZE], typed[2][3][24];
        size_t counts[2];
        merged_text out, again;
        generate(&seed, below(&seed, 6), &base);
        generated theirs = base, ours = base;
        edit(&seed, 'T', &theirs, typed[0], &counts[0]);
        edit(&seed, 'O', &ours, typed[1], &counts[1]);
        print(&base, texts[0]);
        print(&theirs, texts[1]);
        print(&ours, texts[2]);
        merge(texts[0], texts[1], texts[2], &out);
        for (size_t side = 0; side < 2; side++)
            for (size_t j = 0; j < counts[side]; j++)
                if (occurrences(out.text, typed[side][j]) != 1)
                    fail_msg("seed %d: \"%s\" + \"%s\" + \"%s\" = \"%s\" without %s", (int)i,
                             texts[0], texts[1], texts[2], out.text, typed[side][j]);
        merge(texts[0], texts[2], texts[1], &again);
        assert_int_equal(out.overlaps, again.overlaps);
        if (out.overlaps == 0) assert_string_equal(out.text, again.text);
    }
}

/* Between two words that stay, one side changes and the other does not: the merge is the text with
 * both changes, whichever came first. */
static void test_changes_at_different_places_are_merged_exactly_and_commute(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t seed = i;
        generated base, theirs = {.count = 0}, ours = {.count = 0}, both = {.count = 0};
        char texts[4][TEXT_SIZE];
        merged_text out, again;
        generate(&seed, 0, &base);
        for (size_t at = 0; at < base.count; at++) {
            char word[24];
            uint64_t change = at % 2 == 0 ? 5 : below(&seed, 6);
            bool they = below(&seed, 2) == 0;
            generated *changed = they ? &theirs : &ours;
            generated *other = they ? &ours : &theirs;
            snprintf(word, sizeof word, "%cnew%zu", they ? 'T' : 'O', at);
            insert_word(other, other->count, base.words[at], base.ends[at]);
            if (change == 0) continue; /* deleted */
            const char *now = change == 1 ? word : base.words[at];
            insert_word(changed, changed->count, now, base.ends[at]);
            insert_word(&both, both.count, now, base.ends[at]);
            if (change != 2) continue;
            insert_word(changed, changed->count, word, base.ends[at]);
            insert_word(&both, both.count, word, base.ends[at]);
        }
        print(&base, texts[0]);
        print(&theirs, texts[1]);
        print(&ours, texts[2]);
        print(&both, texts[3]);
        merge(texts[0], texts[1], texts[2], &out);
        merge(texts[0], texts[2], texts[1], &again);
        if (strcmp(out.text, texts[3]) != 0 || strcmp(again.text, texts[3]) != 0)
            fail_msg("seed %d: \"%s\" + \"%s\" + \"%s\" = \"%s\", \"%s\", not \"%s\"", (int)i,
                     texts[0], texts[1], texts[2], out.text, again.text, texts[3]);
        assert_int_equal(out.overlaps, 0);
    }
}

static void test_a_text_without_the_other_edit_is_the_edit(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t seed = i;
        generated base;
        char texts[2][TEXT_SIZE], typed[3][24];
        size_t count;
        merged_text out;
        generate(&seed, below(&seed, 4), &base);
        generated ours = base;
        edit(&seed, 'O', &ours, typed, &count);
        print(&base, texts[0]);
        print(&ours, texts[1]);
        merge(texts[0], texts[0], texts[1], &out);
        assert_string_equal(out.text, texts[1]);
        merge(texts[0], texts[1], texts[0], &out);
        assert_string_equal(out.text, texts[1]);
        merge(texts[0], texts[1], texts[1], &out);
        assert_string_equal(out.text, texts[1]);
        assert_int_equal(out.overlaps, 0);
    }
}

/* Bytes that may be anything that is well-formed: marks without a character, joiners, newlines. */
static size_t random_bytes(uint64_t *seed, char *out, size_t size_max)
{
    static const char *const pieces[] = {"a",
                                         " ",
                                         "\n",
                                         "\xcc\x81",
                                         "\xe2\x80\x8d",
                                         "\r",
                                         "\t",
                                         "!",
                                         "\xf0\x9f\x91\xa9",
                                         "\xf0\x9f\x87\xa9",
                                         "\xe7\x8c\xab",
                                         "\xc2\xa0",
                                         "\xe0\xb8\xb1",
                                         "\xef\xb8\x8f"};
    size_t size = 0;
    for (uint64_t left = below(seed, 40); left > 0; left--) {
        const char *piece = pieces[below(seed, sizeof pieces / sizeof pieces[0])];
        if (size + strlen(piece) > size_max) break;
        memcpy(out + size, piece, strlen(piece));
        size += strlen(piece);
    }
    return size;
}

static void test_any_bytes_merge_to_the_same_bytes_each_time(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < CASES; i++) {
        uint64_t seed = i;
        char texts[3][256];
        kedge_bytes given[3];
        merged_text out, again;
        for (size_t j = 0; j < 3; j++)
            given[j] = (kedge_bytes){texts[j], random_bytes(&seed, texts[j], sizeof texts[j])};
        merge_bytes(given[0], given[1], given[2], &out);
        merge_bytes(given[0], given[1], given[2], &again);
        assert_string_equal(out.text, again.text);
        assert_int_equal(out.overlaps, again.overlaps);
    }
}

/* ---- bounds ---- */

static kedge_status merge_costing(kedge_bytes base, kedge_bytes theirs, kedge_bytes ours,
                                  uint64_t cost_max, size_t *size, kedge_text_merge_result *result)
{
    kedge_buffer merged = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status = kedge_text_merge(&kedge_allocator_default, base, theirs, ours, cost_max,
                                           &merged, result, NULL);
    *size = merged.size;
    kedge_buffer_free(&merged);
    return status;
}

static void test_a_text_of_too_many_lines_is_kept_twice(void **state)
{
    (void)state;
    static char lines[2 * KEDGE_TEXT_TOKENS_MAX];
    memset(lines, '\n', sizeof lines);
    kedge_bytes base = {lines, KEDGE_TEXT_TOKENS_MAX + 1};
    kedge_bytes theirs = {lines, KEDGE_TEXT_TOKENS_MAX};
    kedge_bytes ours = {lines, KEDGE_TEXT_TOKENS_MAX + 2};
    size_t size;
    kedge_text_merge_result result;
    assert_int_equal(merge_costing(base, theirs, ours, COST_MAX, &size, &result), KEDGE_OK);
    assert_int_equal(size, theirs.size + ours.size);
    assert_int_equal(result.overlaps, 1);
}

static void test_a_merge_over_its_cost_says_so(void **state)
{
    (void)state;
    size_t size;
    kedge_text_merge_result result, less;
    kedge_bytes base = KEDGE_BYTES("one two three\n");
    kedge_bytes theirs = KEDGE_BYTES("one 2 three\n");
    kedge_bytes ours = KEDGE_BYTES("one two 3\n");
    assert_int_equal(merge_costing(base, theirs, ours, COST_MAX, &size, &result), KEDGE_OK);
    assert_int_equal(merge_costing(base, theirs, ours, result.cost, &size, &less), KEDGE_OK);
    for (uint64_t cost_max = 0; cost_max < result.cost; cost_max++) {
        assert_int_equal(merge_costing(base, theirs, ours, cost_max, &size, &less),
                         KEDGE_LIMIT_EXCEEDED);
        assert_true(less.cost > cost_max);
    }
}

static size_t count_hunks(const char *base, const char *theirs)
{
    kedge_text_split split;
    kedge_text_hunks hunks;
    const kedge_bytes texts[KEDGE_TEXT_SIDES] = {kedge_bytes_of(base), kedge_bytes_of(theirs),
                                                 kedge_bytes_of(base)};
    assert_int_equal(
        kedge_text_split_make(&kedge_allocator_default, KEDGE_TEXT_LINES, texts, &split, NULL),
        KEDGE_OK);
    assert_int_equal(kedge_text_diff(&split, KEDGE_TEXT_THEIRS, &hunks, NULL), KEDGE_OK);
    size_t count = hunks.count;
    kedge_text_hunks_free(&kedge_allocator_default, &hunks);
    kedge_text_split_free(&split);
    return count;
}

/* In each round only the first and the last line of what is left are single on both sides, and the
 * lines beside them differ. So each round takes two lines and two changes, and what is left after
 * 32 rounds is one change. */
static void test_a_text_that_needs_too_many_rounds_is_one_change_where_they_end(void **state)
{
    (void)state;
    static const size_t lines_and_hunks[][2] = {{2, 3}, {60, 61}, {64, 65}, {80, 65}};
    for (size_t j = 0; j < sizeof lines_and_hunks / sizeof lines_and_hunks[0]; j++) {
        char base[2048] = "b\n", theirs[2048] = "t\n";
        for (size_t i = 1; i <= lines_and_hunks[j][0]; i++) {
            size_t at = strlen(base); /* both are as long */
            snprintf(base + at, sizeof base - at, "line%zu\nline%zu\nb\n", i, i - 1);
            snprintf(theirs + at, sizeof theirs - at, "line%zu\nline%zu\nt\n", i, i - 1);
        }
        assert_int_equal(count_hunks(base, theirs), lines_and_hunks[j][1]);
    }
}

/* Every other line of many is another one, and all lines begin alike: the worst for the sorting. */
static void test_a_large_text_merges_within_its_bounds(void **state)
{
    (void)state;
    enum { LINES = 100000, SIZE = 40 };
    char *texts[3];
    for (size_t j = 0; j < 3; j++) {
        texts[j] = malloc((size_t)LINES * SIZE + 1);
        assert_non_null(texts[j]);
        for (size_t i = 0; i < LINES; i++) {
            bool changed = j > 0 && i % 4 == j;
            snprintf(texts[j] + i * SIZE, SIZE + 1, "the same for all of these lines %c%06zu\n",
                     changed ? 'x' : '0', i);
        }
    }
    size_t size;
    kedge_text_merge_result result;
    size_t total = (size_t)LINES * SIZE;
    assert_int_equal(merge_costing((kedge_bytes){texts[0], total}, (kedge_bytes){texts[1], total},
                                   (kedge_bytes){texts[2], total}, COST_MAX, &size, &result),
                     KEDGE_OK);
    assert_int_equal(size, total);
    assert_int_equal(result.overlaps, 0);
    for (size_t j = 0; j < 3; j++)
        free(texts[j]);
}

static bool merge_with(const kedge_allocator *allocator, void *context)
{
    (void)context;
    kedge_text_merge_result result;
    kedge_buffer merged = kedge_buffer_make(allocator);
    kedge_status status =
        kedge_text_merge(allocator, KEDGE_BYTES("a b c\nd\n"), KEDGE_BYTES("a x c\nd\ne\n"),
                         KEDGE_BYTES("a y z\nd\n"), COST_MAX, &merged, &result, NULL);
    assert_true(status == KEDGE_OK || status == KEDGE_NO_MEMORY);
    kedge_buffer_free(&merged);
    return status == KEDGE_OK;
}

static void test_a_merge_without_memory_says_so(void **state)
{
    (void)state;
    assert_true(failing_allocator_try_every_call(merge_with, NULL, 200) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_changes_that_do_not_overlap_are_both_made),
        cmocka_unit_test(test_what_both_changed_alike_or_only_one_changed_is_there_once),
        cmocka_unit_test(test_what_both_changed_differently_stays_twice_theirs_first),
        cmocka_unit_test(test_letters_digits_and_underscores_make_a_word),
        cmocka_unit_test(test_a_mark_stays_with_its_character),
        cmocka_unit_test(test_typing_goes_on_behind_an_overlap),
        cmocka_unit_test(test_nothing_that_was_typed_disappears),
        cmocka_unit_test(test_changes_at_different_places_are_merged_exactly_and_commute),
        cmocka_unit_test(test_a_text_without_the_other_edit_is_the_edit),
        cmocka_unit_test(test_any_bytes_merge_to_the_same_bytes_each_time),
        cmocka_unit_test(test_a_text_of_too_many_lines_is_kept_twice),
        cmocka_unit_test(test_a_merge_over_its_cost_says_so),
        cmocka_unit_test(test_a_text_that_needs_too_many_rounds_is_one_change_where_they_end),
        cmocka_unit_test(test_a_large_text_merges_within_its_bounds),
        cmocka_unit_test(test_a_merge_without_memory_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
