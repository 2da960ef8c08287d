/* Checkers of a client's edits, between its steps: each is pending, covered or in the inbox. */
#include "sdk/store/store_internal.h"
#include "tests/sim/checks_view.h"

#include <inttypes.h>
#include <string.h>

static void count(const sim_view *of, sim_check check)
{
    of->client->world->report->checks[check]++;
}

static bool has_entry(const sim_ledger *ledger, int64_t sequence)
{
    for (size_t i = 0; i < ledger->count; i++)
        if (!ledger->entries[i].released && sim_entry_is(&ledger->entries[i], sequence))
            return true;
    return false;
}

/* The newest attempt takes the place of the edit. What was applied is not made again. */
static void take_attempt(const sim_view *of, sim_entry *entry, const uint8_t *uid,
                         const uint8_t *digest)
{
    const sim_decided *decided = sim_oracle_decided_as(of->at, entry->uid, entry->digest, NULL);
    if (memcmp(entry->uid, uid, SIM_UID_SIZE) == 0) return; /* it is that one already */
    if (decided != NULL && !decided->rejected)
        sim_violate(of->client->world, SIM_I6,
                    "client %u: %" PRId64 " is made again, and version %" PRId64
                    " holds it as applied",
                    of->client->index, entry->sequence, of->position.version);
    memcpy(entry->uid, uid, SIM_UID_SIZE);
    memcpy(entry->digest, digest, KEDGE_DIGEST_SIZE);
    entry->found = NULL;
    of->client->world->report->remade++;
}

/* The edit that was made again: from now on the new row is what is owed. */
static void follow_remade(const sim_view *of, sim_entry *entry, const sim_inbox_row *row)
{
    static const char sql[] = "SELECT uid, digest FROM pending WHERE sequence = ?1"
                              " UNION ALL SELECT uid, digest FROM rejected WHERE sequence = ?1"
                              " UNION ALL SELECT uid, digest FROM confirmed WHERE sequence = ?1";
    sqlite3_stmt *find;
    sqlite3 *outbox = of->client->store->outbox.handle;
    if (sqlite3_prepare_v2(outbox, sql, -1, &find, NULL) != SQLITE_OK) return;
    sqlite3_bind_int64(find, 1, row->remade);
    if (sqlite3_step(find) == SQLITE_ROW && sqlite3_column_bytes(find, 0) == SIM_UID_SIZE &&
        sqlite3_column_bytes(find, 1) == KEDGE_DIGEST_SIZE)
        take_attempt(of, entry, sqlite3_column_blob(find, 0), sqlite3_column_blob(find, 1));
    sqlite3_finalize(find);
}

/* A row that was damaged, and made again from the newest attempt, has only its sequence. */
static bool was_remade(const sim_entry *entry, const sim_inbox_row *row)
{
    if (row->remade == 0) return false;
    return row->has_uid ? memcmp(entry->uid, row->uid, SIM_UID_SIZE) == 0
                        : sim_entry_is(entry, row->sequence);
}

static void follow_all(const sim_view *of)
{
    sim_ledger *ledger = &of->client->ledger;
    for (size_t i = 0; i < of->inbox_count; i++)
        for (size_t j = 0; j < ledger->count; j++)
            if (was_remade(&ledger->entries[j], &of->inbox[i]))
                follow_remade(of, &ledger->entries[j], &of->inbox[i]);
}

/* A client-only edit is made anew when it is sent. Afterwards it stays as it was sent; only an
 * older outbox has it as it was before. */
static void follow_renewed(const sim_view *of, sim_entry *entry, const sim_pending_row *row)
{
    if (!row->is_apply || entry->damaged || memcmp(entry->uid, row->uid, sizeof row->uid) != 0 ||
        memcmp(entry->digest, row->digest, sizeof row->digest) == 0)
        return;
    const sim_version *head = of->client->world->oracle.head;
    bool older = of->client->damage.outbox_older || entry->copied;
    if (!older && sim_oracle_decided_as(head, entry->uid, entry->digest, NULL) != NULL)
        sim_violate(of->client->world, SIM_I6,
                    "client %u: %" PRId64 " is made anew, and was decided before",
                    of->client->index, entry->sequence);
    if (memcmp(entry->first_uid, row->uid, sizeof row->uid) == 0)
        memcpy(entry->first_digest, row->digest, sizeof row->digest);
    memcpy(entry->digest, row->digest, sizeof row->digest);
    of->client->world->report->renewed++;
}

