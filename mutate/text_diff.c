/* The patience diff of Bram Cohen: tokens that each text has exactly once are matched, as many as
 * stand in the same order in both; between two of them the same is done again, with the tokens that
 * are single there. A place without such tokens is one change. So two sentences that share no more
 * than "the" and commas do not become a mixture, and the work is bounded: each of at most DEPTH_MAX
 * rounds sorts what the rounds before left. */
#include "mutate/text_diff.h"

#include "common/assert.h"
#include "common/error.h"

#define DEPTH_MAX 32

/* A stretch of both texts that is not compared yet. */
typedef struct segment {
    uint32_t base_start, base_end;
    uint32_t side_start, side_end;
    uint32_t depth;
} segment;

/* How often a symbol is in the segment at hand. */
typedef struct occurrence {
    uint32_t in_base;
    uint32_t in_side;
    uint32_t at_side;
} occurrence;

/* A token that is single on both sides, and the chain that it ends (see longest_chain). */
typedef struct anchor {
    uint32_t base;
    uint32_t side;
    uint32_t before; /* the anchor in front of it in its chain, plus one; 0: none */
} anchor;

typedef struct diff {
    const kedge_text_split *split;
    const kedge_text_tokens *base;
    const kedge_text_tokens *side;
    occurrence *occurrences; /* by symbol; all zero between two segments */
    anchor *anchors;
    uint32_t *tails; /* the anchors that end the best chain of each length; then the chain */
    segment *stack;  /* segments that do not meet, so that there are fewer than tokens */
    size_t depth;
    kedge_text_hunks *hunks;
} diff;

static void push(diff *work, segment pushed)
{
    if (pushed.base_start == pushed.base_end && pushed.side_start == pushed.side_end) return;
    KEDGE_ASSERT(work->depth < work->base->count + work->side->count);
    work->stack[work->depth++] = pushed;
}

/* ---- hunks ---- */

static kedge_status add_hunk(diff *work, const segment *changed, kedge_error *error)
{
    kedge_text_hunks *hunks = work->hunks;
    if (hunks->count == hunks->capacity) {
        const kedge_allocator *allocator = work->split->allocator;
        size_t capacity = hunks->capacity == 0 ? 16 : 2 * hunks->capacity;
        kedge_text_hunk *rows =
            allocator->reallocate(allocator->context, hunks->rows, capacity * sizeof *rows);
        if (rows == NULL) return kedge_fail_no_memory(error);
        hunks->rows = rows;
        hunks->capacity = capacity;
    }
    hunks->rows[hunks->count++] = (kedge_text_hunk){changed->base_start, changed->base_end,
                                                    changed->side_start, changed->side_end};
    return KEDGE_OK;
}

/* ---- anchors ---- */

static void count_segment(diff *work, const segment *at, bool up)
{
    for (uint32_t i = at->base_start; i < at->base_end; i++) {
        occurrence *of = &work->occurrences[work->base->symbols[i]];
        of->in_base = up ? of->in_base + 1 : 0;
    }
    for (uint32_t i = at->side_start; i < at->side_end; i++) {
        occurrence *of = &work->occurrences[work->side->symbols[i]];
        of->in_side = up ? of->in_side + 1 : 0;
        of->at_side = i;
    }
}

/* Blanks and points match by chance, so that they are no anchors. */
static size_t find_anchors(diff *work, const segment *at)
{
    size_t count = 0;
    count_segment(work, at, true);
    for (uint32_t i = at->base_start; i < at->base_end; i++) {
        uint32_t symbol = work->base->symbols[i];
        const occurrence *of = &work->occurrences[symbol];
        if (of->in_base == 1 && of->in_side == 1 && work->split->has_word[symbol])
            work->anchors[count++] = (anchor){.base = i, .side = of->at_side};
    }
    count_segment(work, at, false);
    return count;
}

/* The longest chain of anchors that is in order on both sides, into `tails`; returns its length.
 * tails[n]: of the chains of n + 1 anchors the one that ends first on the side. */
