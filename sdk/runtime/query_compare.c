/* What leads from one result of a query to the next.
 *
 * A row that is in both results, with the same values, need not be told as long as it stands among
 * the others of its kind as before. So the longest series of such rows that are in the same order
 * in both results stays untold; everything else is removed, added or changed. */
#include "common/error.h"
#include "sdk/runtime/query_rows.h"

typedef struct comparison {
    kedge_query_result none; /* when there is no result before */
    const kedge_query_result *before;
    const kedge_query_result *after;
    size_t *old; /* of each row of `after`: its place in `before`, counted from 1; 0: it is new */
    bool *kept;  /* of each row of `before` */
    bool *stays; /* of each row of `after`: it is not told */
    size_t matched;
    size_t staying;
} comparison;

/* Both lists are in the order of their keys. */
static void match(comparison *c)
{
    size_t i = 0, j = 0;
    while (i < c->before->count && j < c->after->count) {
        const kedge_query_row *before = c->before->by_key[i];
        const kedge_query_row *after = c->after->by_key[j];
        int order = kedge_bytes_compare(before->key, after->key);
        if (order == 0) {
            c->old[after->position] = before->position + 1;
            c->kept[before->position] = true;
            c->matched++;
        }
        if (order <= 0) i++;
        if (order >= 0) j++;
    }
}

static bool is_same(const comparison *c, size_t position)
{
    size_t old = c->old[position];
    return old > 0 && kedge_bytes_equal(c->before->rows[old - 1].row, c->after->rows[position].row);
}

/* The number of series' ends in `ends`, ascending, that stand before the place `old`. */
static size_t count_below(const comparison *c, const size_t *ends, size_t count, size_t old)
{
    size_t low = 0;
    while (low < count) {
        size_t middle = low + (count - low) / 2;
        if (c->old[ends[middle]] < old)
            low = middle + 1;
        else
            count = middle;
    }
    return low;
}

/* The longest ascending series of `old`, over the rows that are the same. `ends[n]` is the last row
 * of a series of n + 1 rows, the one that stood first before; `previous` is the row in front of
 * each in its series. */
static void find_staying(comparison *c, size_t *ends, size_t *previous)
{
    size_t longest = 0;
    for (size_t i = 0; i < c->after->count; i++) {
        if (!is_same(c, i)) continue;
        size_t length = count_below(c, ends, longest, c->old[i]);
        previous[i] = length > 0 ? ends[length - 1] : 0;
        ends[length] = i;
        if (length == longest) longest++;
    }
    c->staying = longest;
    for (size_t i = longest > 0 ? ends[longest - 1] : 0; longest > 0; longest--) {
        c->stays[i] = true;
        i = previous[i];
    }
}

static void set_old(kedge_row_change *change, const kedge_query_row *row)
{
    change->key = row->key.data;
    change->key_size = row->key.size;
    change->old_row = row->row.data;
    change->old_size = row->row.size;
    change->old_position = (int64_t)row->position;
}

static void list(const comparison *c, kedge_row_change *change)
{
    for (size_t i = 0; i < c->before->count; i++) {
        if (c->kept[i]) continue;
        *change = (kedge_row_change){.kind = KEDGE_ROW_REMOVED, .new_position = -1};
        set_old(change++, &c->before->rows[i]);
    }
    for (size_t i = 0; i < c->after->count; i++) {
        const kedge_query_row *row = &c->after->rows[i];
        if (c->stays[i]) continue;
        *change = (kedge_row_change){.kind = KEDGE_ROW_ADDED,
                                     .key = row->key.data,
                                     .key_size = row->key.size,
                                     .old_position = -1,
                                     .new_row = row->row.data,
                                     .new_size = row->row.size,
                                     .new_position = (int64_t)i};
        if (c->old[i] > 0) {
            change->kind = KEDGE_ROW_CHANGED;
            set_old(change, &c->before->rows[c->old[i] - 1]);
        }
        change++;
    }
}

kedge_status kedge_query_result_compare(const kedge_query_result *before,
                                        const kedge_query_result *after, kedge_row_change **changes,
                                        size_t *count, kedge_error *error)
{
    const kedge_allocator *allocator = after->allocator;
    comparison c = {.after = after};
    c.before = before != NULL ? before : &c.none;
    size_t places = after->count + 1;
    kedge_row_change *made = NULL;
    size_t *work = kedge_allocate(allocator, 3 * places * sizeof *work);
    bool *flags = kedge_allocate(allocator, places + c.before->count);
    if (work != NULL && flags != NULL) {
        c.old = work;
        c.stays = flags;
        c.kept = flags + places;
        match(&c);
        find_staying(&c, work + places, work + 2 * places);
        *count = c.before->count - c.matched + after->count - c.staying;
        made = kedge_allocate(allocator, (*count + 1) * sizeof *made);
        if (made != NULL) list(&c, made);
    }
    kedge_release(allocator, flags);
    kedge_release(allocator, work);
    *changes = made;
    return made != NULL ? KEDGE_OK : kedge_fail_no_memory(error);
}
