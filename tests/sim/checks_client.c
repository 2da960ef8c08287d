/* Checkers of a client, between its steps: against the oracle, and a replay of its own.
 *
 * They look through the store's connections with the disk's faults suspended, and leave everything
 * as it was. */
#include "sdk/store/client_only.h"
#include "tests/sim/checks_view.h"
#include "tests/sim/files.h"
#include "tests/support/store_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void count(const sim_view *of, sim_check check)
{
    of->client->world->report->checks[check]++;
}

/* ---- I7 ---- */

/* The rule of store.h, here once more: what the cache covers is not replayed, nor what it may have
 * without telling. */
static bool is_replayed(const kedge_cache_meta *cache, sqlite3_stmt *row)
{
    const char *client = (const char *)sqlite3_column_text(row, 3);
    bool covered =
        strcmp(client, cache->client) == 0 && sqlite3_column_int64(row, 4) <= cache->lmid;
    if (sqlite3_column_type(row, 5) != SQLITE_NULL)
        covered = covered || sqlite3_column_int64(row, 5) <= cache->version;
    return !covered && sqlite3_column_int(row, 6) == 0;
}

static kedge_bytes column(sqlite3_stmt *row, int at)
{
    const char *text = (const char *)sqlite3_column_text(row, at);
    return (kedge_bytes){text == NULL ? "" : text, (size_t)sqlite3_column_bytes(row, at)};
}

/* Runs what is pending and not covered on `overlay`, in order, each in a savepoint. */
static bool replay(const sim_view *of, const kedge_overlay *state, kedge_overlay *overlay)
{
    char sql[256];
    sim_client *client = of->client;
    kedge_state_reader reader = sim_overlay_reader(state);
    kedge_cache_meta cache;
    sqlite3_stmt *row;
    kedge_tx *tx;
    (void)snprintf(sql, sizeof sql,
                   "SELECT name, args, timestamp, client, id, covered_version, %s FROM pending"
                   " ORDER BY sequence",
                   sim_withheld_column(client->store->outbox.handle));
    if (kedge_cache_meta_read(&client->store->cache, &cache, NULL) != KEDGE_OK ||
        sqlite3_prepare_v2(client->store->outbox.handle, sql, -1, &row, NULL) != SQLITE_OK)
        return false;
    int code = SQLITE_NOMEM;
    if (kedge_tx_new(&kedge_allocator_default, client->world->registry, overlay, reader, &tx,
                     NULL) == KEDGE_OK) {
        while ((code = sqlite3_step(row)) == SQLITE_ROW) {
            if (!is_replayed(&cache, row)) continue;
            kedge_caller caller = {client->user, "member", cache.client,
                                   sqlite3_column_int64(row, 2)};
            kedge_call call = {.name = column(row, 0), .args = column(row, 1), .caller = caller};
            kedge_apply_made made;
            if (kedge_client_only_row(client->world->registry, call.name, call.args, &made)) {
                call.name = kedge_bytes_of(made.name);
                call.args = made.args;
            }
            (void)kedge_tx_run(tx, &call, NULL);
        }
        kedge_tx_free(tx);
    }
    sqlite3_finalize(row);
    return code == SQLITE_DONE;
}

static void lay_over(const kedge_overlay *overlay, kedge_overlay *state)
{
    kedge_overlay_entry entry;
    for (bool more = kedge_overlay_next(overlay, NULL, &entry); more;
         more = kedge_overlay_next(overlay, &entry, &entry)) {
        if (entry.deleted)
            kedge_overlay_forget(state, entry.collection, entry.id);
        else
            (void)kedge_overlay_put(state, entry.collection, entry.id, entry.value, NULL);
    }
}

/* Whether the store's dump is that of `state`. True also when it cannot be read now. */
static bool dump_is(const sim_view *of, bool canonical, const kedge_overlay *state)
{
    kedge_buffer store = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer expected = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status = store_dump(of->client->store, canonical, &store, NULL);
    sim_oracle_dump(state, &expected);
    bool same = status != KEDGE_OK ||
                kedge_bytes_equal(kedge_buffer_bytes(&store), kedge_buffer_bytes(&expected));
    kedge_buffer_free(&store);
    kedge_buffer_free(&expected);
    return same;
}

/* Reading may have found the cache damaged, and set it aside. */
static bool has_moved(const sim_view *of)
{
    kedge_store_position now;
    return kedge_store_position_get(of->client->store, &now, NULL) != KEDGE_OK ||
           now.version != of->position.version || now.pending != of->position.pending ||
           strcmp(now.client, of->position.client) != 0;
}

