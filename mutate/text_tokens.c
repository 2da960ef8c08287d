/* Lines and words of a text.
 *
 * What a character is comes from a table of ranges here, and not from the C library, whose answer
 * depends on the machine and its locale. The table is coarse: where it is wrong, an edit counts as
 * one of a longer or a shorter word. */
#include "mutate/text_tokens.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/utf8.h"

#include <stdlib.h>
#include <string.h>

typedef enum kind {
    KIND_NEWLINE,
    KIND_BLANK,
    KIND_WORD,   /* a part of a run */
    KIND_SINGLE, /* a word by itself: an ideograph, a picture */
    KIND_POINT,  /* punctuation: by itself, and no word */
    KIND_MARK    /* belongs to the character in front of it */
} kind;

#define JOINER 0x200D /* puts the picture after it into the one in front of it */

/* In order. What is in none of them is KIND_WORD. */
static const struct range {
    uint32_t first, last;
    kind kind;
} ranges[] = {
    {0x80, 0x9F, KIND_POINT},        {0xA0, 0xA0, KIND_BLANK},
    {0xA1, 0xA9, KIND_POINT},        {0xAB, 0xB4, KIND_POINT},
    {0xB6, 0xB9, KIND_POINT},        {0xBB, 0xBF, KIND_POINT},
    {0x300, 0x36F, KIND_MARK},       {0x483, 0x489, KIND_MARK},
    {0x591, 0x5BD, KIND_MARK},       {0x60C, 0x60D, KIND_POINT},
    {0x61B, 0x61F, KIND_POINT},      {0x64B, 0x65F, KIND_MARK},
    {0x900, 0x903, KIND_MARK},       {0x93A, 0x93C, KIND_MARK},
    {0x93E, 0x94F, KIND_MARK},       {0x964, 0x965, KIND_POINT},
    {0xE01, 0xE30, KIND_SINGLE},     {0xE31, 0xE31, KIND_MARK},
    {0xE32, 0xE33, KIND_SINGLE},     {0xE34, 0xE3A, KIND_MARK},
    {0xE40, 0xE46, KIND_SINGLE},     {0xE47, 0xE4E, KIND_MARK},
    {0xE50, 0xEB0, KIND_SINGLE},     {0xEB1, 0xEB1, KIND_MARK},
    {0xEB2, 0xEB3, KIND_SINGLE},     {0xEB4, 0xEBC, KIND_MARK},
    {0xEBD, 0xEC7, KIND_SINGLE},     {0xEC8, 0xECE, KIND_MARK},
    {0xED0, 0xEFF, KIND_SINGLE},     {0x1AB0, 0x1AFF, KIND_MARK},
    {0x1DC0, 0x1DFF, KIND_MARK},     {0x2000, 0x200A, KIND_BLANK},
    {0x200B, 0x200F, KIND_MARK},     {0x2010, 0x2027, KIND_POINT},
    {0x2028, 0x2029, KIND_BLANK},    {0x202A, 0x202E, KIND_MARK},
    {0x202F, 0x202F, KIND_BLANK},    {0x2030, 0x205E, KIND_POINT},
    {0x205F, 0x205F, KIND_BLANK},    {0x2060, 0x206F, KIND_MARK},
    {0x20D0, 0x20FF, KIND_MARK},     {0x2190, 0x2BFF, KIND_SINGLE},
    {0x2E00, 0x2E7F, KIND_POINT},    {0x2E80, 0x2FFF, KIND_SINGLE},
    {0x3000, 0x3000, KIND_BLANK},    {0x3001, 0x3029, KIND_POINT},
    {0x302A, 0x302F, KIND_MARK},     {0x3030, 0x303F, KIND_POINT},
    {0x3040, 0x3098, KIND_SINGLE},   {0x3099, 0x309A, KIND_MARK},
    {0x309B, 0xA4CF, KIND_SINGLE},   {0xF900, 0xFAFF, KIND_SINGLE},
    {0xFE00, 0xFE0F, KIND_MARK},     {0xFE20, 0xFE2F, KIND_MARK},
    {0xFE30, 0xFE6F, KIND_POINT},    {0xFF01, 0xFF0F, KIND_POINT},
    {0xFF1A, 0xFF20, KIND_POINT},    {0xFF3B, 0xFF40, KIND_POINT},
    {0xFF5B, 0xFF65, KIND_POINT},    {0xFF66, 0xFF9F, KIND_SINGLE},
    {0x1F000, 0x1F1E5, KIND_SINGLE}, {0x1F1E6, 0x1F1FF, KIND_WORD},
    {0x1F200, 0x1F3FA, KIND_SINGLE}, {0x1F3FB, 0x1F3FF, KIND_MARK},
    {0x1F400, 0x1FAFF, KIND_SINGLE}, {0x20000, 0x3FFFF, KIND_SINGLE},
    {0xE0000, 0xE01EF, KIND_MARK},
};

