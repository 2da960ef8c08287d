/* Images of files, death and resurrection of a disk, and whole folders. */
#include "tests/sim/vfs_image.h"

#include "tests/sim/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTOR 512

typedef struct change {
    bool truncate;
    size_t offset; /* or the size to cut to */
    size_t size;
    char *bytes;
} change;

struct sim_image {
    char path[SIM_VFS_PATH_BYTES];
    char *durable;
    size_t size;
    size_t capacity;
    change *changes;
    size_t change_count;
    size_t change_capacity;
    sim_image *next;
};

static const char *const file_names[SIM_VFS_FILES] = {"outbox.db",         "outbox.db-wal",
                                                      "outbox.db-journal", "cache.db",
                                                      "cache.db-wal",      "cache.db-journal"};

/* ---- images ---- */

static void drop_changes(sim_image *image)
{
    for (size_t i = 0; i < image->change_count; i++)
        free(image->changes[i].bytes);
    image->change_count = 0;
}

static void free_image(sim_image *image)
{
    drop_changes(image);
    free(image->changes);
    free(image->durable);
    free(image);
}

sim_image *sim_image_of(sim_disk *disk, const char *path, bool fresh)
{
    sim_image *image = disk->images;
    while (image != NULL && strcmp(image->path, path) != 0)
        image = image->next;
    if (image == NULL) {
        image = sim_must_allocate(sizeof *image);
        (void)snprintf(image->path, sizeof image->path, "%s", path);
        image->next = disk->images;
        disk->images = image;
    }
    if (fresh) {
        drop_changes(image);
        image->size = 0;
    }
    return image;
}

void sim_image_forget(sim_disk *disk, const char *path)
{
    for (sim_image **at = &disk->images; *at != NULL; at = &(*at)->next) {
        if (strcmp((*at)->path, path) != 0) continue;
        drop_changes(*at);
        (*at)->size = 0;
        return;
    }
}

void sim_images_free(sim_disk *disk)
{
    while (disk->images != NULL) {
        sim_image *next = disk->images->next;
        free_image(disk->images);
        disk->images = next;
    }
}

static void resize(sim_image *image, size_t size)
{
    if (size > image->capacity) {
        size_t capacity = image->capacity < 65536 ? 65536 : image->capacity;
        while (capacity < size)
            capacity *= 2;
        image->durable = sim_must_reallocate(image->durable, capacity);
        image->capacity = capacity;
    }
    if (size > image->size) memset(image->durable + image->size, 0, size - image->size);
    image->size = size;
}

static void apply(sim_image *image, const change *made)
{
    if (made->truncate) {
        if (made->offset < image->size) resize(image, made->offset);
        return;
    }
    if (made->offset + made->size > image->size) resize(image, made->offset + made->size);
    memcpy(image->durable + made->offset, made->bytes, made->size);
}

static change *add_change(sim_image *image)
{
    if (image->change_count == image->change_capacity) {
        image->change_capacity = image->change_capacity == 0 ? 64 : image->change_capacity * 2;
        image->changes =
            sim_must_reallocate(image->changes, image->change_capacity * sizeof *image->changes);
    }
    change *made = &image->changes[image->change_count++];
    *made = (change){0};
    return made;
}

void sim_image_write(sim_image *image, const void *bytes, size_t size, size_t offset)
{
    change *made = add_change(image);
    made->offset = offset;
    made->size = size;
    made->bytes = sim_must_allocate(size + 1);
    memcpy(made->bytes, bytes, size);
}

void sim_image_truncate(sim_image *image, size_t size)
{
    change *made = add_change(image);
    made->truncate = true;
    made->offset = size;
}

void sim_image_sync(sim_image *image)
{
    for (size_t i = 0; i < image->change_count; i++)
        apply(image, &image->changes[i]);
    drop_changes(image);
}

/* ---- death ---- */

/* Keeps some of the sectors that a write covers. */
static void tear(sim_disk *disk, sim_image *image, const change *made)
{
    for (size_t at = 0; at < made->size; at += SECTOR) {
        change part = {.offset = made->offset + at,
                       .size = made->size - at < SECTOR ? made->size - at : SECTOR,
                       .bytes = made->bytes + at};
        if (sim_dice_chance(&disk->dice, 500)) apply(image, &part);
    }
    disk->torn++;
}

static void survive(sim_disk *disk, sim_image *image)
{
    /* Some cuts come with a lazy disk, some with a quick one. */
    uint32_t dropped = (uint32_t)sim_dice_below(&disk->dice, 4) * 330;
    for (size_t i = 0; i < image->change_count; i++) {
        change *made = &image->changes[i];
        if (!disk->power_cut) {
            apply(image, made);
        } else if (sim_dice_chance(&disk->dice, dropped)) {
            disk->dropped++;
        } else if (!made->truncate && sim_dice_chance(&disk->dice, 200)) {
            tear(disk, image, made);
        } else {
            apply(image, made);
        }
    }
    drop_changes(image);
}

