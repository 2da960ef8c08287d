/* The checker of the end: faults have stopped, and everything must come to the same bytes. */
#include "sdk/store/store_internal.h"
#include "tests/sim/sim.h"
#include "tests/support/store_view.h"

#include <inttypes.h>
#include <string.h>

#define QUIET_STEPS_MAX 15000
#define QUIET_MS_MAX    1800000 /* half an hour of simulated time */

static bool is_quiet(sim_world *world)
{
    for (uint32_t i = 0; i < world->client_count; i++) {
        kedge_store_position at;
        sim_client *client = &world->clients[i];
        if (!sim_client_runs(client) || client->damage.doubt_ms > world->now_ms) return false;
        if (kedge_store_position_get(client->store, &at, NULL) != KEDGE_OK) return false;
        if (at.pending > 0 || at.stale || at.version != sim_server_version(world)) return false;
        if (world->oracle.head != NULL && strcmp(at.lineage, world->oracle.head->lineage) != 0)
            return false;
    }
    return true;
}

/* A wrong value is noticed when it is read, and no checker reads a client that lacks items. Its
 * cache is set aside then, and pulled anew. */
static bool finds_damage(sim_client *client)
{
    kedge_buffer dump = kedge_buffer_make(&kedge_allocator_default);
    if (!client->damage.cache) return false;
    bool found = store_dump(client->store, false, &dump, NULL) == KEDGE_CORRUPT;
    kedge_buffer_free(&dump);
    if (!found) return false;
    sim_client_settle(client);
    return true;
}

static bool any_finds_damage(sim_world *world)
{
    bool found = false;
    for (uint32_t i = 0; i < world->client_count; i++)
        found = finds_damage(&world->clients[i]) || found;
    return found;
}

/* What is forgiven for a time may be over by now, without a step of the client since. */
static void check_clients(sim_world *world)
{
    for (uint32_t i = 0; i < world->client_count; i++)
        check_client(&world->clients[i]);
}

/* Twins that made nothing since they were parted find out who they are by their next edit. */
static void check_same_bytes(sim_world *world)
{
    kedge_buffer expected = kedge_buffer_make(&kedge_allocator_default);
    sim_oracle_dump(world->oracle.state, &expected);
    for (uint32_t i = 0; i < world->client_count; i++) {
        kedge_buffer dump = kedge_buffer_make(&kedge_allocator_default);
        world->report->checks[SIM_I18]++;
        if (store_dump(world->clients[i].store, false, &dump, NULL) != KEDGE_OK ||
            !kedge_bytes_equal(kedge_buffer_bytes(&dump), kedge_buffer_bytes(&expected)))
            sim_violate(world, SIM_I18, "client %u does not read what the server has", i);
        kedge_buffer_free(&dump);
    }
    kedge_buffer_free(&expected);
}

/* What was promised and never taken back has been decided, on the branch that lives. */
static void check_all_decided(sim_world *world)
{
    for (uint32_t i = 0; i < world->client_count; i++) {
        const sim_ledger *ledger = &world->clients[i].ledger;
        for (size_t j = 0; j < ledger->count; j++) {
            const sim_entry *entry = &ledger->entries[j];
            if (entry->cancelled || entry->released || entry->in_inbox) continue;
            world->report->checks[SIM_I18]++;
            if (sim_oracle_decided_as(world->oracle.head, entry->uid, entry->digest, NULL) == NULL)
                sim_violate(world, SIM_I18, "client %u: %" PRId64 " was never decided", i,
                            entry->sequence);
        }
    }
}

static void tell_who_is_behind(sim_world *world)
{
    for (uint32_t i = 0; i < world->client_count; i++) {
        kedge_store_position at = {0};
        sim_client *client = &world->clients[i];
        if (sim_client_runs(client)) (void)kedge_store_position_get(client->store, &at, NULL);
        sim_trace(world,
                  "client %u at the end: runs %d, version %" PRId64 " of %" PRId64 ", %" PRId64
                  " pending, stopped %d",
                  i, sim_client_runs(client), at.version, sim_server_version(world), at.pending,
                  client->stopped);
    }
}

void check_i18_converged(sim_world *world)
{
    int64_t until_ms = world->now_ms + QUIET_MS_MAX;
    int steps = 0;
    while (world->now_ms < until_ms && steps < QUIET_STEPS_MAX) {
        if (steps++ % 8 == 0 && is_quiet(world) && !any_finds_damage(world)) break;
        sim_step(world);
    }
    world->report->checks[SIM_I18]++;
    if (!is_quiet(world)) {
        tell_who_is_behind(world);
        sim_violate(world, SIM_I18, "not converged after %d steps, %" PRId64 " s", steps,
                    (QUIET_MS_MAX - (until_ms - world->now_ms)) / 1000);
        return;
    }
    check_clients(world);
    check_same_bytes(world);
    check_all_decided(world);
    check_i3_unchanged(world, INT64_MAX);
}
