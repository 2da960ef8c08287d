/* Noting the versions of a log project: the entries of its log. The server appends and decides
 * nothing; so the oracle replays each entry, in their order, on the state that it has folded. */
#include "backend/logged/logged.h"
#include "backend/versioned/model/version.h"
#include "mutate/transaction.h"
#include "tests/sim/files.h"
#include "tests/sim/oracle.h"
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is stored ---- */

static uint64_t hash_entry(const kedge_log_entry *entry, kedge_bytes body)
{
    uint64_t hash = sim_oracle_fnv(SIM_ORACLE_FNV, (const char *)entry->id, sizeof entry->id);
    hash = sim_oracle_fnv(hash, entry->type.data, entry->type.size);
    hash = sim_oracle_fnv(hash, (const char *)&entry->version, sizeof entry->version);
    hash = sim_oracle_fnv(hash, (const char *)&entry->created_s, sizeof entry->created_s);
    return sim_oracle_fnv(hash, body.data, body.size);
}

bool sim_oracle_entry_hash(sim_world *world, int64_t number, uint64_t *hash)
{
    kedge_project project = sim_oracle_handle(world);
    kedge_log log = kedge_logged_log(&project);
    kedge_log_page page = kedge_log_page_make(&kedge_allocator_default);
    kedge_buffer body = kedge_buffer_make(&kedge_allocator_default);
    kedge_log_reader reader;
    kedge_status status =
        kedge_log_query(&log, KEDGE_LOG_FROM_NUMBER, number, false, &reader, NULL);
    reader.consistent = true;
    if (status == KEDGE_OK) status = kedge_log_read(&reader, 1, &page, NULL);
    bool there = status == KEDGE_OK && page.count == 1 && page.entries[0].at.number == number &&
                 kedge_log_read_body(&log, &page.entries[0], &body, NULL) == KEDGE_OK;
    if (there) *hash = hash_entry(&page.entries[0], kedge_buffer_bytes(&body));
    kedge_buffer_free(&body);
    kedge_log_page_free(&page);
    return there;
}

/* ---- deciding ---- */

static void decide(kedge_tx *tx, const kedge_version_mutation *mutation, sim_decided *decided)
{
    kedge_caller caller = {mutation->user.data, mutation->role.data, mutation->client.data,
                           mutation->timestamp_ms};
    kedge_call call = {.name = mutation->name,
                       .args = mutation->args,
                       .caller = caller,
                       .args_are_canonical = true};
    decided->open = mutation->outcome == KEDGE_MUTATION_APPLIED;
    if (decided->open) decided->rejected = kedge_tx_run(tx, &call, NULL) != KEDGE_OK;
}

static void note_change(const kedge_overlay_entry *entry, sim_change *noted)
{
    noted->collection = sim_must_copy(entry->collection.data, entry->collection.size);
    noted->id = sim_must_copy(entry->id.data, entry->id.size);
    noted->id_size = entry->id.size;
    if (entry->deleted) return;
    noted->value = sim_must_copy(entry->value.data, entry->value.size);
    noted->value_size = entry->value.size;
    kedge_sha256(entry->value, noted->hash);
}

static void note_changes(const kedge_overlay *changes, sim_version *noted)
{
    kedge_overlay_entry entry;
    noted->changes = sim_must_allocate((kedge_overlay_count(changes) + 1) * sizeof *noted->changes);
    for (bool more = kedge_overlay_next(changes, NULL, &entry); more;
         more = kedge_overlay_next(changes, &entry, &entry))
        note_change(&entry, &noted->changes[noted->change_count++]);
}

void sim_oracle_replay(sim_world *world, const kedge_version *version, sim_version *noted)
{
    kedge_tx *tx;
    kedge_state_reader below = sim_overlay_reader(world->oracle.state);
    kedge_overlay *changes = kedge_overlay_new(&kedge_allocator_default);
    if (changes == NULL || kedge_tx_new(&kedge_allocator_default, world->registry, changes, below,
                                        &tx, NULL) != KEDGE_OK)
        abort();
    for (size_t i = 0; i < version->mutation_count; i++)
        decide(tx, &version->mutations[i], &noted->decided[i]);
    kedge_tx_free(tx);
    note_changes(changes, noted);
    kedge_overlay_free(changes);
}