static size_t longest_chain(diff *work, size_t count)
{
    size_t length = 0;
    anchor *anchors = work->anchors;
    for (size_t i = 0; i < count; i++) {
        size_t low = 0;
        size_t high = length;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (anchors[work->tails[middle]].side < anchors[i].side)
                low = middle + 1;
            else
                high = middle;
        }
        anchors[i].before = low == 0 ? 0 : work->tails[low - 1] + 1;
        work->tails[low] = (uint32_t)i;
        if (low == length) length++;
    }
    uint32_t next = length == 0 ? 0 : work->tails[length - 1] + 1;
    for (size_t i = length; i > 0; i--) {
        work->tails[i - 1] = next - 1;
        next = anchors[next - 1].before;
    }
    return length;
}

/* ---- segments ---- */

static void trim(const diff *work, segment *at)
{
    const uint32_t *base = work->base->symbols;
    const uint32_t *side = work->side->symbols;
    while (at->base_start < at->base_end && at->side_start < at->side_end &&
           base[at->base_start] == side[at->side_start])
        at->base_start++, at->side_start++;
    while (at->base_start < at->base_end && at->side_start < at->side_end &&
           base[at->base_end - 1] == side[at->side_end - 1])
        at->base_end--, at->side_end--;
}

/* The first one comes to lie on top of the stack. */
static void push_between(diff *work, const segment *at, size_t length)
{
    segment rest = *at;
    rest.depth = at->depth + 1;
    for (size_t i = length; i > 0; i--) {
        const anchor *found = &work->anchors[work->tails[i - 1]];
        segment behind = rest;
        behind.base_start = found->base + 1;
        behind.side_start = found->side + 1;
        push(work, behind);
        rest.base_end = found->base;
        rest.side_end = found->side;
    }
    push(work, rest);
}

static kedge_status compare_segment(diff *work, segment at, kedge_error *error)
{
    trim(work, &at);
    if (at.base_start == at.base_end && at.side_start == at.side_end) return KEDGE_OK;
    size_t length = 0;
    if (at.base_start < at.base_end && at.side_start < at.side_end && at.depth < DEPTH_MAX)
        length = longest_chain(work, find_anchors(work, &at));
    if (length == 0) return add_hunk(work, &at, error);
    push_between(work, &at, length);
    return KEDGE_OK;
}

kedge_status kedge_text_diff(const kedge_text_split *split, size_t side, kedge_text_hunks *hunks,
                             kedge_error *error)
{
    const kedge_allocator *allocator = split->allocator;
    diff work = {.split = split,
                 .base = &split->sides[KEDGE_TEXT_BASE],
                 .side = &split->sides[side],
                 .hunks = hunks};
    size_t base_count = work.base->count;
    size_t side_count = work.side->count;
    *hunks = (kedge_text_hunks){.rows = NULL};
    work.occurrences =
        kedge_allocate(allocator, (split->symbol_count + 1) * sizeof *work.occurrences);
    work.anchors = kedge_allocate(allocator, (base_count + 1) * sizeof *work.anchors);
    work.tails = kedge_allocate(allocator, (base_count + 1) * sizeof *work.tails);
    work.stack = kedge_allocate(allocator, (base_count + side_count + 1) * sizeof *work.stack);
    kedge_status status = KEDGE_OK;
    if (work.occurrences == NULL || work.anchors == NULL || work.tails == NULL ||
        work.stack == NULL)
        status = kedge_fail_no_memory(error);
    if (status == KEDGE_OK)
        push(&work, (segment){0, (uint32_t)base_count, 0, (uint32_t)side_count, 0});
    while (status == KEDGE_OK && work.depth > 0)
        status = compare_segment(&work, work.stack[--work.depth], error);
    kedge_release(allocator, work.stack);
    kedge_release(allocator, work.tails);
    kedge_release(allocator, work.anchors);
    kedge_release(allocator, work.occurrences);
    return status;
}

void kedge_text_hunks_free(const kedge_allocator *allocator, kedge_text_hunks *hunks)
{
    kedge_release(allocator, hunks->rows);
    *hunks = (kedge_text_hunks){.rows = NULL};
}