static kind kind_of_ascii(uint32_t c)
{
    if (c == '\n') return KIND_NEWLINE;
    if (c == ' ' || c == '\t' || c == '\r') return KIND_BLANK;
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    return letter || (c >= '0' && c <= '9') ? KIND_WORD : KIND_POINT;
}

static kind kind_of(uint32_t c)
{
    if (c < 0x80) return kind_of_ascii(c);
    size_t low = 0;
    size_t high = sizeof ranges / sizeof ranges[0];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < c)
            low = middle + 1;
        else
            high = middle;
    }
    bool inside = low < sizeof ranges / sizeof ranges[0] && ranges[low].first <= c;
    return inside ? ranges[low].kind : KIND_WORD;
}

/* Decodes the character at `at`; returns its size. */
static size_t character(kedge_bytes text, size_t at, uint32_t *c)
{
    size_t size = kedge_utf8_sequence(text.data + at, text.size - at);
    const unsigned char *b = (const unsigned char *)text.data + at;
    KEDGE_ASSERT(size > 0);
    *c = size == 1 ? b[0] : (uint32_t)(b[0] & (0x7F >> size));
    for (size_t i = 1; i < size; i++)
        *c = *c << 6 | (uint32_t)(b[i] & 0x3F);
    return size;
}

/* ---- one token ---- */

static size_t line_size(kedge_bytes text, size_t at)
{
    const char *newline = memchr(text.data + at, '\n', text.size - at);
    return newline == NULL ? text.size - at : (size_t)(newline - text.data) + 1 - at;
}

static size_t word_size(kedge_bytes text, size_t at)
{
    uint32_t last;
    size_t size = character(text, at, &last);
    kind first = kind_of(last);
    if (first == KIND_NEWLINE) return size;
    while (at + size < text.size) {
        uint32_t c;
        size_t more = character(text, at + size, &c);
        kind next = kind_of(c);
        bool in_run = next == first && (first == KIND_WORD || first == KIND_BLANK);
        bool joined = last == JOINER && next == KIND_SINGLE;
        if (next != KIND_MARK && !in_run && !joined) break;
        size += more;
        last = c;
    }
    return size;
}

static size_t token_size(kedge_text_unit unit, kedge_bytes text, size_t at)
{
    return unit == KEDGE_TEXT_LINES ? line_size(text, at) : word_size(text, at);
}

static bool has_word(kedge_bytes token)
{
    for (size_t at = 0; at < token.size;) {
        uint32_t c;
        at += character(token, at, &c);
        kind of = kind_of(c);
        if (of == KIND_WORD || of == KIND_SINGLE) return true;
    }
    return false;
}

/* ---- three texts ---- */

static bool count_tokens(kedge_text_unit unit, kedge_text_tokens *tokens)
{
    tokens->count = 0;
    for (size_t at = 0; at < tokens->text.size; at += token_size(unit, tokens->text, at))
        if (tokens->count++ == KEDGE_TEXT_TOKENS_MAX) return false;
    return true;
}

static kedge_status fill_starts(const kedge_allocator *allocator, kedge_text_unit unit,
                                kedge_text_tokens *tokens, kedge_error *error)
{
    tokens->starts = kedge_allocate(allocator, (tokens->count + 1) * sizeof *tokens->starts);
    tokens->symbols = kedge_allocate(allocator, (tokens->count + 1) * sizeof *tokens->symbols);
    if (tokens->starts == NULL || tokens->symbols == NULL) return kedge_fail_no_memory(error);
    size_t at = 0;
    for (size_t i = 0; i < tokens->count; i++) {
        tokens->starts[i] = (uint32_t)at;
        at += token_size(unit, tokens->text, at);
    }
    tokens->starts[tokens->count] = (uint32_t)at;
    return KEDGE_OK;
}

