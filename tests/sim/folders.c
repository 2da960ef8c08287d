/* Folders: backed up, restored, copied to live on twice; and what their apps were promised. */
#include "tests/sim/files.h"
#include "tests/sim/sim.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void sim_ledger_copy(const sim_ledger *from, sim_ledger *to)
{
    free(to->entries);
    *to = (sim_ledger){.count = from->count, .capacity = from->count + 16};
    to->entries = sim_must_allocate(to->capacity * sizeof *to->entries);
    if (from->count > 0) memcpy(to->entries, from->entries, from->count * sizeof *to->entries);
}

sim_entry *sim_ledger_add(sim_ledger *ledger)
{
    if (ledger->count == ledger->capacity) {
        ledger->capacity = ledger->capacity == 0 ? 64 : ledger->capacity * 2;
        ledger->entries =
            sim_must_reallocate(ledger->entries, ledger->capacity * sizeof *ledger->entries);
    }
    sim_entry *entry = &ledger->entries[ledger->count++];
    memset(entry, 0, sizeof *entry);
    return entry;
}

bool sim_entry_is(const sim_entry *entry, int64_t sequence)
{
    return entry->sequence == sequence || (entry->moved && entry->damaged_sequence == sequence);
}

void sim_client_back_up(sim_client *client)
{
    if (!sim_client_runs(client) || client->damage.meta_flips > 0) return;
    sim_folder_free(&client->backup);
    if (!sim_folder_take(&client->disk, &client->backup)) return;
    sim_ledger_copy(&client->ledger, &client->backup_ledger);
    client->backup_seen = client->seen;
    client->backup_damage = client->damage;
    client->has_backup = true;
    sim_trace(client->world, "client %u is backed up", client->index);
}

static void mark_copied(sim_ledger *ledger)
{
    for (size_t i = 0; i < ledger->count; i++)
        ledger->entries[i].copied = true;
}

/* What the app was told since the backup is gone with the folder that promised it. The backup is a
 * copy, and the folder has lived on since: what is pending in the backup may be decided. */
void sim_client_put_backup(sim_client *client)
{
    if (!sim_folder_put(&client->disk, &client->backup)) abort();
    mark_copied(&client->backup_ledger);
    sim_ledger_copy(&client->backup_ledger, &client->ledger);
    client->seen = client->backup_seen;
    client->damage = client->backup_damage;
    (void)sim_damage_new_cache(client);
    client->unrecovered = 0;
    sim_damage_may_rotate(client);
    sim_trace(client->world, "client %u is restored from its backup", client->index);
}

bool sim_client_restore(sim_client *client)
{
    if (!client->has_backup || client->backup_ledger.count == client->ledger.count) return false;
    sim_client_close(client);
    sim_client_put_backup(client);
    return true;
}

/* The copy and the original both live on. */
bool sim_client_copy(sim_client *client)
{
    sim_world *world = client->world;
    sim_folder folder;
    if (!sim_client_runs(client) || world->client_count == SIM_CLIENTS_MAX) return false;
    if (!sim_folder_take(&client->disk, &folder)) return false;
    uint32_t index = world->client_count++;
    sim_client_make(world, index);
    sim_client *twin = &world->clients[index];
    memcpy(twin->user, client->user, sizeof twin->user);
    (void)mkdir(twin->disk.folder, 0700);
    bool good = sim_folder_put(&twin->disk, &folder);
    sim_folder_free(&folder);
    if (!good) abort();
    mark_copied(&client->ledger);
    mark_copied(&client->backup_ledger);
    sim_ledger_copy(&client->ledger, &twin->ledger);
    twin->seen = client->seen;
    twin->damage = client->damage;
    twin->lacks_items = client->lacks_items;
    (void)sim_damage_new_cache(twin);
    twin->exists = true;
    sim_trace(world, "client %u is copied to %u", client->index, index);
    sim_client_open(twin);
    /* Twins that do the same are the hardest to tell apart. */
    if (sim_dice_chance(&world->dice, 500)) {
        sim_same_edit(client);
        sim_same_edit(twin);
    }
    return true;
}
