/* Which damaged row is which missing mutation, and under which sequence a kedge.noop stands for it.
 *
 * Ids and sequences rise together, so a hole between two present rows holds the missing ids in the
 * order of the damaged rows that stand in it. Where fewer rows than ids are left, the ids that the
 * rows still show say which ones they are, if these rise; otherwise the places of the rows say so,
 * if no sequence was skipped; otherwise the rows count as the last ones of the hole. An id without
 * a row gets a sequence between its neighbours that no other row has. A damaged row that stands in
 * no hole has a damaged key: only its text is used.
 *
 * A disk can also bring back an old page, whose rows are sound but out of date. Such a row does not
 * fill a hole when another table shows that its edit is decided. When the inbox lists its edit as
 * damaged, a kedge.noop took its place, which may be decided or not; the row then fills a hole only
 * if there are fewer rows than ids, and if it is of the living client. A sound row of another
 * client is from before a rotation: it fills a hole in its own place, or when there are as many
 * rows as ids. When `meta` is old, the other tables show that edits which it counts are decided: an
 * id for which only sequences of such edits are left is decided, too, and gets no sequence. */
#include "sdk/store/outbox_heal.h"
#include "sdk/store/outbox_rows.h"

typedef struct hole {
    kedge_missing_id *missing;
    size_t count;
} hole;

static kedge_orphan *orphans_of(const kedge_outbox_healing *heal)
{
    return (kedge_orphan *)(void *)heal->orphans.data;
}

static void mark(kedge_outbox_healing *heal, size_t *at, int64_t sequence, bool as_damaged)
{
    while (*at < heal->orphan_count && orphans_of(heal)[*at].key < sequence)
        ++*at;
    if (!as_damaged) kedge_buffer_append(&heal->decided, &sequence, sizeof sequence);
    if (*at == heal->orphan_count) return;
    kedge_orphan *orphan = &orphans_of(heal)[*at];
    if (orphan->key != sequence || !orphan->sound) return;
    /* A rotation has given each undecided mutation, and so the no-op too, the new client id. */
    if (as_damaged && orphan->ours)
        orphan->told = true;
    else
        orphan->settled = true;
}

kedge_status kedge_outbox_find_decided(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char *const sql =
        "SELECT sequence, 0 FROM confirmed WHERE {intact confirmed} UNION ALL SELECT "
        "sequence, state = 3 FROM rejected ORDER BY sequence";
    kedge_store_db *db = &heal->store->outbox;
    sqlite3_stmt *elsewhere;
    size_t at = 0;
    if (heal->orphan_count == 0 && heal->missing_count == 0) return KEDGE_OK;
    kedge_status status = kedge_store_db_take(db, sql, &elsewhere, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_store_db_step(db, elsewhere, error)) == KEDGE_OK)
        mark(heal, &at, sqlite3_column_int64(elsewhere, 0), sqlite3_column_int(elsewhere, 1) != 0);
    sqlite3_reset(elsewhere);
    if (status != KEDGE_DONE) return status;
    return kedge_buffer_status(&heal->decided, error);
}

