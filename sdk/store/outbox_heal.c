/* Rows of the outbox that are damaged, and rows that are missing.
 *
 * The ids of the living client have no gap from the lowest undecided one to highest_id, and their
 * sequences rise with them. So what belongs to `pending` is known without any of its rows:
 *
 *   1. walk `pending`: a row that is sound and in its place counts as present; any other one is an
 *      orphan; an id that no present row has is missing, in the hole between two sequences
 *   2. each missing id is given to a kedge.noop, so that the edits after it go on; the edit itself
 *      stands in the inbox as damaged, with what an orphan in that hole still says
 *   3. orphans are deleted. One that fills no hole was decided already, or is an old row that a
 *      disk has brought back. Rows of earlier clients have no ids here: the server has decided
 *      these edits, and the cache shows them with its next pull. Of those that `pending_rows`
 *      counts and that are gone, the inbox tells what an orphan still says; the rest counts as
 *      unrecovered
 *
 * An entry of the inbox keeps its place with what can be read. The tables that may lose rows
 * without a trace are held to `totals`. */
#include "sdk/store/outbox_heal.h"
#include "sdk/store/index.h"
#include "sdk/store/outbox_rows.h"
#include "sdk/store/prediction.h"

#include "common/error.h"
#include "common/json.h"
#include <stdlib.h>
#include <string.h>

/* ---- the file as a whole ---- */

/* SQLite's check reports a page that it could not read like a damaged page. Its message has the
 * error code, or is about an overflow page; SQLITE_OK: the page is damaged. */
static int reading_failed(const char *told)
{
    static const char *const page = "unable to get the page. error code=";
    const char *at = strstr(told, page);
    int code = at ? (int)strtol(at + strlen(page), NULL, 10) : SQLITE_OK;
    if (!at && strstr(told, "failed to get page")) code = SQLITE_IOERR;
    return (code & 255) == SQLITE_CORRUPT ? SQLITE_OK : code;
}

static kedge_status integrity(kedge_store_db *db, bool *sound, kedge_error *error)
{
    static const char *const sql = "PRAGMA integrity_check(1)";
    sqlite3_stmt *check;
    kedge_status status = kedge_store_db_find(db, sql, &check, error, "");
    if (status != KEDGE_OK) return status;
    *sound = kedge_bytes_equal_text(kedge_store_column(check, 0), "ok");
    const char *told = (const char *)sqlite3_column_text(check, 0);
    int code = *sound || !told ? SQLITE_OK : reading_failed(told);
    sqlite3_reset(check);
    if (code == SQLITE_OK) return KEDGE_OK;
    return kedge_store_db_fail(db, code, "checking it as a whole", error);
}

/* Rows of a table that have one key cannot be indexed: they are on a page that belongs
 * elsewhere. */
static kedge_status make_indexes(kedge_store_db *db, kedge_error *error)
{
    kedge_status status = kedge_store_db_execute(db, "REINDEX", error);
    if (status != KEDGE_OK && (sqlite3_errcode(db->handle) & 255) == SQLITE_CONSTRAINT)
        status = kedge_store_db_fail(db, SQLITE_CORRUPT, "making its indexes anew", error);
    return status;
}

