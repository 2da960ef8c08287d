/* A client: its machine, its process, and the host that the driver talks to. */
#include "tests/sim/files.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of edits that the server does not know (sim.newer). */
#define SERVER_WAIT_MS 5000
bool sim_client_runs(const sim_client *client)
{
    return client->store != NULL && !client->disk.dead;
}

/* ---- environment ---- */

static int64_t client_now(void *context)
{
    sim_client *client = context;
    int64_t now = INT64_C(1790000000000) + client->world->now_ms + client->wall_offset_ms;
    return now < 0 ? 0 : now;
}

static int64_t client_monotonic(void *context)
{
    return ((sim_client *)context)->world->now_ms + 1;
}

static void client_random(void *context, void *bytes, size_t size)
{
    sim_dice_fill(&((sim_client *)context)->random, bytes, size);
}

static bool no_memory(sim_client *client)
{
    if (client->memory_fails == 0 || client->disk.suspended || client->disk.dead) return false;
    if (sim_dice_below(&client->dice, 100000) >= client->memory_fails) return false;
    sim_took_effect(client->world, SIM_NO_MEMORY);
    return true;
}

static void *client_allocate(void *context, size_t size)
{
    return no_memory(context) ? NULL : malloc(size);
}

static void *client_reallocate(void *context, void *block, size_t size)
{
    return no_memory(context) ? NULL : realloc(block, size);
}

static void client_release(void *context, void *block)
{
    (void)context;
    free(block);
}

/* ---- host ---- */

static void host_set_timer(void *context, int64_t at_ms)
{
    sim_client *client = context;
    client->timer_number++;
    if (at_ms == INT64_MAX) return;
    int64_t at = at_ms - 1;
    if (at < client->world->now_ms) at = client->world->now_ms;
    sim_schedule(client->world, &(sim_event){.at_ms = at,
                                             .kind = SIM_EVENT_TIMER,
                                             .client = client->index,
                                             .life = client->life,
                                             .number = client->timer_number});
}

static void host_ask_token(void *context, bool doubted)
{
    (void)context;
    (void)doubted;
}

static void host_changed(void *context, const kedge_change_set *changes)
{
    (void)context;
    (void)changes;
}

static void host_report(void *context, kedge_connection connection, const kedge_error *error)
{
    sim_client *client = context;
    sim_trace(client->world, "client %u reports %d %s", client->index, (int)connection,
              error == NULL ? "" : error->code);
    client->stopped = connection == KEDGE_STOPPED;
}

static void host_synced(void *context, bool ok, const kedge_error *error)
{
    (void)context;
    (void)ok;
    (void)error;
}

/* The process dies at a phase of the store. */
static void at_phase(void *context, const char *phase)
{
    sim_client *client = context;
    if (client->disk.suspended || client->disk.dead || strcmp(client->phase, phase) != 0) return;
    sim_trace(client->world, "client %u dies at %s", client->index, phase);
    client->phase[0] = '\0';
    sim_disk_die(&client->disk);
}

/* By whatever reads it, a checker too: the SDK's worker wakes the driver then, which pulls. The
 * cache of a log project may be set aside without damage: when only a replay of all entries can
 * tell what became of an edit. */
static void cache_set_aside(void *context)
{
    sim_client *client = context;
    client->waking = true;
    if (!client->world->logged || client->damage.cache) return;
    client->damage.cache = true;
    check_i22_set_aside(client);
}

/* ---- life and death ---- */

static void end_process(sim_client *client)
{
    kedge_driver_free(client->driver);
    client->driver = NULL;
    kedge_store_close(client->store);
    client->store = NULL;
    client->stream = 0;
    client->stream_up = false;
    client->stopped = false;
    client->waking = false;
    memset(client->open_requests, 0, sizeof client->open_requests);
    client->life++;
}

static void collect_effects(sim_client *client)
{
    sim_world *world = client->world;
    sim_disk *disk = &client->disk;
    if (disk->failed_full > 0) sim_took_effect(world, SIM_DISK_FULL);
    if (disk->failed_error > 0) sim_took_effect(world, SIM_DISK_ERROR);
    if (disk->dropped > 0) sim_took_effect(world, SIM_POWER_WRITE_DROPPED);
    if (disk->torn > 0) sim_took_effect(world, SIM_POWER_WRITE_TORN);
    disk->failed_full = disk->failed_error = disk->dropped = disk->torn = 0;
}

static void schedule_reopen(sim_client *client, int64_t within_ms)
{
    sim_world *world = client->world;
    client->reopening = true;
    sim_schedule(world,
                 &(sim_event){.at_ms = world->now_ms + 1 +
                                       (int64_t)sim_dice_below(&world->dice, (uint64_t)within_ms),
                              .kind = SIM_EVENT_REOPEN,
                              .client = client->index});
}

static void bury(sim_client *client)
{
    sim_world *world = client->world;
    sim_took_effect(world, client->disk.power_cut ? SIM_CLIENT_POWER_CUT : SIM_CLIENT_KILL);
    sim_trace(world, "client %u is dead", client->index);
    end_process(client);
    collect_effects(client);
    client->phase[0] = '\0';
    client->disk.full = false;
    client->disk.error_per_mille = 0;
    client->memory_fails = 0;
    if (!sim_disk_revive(&client->disk)) abort();
    schedule_reopen(client, 3000);
}

/* The app is told that outbox.db is damaged, and opens it again: then the user acts. */
static void leave_refused(sim_client *client)
{
    sim_client_close(client);
    schedule_reopen(client, 2000);
}

