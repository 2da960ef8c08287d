/* From entries to a state, and its snapshot. */
#include "backend/effects/fold.h"

#include "backend/base/backend.h"
#include "backend/effects/fold_write.h"
#include "backend/log/segments.h"
#include "backend/ports/deadline.h"
#include "common/assert.h"
#include "common/error.h"
#include "mutate/replay.h"

#include <string.h>

#define PAGE 100
/* From the piece before, then from the last snapshot, then from the start. */
#define TRIES_MAX 3

typedef struct folding {
    const kedge_log *log;
    const kedge_registry *registry;
    char id[KEDGE_SHA256_HEX]; /* of the snapshot */
    int64_t at;                /* its entry */
    bool passes_last;          /* the last snapshot is damaged */
    kedge_fold_base base;
    kedge_overlay *changes; /* of the base */
    kedge_tx *tx;
    kedge_buffer body;
    int64_t from; /* the first entry that is not in the base */
    int64_t to;   /* the last entry of the piece */
    bool any;     /* something is in the state, or was */
} folding;

/* ---- what is there ---- */

/* The last snapshot, unless it is behind the entry, or damaged, or another made it. */
static kedge_status open_last(folding *work, const kedge_log_summary *summary, kedge_error *error)
{
    kedge_error failure = {0};
    char id[KEDGE_SHA256_HEX];
    kedge_status status = KEDGE_NOT_FOUND;
    work->from = summary->first;
    if (!work->passes_last && summary->last_snapshot >= 0 && summary->last_snapshot < work->at &&
        summary->snapshot_entry.count > 0 &&
        summary->snapshot_entry.entries[0].snapshot.size == sizeof id - 1) {
        memcpy(id, summary->snapshot_entry.entries[0].snapshot.data, sizeof id - 1);
        id[sizeof id - 1] = '\0';
        status = kedge_fold_base_open(&work->base, id, NULL, summary->last_snapshot, &failure);
    }
    if (status == KEDGE_OK) {
        work->from = summary->last_snapshot + 1;
        work->any = true;
        return KEDGE_OK;
    }
    if (status != KEDGE_NOT_FOUND && status != KEDGE_CORRUPT)
        return kedge_fail(error, status, failure.code, "%s", failure.message);
    if (work->from == 0) return KEDGE_OK;
    return kedge_fail(
        error, KEDGE_UNSUPPORTED, "snapshot-base-missing",
        "the log %.*s is truncated, and its last snapshot is not one of the backend's",
        (int)work->log->name.size, work->log->name.data);
}

static kedge_status find_last(folding *work, kedge_error *error)
{
    kedge_log_summary summary = {.snapshot_entry =
                                     kedge_log_page_make(work->log->project->allocator)};
    kedge_status status = kedge_log_summarize(work->log, true, &summary, error);
    if (status == KEDGE_OK) status = open_last(work, &summary, error);
    kedge_log_page_free(&summary.snapshot_entry);
    return status;
}

/* The piece before, unless it is gone, or entries after it are: then it begins again. */
static kedge_status find_base(folding *work, const kedge_fold_piece *piece, kedge_error *error)
{
    kedge_log_segment oldest;
    if (piece->number < 0 || piece->number >= work->at) return find_last(work, error);
    kedge_status status = kedge_log_segment_oldest(work->log, &oldest, error);
    if (status != KEDGE_OK) return status;
    if (piece->number + 1 < oldest.first + oldest.deleted) return find_last(work, error);
    status = kedge_fold_base_open(&work->base, work->id, piece->id, piece->number, error);
    if (status == KEDGE_NOT_FOUND) return find_last(work, error);
    if (status != KEDGE_OK) return status;
    work->from = piece->number + 1;
    work->any = true;
    return KEDGE_OK;
}

/* ---- entries ---- */

