/* The three-way merge: the changes of both sides, side by side along the base. */
#include "mutate/text_merge.h"

#include "common/assert.h"
#include "common/error.h"
#include "mutate/text_diff.h"

#define TOKEN_COST 64 /* bytes of memory and work for each token */

typedef struct merge {
    const kedge_allocator *allocator;
    uint64_t cost_max;
    kedge_buffer *merged;
    kedge_text_merge_result *result;
} merge;

/* Both texts were cut, and compared with the base. */
typedef struct level {
    kedge_text_unit unit;
    kedge_text_split split;
    kedge_text_hunks hunks[KEDGE_TEXT_SIDES]; /* [KEDGE_TEXT_BASE] is empty */
    size_t next[KEDGE_TEXT_SIDES];            /* the first hunk that is not merged yet */
    uint32_t at;                              /* the base is merged up to here */
} level;

/* A stretch of the base that one side changed, or both, with overlapping changes. */
typedef struct region {
    uint32_t start, end;
    size_t first[KEDGE_TEXT_SIDES]; /* its hunks: from here to the level's `next` */
} region;

static kedge_status merge_level(merge *work, kedge_text_unit unit,
                                const kedge_bytes texts[KEDGE_TEXT_SIDES], kedge_error *error);

static kedge_status charge(merge *work, uint64_t cost, kedge_error *error)
{
    work->result->cost += cost;
    if (work->result->cost <= work->cost_max) return KEDGE_OK;
    return kedge_fail(error, KEDGE_LIMIT_EXCEEDED, "mutation-too-costly",
                      "the merge of the texts costs more work than a mutation may");
}

/* Where both changed the same: an edit wins over a deletion, and two edits stay both. */
static void keep_both(merge *work, kedge_bytes theirs, kedge_bytes ours)
{
    work->result->overlaps++;
    kedge_buffer_append_bytes(work->merged, theirs);
    kedge_buffer_append_text(work->merged, kedge_text_separator(theirs, ours));
    kedge_buffer_append_bytes(work->merged, ours);
}

/* ---- regions ---- */

static const kedge_text_hunk *peek(const level *of, size_t side)
{
    return of->next[side] < of->hunks[side].count ? &of->hunks[side].rows[of->next[side]] : NULL;
}

/* Two insertions at one place overlap, since their order is open. An insertion at the end of what
 * the other changed does not. The hunk does not begin before the region. */
static bool overlaps(const region *at, const kedge_text_hunk *hunk)
{
    KEDGE_ASSERT(at->start <= hunk->base_start);
    if (at->start == at->end && hunk->base_start == hunk->base_end)
        return at->start == hunk->base_start;
    return hunk->base_start < at->end;
}

static bool is_first(const kedge_text_hunk *hunk, const kedge_text_hunk *other)
{
    if (hunk == NULL || other == NULL) return hunk != NULL;
    if (hunk->base_start != other->base_start) return hunk->base_start < other->base_start;
    return hunk->base_end <= other->base_end;
}

/* Takes the next hunk, and all that overlap with what is taken. False: there is none. */
static bool take_region(level *of, region *taken)
{
    const kedge_text_hunk *theirs = peek(of, KEDGE_TEXT_THEIRS);
    const kedge_text_hunk *ours = peek(of, KEDGE_TEXT_OURS);
    if (theirs == NULL && ours == NULL) return false;
    const kedge_text_hunk *hunk = is_first(theirs, ours) ? theirs : ours;
    *taken = (region){.start = hunk->base_start, .end = hunk->base_end};
    for (size_t side = KEDGE_TEXT_THEIRS; side < KEDGE_TEXT_SIDES; side++)
        taken->first[side] = of->next[side];
    of->next[hunk == theirs ? KEDGE_TEXT_THEIRS : KEDGE_TEXT_OURS]++;
    for (bool more = true; more;) {
        more = false;
        for (size_t side = KEDGE_TEXT_THEIRS; side < KEDGE_TEXT_SIDES; side++) {
            hunk = peek(of, side);
            if (hunk == NULL || !overlaps(taken, hunk)) continue;
            if (hunk->base_end > taken->end) taken->end = hunk->base_end;
            of->next[side]++;
            more = true;
        }
    }
    return true;
}

static bool is_changed(const level *of, const region *at, size_t side)
{
    return at->first[side] < of->next[side];
}

/* What a side that changed the region has in its place. */
static kedge_bytes text_of(const level *of, const region *at, size_t side)
{
    KEDGE_ASSERT(is_changed(of, at, side));
    const kedge_text_hunk *first = &of->hunks[side].rows[at->first[side]];
    const kedge_text_hunk *last = &of->hunks[side].rows[of->next[side] - 1];
    return kedge_text_range(&of->split.sides[side],
                            first->side_start - (first->base_start - at->start),
                            last->side_end + (at->end - last->base_end));
}