static bool is_in_inbox(const sim_view *of, const sim_entry *entry)
{
    for (size_t i = 0; i < of->inbox_count; i++) {
        const sim_inbox_row *row = &of->inbox[i];
        if (row->remade > 0) continue;
        if (sim_entry_is(entry, row->sequence)) return true;
        if (row->has_uid && memcmp(row->uid, entry->uid, SIM_UID_SIZE) == 0) return true;
    }
    return false;
}

/* Of a row whose sequence was changed, or that vanished with its page, nobody can tell what it was:
 * the inbox has it under a sequence that no edit of the outbox has. It may be the number of one
 * that an older outbox does not know. Each such row stands for one edit. */
static bool is_in_inbox_elsewhere(const sim_view *of, sim_entry *entry)
{
    if (!entry->moved && !of->client->damage.rows_vanished) return false;
    for (size_t i = 0; i < of->inbox_count; i++) {
        const sim_inbox_row *row = &of->inbox[i];
        if (!row->damaged || has_entry(&of->client->ledger, row->sequence)) continue;
        entry->moved = true;
        entry->damaged_sequence = row->sequence;
        return true;
    }
    return false;
}

static bool is_in_tail(const sim_view *of, const sim_entry *entry)
{
    static const char sql[] = "SELECT 1 FROM confirmed WHERE uid = ?1 OR sequence = ?2";
    sqlite3_stmt *find;
    sqlite3 *outbox = of->client->store->outbox.handle;
    if (sqlite3_prepare_v2(outbox, sql, -1, &find, NULL) != SQLITE_OK) return false;
    sqlite3_bind_blob(find, 1, entry->uid, SIM_UID_SIZE, SQLITE_STATIC);
    sqlite3_bind_int64(find, 2, entry->damaged ? entry->sequence : 0);
    bool found = sqlite3_step(find) == SQLITE_ROW;
    sqlite3_finalize(find);
    return found;
}

static bool is_covered_at(const sim_version *at, sim_entry *entry)
{
    const sim_version *where = NULL;
    if (entry->found != NULL && sim_oracle_descends(at, entry->found)) return true;
    const sim_decided *decided = sim_oracle_decided_as(at, entry->uid, entry->digest, &where);
    if (decided == NULL || decided->rejected) return false;
    entry->found = where;
    return true;
}

/* A cache that was lost or went back will cover again what it had covered. Until then the tail
 * tells what that was. */
static bool is_covered(const sim_view *of, sim_entry *entry)
{
    if (is_covered_at(of->at, entry)) return true;
    if (of->client->damage.cache_was == NULL) return false;
    return entry->found != NULL || is_in_tail(of, entry) ||
           is_covered_at(of->client->world->oracle.head, entry);
}

/* One of the two files is older, and the cache is of another lineage than the tail: the next pull
 * is told that a lineage is lost, and calls back the tail and the rejections. */
static bool is_of_other_lineage(const sim_view *of)
{
    kedge_outbox_meta meta;
    const sim_client *client = of->client;
    if ((!client->damage.outbox_older && !client->damage.cache) ||
        kedge_outbox_meta_read(&client->store->outbox, &meta, NULL) != KEDGE_OK)
        return false;
    const sim_version *settled =
        sim_oracle_find(&client->world->oracle, meta.settled_lineage, meta.settled_version);
    return settled != NULL && !sim_oracle_descends(of->at, settled);
}

static bool waits_in_tail(const sim_view *of, const sim_entry *entry)
{
    static const char sql[] = "SELECT 1 FROM confirmed WHERE uid = ?1";
    sqlite3_stmt *find;
    sqlite3 *outbox = of->client->store->outbox.handle;
    if (!is_of_other_lineage(of) || sqlite3_prepare_v2(outbox, sql, -1, &find, NULL) != SQLITE_OK)
        return false;
    sqlite3_bind_blob(find, 1, entry->uid, SIM_UID_SIZE, SQLITE_STATIC);
    bool there = sqlite3_step(find) == SQLITE_ROW;
    sqlite3_finalize(find);
    return there;
}