static void check_i7_canonical(const sim_view *of, const kedge_overlay *state)
{
    count(of, SIM_I7);
    count(of, SIM_I8);
    if (!dump_is(of, true, state) && !has_moved(of))
        sim_violate(of->client->world, SIM_I7,
                    "client %u: its canonical state is not that of version %" PRId64,
                    of->client->index, of->position.version);
}

/* A row that was changed and not read since: its prediction is that of what it was. */
static bool has_damaged_pending(const sim_view *of)
{
    const sim_ledger *ledger = &of->client->ledger;
    for (size_t i = 0; i < ledger->count; i++)
        if (ledger->entries[i].damaged && sim_view_is_pending(of, &ledger->entries[i])) return true;
    return false;
}

static void check_i7_visible(const sim_view *of, const kedge_overlay *state)
{
    kedge_overlay *overlay = kedge_overlay_new(&kedge_allocator_default);
    kedge_overlay *visible = kedge_overlay_new(&kedge_allocator_default);
    if (replay(of, state, overlay)) {
        lay_over(state, visible);
        lay_over(overlay, visible);
        count(of, SIM_I7);
        if (!dump_is(of, false, visible) && !has_moved(of))
            sim_violate(of->client->world, SIM_I7,
                        "client %u: what it reads is not version %" PRId64 " with its %" PRId64
                        " pending mutations",
                        of->client->index, of->position.version, of->position.pending);
    }
    kedge_overlay_free(overlay);
    kedge_overlay_free(visible);
}

/* ---- I8, I12 ---- */

/* Without a cache a client cannot know of another lineage, and need not as long as the lineage has
 * all that was ever confirmed to it. */
static bool has_nothing_to_lose(const sim_view *of)
{
    const sim_ledger *ledger = &of->client->ledger;
    if (!of->client->damage.cache_aside) return false;
    for (size_t i = 0; i < ledger->count; i++)
        if (!sim_oracle_descends(of->at, ledger->entries[i].found)) return false;
    return true;
}

/* Of a log project a cache that was lost is filled from the last snapshot, which may be older than
 * what the cache had, and then entry by entry. */
static bool is_filled_again(const sim_view *of, const sim_version *was)
{
    const sim_client *client = of->client;
    return client->world->logged && client->damage.cache_was != NULL && of->at != NULL &&
           sim_oracle_descends(was, of->at);
}

static void check_i8_forward(const sim_view *of)
{
    sim_client *client = of->client;
    const kedge_store_position *now = &of->position;
    sim_seen *seen = &client->seen;
    const sim_version *was = sim_oracle_find(&client->world->oracle, seen->lineage, seen->version);
    bool anew = now->version == 0 && client->damage.cache;
    bool same_line = was == NULL || sim_oracle_descends(of->at, was);
    if (is_filled_again(of, was)) return;
    count(of, SIM_I8);
    if (same_line && now->version < seen->version && !anew)
        sim_violate(client->world, SIM_I8, "client %u went from version %" PRId64 " to %" PRId64,
                    client->index, seen->version, now->version);
    if (!same_line && of->at != NULL && sim_oracle_descends(was, of->at) && !anew &&
        !client->world->restored)
        sim_violate(client->world, SIM_I8,
                    "client %u went back from version %" PRId64 " to %" PRId64, client->index,
                    seen->version, now->version);
    if (same_line && strcmp(now->client, seen->client) == 0 && now->lmid < seen->lmid && !anew)
        sim_violate(client->world, SIM_I8, "client %u: its lmid went from %" PRId64 " to %" PRId64,
                    client->index, seen->lmid, now->lmid);
    if (!same_line && of->at != NULL) {
        count(of, SIM_I12);
        client->world->report->lineages_lost++;
        if (strcmp(now->client, seen->at_version) == 0 && !seen->stale &&
            !has_nothing_to_lose(of) && !sim_is_back_before_rotation(client, of->at, was))
            sim_violate(client->world, SIM_I12,
                        "client %u met another lineage and kept its client id", client->index);
    }
}

static void turned(sim_client *client)
{
    client->world->report->rotations++;
    check_i22_rotation(client);
}

/* An id that was given up is never taken again; the counter never goes back. */
static void check_i11_ids(const sim_view *of)
{
    sim_client *client = of->client;
    count(of, SIM_I11);
    if (of->position.last_sequence < client->seen.last_sequence)
        sim_violate(client->world, SIM_I11,
                    "client %u: its last sequence went from %" PRId64 " to %" PRId64, client->index,
                    client->seen.last_sequence, of->position.last_sequence);
    if (strcmp(client->seen.client, of->position.client) == 0 &&
        of->position.highest_id < client->seen.highest_id)
        sim_violate(client->world, SIM_I11,
                    "client %u: the ids of %.8s start over: %" PRId64 " after %" PRId64,
                    client->index, of->position.client, of->position.highest_id,
                    client->seen.highest_id);
    if (client->seen.client[0] != '\0' && strcmp(client->seen.client, of->position.client) != 0)
        turned(client);
}