static void schedule_waking(sim_client *client)
{
    sim_world *world = client->world;
    client->waking = false;
    sim_schedule(world, &(sim_event){.at_ms = world->now_ms,
                                     .kind = SIM_EVENT_WAKE,
                                     .client = client->index,
                                     .life = client->life});
}

void sim_client_settle(sim_client *client)
{
    if (client->disk.dead) {
        bury(client);
        return;
    }
    collect_effects(client);
    if (client->store == NULL) return;
    check_client(client);
    if (kedge_store_is_refused(client->store, NULL, NULL))
        leave_refused(client);
    else if (client->waking)
        schedule_waking(client);
}

void sim_client_close(sim_client *client)
{
    if (client->store == NULL) return;
    sim_trace(client->world, "client %u closes", client->index);
    end_process(client);
    if (client->disk.dead) {
        collect_effects(client);
        if (!sim_disk_revive(&client->disk)) abort();
    }
}

/* ---- opening ---- */

static kedge_status open_store(sim_client *client, kedge_error *error)
{
    sim_world *world = client->world;
    kedge_store_options options = {.environment = &client->environment,
                                   .path = client->disk.folder,
                                   .organization = SIM_ORGANIZATION,
                                   .project = SIM_PROJECT,
                                   .user = client->user,
                                   .role = "member",
                                   .registry = world->registry,
                                   .server_wait_ms = SERVER_WAIT_MS,
                                   .vfs = SIM_VFS_NAME,
                                   .phase = at_phase,
                                   .phase_context = client,
                                   .set_aside = cache_set_aside,
                                   .set_aside_context = client};
    return kedge_store_open(&options, &client->store, error);
}

static kedge_status open_driver(sim_client *client, kedge_error *error)
{
    kedge_transport transport = sim_network(client);
    kedge_driver_host host = {.context = client,
                              .set_timer = host_set_timer,
                              .ask_token = host_ask_token,
                              .changed = host_changed,
                              .report = host_report,
                              .synced = host_synced};
    return kedge_driver_new(&client->environment, client->store, &transport, &host, client->online,
                            &client->driver, error);
}

/* Trying again would not help. */
static bool is_final(kedge_status status)
{
    return status == KEDGE_CORRUPT || status == KEDGE_INTERNAL || status == KEDGE_NOT_A_DATABASE ||
           status == KEDGE_NEWER_DATABASE || status == KEDGE_INVALID_ARGUMENT ||
           status == KEDGE_REGISTRY_MISMATCH;
}

void sim_client_open(sim_client *client)
{
    kedge_error error = {0};
    client->reopening = false;
    client->exists = true;
    sim_damage_opening(client);
    kedge_status status = open_store(client, &error);
    if (status == KEDGE_OK) status = open_driver(client, &error);
    sim_trace(client->world, "client %u opens: %s", client->index, kedge_status_name(status));
    sim_damage_tried(client);
    client->world->report->reopened++;
    if (status != KEDGE_OK) {
        bool dead = client->disk.dead;
        end_process(client);
        if (dead && !sim_disk_revive(&client->disk)) abort();
        collect_effects(client);
        if (!dead && is_final(status)) {
            check_i22_opened(client, status, error.code);
            sim_damage_user_acts(client);
        }
        schedule_reopen(client, 2000);
        return;
    }
    sim_damage_opened(client);
    kedge_driver_start(client->driver);
    sim_client_settle(client);
}

void sim_client_reopen(sim_world *world, const sim_event *event)
{
    sim_client *client = &world->clients[event->client];
    if (client->store == NULL && client->exists) sim_client_open(client);
}

void sim_client_timer(sim_world *world, const sim_event *event)
{
    sim_client *client = &world->clients[event->client];
    if (!sim_client_runs(client) || event->life != client->life ||
        event->number != client->timer_number)
        return;
    kedge_driver_timer(client->driver);
    sim_client_settle(client);
}

void sim_client_wake(sim_world *world, const sim_event *event)
{
    sim_client *client = &world->clients[event->client];
    if (!sim_client_runs(client) || event->life != client->life) return;
    kedge_driver_mutated(client->driver);
    sim_client_settle(client);
}

/* ---- making and ending ---- */

void sim_client_make(sim_world *world, uint32_t index)
{
    sim_client *client = &world->clients[index];
    char folder[SIM_VFS_PATH_BYTES];
    memset(client, 0, sizeof *client);
    client->world = world;
    client->index = index;
    client->online = true;
    (void)snprintf(client->user, sizeof client->user, "user%u", index % 3);
    (void)snprintf(folder, sizeof folder, "%.400s/c%u", world->options.root, index);
    client->dice = sim_dice_make(world->options.seed, 200 + index);
    client->random = sim_dice_make(world->options.seed, 300 + index);
    sim_disk_open(&client->disk, folder, sim_dice_make(world->options.seed, 400 + index));
    client->allocator = (kedge_allocator){.allocate = client_allocate,
                                          .reallocate = client_reallocate,
                                          .release = client_release,
                                          .context = client};
    client->environment = (kedge_environment){.allocator = &client->allocator,
                                              .now_ms = client_now,
                                              .monotonic_ms = client_monotonic,
                                              .random = client_random,
                                              .context = client};
}

void sim_client_free(sim_client *client)
{
    if (client->store != NULL) end_process(client);
    sim_folder_remove(client->disk.folder);
    sim_disk_close(&client->disk);
    free(client->old_response);
    free(client->ledger.entries);
    free(client->backup_ledger.entries);
    sim_folder_free(&client->backup);
}