static kedge_status apply(folding *work, const kedge_log_entry *entry, kedge_error *error)
{
    kedge_replay_decision decision;
    if (kedge_log_entry_is_system(entry)) return KEDGE_OK;
    if (kedge_registry_find(work->registry, entry->type) == NULL)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "snapshot-type-unknown",
                          "the type %.*s of entry %lld of the log %.*s is no mutator here",
                          (int)entry->type.size, entry->type.data, (long long)entry->at.number,
                          (int)work->log->name.size, work->log->name.data);
    kedge_buffer_clear(&work->body);
    kedge_status status = kedge_log_read_body(work->log, entry, &work->body, error);
    if (status != KEDGE_OK) return status;
    bool fits = work->body.size <= KEDGE_LIMIT_ARGS_BYTES; /* if not, the run rejects it */
    const kedge_replay_mutation call = {.call = {.name = entry->type,
                                                 .args = kedge_buffer_bytes(&work->body),
                                                 .args_are_canonical = fits,
                                                 .caller = {.user = "",
                                                            .role = "",
                                                            .client = "",
                                                            .now_ms = entry->created_s * 1000}},
                                        .mutator = entry->version,
                                        .decided = KEDGE_REPLAY_OPEN};
    status = kedge_replay_decide(work->tx, work->registry, &call, &decision, error);
    work->any = true;
    return status;
}

static kedge_status fail_missing(const folding *work, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "entries-missing",
                      "the entries up to %lld could not be read", (long long)work->to);
}

/* Ends the piece where its changes have become many, or the thread's time is over. A truncation may
 * have overtaken it: no entry may be left out. */
static kedge_status apply_page(folding *work, const kedge_log_page *page, int64_t *next,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < page->count && status == KEDGE_OK; i++) {
        if (page->entries[i].at.number != *next) return fail_missing(work, error);
        if (page->entries[i].at.number > work->to) break;
        status = apply(work, &page->entries[i], error);
        if (status != KEDGE_OK) return status;
        *next = page->entries[i].at.number + 1;
        if (kedge_overlay_bytes(work->changes) > KEDGE_FOLD_BYTES_MAX ||
            kedge_deadline_ask() == KEDGE_DEADLINE_STOP)
            work->to = page->entries[i].at.number;
    }
    return status;
}

static kedge_status apply_entries(folding *work, kedge_error *error)
{
    kedge_log_reader reader;
    int64_t next = work->from;
    kedge_status status =
        kedge_log_query(work->log, KEDGE_LOG_FROM_NUMBER, work->from, false, &reader, error);
    reader.consistent = true;
    while (status == KEDGE_OK && next <= work->to) {
        kedge_log_page page = kedge_log_page_make(work->log->project->allocator);
        status = kedge_log_read(&reader, PAGE, &page, error);
        bool ended = page.count == 0;
        if (status == KEDGE_OK) status = apply_page(work, &page, &next, error);
        kedge_log_page_free(&page);
        if (ended) break;
    }
    if (status == KEDGE_UNAVAILABLE && next > work->from &&
        kedge_deadline_ask() == KEDGE_DEADLINE_STOP) {
        work->to = next - 1; /* so much was run in time */
        return KEDGE_OK;
    }
    return status != KEDGE_OK || next > work->to ? status : fail_missing(work, error);
}

/* ---- all of it ---- */

static kedge_status write_piece(folding *work, kedge_fold_piece *piece, kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(work->log->project->allocator);
    kedge_bytes id = kedge_bytes_of(work->id);
    kedge_status status =
        kedge_fold_write(&work->base, work->changes, work->id, work->to, &text, error);
    if (status == KEDGE_OK && work->to < work->at) {
        status = kedge_log_snapshot_write_part(work->log, id, kedge_buffer_bytes(&text), piece->id,
                                               error);
    } else if (status == KEDGE_OK) {
        status = kedge_log_snapshot_write(work->log, id, kedge_buffer_bytes(&text), error);
    }
    if (status == KEDGE_OK) piece->number = work->to;
    kedge_buffer_free(&text);
    return status;
}

