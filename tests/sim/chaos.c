/* What happens to the world as a whole, from time to time; and the end of all trouble. */
#include "backend/memory/memory_ports.h"
#include "tests/sim/files.h"
#include "tests/sim/queue.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TROUBLE_MS 400

static sim_client *any_client(sim_world *world)
{
    return &world->clients[sim_dice_below(&world->dice, world->client_count)];
}

/* ---- clients ---- */

static void arm_death(sim_world *world, sim_client *client)
{
    static const char *const phases[] = {
        "mutate-before-outbox", "mutate-between-commits", "mutate-after-cache", "push-sent",
        "pull-before-inbox",    "pull-before-cache",      "pull-before-delete", "pull-done",
        "rotate-before-outbox", "rotate-after-outbox"};
    bool cut = sim_strikes(world, &world->dice, SIM_CLIENT_POWER_CUT);
    if (!cut && !sim_strikes(world, &world->dice, SIM_CLIENT_KILL)) return;
    if (!sim_client_runs(client)) return;
    client->disk.power_cut = cut;
    if (sim_dice_chance(&world->dice, 500)) {
        const char *phase = phases[sim_dice_below(&world->dice, 10)];
        (void)snprintf(client->phase, sizeof client->phase, "%s", phase);
    } else {
        client->disk.dies_in = (int64_t)sim_dice_below(&world->dice, 300);
    }
}

static void trouble_disk(sim_world *world, sim_client *client)
{
    client->disk.full = sim_strikes(world, &world->dice, SIM_DISK_FULL);
    client->disk.error_per_mille = sim_strikes(world, &world->dice, SIM_DISK_ERROR) ? 8 : 0;
    client->memory_fails = sim_strikes(world, &world->dice, SIM_NO_MEMORY) ? 100 : 0;
}

static void reopen_soon(sim_client *client)
{
    sim_schedule(client->world, &(sim_event){.at_ms = client->world->now_ms + 50,
                                             .kind = SIM_EVENT_REOPEN,
                                             .client = client->index});
}

static void trouble_folder(sim_world *world, sim_client *client)
{
    if (sim_strikes(world, &world->dice, SIM_CACHE_CORRUPT) && sim_client_runs(client)) {
        /* Under the running process, or while it is closed. */
        if (sim_dice_chance(&world->dice, 500)) sim_client_close(client);
        if (sim_damage_ruin_cache(client)) {
            sim_trace(world, "client %u has a corrupt cache", client->index);
            sim_took_effect(world, SIM_CACHE_CORRUPT);
        }
        reopen_soon(client);
    }
    if (sim_dice_chance(&world->dice, 100)) sim_client_back_up(client);
    if (sim_strikes(world, &world->dice, SIM_FOLDER_RESTORED) && sim_client_restore(client)) {
        sim_took_effect(world, SIM_FOLDER_RESTORED);
        reopen_soon(client);
    }
    if (sim_strikes(world, &world->dice, SIM_FOLDER_COPIED) && sim_client_copy(client)) {
        sim_took_effect(world, SIM_FOLDER_COPIED);
        sim_client *twin = &world->clients[world->client_count - 1];
        sim_schedule(world, &(sim_event){.at_ms = world->now_ms + 10,
                                         .kind = SIM_EVENT_EDIT,
                                         .client = twin->index});
    }
}

static void trouble_connection(sim_world *world, sim_client *client)
{
    bool cut = client->partitioned || client->one_way || !client->online;
    if (cut && sim_dice_chance(&world->dice, 500)) {
        client->partitioned = client->one_way = false;
        bool was_offline = !client->online;
        client->online = true;
        if (was_offline && sim_client_runs(client)) {
            kedge_driver_set_online(client->driver, true);
            sim_client_settle(client);
        }
        return;
    }
    if (cut) return;
    client->partitioned = sim_strikes(world, &world->dice, SIM_NET_PARTITION);
    client->one_way = sim_strikes(world, &world->dice, SIM_NET_ONE_WAY);
    if (sim_strikes(world, &world->dice, SIM_APP_OFFLINE) && sim_client_runs(client)) {
        client->online = false;
        sim_took_effect(world, SIM_APP_OFFLINE);
        kedge_driver_set_online(client->driver, false);
        sim_client_settle(client);
    }
}

static int64_t jump(sim_world *world)
{
    return (int64_t)sim_dice_below(&world->dice, 200000000) - 100000000;
}