void sim_disk_die(sim_disk *disk)
{
    if (disk->dead) return;
    disk->dead = true;
    disk->dies_in = -1;
    for (sim_image *image = disk->images; image != NULL; image = image->next)
        survive(disk, image);
}

static void remove_shared_memory(const sim_disk *disk, sim_disk_file database)
{
    char path[SIM_VFS_PATH_BYTES + 8], base[SIM_VFS_PATH_BYTES];
    sim_disk_path(disk, database, base);
    (void)snprintf(path, sizeof path, "%s-shm", base);
    (void)unlink(path);
}

bool sim_disk_revive(sim_disk *disk)
{
    for (sim_image *image = disk->images; image != NULL; image = image->next) {
        if (access(image->path, F_OK) != 0) continue;
        if (!sim_file_write(image->path, image->durable, image->size)) return false;
    }
    remove_shared_memory(disk, SIM_FILE_OUTBOX);
    remove_shared_memory(disk, SIM_FILE_CACHE);
    disk->dead = false;
    disk->power_cut = false;
    return true;
}

/* ---- folders ---- */

bool sim_folder_take(const sim_disk *disk, sim_folder *folder)
{
    memset(folder, 0, sizeof *folder);
    for (size_t i = 0; i < SIM_VFS_FILES; i++) {
        char path[SIM_VFS_PATH_BYTES];
        sim_disk_path(disk, (sim_disk_file)i, path);
        if (access(path, F_OK) != 0) continue;
        folder->there[i] = true;
        if (!sim_file_read(path, &folder->bytes[i], &folder->size[i])) return false;
    }
    return true;
}

bool sim_folder_put(sim_disk *disk, const sim_folder *folder)
{
    sim_images_free(disk);
    return sim_disk_put(disk, folder, SIM_FILE_OUTBOX) &&
           sim_disk_put(disk, folder, SIM_FILE_CACHE);
}

void sim_folder_free(sim_folder *folder)
{
    for (size_t i = 0; i < SIM_VFS_FILES; i++)
        free(folder->bytes[i]);
    memset(folder, 0, sizeof *folder);
}

/* ---- files that lie ---- */

void sim_disk_path(const sim_disk *disk, sim_disk_file file, char path[SIM_VFS_PATH_BYTES])
{
    (void)snprintf(path, SIM_VFS_PATH_BYTES, "%.400s/%s", disk->folder, file_names[file]);
}

bool sim_disk_read(const sim_disk *disk, sim_disk_file file, char **bytes, size_t *size)
{
    char path[SIM_VFS_PATH_BYTES];
    sim_disk_path(disk, file, path);
    return sim_file_read(path, bytes, size);
}

bool sim_disk_write(sim_disk *disk, sim_disk_file file, const char *bytes, size_t size)
{
    char path[SIM_VFS_PATH_BYTES];
    sim_disk_path(disk, file, path);
    if (!sim_file_write(path, bytes, size)) return false;
    sim_image *image = sim_image_of(disk, path, true);
    resize(image, size);
    if (size > 0) memcpy(image->durable, bytes, size);
    return true;
}

bool sim_disk_remove(sim_disk *disk, sim_disk_file file)
{
    char path[SIM_VFS_PATH_BYTES];
    sim_disk_path(disk, file, path);
    sim_image_forget(disk, path);
    return unlink(path) == 0;
}

bool sim_disk_put(sim_disk *disk, const sim_folder *folder, sim_disk_file database)
{
    remove_shared_memory(disk, database);
    for (size_t i = database; i < (size_t)database + 3; i++) {
        (void)sim_disk_remove(disk, (sim_disk_file)i);
        if (!folder->there[i]) continue;
        if (!sim_disk_write(disk, (sim_disk_file)i, folder->bytes[i], folder->size[i]))
            return false;
    }
    return true;
}

bool sim_disk_ruin_cache(sim_disk *disk)
{
    char *bytes = NULL;
    size_t size = 0;
    if (!sim_disk_read(disk, SIM_FILE_CACHE, &bytes, &size)) return false;
    size_t pages = size / SIM_VFS_PAGE;
    bool ruined = false;
    /* The first page, or one of a tree: of others nobody could tell. */
    for (size_t tries = 0; tries < 16 && pages > 0 && !ruined; tries++) {
        size_t page = (size_t)sim_dice_below(&disk->dice, pages);
        unsigned char kind = (unsigned char)bytes[page * SIM_VFS_PAGE];
        if (page > 0 && kind != 2 && kind != 5 && kind != 10 && kind != 13) continue;
        memset(bytes + page * SIM_VFS_PAGE, 0xa5, SIM_VFS_PAGE);
        ruined = true;
    }
    if (ruined) ruined = sim_disk_write(disk, SIM_FILE_CACHE, bytes, size);
    free(bytes);
    return ruined;
}