/* Returns how many of them are lower than `sequence`. */
static size_t count_below(const kedge_buffer *sequences, int64_t sequence)
{
    const int64_t *at = (const int64_t *)(const void *)sequences->data;
    size_t low = 0, high = sequences->size / sizeof *at;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (at[middle] < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool has(const kedge_buffer *sequences, int64_t sequence)
{
    return count_below(sequences, sequence) < count_below(sequences, sequence + 1);
}

/* Returns the highest free sequence below `above`. */
static int64_t free_sequence(const kedge_outbox_healing *heal, int64_t above, bool avoid_decided)
{
    int64_t sequence = above - 1;
    while (has(&heal->taken, sequence) || (avoid_decided && has(&heal->decided, sequence)))
        sequence--;
    return sequence;
}

/* Only the lowest ids can be decided, since the server decides in the order of ids. */
static bool are_decided(const kedge_outbox_healing *heal, const hole *at, size_t count)
{
    if (at->missing[0].low != 0 || count_below(&heal->decided, at->missing[0].high) < count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (at->missing[i].orphan != 0) return false;
        at->missing[i].sequence = 0;
    }
    return true;
}

/* From the upper end: if no sequence was skipped, each id gets its own sequence again. */
static bool give_sequences(const kedge_outbox_healing *heal, const hole *at, bool avoid_decided)
{
    int64_t above = at->missing[0].high;
    for (size_t i = at->count; i-- > 0;) {
        kedge_missing_id *missing = &at->missing[i];
        int64_t sequence = missing->orphan;
        if (sequence == 0) sequence = free_sequence(heal, above, avoid_decided);
        if (sequence >= above) return false;
        if (sequence <= missing->low) return avoid_decided && are_decided(heal, at, i + 1);
        missing->sequence = above = sequence;
    }
    return true;
}

static bool stands_in(const kedge_orphan *orphan, const hole *at)
{
    return orphan->key > at->missing[0].low && orphan->key < at->missing[0].high;
}

static void forget_orphans(const hole *at)
{
    for (size_t i = 0; i < at->count; i++)
        at->missing[i].orphan = 0;
}

static bool place_by_id(const kedge_outbox_healing *heal, const hole *at, size_t first, size_t end,
                        bool avoid_decided)
{
    int64_t before = at->missing[0].id - 1;
    forget_orphans(at);
    for (size_t i = first; i < end; i++) {
        const kedge_orphan *orphan = &orphans_of(heal)[i];
        if (orphan->settled) continue;
        if (orphan->sound && !orphan->ours) return false; /* it had this id as another client */
        if (orphan->id <= before || orphan->id > at->missing[at->count - 1].id) return false;
        at->missing[orphan->id - at->missing[0].id].orphan = orphan->key;
        before = orphan->id;
    }
    return give_sequences(heal, at, avoid_decided);
}

/* From before a rotation, which has given each undecided mutation the new client id. Its edit may
 * be decided, or be pending under its sequence and another id. */
static bool is_old(const kedge_orphan *orphan)
{
    return orphan->sound && !orphan->ours;
}

/* How many of the rows may stand for an edit that has no entry in the inbox. */
static size_t count_untold(const kedge_outbox_healing *heal, size_t first, size_t end, bool old)
{
    size_t count = 0;
    for (size_t i = first; i < end; i++) {
        const kedge_orphan *orphan = &orphans_of(heal)[i];
        count += !orphan->settled && !orphan->told && is_old(orphan) == old;
    }
    return count;
}

static size_t count_lacking(const hole *at, size_t untold)
{
    return at->count > untold ? at->count - untold : 0;
}

/* As if no sequence was skipped. Rows say so that stand where this puts an id each. */
static bool place_densely(const kedge_outbox_healing *heal, const hole *at, size_t first,
                          size_t end, bool avoid_decided)
{
    size_t untold = count_untold(heal, first, end, false), lacking = count_lacking(at, untold);
    size_t old = count_untold(heal, first, end, true), left = at->count, found = 0;
    forget_orphans(at);
    if (untold + old == 0 || !give_sequences(heal, at, avoid_decided)) return false;
    for (size_t i = end; i-- > first && left > 0;) {
        const kedge_orphan *orphan = &orphans_of(heal)[i];
        if (orphan->settled || (orphan->told && lacking == 0)) continue;
        while (left > 0 && at->missing[left - 1].sequence > orphan->key)
            left--;
        if (left == 0 || at->missing[left - 1].sequence != orphan->key) continue;
        at->missing[--left].orphan = orphan->key;
        if (orphan->told)
            lacking--;
        else
            found += !is_old(orphan);
    }
    return found == untold;
}

static bool place_last(const kedge_outbox_healing *heal, const hole *at, size_t first, size_t end,
                       bool avoid_decided)
{
    size_t untold = count_untold(heal, first, end, false), lacking = count_lacking(at, untold);
    size_t left = at->count;
    forget_orphans(at);
    for (size_t i = end; i-- > first && left > 0;) {
        const kedge_orphan *orphan = &orphans_of(heal)[i];
        if (orphan->settled || is_old(orphan) || (orphan->told && lacking == 0)) continue;
        if (orphan->told) lacking--;
        at->missing[--left].orphan = orphan->key;
    }
    return give_sequences(heal, at, avoid_decided);
}

/* As many rows as ids: whatever client id they show. */
static bool place_all(const kedge_outbox_healing *heal, const hole *at, size_t first, size_t end,
                      bool avoid_decided)
{
    size_t rows = count_untold(heal, first, end, false) + count_untold(heal, first, end, true);
    size_t placed = 0;
    forget_orphans(at);
    if (rows != at->count) return false;
    for (size_t i = first; i < end; i++) {
        const kedge_orphan *orphan = &orphans_of(heal)[i];
        if (!orphan->settled && !orphan->told) at->missing[placed++].orphan = orphan->key;
    }
    return give_sequences(heal, at, avoid_decided);
}

static void match(const kedge_outbox_healing *heal, const hole *at, size_t first, size_t end)
{
    for (size_t i = 0; i < at->count; i++) {
        kedge_missing_id *missing = &at->missing[i];
        missing->in_place = missing->orphan != 0;
        while (missing->in_place && first < end && orphans_of(heal)[first].key < missing->orphan)
            first++;
        if (missing->in_place) orphans_of(heal)[first].matched = true;
    }
}

static bool place(const kedge_outbox_healing *heal, const hole *at, size_t first, size_t end,
                  bool avoid_decided)
{
    return place_by_id(heal, at, first, end, avoid_decided) ||
           place_all(heal, at, first, end, avoid_decided) ||
           place_densely(heal, at, first, end, avoid_decided) ||
           place_last(heal, at, first, end, avoid_decided);
}

static kedge_status fill_hole(kedge_outbox_healing *heal, const hole *at, size_t first, size_t end,
                              kedge_error *error)
{
    if (place(heal, at, first, end, true) || place(heal, at, first, end, false)) {
        match(heal, at, first, end);
        return KEDGE_OK;
    }
    forget_orphans(at);
    if (give_sequences(heal, at, false)) return KEDGE_OK;
    return kedge_store_db_fail(&heal->store->outbox, SQLITE_CORRUPT,
                               "giving a missing mutation its place", error);
}

/* Gives the legible text of rows that are in no hole to ids without a row. */
static void use_the_rest(kedge_outbox_healing *heal, kedge_missing_id *missing)
{
    size_t at = 0;
    for (size_t i = 0; i < heal->orphan_count; i++) {
        kedge_orphan *orphan = &orphans_of(heal)[i];
        if (orphan->matched || orphan->settled || orphan->told || !orphan->ours ||
            orphan->id <= heal->decided_through)
            continue;
        while (at < heal->missing_count && (missing[at].orphan != 0 || missing[at].sequence == 0))
            at++;
        if (at == heal->missing_count) return;
        missing[at].orphan = orphan->key;
        orphan->matched = true;
    }
}

kedge_status kedge_outbox_place_missing(kedge_outbox_healing *heal, kedge_error *error)
{
    kedge_missing_id *missing = (kedge_missing_id *)(void *)heal->missing.data;
    size_t i = 0, orphan = 0;
    kedge_status status = KEDGE_OK;
    while (i < heal->missing_count && status == KEDGE_OK) {
        hole at = {.missing = &missing[i], .count = 1};
        while (i + at.count < heal->missing_count && missing[i + at.count].high == missing[i].high)
            at.count++;
        while (orphan < heal->orphan_count && orphans_of(heal)[orphan].key <= missing[i].low)
            orphan++;
        size_t first = orphan;
        while (orphan < heal->orphan_count && stands_in(&orphans_of(heal)[orphan], &at))
            orphan++;
        status = fill_hole(heal, &at, first, orphan, error);
        i += at.count;
    }
    if (status == KEDGE_OK) use_the_rest(heal, missing);
    return status;
}
