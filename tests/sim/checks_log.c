/* The checker of a pull of a log project: the response has the entries after the client's version,
 * all of them and nothing else, as they were appended. */
#include "mutate/state_hash.h"
#include "tests/sim/sim.h"
#include "wire/pull.h"

#include <inttypes.h>
#include <string.h>

static bool same_mutation(const kedge_wire_replay_mutation *told, const sim_decided *decided)
{
    bool open = told->decision == KEDGE_WIRE_REPLAY_OPEN;
    bool duplicate = told->decision == KEDGE_WIRE_REPLAY_DUPLICATE ||
                     told->decision == KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED;
    return told->id == decided->id && kedge_bytes_equal_text(told->client, decided->client) &&
           memcmp(told->digest, decided->digest, sizeof told->digest) == 0 &&
           open == decided->open && duplicate == decided->duplicate;
}

static bool same_entry(const kedge_wire_replay_entry *told, const sim_version *at)
{
    if (at == NULL || told->count != at->decided_count) return false;
    for (size_t i = 0; i < told->count; i++)
        if (!same_mutation(&told->mutations[i], &at->decided[i])) return false;
    return true;
}

/* How many entries of mutations stand after `from`, up to `at`. */
static size_t entries_between(int64_t from, const sim_version *at)
{
    size_t count = 0;
    for (; at != NULL && at->number > from; at = at->parent)
        if (at->decided_count > 0) count++;
    return count;
}

static void check_entries(sim_world *world, const kedge_wire_pull_response *pull,
                          const sim_version *at)
{
    const kedge_wire_replay *log = &pull->log;
    size_t expected = entries_between(pull->from, at);
    world->report->checks[SIM_I13]++;
    if (log->count != expected)
        sim_violate(world, SIM_I13,
                    "a pull from version %" PRId64 " to %" PRId64 " has %zu entries, not %zu",
                    pull->from, pull->version, log->count, expected);
    for (size_t i = 0; i < log->count; i++) {
        const kedge_wire_replay_entry *entry = &log->entries[i];
        world->report->checks[SIM_I13]++;
        if (entry->version > pull->from && entry->version <= pull->version &&
            same_entry(entry, sim_oracle_ancestor(at, entry->version)))
            continue;
        sim_violate(world, SIM_I13, "a pull tells entry %" PRId64 " otherwise than it is",
                    entry->version);
    }
}

static void check_hash(sim_world *world, const kedge_wire_pull_response *pull,
                       const sim_version *at)
{
    kedge_overlay_entry entry;
    kedge_state_hash hash;
    uint8_t expected[KEDGE_SHA256_SIZE];
    const kedge_overlay *state = sim_oracle_state(&world->oracle, at);
    kedge_state_hash_begin(&hash);
    for (bool more = kedge_overlay_next(state, NULL, &entry); more;
         more = kedge_overlay_next(state, &entry, &entry))
        kedge_state_hash_add(&hash, entry.collection, entry.id, entry.value);
    kedge_state_hash_end(&hash, expected);
    world->report->checks[SIM_I5]++;
    if (memcmp(pull->log.hash, expected, sizeof expected) != 0)
        sim_violate(world, SIM_I5, "the snapshot of version %" PRId64 " is another state",
                    pull->version);
}

void check_log_pull(sim_world *world, const kedge_wire_pull_response *pull, const sim_version *at)
{
    if (!pull->snapshot) check_entries(world, pull, at);
    if (pull->log.hashed) check_hash(world, pull, at);
}
