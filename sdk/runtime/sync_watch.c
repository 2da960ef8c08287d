/* kedge/sync.h: watches of the status and of rejected edits. */
#include "common/error.h"
#include "sdk/runtime/check.h"
#include "sdk/runtime/db.h"

#include <stdlib.h>
#include <string.h>

struct kedge_sync_watch {
    kedge_due_watch due; /* the first member */
    kedge_sync_status_function status_changed;
    kedge_rejected_function rejected;

    /* Only the thread that calls back uses these. */
    bool told_once;
    kedge_sync_status told_status;
    int64_t *told; /* sequences in the inbox as they were told, ascending */
    size_t told_count;
};

static kedge_db *db_of(const kedge_sync_watch *watch)
{
    return watch->due.watches->db;
}

static void destroy(kedge_due_watch *due)
{
    kedge_sync_watch *watch = (kedge_sync_watch *)due;
    kedge_release(due->allocator, watch->told);
    kedge_release(due->allocator, watch);
}

/* ---- what is told ---- */

static bool same_status(const kedge_sync_status *a, const kedge_sync_status *b)
{
    return a->connection == b->connection && a->resyncing == b->resyncing &&
           a->version == b->version && a->pending == b->pending && a->rejected == b->rejected &&
           a->withheld == b->withheld && a->unrecovered == b->unrecovered &&
           strcmp(a->client, b->client) == 0 && kedge_error_equal(&a->last_error, &b->last_error);
}

static bool tell_status(kedge_sync_watch *watch)
{
    kedge_sync_status now = KEDGE_SYNC_STATUS_INIT;
    if (kedge_get_sync_status(db_of(watch), &now, NULL) != KEDGE_OK) return false;
    if (watch->told_once && same_status(&watch->told_status, &now)) return true;
    watch->told_once = true;
    watch->told_status = now;
    watch->status_changed(watch->due.userdata, &now);
    return true;
}

static int compare(const void *a, const void *b)
{
    int64_t left = *(const int64_t *)a;
    int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static bool was_told(const kedge_sync_watch *watch, int64_t sequence)
{
    return watch->told_count > 0 &&
           bsearch(&sequence, watch->told, watch->told_count, sizeof *watch->told, compare) != NULL;
}

/* Sorts the sequences for was_told, and removes duplicates. Returns how many are left. The list is
 * not sorted: a client-only edit that was made again has the sequence of its first attempt, and the
 * place of its last one. */
static size_t sort_once(int64_t *sequences, size_t count)
{
    size_t kept = 0;
    if (count > 0) qsort(sequences, count, sizeof *sequences, compare);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || sequences[i] != sequences[kept - 1]) sequences[kept++] = sequences[i];
    return kept;
}

/* Tells the mutations of the list that were not told before, and remembers the whole list as
 * told. */
static bool tell_list(kedge_sync_watch *watch, kedge_mutation_list *list)
{
    kedge_buffer sequences = kedge_buffer_make(watch->due.allocator);
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    kedge_status status = KEDGE_OK;
    while (!sequences.no_memory && !kedge_due_watch_is_dead(&watch->due) &&
           (status = kedge_mutation_list_next(list, &mutation, NULL)) == KEDGE_OK) {
        kedge_buffer_append(&sequences, &mutation.sequence, sizeof mutation.sequence);
        if (!sequences.no_memory && !was_told(watch, mutation.sequence))
            watch->rejected(watch->due.userdata, &mutation);
    }
    /* After a failure the list is incomplete, so that what was told before is remembered, too. */
    for (size_t i = 0; status != KEDGE_DONE && i < watch->told_count; i++)
        kedge_buffer_append(&sequences, &watch->told[i], sizeof watch->told[i]);
    if (sequences.no_memory) {
        kedge_buffer_free(&sequences);
        return false;
    }
    kedge_release(watch->due.allocator, watch->told);
    watch->told = (int64_t *)(void *)sequences.data;
    watch->told_count = sort_once(watch->told, sequences.size / sizeof(int64_t));
    return status == KEDGE_DONE;
}