kedge_status kedge_outbox_check_file(kedge_store_db *db, kedge_error *error)
{
    bool sound = false;
    kedge_status status = integrity(db, &sound, error);
    if (status != KEDGE_OK || sound) return status;
    /* An index can be made again from its table. */
    status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = make_indexes(db, error);
    if (status == KEDGE_OK) status = integrity(db, &sound, error);
    if (status == KEDGE_OK && !sound)
        status = kedge_store_db_fail(db, SQLITE_CORRUPT, "checking it as a whole", error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
    return status;
}

/* ---- 1: what is present, and what is missing ---- */

static kedge_orphan *orphans_of(const kedge_outbox_healing *heal)
{
    return (kedge_orphan *)(void *)heal->orphans.data;
}

static kedge_missing_id *missing_of(const kedge_outbox_healing *heal)
{
    return (kedge_missing_id *)(void *)heal->missing.data;
}

static kedge_status add_orphan(kedge_outbox_healing *heal, const kedge_pending *row, bool sound,
                               kedge_error *error)
{
    bool ours = kedge_bytes_equal_text(row->client, heal->meta.client);
    kedge_orphan orphan = {.key = row->sequence,
                           .id = row->id,
                           .ours = ours,
                           .new = ours && row->origin_client.size == 0 && !row->withheld,
                           .covered = ours && row->id <= heal->covered_through,
                           .sound = sound};
    kedge_buffer_append(&heal->orphans, &orphan, sizeof orphan);
    heal->orphan_count++;
    return kedge_buffer_status(&heal->orphans, error);
}

static kedge_status add_taken(kedge_outbox_healing *heal, const kedge_pending *row,
                              kedge_error *error)
{
    kedge_buffer_append(&heal->taken, &row->sequence, sizeof row->sequence);
    return kedge_buffer_status(&heal->taken, error);
}

/* The ids from `id` to `end` - 1, in the hole of sequences between two present rows. */
static kedge_status add_missing(kedge_outbox_healing *heal, int64_t id, int64_t end, int64_t low,
                                int64_t high, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (; id < end && status == KEDGE_OK; id++) {
        kedge_missing_id missing = {.id = id, .low = low, .high = high};
        kedge_buffer_append(&heal->missing, &missing, sizeof missing);
        heal->missing_count++;
        status = kedge_buffer_status(&heal->missing, error);
    }
    return status;
}

static bool is_in_place(const kedge_outbox_healing *heal, const kedge_pending *row)
{
    if (!kedge_bytes_equal_text(row->client, heal->meta.client)) return row->covered_version > 0;
    return row->id > heal->last_id && row->sequence > 0;
}

/* A sound row proves counters that are behind it. */
static void raise_counters(kedge_outbox_healing *heal, const kedge_pending *row)
{
    kedge_outbox_meta *meta = &heal->meta;
    if (row->id <= meta->highest_id && row->sequence <= meta->last_sequence) return;
    if (row->id > meta->highest_id) meta->highest_id = row->id;
    if (row->sequence > meta->last_sequence) meta->last_sequence = row->sequence;
    meta->sent_through = meta->highest_id; /* not known, so that no edit can be cancelled */
    heal->changed = true;
}

static kedge_status look_at(kedge_outbox_healing *heal, const kedge_pending *row, bool sound,
                            kedge_error *error)
{
    heal->found_rows++;
    heal->found_sum += row->checksum & UINT32_MAX;
    if (!sound || !is_in_place(heal, row)) return add_orphan(heal, row, sound, error);
    heal->present++;
    if (!kedge_bytes_equal_text(row->client, heal->meta.client)) return add_taken(heal, row, error);
    raise_counters(heal, row);
    if (row->origin_client.size > 0) heal->renumbered = row->id;
    kedge_status status = KEDGE_OK;
    if (heal->last_id > 0)
        status = add_missing(heal, heal->last_id + 1, row->id, heal->last_sequence, row->sequence,
                             error);
    else
        heal->first = (kedge_missing_id){.id = row->id, .sequence = row->sequence};
    heal->last_id = row->id;
    heal->last_sequence = row->sequence;
    return status;
}

/* Behind the last present row. With none present, as many as meta has counted. */
static kedge_status look_behind(kedge_outbox_healing *heal, kedge_error *error)
{
    const kedge_outbox_meta *meta = &heal->meta;
    int64_t id = heal->last_id + 1;
    if (heal->last_id == 0) id = meta->highest_id + 1 - (meta->pending_rows - heal->present);
    if (id <= heal->decided_through) id = heal->decided_through + 1;
    if (id < 1) id = 1;
    int64_t last = heal->last_given > heal->last_sequence ? heal->last_given : heal->last_sequence;
    return add_missing(heal, id, meta->highest_id + 1, heal->last_sequence, last + 1, error);
}

/* Before the first present row: what meta has counted and is nowhere else. What the cache covers is
 * decided. */
static kedge_status look_before(kedge_outbox_healing *heal, int64_t counted, kedge_error *error)
{
    int64_t absent = counted - heal->present - (int64_t)heal->missing_count;
    int64_t id = heal->first.id - absent;
    if (heal->last_id == 0 || absent <= 0) return KEDGE_OK;
    if (id <= heal->decided_through) id = heal->decided_through + 1;
    if (id < 1) id = 1;
    kedge_buffer behind = heal->missing;
    size_t count = heal->missing_count;
    heal->missing = kedge_buffer_make(heal->store->allocator);
    heal->missing_count = 0;
    kedge_status status = add_missing(heal, id, heal->first.id, 0, heal->first.sequence, error);
    kedge_buffer_append_bytes(&heal->missing, kedge_buffer_bytes(&behind));
    heal->missing_count += count;
    kedge_buffer_free(&behind);
    return status == KEDGE_OK ? kedge_buffer_status(&heal->missing, error) : status;
}

static kedge_status look(kedge_outbox_healing *heal, kedge_error *error)
{
    kedge_store_db *db = &heal->store->outbox;
    int64_t counted = heal->meta.pending_rows;
    kedge_pending row;
    bool sound;
    sqlite3_stmt *cursor;
    kedge_status status = kedge_outbox_cursor_open_all(db, &cursor, error);
    if (status != KEDGE_OK) return status;
    while ((status = kedge_outbox_cursor_next_any(db, cursor, &row, &sound, error)) == KEDGE_OK) {
        status = look_at(heal, &row, sound, error);
        if (status != KEDGE_OK) break;
    }
    sqlite3_reset(cursor);
    if (status != KEDGE_DONE) return status;
    status = look_behind(heal, error);
    if (status == KEDGE_OK) status = look_before(heal, counted, error);
    return status;
}

/* ---- 2 and 3: setting aside ---- */

static kedge_status delete_orphan(kedge_outbox_healing *heal, int64_t key, kedge_error *error)
{
    static const char *const sql = "DELETE FROM pending {at}";
    return kedge_store_db_change(&heal->store->outbox, sql, error, "i", key);
}

static kedge_status insert_noop(kedge_outbox_healing *heal, int64_t sequence, int64_t id,
                                kedge_error *error)
{
    kedge_store *store = heal->store;
    char uid[KEDGE_STORE_UID_SIZE];
    uint8_t digest[KEDGE_DIGEST_SIZE];
    store->environment->random(store->environment->context, uid, sizeof uid);
    kedge_pending row = {.sequence = sequence,
                         .client = kedge_bytes_of(heal->meta.client),
                         .id = id,
                         .uid = {uid, sizeof uid},
                         .digest = {(const char *)digest, sizeof digest},
                         .name = KEDGE_BYTES("kedge.noop"),
                         .args = KEDGE_BYTES("null"),
                         .timestamp_ms = heal->now_ms};
    kedge_outbox_digest(row.name, row.args, row.uid, digest);
    return kedge_outbox_insert(&store->outbox, &row, &heal->meta, error);
}

/* Returns whether the mutation may have been sent, under this id or another one. Mutations that a
 * rotation renumbered have lower ids than those made since. */
static bool may_have_left(const kedge_outbox_healing *heal, const kedge_missing_id *missing)
{
    const kedge_orphan *orphans = orphans_of(heal);
    bool is_new = false;
    for (size_t i = 0; i < heal->orphan_count; i++)
        if (orphans[i].key == missing->orphan) is_new = orphans[i].new;
    return !is_new || missing->id <= heal->meta.sent_through || missing->id <= heal->renumbered;
}

static kedge_status show_missing(kedge_outbox_healing *heal, const kedge_missing_id *missing,
                                 kedge_error *error)
{
    bool sent = may_have_left(heal, missing);
    kedge_inbox_entry entry = {
        .sequence = missing->sequence,
        .id = missing->id,
        .message = sent ? "this edit was damaged on the disk; the server may have it"
                        : "this edit was damaged on the disk before it was sent",
        .conflict = missing->in_place ? KEDGE_INBOX_REPLACES : KEDGE_INBOX_MOVES,
    };
    kedge_status status = kedge_inbox_read_orphan(heal, missing->orphan, &entry, error);
    if (status == KEDGE_OK) status = kedge_inbox_set_aside(heal, &entry, error);
    return status;
}

static kedge_status show_decided(kedge_outbox_healing *heal, int64_t key, kedge_error *error)
{
    bool given_out = key >= 1 && key <= heal->meta.last_sequence;
    kedge_inbox_entry entry = {
        .sequence = given_out ? key : ++heal->meta.last_sequence,
        .message = "this edit was damaged on the disk; the server had decided it",
        .conflict = given_out ? KEDGE_INBOX_YIELDS : KEDGE_INBOX_MOVES,
    };
    kedge_status status = kedge_inbox_read_orphan(heal, key, &entry, error);
    if (status == KEDGE_OK) status = kedge_inbox_set_aside(heal, &entry, error);
    return status;
}

/* `gone`: rows that were counted and belong to no undecided id. They are of earlier clients, or the
 * server is known to have decided them. */
static kedge_status show_all_decided(kedge_outbox_healing *heal, int64_t gone, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < heal->orphan_count && gone > 0 && status == KEDGE_OK; i++) {
        const kedge_orphan *orphan = &orphans_of(heal)[i];
        if (orphan->matched || orphan->settled || orphan->told) continue;
        gone--;
        if (!orphan->covered) status = show_decided(heal, orphan->key, error);
    }
    if (gone > 0 && heal->decided_through == 0) heal->meta.unrecovered += gone;
    return status;
}

