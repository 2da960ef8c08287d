/* A disk that a record is played on: see powercut.h.
 *
 * A file is an inode: what was synced, and the changes since, in order. The folder is a list of
 * entries, and the changes of entries since the folder was synced; a cut keeps some first ones of
 * them, as a file system with a journal does. */
#include "tests/powercut/powercut.h"

#include <stdlib.h>
#include <string.h>

#define SECTOR_BYTES 512

typedef struct inode {
    unsigned char *durable;
    size_t size;
    const powercut_operation **changes; /* of the record */
    size_t count;
    size_t capacity;
} inode;

typedef struct entry_change {
    int file;
    long inode; /* -1: deleted */
} entry_change;

struct powercut_disk {
    inode *inodes;
    long count;
    long entries[POWERCUT_FILES]; /* as they are now: an inode, or -1 */
    long durable[POWERCUT_FILES]; /* as they were when the folder was synced */
    entry_change *changes;
    size_t change_count;
    size_t change_capacity;
};

/* Contents that are being put together. */
typedef struct contents {
    unsigned char *bytes;
    size_t size;
} contents;

powercut_disk *powercut_disk_make(void)
{
    powercut_disk *disk = powercut_allocate(NULL, sizeof *disk);
    *disk = (powercut_disk){0};
    for (int i = 0; i < POWERCUT_FILES; i++)
        disk->entries[i] = disk->durable[i] = -1;
    return disk;
}

void powercut_disk_free(powercut_disk *disk)
{
    for (long i = 0; i < disk->count; i++) {
        free(disk->inodes[i].durable);
        free(disk->inodes[i].changes);
    }
    free(disk->inodes);
    free(disk->changes);
    free(disk);
}

static void put(contents *to, size_t offset, const unsigned char *bytes, size_t size)
{
    if (offset + size > to->size) {
        to->bytes = powercut_allocate(to->bytes, offset + size);
        memset(to->bytes + to->size, 0, offset + size - to->size);
        to->size = offset + size;
    }
    memcpy(to->bytes + offset, bytes, size);
}

static void apply(contents *to, const powercut_operation *change)
{
    if (change->call == POWERCUT_WRITE)
        put(to, change->offset, change->bytes, change->size);
    else if (change->offset < to->size)
        to->size = change->offset;
}

/* ---- playing ---- */

static void change_entry(powercut_disk *disk, int file, long node)
{
    if (disk->change_count == disk->change_capacity) {
        disk->change_capacity = disk->change_capacity ? disk->change_capacity * 2 : 16;
        disk->changes =
            powercut_allocate(disk->changes, disk->change_capacity * sizeof *disk->changes);
    }
    disk->changes[disk->change_count++] = (entry_change){file, node};
    disk->entries[file] = node;
}

static void sync_folder(powercut_disk *disk)
{
    memcpy(disk->durable, disk->entries, sizeof disk->durable);
    disk->change_count = 0;
}

static long add_inode(powercut_disk *disk)
{
    disk->inodes =
        powercut_allocate(disk->inodes, (size_t)(disk->count + 1) * sizeof *disk->inodes);
    disk->inodes[disk->count] = (inode){0};
    return disk->count++;
}

static void add_change(inode *node, const powercut_operation *operation)
{
    if (node->count == node->capacity) {
        node->capacity = node->capacity ? node->capacity * 2 : 64;
        node->changes = powercut_allocate(node->changes, node->capacity * sizeof *node->changes);
    }
    node->changes[node->count++] = operation;
}

static void sync_inode(inode *node)
{
    contents durable = {node->durable, node->size};
    for (size_t i = 0; i < node->count; i++)
        apply(&durable, node->changes[i]);
    node->durable = durable.bytes;
    node->size = durable.size;
    node->count = 0;
}

void powercut_disk_play(powercut_disk *disk, const powercut_operation *operation)
{
    int file = operation->file;
    if (operation->call == POWERCUT_CREATE) {
        change_entry(disk, file, add_inode(disk));
        return;
    }
    if (disk->entries[file] < 0)
        powercut_fail("%s is written before it is made", powercut_files[file]);
    inode *node = &disk->inodes[disk->entries[file]];
    switch (operation->call) {
    case POWERCUT_WRITE:
    case POWERCUT_TRUNCATE:
        add_change(node, operation);
        return;
    case POWERCUT_SYNC:
        sync_inode(node);
        break;
    case POWERCUT_DELETE:
        change_entry(disk, file, -1);
        break;
    case POWERCUT_CREATE:
        break;
    }
    if (operation->folder_synced) sync_folder(disk);
}

/* ---- cutting ---- */

/* Keeps some of the sectors that a write covers. */
static void tear(contents *to, const powercut_operation *change, sim_dice *dice)
{
    for (size_t at = 0; at < change->size; at += SECTOR_BYTES) {
        size_t size = change->size - at < SECTOR_BYTES ? change->size - at : SECTOR_BYTES;
        if (sim_dice_chance(dice, 500)) put(to, change->offset + at, change->bytes + at, size);
    }
}

static contents survive(const inode *node, powercut_way way, uint32_t dropped, sim_dice *dice,
                        powercut_losses *losses)
{
    contents left = {powercut_allocate(NULL, node->size + 1), node->size};
    if (node->size > 0) memcpy(left.bytes, node->durable, node->size);
    for (size_t i = 0; i < node->count; i++) {
        const powercut_operation *change = node->changes[i];
        if (way == POWERCUT_KILLED) {
            apply(&left, change);
        } else if (way == POWERCUT_BARE || sim_dice_chance(dice, dropped)) {
            losses->dropped++;
        } else if (change->call == POWERCUT_WRITE && sim_dice_chance(dice, 200)) {
            tear(&left, change, dice);
            losses->torn++;
        } else {
            apply(&left, change);
        }
    }
    return left;
}

void powercut_disk_cut(const powercut_disk *disk, powercut_way way, sim_dice *dice,
                       const char *folder, powercut_losses *losses)
{
    long entries[POWERCUT_FILES];
    size_t kept = way == POWERCUT_KILLED ? disk->change_count
                  : way == POWERCUT_BARE ? 0
                                         : (size_t)sim_dice_below(dice, disk->change_count + 1);
    /* Some disks are lazy, some quick. */
    uint32_t dropped = (uint32_t)sim_dice_below(dice, 4) * 330;
    memcpy(entries, disk->durable, sizeof entries);
    for (size_t i = 0; i < kept; i++)
        entries[disk->changes[i].file] = disk->changes[i].inode;
    losses->dropped += (long)(disk->change_count - kept);
    for (int file = 0; file < POWERCUT_FILES; file++) {
        char path[FILES_PATH_BYTES];
        if (entries[file] < 0) continue;
        contents left = survive(&disk->inodes[entries[file]], way, dropped, dice, losses);
        files_path(path, folder, powercut_files[file]);
        files_write(path, left.bytes, left.size);
        free(left.bytes);
    }
}
