/* What may happen to the files of a client besides a crash: values, pages and whole files that are
 * others than were written; and what its user does when they cannot be opened. */
#include "tests/sim/damage.h"

#include "sdk/store/repair.h"
#include "tests/sim/files.h"
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define REOPEN_MS 50
/* What is read in the background is read by then. */
#define DOUBT_MS 60000

static void reopen_soon(sim_client *client)
{
    sim_schedule(client->world, &(sim_event){.at_ms = client->world->now_ms + REOPEN_MS,
                                             .kind = SIM_EVENT_REOPEN,
                                             .client = client->index});
}

/* ---- what is forgiven ---- */

bool sim_damage_new_cache(sim_client *client)
{
    char path[SIM_VFS_PATH_BYTES];
    struct stat facts = {0};
    uint64_t was = client->damage.cache_file;
    sim_disk_path(&client->disk, SIM_FILE_CACHE, path);
    (void)stat(path, &facts);
    client->damage.cache_file = (uint64_t)facts.st_ino;
    return client->damage.cache_file != was;
}

/* The first time counts: it may go back again before it is where it was. A process that died may
 * have been further than it was seen; a cache of a log project may come by the version at which it
 * was seen on its way there. */
void sim_damage_cache_was(sim_client *client)
{
    const sim_oracle *oracle = &client->world->oracle;
    const sim_version *before = client->damage.cache_was;
    if (before != NULL && !client->world->logged) return;
    const sim_version *was = sim_oracle_find(oracle, client->seen.lineage, client->seen.version);
    if (client->world->logged && was != NULL && sim_oracle_descends(oracle->head, was))
        was = oracle->head;
    if (before == NULL || sim_oracle_descends(was, before)) client->damage.cache_was = was;
}

/* After a loss that nothing was left to tell of, the same sequence was given out again. An outbox
 * from before the loss has the first edit under it, and hides that the second one is gone. */
static bool is_given_twice(const sim_ledger *ledger, const sim_entry *entry)
{
    for (size_t i = 0; i < ledger->count; i++) {
        const sim_entry *other = &ledger->entries[i];
        if (other != entry && other->sequence == entry->sequence) return true;
    }
    return false;
}

/* An older outbox, or parts of one: it cannot know what it was told since. What the cache still
 * reflects is known to have been; of the rest nothing is left that could tell. */
static void outbox_went_back(sim_client *client)
{
    int64_t last = 0, unrecovered = 0, reflected = 0;
    (void)sim_damage_number(client, true, "SELECT last_sequence FROM meta", &last);
    (void)sim_damage_number(client, true, "SELECT unrecovered FROM meta", &unrecovered);
    bool evidence =
        !client->damage.cache && client->damage.doubt_ms == 0 &&
        sim_damage_number(client, false, "SELECT reflected_sequence FROM meta", &reflected);
    if (!evidence || reflected < last) reflected = last;
    client->damage.outbox_older = true;
    client->damage.anew = true;
    sim_damage_may_rotate(client);
    if (client->unrecovered > unrecovered) client->unrecovered = unrecovered;
    if (client->seen.last_sequence > reflected) client->seen.last_sequence = reflected;
    for (size_t i = 0; i < client->ledger.count; i++) {
        sim_entry *entry = &client->ledger.entries[i];
        entry->answered = false;
        if (entry->sequence > reflected || is_given_twice(&client->ledger, entry))
            entry->released = true;
    }
}

/* The outbox went back, and a full disk has not taken yet what the cache told of it: that goes with
 * the cache. */
static void evidence_goes(sim_client *client)
{
    int64_t last = 0;
    if (client->damage.outbox_older &&
        sim_damage_number(client, true, "SELECT last_sequence FROM meta", &last) &&
        last < client->seen.last_sequence)
        outbox_went_back(client);
}

static void cache_lies(sim_client *client)
{
    client->damage.cache = true;
    client->damage.cache_aside = false;
    (void)sim_damage_new_cache(client);
    evidence_goes(client);
}

static void cache_went_back(sim_client *client)
{
    cache_lies(client);
    sim_damage_cache_was(client);
}

void sim_damage_may_rotate(sim_client *client)
{
    memset(client->rotated_ms, 0, sizeof client->rotated_ms);
    memset(client->aside_ms, 0, sizeof client->aside_ms);
}

void sim_damage_opening(sim_client *client)
{
    if (client->damage.anew && client->damage.outbox_older) outbox_went_back(client);
}

void sim_damage_tried(sim_client *client)
{
    bool cut = client->disk.dead || client->disk.failed_full > 0;
    if (client->damage.opening_cut && cut) sim_took_effect(client->world, SIM_OPENING_CUT);
    client->damage.opening_cut = false;
}