/* Decided mutations that no table has: rows that the cache covers and that did not reach the tail
 * any more, or a tail of which the disk has brought back old pages, alone or with other tables.
 * They count as trimmed from it, so that a backend that is restored without them counts them as
 * lost. */
static kedge_status count_as_trimmed(kedge_outbox_healing *heal, int64_t gone, kedge_error *error)
{
    kedge_outbox_meta *meta = &heal->meta;
    int64_t pulled =
        heal->pulled_through < meta->highest_id ? heal->pulled_through : meta->highest_id;
    int64_t through = pulled > heal->decided_through ? pulled : heal->decided_through;
    const kedge_tail_mark mark = {meta->client, meta->trimmed_through, through};
    int64_t nowhere = 0;
    kedge_status status = kedge_tail_count_nowhere(&heal->store->outbox, &mark, &nowhere, error);
    if ((gone > 0 || nowhere > 0) && meta->trimmed_through < through) {
        meta->trimmed_through = through;
        heal->changed = true;
    }
    return status;
}

static kedge_status set_all_aside(kedge_outbox_healing *heal, int64_t gone, kedge_error *error)
{
    kedge_missing_id *missing = missing_of(heal);
    kedge_status status = kedge_outbox_find_decided(heal, error);
    if (status == KEDGE_OK) status = kedge_outbox_place_missing(heal, error);
    for (size_t i = 0; i < heal->missing_count && status == KEDGE_OK; i++)
        if (missing[i].sequence > 0) status = show_missing(heal, &missing[i], error);
    if (status == KEDGE_OK) status = show_all_decided(heal, gone, error);
    for (size_t i = 0; i < heal->orphan_count && status == KEDGE_OK; i++)
        status = delete_orphan(heal, orphans_of(heal)[i].key, error);
    for (size_t i = 0; i < heal->missing_count && status == KEDGE_OK; i++)
        if (missing[i].sequence > 0)
            status = insert_noop(heal, missing[i].sequence, missing[i].id, error);
    return status;
}