static bool tell_rejected(kedge_sync_watch *watch)
{
    kedge_mutation_list *list = NULL;
    if (kedge_rejected_open(db_of(watch), &list, NULL) != KEDGE_OK) return false;
    bool told = tell_list(watch, list);
    kedge_mutation_list_close(list);
    return told;
}

static bool tell(kedge_due_watch *due)
{
    kedge_sync_watch *watch = (kedge_sync_watch *)due;
    return watch->rejected != NULL ? tell_rejected(watch) : tell_status(watch);
}

/* ---- the list ---- */

/* What has changed since the last round. */
typedef struct sync_changes {
    bool status;
    bool inbox;
} sync_changes;

static bool concerns(kedge_due_watch *due, const void *context)
{
    const kedge_sync_watch *watch = (const kedge_sync_watch *)due;
    const sync_changes *changes = context;
    return watch->rejected != NULL ? changes->inbox : changes->status;
}

int64_t kedge_sync_watches_look(kedge_sync_watches *watches, bool inbox_touched)
{
    kedge_sync_status now = KEDGE_SYNC_STATUS_INIT;
    kedge_db *db = watches->due.db;
    if (!kedge_due_watches_any(&watches->due)) {
        watches->seen_once = watches->inbox_touched = false;
        return 0;
    }
    if (inbox_touched) watches->inbox_touched = true;
    if (kedge_get_sync_status(db, &now, NULL) != KEDGE_OK)
        return kedge_db_now_ms(db) + KEDGE_DUE_WATCH_RETRY_MS;
    bool status = !watches->seen_once || !same_status(&watches->seen, &now);
    bool inbox = status && (!watches->seen_once || watches->seen.rejected != now.rejected ||
                            watches->seen.version != now.version);
    sync_changes changes = {.status = status, .inbox = inbox || watches->inbox_touched};
    watches->seen_once = true;
    watches->seen = now;
    watches->inbox_touched = false;
    if (changes.status || changes.inbox) kedge_due_watches_mark(&watches->due, concerns, &changes);
    return kedge_due_watches_deliver(&watches->due);
}

/* ---- what the app calls ---- */

static kedge_status add(kedge_db *db, const kedge_sync_watch *kind, kedge_sync_watch **watch,
                        kedge_error *error)
{
    kedge_sync_watch *made = kedge_allocate(db->environment.allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    *made = *kind;
    made->due.tell = tell;
    made->due.destroy = destroy;
    kedge_due_watch_add(&db->sync_watches.due, &made->due);
    *watch = made;
    return KEDGE_OK;
}

kedge_status kedge_watch_sync_status(kedge_db *db, kedge_sync_status_function callback,
                                     void *userdata, void (*userdata_free)(void *),
                                     kedge_sync_watch **watch, kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (callback == NULL) return kedge_fail_null("callback", error);
    if (watch == NULL) return kedge_fail_null("watch", error);
    kedge_sync_watch kind = {.due = {.userdata = userdata, .userdata_free = userdata_free},
                             .status_changed = callback};
    return add(db, &kind, watch, error);
}

kedge_status kedge_watch_rejected(kedge_db *db, kedge_rejected_function callback, void *userdata,
                                  void (*userdata_free)(void *), kedge_sync_watch **watch,
                                  kedge_error *error)
{
    KEDGE_CALL(db, error);
    if (callback == NULL) return kedge_fail_null("callback", error);
    if (watch == NULL) return kedge_fail_null("watch", error);
    kedge_sync_watch kind = {.due = {.userdata = userdata, .userdata_free = userdata_free},
                             .rejected = callback};
    return add(db, &kind, watch, error);
}

void kedge_sync_watch_free(kedge_sync_watch *watch)
{
    if (watch != NULL) kedge_due_watch_remove(&watch->due);
}