static kedge_status make_piece(folding *work, int64_t entries_max, kedge_fold_piece *piece,
                               kedge_error *error)
{
    const kedge_allocator *allocator = work->log->project->allocator;
    if (work->changes == NULL) return kedge_fail_no_memory(error);
    kedge_status status = find_base(work, piece, error);
    if (status == KEDGE_OK)
        status = kedge_tx_new(allocator, work->registry, work->changes,
                              kedge_fold_base_reader(&work->base), &work->tx, error);
    if (status != KEDGE_OK) return status;
    work->to = work->at - work->from >= entries_max ? work->from + entries_max - 1 : work->at;
    status = apply_entries(work, error);
    if (status == KEDGE_OK && !work->any && work->to == work->at)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "snapshot-empty",
                          "there is no event before entry %lld of the log %.*s",
                          (long long)work->at, (int)work->log->name.size, work->log->name.data);
    if (status != KEDGE_OK) return status;
    kedge_deadline_begin_commit();
    status = write_piece(work, piece, error);
    kedge_deadline_end_commit();
    return status;
}

/* The snapshot is there: what only its making needed goes. */
static kedge_status complete(const folding *work, kedge_fold_piece *piece, kedge_error *error)
{
    kedge_buffer text = kedge_buffer_make(work->log->project->allocator);
    kedge_bytes id = kedge_bytes_of(work->id);
    kedge_status status = kedge_log_snapshot_read(work->log, id, &text, error);
    if (status == KEDGE_OK)
        status = kedge_log_snapshot_tidy(work->log, id, kedge_buffer_bytes(&text), error);
    kedge_buffer_free(&text);
    if (status != KEDGE_OK) return status;
    piece->number = work->at;
    memcpy(piece->id, work->id, sizeof piece->id);
    return KEDGE_OK;
}

static kedge_status fold_once(folding *work, int64_t entries_max, kedge_fold_piece *piece,
                              kedge_error *error)
{
    /* A maker may have ended between the snapshot and what follows it. */
    kedge_status status = complete(work, piece, error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = make_piece(work, entries_max, piece, error);
    return status == KEDGE_OK && piece->number == work->at ? complete(work, piece, error) : status;
}

/* The entries are the truth. What is damaged of the snapshot that is made is removed and made
 * again; the last one, which is damaged, is passed over. */
static kedge_status pass_damage(const kedge_log *log, const folding *work, bool *passes_last,
                                kedge_fold_piece *piece, kedge_error *error)
{
    bool is_own = work->base.count == 0 || strcmp(work->base.id, work->id) == 0;
    *passes_last = *passes_last || !is_own;
    if (!is_own) return KEDGE_OK;
    *piece = (kedge_fold_piece){.number = -1};
    return kedge_log_snapshot_discard(log, kedge_bytes_of(work->id), error);
}

kedge_status kedge_effects_fold(const kedge_log *log, const kedge_log_place *at,
                                int64_t entries_max, kedge_fold_piece *piece, kedge_error *error)
{
    const kedge_allocator *allocator = log->project->allocator;
    kedge_fold_piece made = *piece;
    kedge_status status = KEDGE_OK;
    bool passes_last = false, again = true;
    KEDGE_ASSERT(entries_max > 0);
    for (int tries = 1; status == KEDGE_OK && again; tries++) {
        kedge_error failure = {0};
        folding work = {.log = log,
                        .registry = log->project->backend->options.registry,
                        .at = at->number,
                        .passes_last = passes_last,
                        .base = kedge_fold_base_make(log),
                        .changes = kedge_overlay_new(allocator),
                        .body = kedge_buffer_make(allocator)};
        kedge_snapshot_id(log, at, work.id);
        status = fold_once(&work, entries_max, &made, &failure);
        again = status == KEDGE_CORRUPT && tries < TRIES_MAX &&
                strcmp(failure.code, KEDGE_LOG_SNAPSHOT_DAMAGED) == 0;
        if (again) status = pass_damage(log, &work, &passes_last, &made, &failure);
        if (status != KEDGE_OK && error != NULL) *error = failure;
        kedge_tx_free(work.tx);
        kedge_overlay_free(work.changes);
        kedge_fold_base_free(&work.base);
        kedge_buffer_free(&work.body);
    }
    if (status == KEDGE_OK) *piece = made;
    return status;
}