/* Of a log project another lineage starts from its last snapshot, too: what stands after that in
 * the log is covered when it comes. */
static void note_lineage(const sim_view *of)
{
    const sim_client *client = of->client;
    const sim_oracle *oracle = &client->world->oracle;
    const sim_version *was = sim_oracle_find(oracle, client->seen.lineage, client->seen.version);
    /* A cache that was lost is on its way to where it was, and comes by older versions. */
    bool on_its_way = client->damage.cache_was != NULL && sim_oracle_descends(was, of->at);
    if (client->world->logged && of->at != NULL && was != NULL && !on_its_way &&
        !sim_oracle_descends(of->at, was) && sim_oracle_descends(oracle->head, of->at))
        of->client->damage.cache_was = oracle->head;
}

/* Another cache than the one that lied: it is held to what it says again. */
static void note_cache(const sim_view *of)
{
    const sim_oracle *oracle = &of->client->world->oracle;
    sim_damage *damage = &of->client->damage;
    note_lineage(of);
    if (sim_damage_new_cache(of->client)) {
        damage->doubt_ms = 0;
        damage->cache_aside = true;
    }
    if (of->position.version == 0 && damage->cache) sim_damage_cache_was(of->client);
    if (of->position.version > 0 && damage->cache_aside)
        damage->cache = damage->cache_aside = false;
    if (of->at == NULL || damage->cache_was == NULL || sim_view_is_doubted(of)) return;
    bool there = sim_oracle_descends(of->at, damage->cache_was);
    bool elsewhere = sim_oracle_descends(oracle->head, of->at) &&
                     !sim_oracle_descends(damage->cache_was, of->at);
    if (there || elsewhere) damage->cache_was = NULL;
}

static void remember(const sim_view *of)
{
    sim_seen *seen = &of->client->seen;
    note_cache(of);
    memcpy(seen->client, of->position.client, sizeof seen->client);
    if (of->position.version > 0 || !of->client->damage.cache) {
        seen->version = of->position.version;
        memcpy(seen->lineage, of->position.lineage, sizeof seen->lineage);
        memcpy(seen->at_version, of->position.client, sizeof seen->at_version);
    }
    seen->lmid = of->position.lmid;
    seen->highest_id = of->position.highest_id;
    of->client->damage.anew = false;
    seen->stale = of->position.stale || of->client->damage.cache;
}

/* ---- all of them ---- */

static void check_view(sim_view *of)
{
    if (!sim_view_look(of)) return;
    bool anew = of->client->damage.anew, doubted = sim_view_is_doubted(of);
    /* What an older outbox lacks is found out by the first repair that a full disk lets through. */
    if (anew && of->position.stale) return;
    if (!anew && !doubted) check_i8_forward(of);
    if (!anew) check_i11_ids(of);
    remember(of);
    check_i6_nothing_lost(of);
    of->client->damage.forgive = false;
    check_i6_inbox(of);
    if (of->position.stale) return;
    sim_trace(of->client->world,
              "client %u: version %" PRId64 ", lmid %" PRId64 ", %" PRId64 " pending, %" PRId64
              " rejected",
              of->client->index, of->position.version, of->position.lmid, of->position.pending,
              of->position.rejected);
    if (doubted || of->client->lacks_items) return;
    const kedge_overlay *state = sim_oracle_state(&of->client->world->oracle, of->at);
    check_i7_canonical(of, state);
    /* An older cache shows what it predicted, of edits too that the outbox has settled since. */
    if (has_damaged_pending(of) || of->client->damage.cache_was != NULL) return;
    check_i7_visible(of, state);
    check_i21_shown_once(of->client, of->at);
}

void check_client(sim_client *client)
{
    sim_view *of = sim_must_allocate(sizeof *of);
    of->client = client;
    client->disk.suspended = true;
    check_view(of);
    client->disk.suspended = false;
    free(of);
}

void check_i11_living_copies(sim_world *world)
{
    for (uint32_t i = 0; i < world->client_count; i++) {
        for (uint32_t j = 0; j < i; j++) {
            world->report->checks[SIM_I11]++;
            if (strcmp(world->clients[i].seen.client, world->clients[j].seen.client) == 0)
                sim_violate(world, SIM_I11, "the copies %u and %u both live as %.8s", j, i,
                            world->clients[i].seen.client);
        }
    }
}
