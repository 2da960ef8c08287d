/* Damage to bytes, pages and files: see damage.h. */
#include "tests/damage/damage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* A file in memory, while it is damaged. */
typedef struct image {
    char path[FILES_PATH_BYTES];
    unsigned char *data;
    size_t size;
} image;

static bool take(const char *folder, const char *file, image *out)
{
    files_path(out->path, folder, file);
    out->data = files_read(out->path, &out->size);
    return out->data && out->size > 0;
}

static bool put_back(image *one)
{
    files_write(one->path, one->data, one->size);
    free(one->data);
    return true;
}

static bool give_up(image *one)
{
    free(one->data);
    return false;
}

static bool flip_bit(damage_target *target, const char *file)
{
    image one;
    if (!take(target->folder, file, &one)) return give_up(&one);
    uint64_t at = damage_draw(target->dice, one.size);
    int bit = (int)damage_draw(target->dice, 8);
    one.data[at] ^= (unsigned char)(1u << bit);
    (void)snprintf(target->what, sizeof target->what, "bit %d of byte %llu of %s flipped", bit,
                   (unsigned long long)at, file);
    return put_back(&one);
}

static bool overwrite(damage_target *target, const char *file)
{
    image one;
    if (!take(target->folder, file, &one)) return give_up(&one);
    uint64_t at = damage_draw(target->dice, one.size);
    uint64_t count = 1 + damage_draw(target->dice, damage_draw(target->dice, 2) ? 16 : PAGE_BYTES);
    if (count > one.size - at) count = one.size - at;
    for (uint64_t i = 0; i < count; i++)
        one.data[at + i] ^= (unsigned char)(1 + damage_draw(target->dice, 255));
    (void)snprintf(target->what, sizeof target->what, "%llu bytes of %s overwritten from %llu on",
                   (unsigned long long)count, file, (unsigned long long)at);
    return put_back(&one);
}

static bool cut(damage_target *target, const char *file)
{
    image one;
    if (!take(target->folder, file, &one)) return give_up(&one);
    size_t whole = one.size;
    one.size = (size_t)damage_draw(target->dice, whole);
    if (damage_draw(target->dice, 2)) one.size -= one.size % PAGE_BYTES;
    (void)snprintf(target->what, sizeof target->what, "%s cut from %zu to %zu bytes", file, whole,
                   one.size);
    return put_back(&one);
}

static bool zero_page(damage_target *target, const char *file)
{
    image one;
    if (!take(target->folder, file, &one) || one.size < PAGE_BYTES) return give_up(&one);
    uint64_t page = damage_draw(target->dice, one.size / PAGE_BYTES);
    memset(one.data + page * PAGE_BYTES, 0, PAGE_BYTES);
    (void)snprintf(target->what, sizeof target->what, "page %llu of %s zeroed",
                   (unsigned long long)page + 1, file);
    return put_back(&one);
}

static bool swap_pages(damage_target *target, const char *file)
{
    image one;
    unsigned char held[PAGE_BYTES];
    if (!take(target->folder, file, &one) || one.size < 3 * PAGE_BYTES) return give_up(&one);
    /* The first page is left out: without it the file is no database. */
    uint64_t pages = one.size / PAGE_BYTES - 1;
    uint64_t first = 1 + damage_draw(target->dice, pages);
    uint64_t second = 1 + (first + damage_draw(target->dice, pages - 1)) % pages;
    unsigned char *a = one.data + first * PAGE_BYTES;
    unsigned char *b = one.data + second * PAGE_BYTES;
    if (memcmp(a, b, PAGE_BYTES) == 0) return give_up(&one);
    memcpy(held, a, PAGE_BYTES);
    memcpy(a, b, PAGE_BYTES);
    memcpy(b, held, PAGE_BYTES);
    (void)snprintf(target->what, sizeof target->what, "pages %llu and %llu of %s swapped",
                   (unsigned long long)first + 1, (unsigned long long)second + 1, file);
    return put_back(&one);
}

static bool older_page(damage_target *target, const char *file)
{
    image one, old = {.data = NULL};
    bool done = false;
    if (!take(target->folder, file, &one) || !take(target->older, file, &old)) goto out;
    uint64_t pages = (one.size < old.size ? one.size : old.size) / PAGE_BYTES;
    if (pages == 0) goto out;
    uint64_t from = damage_draw(target->dice, pages);
    for (uint64_t i = 0; i < pages && !done; i++) {
        uint64_t page = (from + i) % pages;
        unsigned char *a = one.data + page * PAGE_BYTES;
        unsigned char *b = old.data + page * PAGE_BYTES;
        if (memcmp(a, b, PAGE_BYTES) == 0) continue;
        memcpy(a, b, PAGE_BYTES);
        files_write(one.path, one.data, one.size);
        (void)snprintf(target->what, sizeof target->what, "page %llu of %s is an older one",
                       (unsigned long long)page + 1, file);
        done = true;
    }
out:
    free(one.data);
    free(old.data);
    return done;
}

static void wal_of(char out[64], const char *file)
{
    (void)snprintf(out, 64, "%s-wal", file);
}