static void trouble_clocks(sim_world *world, sim_client *client)
{
    if (sim_strikes(world, &world->dice, SIM_CLOCK_JUMP)) {
        client->wall_offset_ms = jump(world);
        sim_took_effect(world, SIM_CLOCK_JUMP);
    }
    if (sim_strikes(world, &world->dice, SIM_CLOCK_1970)) {
        client->wall_offset_ms = -INT64_C(1790000000000) - world->now_ms;
        sim_took_effect(world, SIM_CLOCK_1970);
    }
    if (sim_strikes(world, &world->dice, SIM_SERVER_CLOCK_JUMP)) {
        world->server.wall_offset_ms = jump(world);
        sim_took_effect(world, SIM_SERVER_CLOCK_JUMP);
    }
}

/* ---- the server ---- */

static void refresh_replica(sim_world *world)
{
    sim_server *server = &world->server;
    if (!server->replica_behind) return;
    if (kedge_memory_records_copy(&server->records, &server->replica, NULL) == KEDGE_OK)
        server->replica_behind = false;
}

#define AGAIN_MS 4000

static void trouble_server(sim_world *world)
{
    static const sim_fault restores[] = {SIM_RESTORE_RECORDS, SIM_RESTORE_BLOBS, SIM_RESTORE_BOTH};
    if (sim_dice_chance(&world->dice, 120) && world->oracle.head != NULL) sim_server_backup(world);
    for (size_t i = 0; i < 3; i++) {
        if (!sim_strikes(world, &world->dice, restores[i])) continue;
        if (sim_server_restore(world, restores[i])) sim_took_effect(world, restores[i]);
    }
    bool lately = world->restored && world->now_ms - world->restored_ms < AGAIN_MS;
    if (lately && sim_strikes(world, &world->dice, SIM_RESTORE_AGAIN) &&
        sim_server_restore(world, SIM_RESTORE_BOTH))
        sim_took_effect(world, SIM_RESTORE_BOTH);
    if (sim_dice_chance(&world->dice, 400)) refresh_replica(world);
}

/* Somebody looks at an old version, or the list of projects, through a processor. */
static void read_history(sim_world *world)
{
    char path[64];
    char method[] = "GET";
    char body[] = "";
    int64_t newest = sim_server_version(world);
    if (newest == 0 || !sim_server_is_free(world)) return;
    int64_t version = 1 + (int64_t)sim_dice_below(&world->dice, (uint64_t)newest);
    if (sim_dice_chance(&world->dice, 300))
        (void)snprintf(path, sizeof path, "/v1/projects/%s", SIM_PROJECT);
    else
        (void)snprintf(path, sizeof path, "versions/%" PRId64 "?items=1", version);
    sim_message message = {
        .client = 0, .method = method, .path = path, .body = body, .user = "reader"};
    (void)sim_server_handle(world, &message);
    sim_trace(world, "a reader asks for %s: %d", path, message.status);
    free(message.response);
}

/* ---- the event ---- */

void sim_trouble(sim_world *world)
{
    sim_client *client = any_client(world);
    if (world->healing) return;
    sim_schedule(world, &(sim_event){.at_ms = world->now_ms + 1 +
                                              (int64_t)sim_dice_below(&world->dice, TROUBLE_MS),
                                     .kind = SIM_EVENT_TROUBLE});
    arm_death(world, client);
    trouble_disk(world, client);
    trouble_connection(world, any_client(world));
    trouble_clocks(world, any_client(world));
    trouble_folder(world, any_client(world));
    sim_trouble_files(world, any_client(world));
    trouble_server(world);
    sim_queue_trouble(world);
    if (world->logged) sim_server_maintain_log(world);
    if (sim_dice_chance(&world->dice, 150)) read_history(world);
}

/* ---- the end of it ---- */

static void heal_client(sim_client *client)
{
    client->disk.full = false;
    client->disk.error_per_mille = 0;
    client->disk.dies_in = -1;
    client->memory_fails = 0;
    client->phase[0] = '\0';
    client->partitioned = client->one_way = client->stream_silent = false;
    client->online = true;
    if (client->store == NULL) sim_client_open(client);
    if (client->store == NULL) return;
    sim_same_edit(client); /* which tells copies apart that have made none since */
    if (client->store == NULL) return;
    kedge_driver_set_online(client->driver, false);
    kedge_driver_set_online(client->driver, true);
    sim_client_settle(client);
}

void sim_heal(sim_world *world)
{
    sim_trace(world, "faults stop");
    world->healing = true;
    world->faults = 0;
    refresh_replica(world);
    for (uint32_t i = 0; i < world->client_count; i++)
        heal_client(&world->clients[i]);
    sim_replace_lost_bodies(world);
}