/* Whether the rows that were found are not those that `meta` has counted. Each may be sound all the
 * same: a page of the table may be an old one. Of rows that are damaged, what is wrong is either
 * the checksum or another column, so that one of two sums is right. */
static kedge_status find_old_rows(kedge_outbox_healing *heal, const kedge_outbox_meta *counted,
                                  bool *old, kedge_error *error)
{
    static const char *const sql = "SELECT coalesce(sum({pending#}), 0) FROM pending";
    int64_t sum = 0;
    *old = heal->found_rows != counted->pending_rows;
    if (*old || heal->found_sum == counted->pending_sum) return KEDGE_OK;
    kedge_status status = kedge_store_db_number(&heal->store->outbox, sql, &sum, error);
    *old = sum != counted->pending_sum;
    return status;
}

/* An old row lacks what was noted in it since: that it is withheld, or that it was cancelled. Which
 * rows are old is not known. */
static kedge_status withhold_all(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char *const sql = "UPDATE pending SET withheld = 2";
    kedge_store_db *db = &heal->store->outbox;
    kedge_status status = kedge_store_db_execute(db, sql, error);
    return status == KEDGE_OK ? kedge_outbox_seal_all(db, error) : status;
}

/* Not while the outbox is older than the cache: its revision shows that to prediction_repair.c,
 * which comes later. The revision rises by more than the sequences do, as it does when edits are
 * cancelled: a missing edit has become a kedge.noop, too. */