void sim_damage_opened(sim_client *client)
{
    sim_damage *damage = &client->damage;
    damage->outbox_pages = false;
    damage->meta_flips = 0;
    if (damage->doubt_ms > 0) damage->doubt_ms = client->world->now_ms + DOUBT_MS;
}

/* ---- pages ---- */

static bool exchange(sim_world *world, char *bytes, size_t pages)
{
    char kept[SIM_VFS_PAGE];
    if (pages < 2) return false;
    char *one = bytes + sim_dice_below(&world->dice, pages) * SIM_VFS_PAGE;
    char *other = bytes + sim_dice_below(&world->dice, pages) * SIM_VFS_PAGE;
    if (memcmp(one, other, SIM_VFS_PAGE) == 0) return false;
    memcpy(kept, one, SIM_VFS_PAGE);
    memcpy(one, other, SIM_VFS_PAGE);
    memcpy(other, kept, SIM_VFS_PAGE);
    return true;
}

static bool put_back(sim_client *client, sim_disk_file file, char *bytes, size_t pages)
{
    const sim_folder *backup = &client->backup;
    if (!client->has_backup || !backup->there[file]) return false;
    size_t old_pages = backup->size[file] / SIM_VFS_PAGE;
    if (old_pages < pages) pages = old_pages;
    if (pages == 0) return false;
    size_t at = (size_t)sim_dice_below(&client->world->dice, pages) * SIM_VFS_PAGE;
    if (memcmp(bytes + at, backup->bytes[file] + at, SIM_VFS_PAGE) == 0) return false;
    memcpy(bytes + at, backup->bytes[file] + at, SIM_VFS_PAGE);
    return true;
}

/* Of a closed client. */
static bool swap_page(sim_client *client, sim_disk_file file)
{
    char *bytes = NULL;
    size_t size = 0;
    sim_damage_checkpoint(client, file == SIM_FILE_OUTBOX);
    bool changed = sim_disk_read(&client->disk, file, &bytes, &size);
    bool older = sim_dice_chance(&client->world->dice, 600);
    if (changed && older) changed = put_back(client, file, bytes, size / SIM_VFS_PAGE);
    if (changed && !older) changed = exchange(client->world, bytes, size / SIM_VFS_PAGE);
    if (changed) changed = sim_disk_write(&client->disk, file, bytes, size);
    free(bytes);
    if (changed)
        sim_trace(client->world, "client %u: a page of its %s is %s", client->index,
                  file == SIM_FILE_OUTBOX ? "outbox" : "cache", older ? "an old one" : "another");
    return changed;
}

bool sim_damage_ruin_cache(sim_client *client)
{
    sim_damage_checkpoint(client, false);
    if (!sim_disk_ruin_cache(&client->disk)) return false;
    cache_lies(client);
    return true;
}

/* ---- the kinds ---- */

static bool flip_outbox(sim_client *client)
{
    return sim_damage_flip(client, true);
}

static bool flip_cache(sim_client *client)
{
    if (!sim_damage_flip(client, false)) return false;
    cache_lies(client);
    return true;
}

static bool swap_outbox(sim_client *client)
{
    if (!swap_page(client, SIM_FILE_OUTBOX)) return false;
    client->damage.outbox_pages = true;
    client->damage.rows_vanished = true;
    outbox_went_back(client);
    return true;
}

static bool swap_cache(sim_client *client)
{
    if (!swap_page(client, SIM_FILE_CACHE)) return false;
    cache_went_back(client);
    client->damage.doubt_ms = client->world->now_ms + DOUBT_MS;
    return true;
}

static bool older_outbox(sim_client *client)
{
    if (!client->has_backup || client->backup_ledger.count == client->ledger.count) return false;
    if (!sim_disk_put(&client->disk, &client->backup, SIM_FILE_OUTBOX)) abort();
    outbox_went_back(client);
    return true;
}

static bool older_cache(sim_client *client)
{
    if (!client->has_backup || client->backup_seen.version == client->seen.version) return false;
    if (!sim_disk_put(&client->disk, &client->backup, SIM_FILE_CACHE)) abort();
    cache_went_back(client);
    client->damage.anew = true;
    /* It may have had a wrong page then, which nobody had found yet. */
    if (client->backup_damage.doubt_ms > 0)
        client->damage.doubt_ms = client->world->now_ms + DOUBT_MS;
    return true;
}

static bool lose_wal(sim_client *client)
{
    char *bytes = NULL;
    size_t size = 0;
    bool there = sim_disk_read(&client->disk, SIM_FILE_OUTBOX_WAL, &bytes, &size) && size > 0;
    free(bytes);
    if (!there || !sim_disk_remove(&client->disk, SIM_FILE_OUTBOX_WAL)) return false;
    /* All that there was may have stood in it. */
    client->damage.outbox_pages = true;
    outbox_went_back(client);
    return true;
}