typedef struct sorted_token {
    kedge_bytes text;
    uint32_t *symbol;
} sorted_token;

static int compare(const void *a, const void *b)
{
    return kedge_bytes_compare(((const sorted_token *)a)->text, ((const sorted_token *)b)->text);
}

/* By sorting: a table of hashes has bad cases that somebody could send. */
static kedge_status number_symbols(kedge_text_split *split, kedge_error *error)
{
    size_t total = 0;
    size_t count = 0;
    for (size_t side = 0; side < KEDGE_TEXT_SIDES; side++)
        total += split->sides[side].count;
    sorted_token *sorted = kedge_allocate(split->allocator, (total + 1) * sizeof *sorted);
    split->has_word = kedge_allocate(split->allocator, total + 1);
    if (sorted == NULL || split->has_word == NULL) {
        kedge_release(split->allocator, sorted);
        return kedge_fail_no_memory(error);
    }
    for (size_t side = 0; side < KEDGE_TEXT_SIDES; side++)
        for (size_t i = 0; i < split->sides[side].count; i++)
            sorted[count++] = (sorted_token){kedge_text_range(&split->sides[side], i, i + 1),
                                             &split->sides[side].symbols[i]};
    qsort(sorted, total, sizeof *sorted, compare);
    for (size_t i = 0; i < total; i++) {
        if (i == 0 || !kedge_bytes_equal(sorted[i].text, sorted[i - 1].text))
            split->has_word[split->symbol_count++] = has_word(sorted[i].text);
        *sorted[i].symbol = split->symbol_count - 1;
    }
    kedge_release(split->allocator, sorted);
    return KEDGE_OK;
}

kedge_status kedge_text_split_make(const kedge_allocator *allocator, kedge_text_unit unit,
                                   const kedge_bytes texts[KEDGE_TEXT_SIDES],
                                   kedge_text_split *split, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    *split = (kedge_text_split){.allocator = allocator};
    for (size_t side = 0; side < KEDGE_TEXT_SIDES; side++) {
        split->sides[side].text = texts[side];
        if (!count_tokens(unit, &split->sides[side])) return KEDGE_DONE;
    }
    for (size_t side = 0; side < KEDGE_TEXT_SIDES && status == KEDGE_OK; side++)
        status = fill_starts(allocator, unit, &split->sides[side], error);
    if (status == KEDGE_OK) status = number_symbols(split, error);
    if (status != KEDGE_OK) kedge_text_split_free(split);
    return status;
}

void kedge_text_split_free(kedge_text_split *split)
{
    for (size_t side = 0; side < KEDGE_TEXT_SIDES; side++) {
        kedge_release(split->allocator, split->sides[side].starts);
        kedge_release(split->allocator, split->sides[side].symbols);
    }
    kedge_release(split->allocator, split->has_word);
    *split = (kedge_text_split){.allocator = split->allocator};
}

kedge_bytes kedge_text_range(const kedge_text_tokens *tokens, size_t start, size_t end)
{
    KEDGE_ASSERT(start <= end && end <= tokens->count);
    return (kedge_bytes){tokens->text.data + tokens->starts[start],
                         tokens->starts[end] - tokens->starts[start]};
}

/* ---- what stands between two texts ---- */

static kind first_kind(kedge_bytes text)
{
    uint32_t c;
    character(text, 0, &c);
    return kind_of(c);
}

/* Of the last character that is no mark. */
static kind last_kind(kedge_bytes text)
{
    kind last = KIND_MARK;
    for (size_t at = text.size; at > 0 && last == KIND_MARK;) {
        uint32_t c;
        do
            at--;
        while (at > 0 && kedge_utf8_sequence(text.data + at, text.size - at) == 0);
        character(text, at, &c);
        last = kind_of(c);
    }
    return last;
}

const char *kedge_text_separator(kedge_bytes first, kedge_bytes second)
{
    if (first.size == 0 || second.size == 0) return "";
    kind end = last_kind(first);
    kind start = first_kind(second);
    if (end == KIND_NEWLINE || start == KIND_NEWLINE) return "";
    if (memchr(first.data, '\n', first.size) != NULL ||
        memchr(second.data, '\n', second.size) != NULL)
        return "\n";
    if (end == KIND_BLANK || start == KIND_BLANK) return "";
    return end == KIND_SINGLE && start == KIND_SINGLE ? "" : " ";
}