static void raise_revision(kedge_outbox_healing *heal)
{
    kedge_outbox_meta *meta = &heal->meta;
    if (!heal->older) meta->revision += 1 + meta->last_sequence - heal->last_given;
}

static kedge_status heal_pending(kedge_outbox_healing *heal, kedge_error *error)
{
    kedge_outbox_meta now = heal->meta;
    bool old = false;
    kedge_status status = look(heal, error);
    if (status == KEDGE_OK) status = find_old_rows(heal, &now, &old, error);
    int64_t gone = now.pending_rows - heal->present - (int64_t)heal->missing_count;
    if (status == KEDGE_OK) status = set_all_aside(heal, gone, error);
    if (status == KEDGE_OK && old) status = withhold_all(heal, error);
    if (status == KEDGE_OK) status = count_as_trimmed(heal, gone, error);
    if (status == KEDGE_OK)
        status = kedge_outbox_count_pending(&heal->store->outbox, &heal->meta, error);
    if (status == KEDGE_OK && (heal->missing_count > 0 || heal->orphan_count > 0 || heal->changed ||
                               heal->meta.pending_rows != now.pending_rows ||
                               heal->meta.pending_sum != now.pending_sum)) {
        raise_revision(heal);
        heal->changed = true;
    }
    return status;
}

/* ---- the whole of it ---- */

/* An old copy of `meta`, brought back by a disk, is behind the rows that were decided since. An
 * edit that stands in the inbox as damaged is not decided by that, nor by being dismissed. */
static kedge_status ask_decided(kedge_outbox_healing *heal, kedge_error *error)
{
    static const char *const newest[] = {
        "SELECT sequence, client, id FROM confirmed WHERE {intact confirmed} ORDER BY ordinal "
        "DESC LIMIT 1",
        "SELECT sequence, client, id FROM rejected WHERE code <> 'damaged' AND {intact rejected}"
        " ORDER BY sequence DESC LIMIT 1"};
    kedge_store_db *db = &heal->store->outbox;
    for (size_t i = 0; i < sizeof newest / sizeof newest[0]; i++) {
        sqlite3_stmt *find;
        kedge_status status = kedge_store_db_find(db, newest[i], &find, error, "");
        if (status == KEDGE_DONE) continue;
        if (status != KEDGE_OK) return status;
        bool ours = kedge_bytes_equal_text(kedge_store_column(find, 1), heal->meta.client);
        kedge_pending row = {.sequence = sqlite3_column_int64(find, 0),
                             .id = ours ? sqlite3_column_int64(find, 2) : 0};
        sqlite3_reset(find);
        raise_counters(heal, &row);
        if (row.id > heal->decided_through) heal->decided_through = row.id;
    }
    return KEDGE_OK;
}

/* Whether `pending` has a sound row of the client that waits for no version: a rotation leaves only
 * such rows under the former client. */