/* An older outbox may have an edit as it was before it was made again. */
static bool is_pending_again(const sim_view *of, sim_entry *entry)
{
    sim_entry first = *entry;
    memcpy(first.uid, entry->first_uid, sizeof first.uid);
    memcpy(first.digest, entry->first_digest, sizeof first.digest);
    first.found = NULL;
    if (!sim_view_is_pending(of, &first)) return false;
    *entry = first;
    return true;
}

void check_i6_nothing_lost(const sim_view *of)
{
    sim_ledger *ledger = &of->client->ledger;
    follow_all(of);
    for (size_t i = 0; i < ledger->count; i++) {
        sim_entry *entry = &ledger->entries[i];
        if (entry->cancelled || entry->released) continue;
        for (size_t j = 0; j < of->pending_count; j++)
            follow_renewed(of, entry, &of->pending[j]);
        count(of, SIM_I6);
        entry->in_inbox = is_in_inbox(of, entry);
        if (entry->in_inbox || sim_view_is_pending(of, entry) || is_covered(of, entry)) continue;
        if (waits_in_tail(of, entry) || is_pending_again(of, entry)) continue;
        entry->in_inbox = is_in_inbox_elsewhere(of, entry);
        if (entry->in_inbox) continue;
        entry->released = true;
        if (of->client->damage.forgive || entry->unproved) continue;
        /* Older than the tail when the backend was restored: lost, but counted and told. */
        if (of->client->unrecovered < of->position.unrecovered) {
            of->client->unrecovered++;
            continue;
        }
        sim_violate(of->client->world, SIM_I6,
                    "client %u: %" PRId64 " is neither pending, nor covered by version %" PRId64
                    ", nor in the inbox, nor among %" PRId64 " unrecovered",
                    of->client->index, entry->sequence, of->position.version,
                    of->position.unrecovered);
    }
}

/* Whose row it is, when nothing was done to it. */
static const sim_entry *entry_of(const sim_view *of, const sim_inbox_row *row)
{
    const sim_ledger *ledger = &of->client->ledger;
    if (row->damaged) return NULL;
    for (size_t i = 0; i < ledger->count; i++) {
        const sim_entry *entry = &ledger->entries[i];
        bool same = !row->has_uid || memcmp(row->uid, entry->uid, SIM_UID_SIZE) == 0;
        if (entry->sequence == row->sequence && same) return entry->damaged ? NULL : entry;
    }
    return NULL;
}

/* In a lineage that is lost a rejection of the next one may be shown: between two commits. And an
 * older outbox shows those of the lineage that it knew, until a pull says that it is lost. */
static bool is_applied(const sim_view *of, const sim_entry *entry)
{
    if (of->client->damage.outbox_older && is_of_other_lineage(of)) return false;
    if (!sim_oracle_descends(of->client->world->oracle.head, of->at)) return false;
    const sim_decided *decided = sim_oracle_decided_as(of->at, entry->uid, entry->digest, NULL);
    return decided != NULL && !decided->rejected;
}

void check_i6_inbox(const sim_view *of)
{
    for (size_t i = 0; i < of->inbox_count; i++) {
        const sim_inbox_row *row = &of->inbox[i];
        if (row->state != 0) continue;
        const sim_entry *entry = entry_of(of, row);
        count(of, SIM_I6);
        if (entry != NULL && entry->answered)
            sim_violate(of->client->world, SIM_I6,
                        "client %u: the rejection of %" PRId64 " is back in the inbox",
                        of->client->index, row->sequence);
        if (entry != NULL && !sim_view_is_pending(of, entry) && is_applied(of, entry))
            sim_violate(of->client->world, SIM_I6,
                        "client %u: the rejection of %" PRId64 " is shown, and version %" PRId64
                        " holds it as applied",
                        of->client->index, row->sequence, of->position.version);
        for (size_t j = 0; j < i && row->has_uid; j++) {
            const sim_inbox_row *other = &of->inbox[j];
            if (!other->has_uid || memcmp(other->uid, row->uid, SIM_UID_SIZE) != 0) continue;
            sim_violate(of->client->world, SIM_I6,
                        "client %u: the rejection of (%.8s, %" PRId64 ") is in the inbox twice",
                        of->client->index, row->client, row->id);
        }
    }
}