/* The older file, or none, in the place of this one; false when that changes nothing. */
static bool replace(const damage_target *target, const char *file, bool remove_it)
{
    char path[FILES_PATH_BYTES], from[FILES_PATH_BYTES];
    size_t size = 0, old_size = 0;
    files_path(path, target->folder, file);
    files_path(from, target->older, file);
    unsigned char *data = files_read(path, &size);
    unsigned char *old = remove_it ? NULL : files_read(from, &old_size);
    bool same = (data != NULL) == (old != NULL) && size == old_size &&
                (size == 0 || memcmp(data, old, size) == 0);
    if (!same && old) files_write(path, old, old_size);
    if (!same && !old) unlink(path);
    free(data);
    free(old);
    return !same;
}

static bool older_with_wal(damage_target *target, const char *file)
{
    char wal[64];
    wal_of(wal, file);
    (void)snprintf(target->what, sizeof target->what, "%s and its WAL are older ones", file);
    bool file_changed = replace(target, file, false);
    bool wal_changed = replace(target, wal, false);
    return file_changed || wal_changed;
}

static bool older_without_wal(damage_target *target, const char *file)
{
    char wal[64];
    wal_of(wal, file);
    (void)snprintf(target->what, sizeof target->what, "%s is an older one, its WAL removed", file);
    if (!replace(target, file, false)) return false;
    replace(target, wal, true);
    return true;
}

static bool older_beside_wal(damage_target *target, const char *file)
{
    char wal[64], path[FILES_PATH_BYTES];
    wal_of(wal, file);
    files_path(path, target->folder, wal);
    (void)snprintf(target->what, sizeof target->what, "%s is an older one beside its newer WAL",
                   file);
    return damage_size(path) > 0 && replace(target, file, false);
}

static bool remove_file(damage_target *target, const char *file)
{
    char path[FILES_PATH_BYTES];
    files_path(path, target->folder, file);
    (void)snprintf(target->what, sizeof target->what, "%s removed", file);
    return damage_size(path) > 0 && unlink(path) == 0;
}

#define OUTBOX "outbox.db"
#define CACHE  "cache.db"

const damage_kind damage_kinds[] = {{"a bit flipped", OUTBOX, flip_bit, false, 3},
                                    {"a bit flipped", OUTBOX "-wal", flip_bit, true, 2},
                                    {"a bit flipped", CACHE, flip_bit, false, 3},
                                    {"a bit flipped", CACHE "-wal", flip_bit, false, 1},
                                    {"bytes overwritten", OUTBOX, overwrite, false, 2},
                                    {"bytes overwritten", OUTBOX "-wal", overwrite, true, 1},
                                    {"bytes overwritten", CACHE, overwrite, false, 2},
                                    {"bytes overwritten", CACHE "-wal", overwrite, false, 1},
                                    {"cut short", OUTBOX, cut, false, 1},
                                    {"cut short", OUTBOX "-wal", cut, true, 1},
                                    {"cut short", CACHE, cut, false, 1},
                                    {"cut short", CACHE "-wal", cut, false, 1},
                                    {"pages swapped", OUTBOX, swap_pages, false, 1},
                                    {"pages swapped", CACHE, swap_pages, false, 1},
                                    {"an older page", OUTBOX, older_page, true, 2},
                                    {"an older page", CACHE, older_page, false, 2},
                                    {"a page zeroed", OUTBOX, zero_page, false, 1},
                                    {"a page zeroed", CACHE, zero_page, false, 1},
                                    {"older, with its WAL", OUTBOX, older_with_wal, true, 2},
                                    {"older, with its WAL", CACHE, older_with_wal, false, 2},
                                    {"older, no WAL", OUTBOX, older_without_wal, true, 1},
                                    {"older, no WAL", CACHE, older_without_wal, false, 1},
                                    {"older, newer WAL", OUTBOX, older_beside_wal, true, 1},
                                    {"older, newer WAL", CACHE, older_beside_wal, false, 1},
                                    {"removed", OUTBOX, remove_file, true, 1},
                                    {"removed", OUTBOX "-wal", remove_file, true, 1},
                                    {"removed", CACHE, remove_file, false, 1},
                                    {"removed", CACHE "-wal", remove_file, false, 1},
                                    {"a row removed", OUTBOX, damage_remove_row, false, 3},
                                    {"a row removed", CACHE, damage_remove_row, false, 2},
                                    {"a value changed", OUTBOX, damage_change_value, false, 16},
                                    {"a value changed", CACHE, damage_change_value, false, 12}};
const size_t damage_kind_count = sizeof damage_kinds / sizeof *damage_kinds;

uint64_t damage_period(void)
{
    uint64_t period = 0;
    for (size_t i = 0; i < damage_kind_count; i++)
        period += (uint64_t)damage_kinds[i].slots;
    return period;
}

size_t damage_kind_of(uint64_t seed, uint64_t *turn)
{
    uint64_t period = damage_period();
    uint64_t slot = seed % period;
    size_t kind = 0;
    while (slot >= (uint64_t)damage_kinds[kind].slots)
        slot -= (uint64_t)damage_kinds[kind++].slots;
    *turn = seed / period * (uint64_t)damage_kinds[kind].slots + slot;
    return kind;
}