static kedge_status has_row_of(kedge_store_db *db, const char *client, bool *found,
                               kedge_error *error)
{
    kedge_pending row;
    bool sound;
    sqlite3_stmt *cursor;
    *found = false;
    kedge_status status = kedge_outbox_cursor_open_all(db, &cursor, error);
    while (status == KEDGE_OK && !*found) {
        status = kedge_outbox_cursor_next_any(db, cursor, &row, &sound, error);
        *found = status == KEDGE_OK && sound && row.covered_version == 0 &&
                 kedge_bytes_equal_text(row.client, client);
    }
    sqlite3_reset(cursor);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

/* A disk has brought back a page with both copies of `meta`, from before a rotation: the cache has
 * the client id of after it, and so has a row of `pending`, which only the rotation can have
 * written. The counters of that client are raised by what is found. */
static kedge_status take_newer_client(kedge_outbox_healing *heal, const kedge_cache_meta *cache,
                                      kedge_error *error)
{
    bool newer = false;
    kedge_outbox_meta *meta = &heal->meta;
    if (strcmp(cache->client, meta->client) == 0) return KEDGE_OK;
    kedge_status status = has_row_of(&heal->store->outbox, cache->client, &newer, error);
    if (status != KEDGE_OK || !newer) return status;
    status = kedge_trimmed_keep(&heal->store->outbox, meta->client, meta->trimmed_through, error);
    memcpy(meta->client, cache->client, sizeof meta->client);
    meta->highest_id = meta->sent_through = cache->lmid;
    meta->trimmed_through = 0;
    heal->changed = true;
    return status;
}

static kedge_status begin(kedge_outbox_healing *heal, kedge_error *error)
{
    kedge_cache_meta cache;
    kedge_store *store = heal->store;
    heal->now_ms = store->environment->now_ms(store->environment->context);
    bool there = store->cache.handle != NULL &&
                 kedge_cache_meta_read(&store->cache, &cache, NULL) == KEDGE_OK;
    heal->last_given = heal->meta.last_sequence;
    heal->older = there && kedge_prediction_outbox_is_older(&heal->meta, &cache);
    if (heal->older) {
        kedge_status status = take_newer_client(heal, &cache, error);
        if (status != KEDGE_OK) return status;
    }
    /* Mutations that the cache covers are decided, whether their rows were deleted already or not.
     * An older outbox may have lost their outcomes. */
    heal->pulled_through = there && strcmp(cache.client, heal->meta.client) == 0 ? cache.lmid : 0;
    heal->covered_through = heal->decided_through = heal->older ? 0 : heal->pulled_through;
    kedge_status status = ask_decided(heal, error);
    if (status == KEDGE_OK && heal->older) kedge_prediction_count_lost(&heal->meta, &cache);
    return status;
}

static kedge_status heal_rows(kedge_outbox_healing *heal, kedge_error *error)
{
    kedge_store_db *db = &heal->store->outbox;
    kedge_status status = kedge_outbox_meta_heal(db, error);
    if (status == KEDGE_OK) status = kedge_outbox_meta_read(db, &heal->meta, error);
    if (status != KEDGE_OK) return status;
    status = begin(heal, error);
    if (status == KEDGE_OK) status = kedge_totals_check(heal, error);
    if (status == KEDGE_OK) status = kedge_inbox_heal(heal, error);
    if (status == KEDGE_OK) status = kedge_trimmed_heal(heal, error);
    if (status == KEDGE_OK) status = kedge_declared_heal(db, error);
    if (status == KEDGE_OK) status = heal_pending(heal, error);
    if (status == KEDGE_OK && (heal->changed || heal->totals_wrong))
        status = kedge_totals_write(db, error);
    if (status == KEDGE_OK && heal->changed)
        status = kedge_outbox_count_rejected(db, &heal->meta, error);
    if (status == KEDGE_OK && heal->changed)
        status = kedge_outbox_meta_write(db, &heal->meta, error);
    return status;
}

kedge_status kedge_outbox_heal(kedge_store *store, kedge_error *error)
{
    kedge_outbox_healing heal = {.store = store,
                                 .orphans = kedge_buffer_make(store->allocator),
                                 .taken = kedge_buffer_make(store->allocator),
                                 .decided = kedge_buffer_make(store->allocator),
                                 .missing = kedge_buffer_make(store->allocator)};
    kedge_store_db *db = &store->outbox;
    kedge_status status = kedge_store_db_begin(db, error);
    if (status == KEDGE_OK) status = heal_rows(&heal, error);
    if (status == KEDGE_OK) status = kedge_store_db_commit(db, error);
    if (status != KEDGE_OK) kedge_store_db_rollback(db);
    kedge_buffer_free(&heal.orphans);
    kedge_buffer_free(&heal.taken);
    kedge_buffer_free(&heal.decided);
    kedge_buffer_free(&heal.missing);
    return status;
}