/* Between the two commits of the repair, or anywhere. */
static void cut_opening(sim_client *client)
{
    sim_dice *dice = &client->world->dice;
    if (!sim_strikes(client->world, dice, SIM_OPENING_CUT)) return;
    client->damage.opening_cut = true;
    client->disk.power_cut = sim_dice_chance(dice, 500);
    switch (sim_dice_below(dice, 3)) {
    case 0:
        client->disk.full = true;
        break;
    case 1:
        client->disk.dies_in = (int64_t)sim_dice_below(dice, 80);
        break;
    default:
        (void)snprintf(client->phase, sizeof client->phase, "repair-between-commits");
        break;
    }
}

typedef struct kind {
    sim_fault fault;
    bool running; /* also under a running process */
    bool outbox;
    bool (*strike)(sim_client *client);
} kind;

static const kind kinds[] = {
    {SIM_ROW_FLIPPED_OUTBOX, true, true, flip_outbox},
    {SIM_ROW_FLIPPED_CACHE, true, false, flip_cache},
    {SIM_PAGE_SWAPPED_OUTBOX, false, true, swap_outbox},
    {SIM_PAGE_SWAPPED_CACHE, false, false, swap_cache},
    {SIM_OUTBOX_OLDER, false, true, older_outbox},
    {SIM_CACHE_OLDER, false, false, older_cache},
    {SIM_WAL_LOST, false, true, lose_wal},
};

static void strike(sim_world *world, sim_client *client, const kind *what)
{
    if (!client->exists || client->disk.dead) return;
    /* What the cache knows of a lost outbox is read when it is opened: until then it stays. */
    if (!what->outbox && client->damage.anew) return;
    bool close = !what->running || sim_dice_chance(&world->dice, 500);
    if (close) sim_client_close(client);
    if (what->strike(client)) {
        sim_trace(world, "client %u, %s: %s", client->index, close ? "closed" : "running",
                  sim_fault_names[what->fault]);
        sim_took_effect(world, what->fault);
        if (what->fault == SIM_OUTBOX_OLDER || what->fault == SIM_WAL_LOST) cut_opening(client);
    }
    if (close) reopen_soon(client);
}

void sim_trouble_files(sim_world *world, sim_client *client)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (sim_strikes(world, &world->dice, kinds[i].fault)) strike(world, client, &kinds[i]);
}

/* ---- the user ---- */

/* Puts the new folder into the old one's place. */
static bool move_in(sim_client *client, const char *new_path)
{
    sim_disk other = {0};
    sim_folder folder;
    (void)snprintf(other.folder, sizeof other.folder, "%.500s", new_path);
    bool good = sim_folder_take(&other, &folder) && sim_folder_put(&client->disk, &folder);
    sim_folder_free(&folder);
    sim_folder_remove(new_path);
    return good;
}

/* What can be read is saved into a new folder, which takes the place of the old one.
 * What is missing is counted there, or nobody can know it: then no edit is owed any more
 * that is not there. */
static bool repair(sim_client *client)
{
    char new_path[SIM_VFS_PATH_BYTES + 8];
    kedge_error error = {0};
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    (void)snprintf(new_path, sizeof new_path, "%.480s-new", client->disk.folder);
    client->disk.suspended = true;
    kedge_status status =
        kedge_store_repair(&client->environment, client->disk.folder, new_path, &report, &error);
    client->disk.suspended = false;
    sim_trace(client->world, "client %u is repaired: %s, %" PRId64 " missing", client->index,
              kedge_status_name(status), report.missing);
    if (status != KEDGE_OK || !move_in(client, new_path)) return false;
    client->world->report->repaired++;
    client->damage.forgive = report.missing < 0;
    for (size_t i = 0; report.missing < 0 && i < client->ledger.count; i++)
        client->ledger.entries[i].unproved = true;
    client->damage.meta_flips = 0;
    cache_went_back(client);
    outbox_went_back(client);
    return true;
}

static void start_afresh(sim_client *client)
{
    sim_folder empty = {0};
    if (!sim_folder_put(&client->disk, &empty)) abort();
    client->ledger.count = 0;
    memset(&client->seen, 0, sizeof client->seen);
    memset(&client->damage, 0, sizeof client->damage);
    client->unrecovered = 0;
    sim_trace(client->world, "client %u starts in an empty folder", client->index);
}

void sim_damage_user_acts(sim_client *client)
{
    if (repair(client)) return;
    if (!client->has_backup) {
        start_afresh(client);
        return;
    }
    sim_client_put_backup(client);
    /* Should that one be refused as well, there is no other. */
    client->has_backup = false;
}