static kedge_status merge_region(merge *work, const level *of, const region *at, kedge_error *error)
{
    bool by_them = is_changed(of, at, KEDGE_TEXT_THEIRS);
    if (!by_them || !is_changed(of, at, KEDGE_TEXT_OURS)) {
        size_t side = by_them ? KEDGE_TEXT_THEIRS : KEDGE_TEXT_OURS;
        kedge_buffer_append_bytes(work->merged, text_of(of, at, side));
        return KEDGE_OK;
    }
    const kedge_bytes texts[KEDGE_TEXT_SIDES] = {
        kedge_text_range(&of->split.sides[KEDGE_TEXT_BASE], at->start, at->end),
        text_of(of, at, KEDGE_TEXT_THEIRS), text_of(of, at, KEDGE_TEXT_OURS)};
    if (kedge_bytes_equal(texts[KEDGE_TEXT_THEIRS], texts[KEDGE_TEXT_OURS])) {
        kedge_buffer_append_bytes(work->merged, texts[KEDGE_TEXT_THEIRS]);
        return KEDGE_OK;
    }
    if (of->unit == KEDGE_TEXT_LINES) return merge_level(work, KEDGE_TEXT_WORDS, texts, error);
    keep_both(work, texts[KEDGE_TEXT_THEIRS], texts[KEDGE_TEXT_OURS]);
    return KEDGE_OK;
}

/* ---- levels ---- */

static kedge_status merge_regions(merge *work, level *of, kedge_error *error)
{
    region at;
    kedge_status status = KEDGE_OK;
    const kedge_text_tokens *base = &of->split.sides[KEDGE_TEXT_BASE];
    while (status == KEDGE_OK && take_region(of, &at)) {
        kedge_buffer_append_bytes(work->merged, kedge_text_range(base, of->at, at.start));
        status = merge_region(work, of, &at, error);
        of->at = at.end;
    }
    kedge_buffer_append_bytes(work->merged, kedge_text_range(base, of->at, base->count));
    return status;
}

/* At most two levels deep. */
static kedge_status merge_level(merge *work, kedge_text_unit unit,
                                const kedge_bytes texts[KEDGE_TEXT_SIDES], kedge_error *error)
{
    level of = {.unit = unit};
    uint64_t bytes = texts[0].size + texts[1].size + texts[2].size;
    kedge_status status = charge(work, bytes, error);
    if (status == KEDGE_OK)
        status = kedge_text_split_make(work->allocator, unit, texts, &of.split, error);
    if (status == KEDGE_DONE) {
        keep_both(work, texts[KEDGE_TEXT_THEIRS], texts[KEDGE_TEXT_OURS]);
        return KEDGE_OK;
    }
    if (status != KEDGE_OK) return status;
    for (size_t side = 0; side < KEDGE_TEXT_SIDES && status == KEDGE_OK; side++)
        status = charge(work, TOKEN_COST * of.split.sides[side].count, error);
    for (size_t side = KEDGE_TEXT_THEIRS; side < KEDGE_TEXT_SIDES && status == KEDGE_OK; side++)
        status = kedge_text_diff(&of.split, side, &of.hunks[side], error);
    if (status == KEDGE_OK) status = merge_regions(work, &of, error);
    for (size_t side = KEDGE_TEXT_THEIRS; side < KEDGE_TEXT_SIDES; side++)
        kedge_text_hunks_free(work->allocator, &of.hunks[side]);
    kedge_text_split_free(&of.split);
    return status;
}

kedge_status kedge_text_merge(const kedge_allocator *allocator, kedge_bytes base,
                              kedge_bytes theirs, kedge_bytes ours, uint64_t cost_max,
                              kedge_buffer *merged, kedge_text_merge_result *result,
                              kedge_error *error)
{
    merge work = {.allocator = allocator, .cost_max = cost_max, .merged = merged, .result = result};
    *result = (kedge_text_merge_result){.overlaps = 0};
    if (kedge_bytes_equal(base, ours) || kedge_bytes_equal(theirs, ours)) {
        kedge_buffer_append_bytes(merged, theirs);
        return kedge_buffer_status(merged, error);
    }
    if (kedge_bytes_equal(base, theirs)) {
        kedge_buffer_append_bytes(merged, ours);
        return kedge_buffer_status(merged, error);
    }
    const kedge_bytes texts[KEDGE_TEXT_SIDES] = {base, theirs, ours};
    kedge_status status = merge_level(&work, KEDGE_TEXT_LINES, texts, error);
    return status == KEDGE_OK ? kedge_buffer_status(merged, error) : status;
}
