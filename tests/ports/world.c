/* What a test of a port stands in. */
#include "tests/ports/world.h"
#include "tests/support/temporary.h"

#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 16

static int64_t world_now(void *context)
{
    return atomic_load(&((world *)context)->now_ms);
}

static void world_random(void *context, void *bytes, size_t size)
{
    unsigned char *out = bytes;
    for (size_t i = 0; i < size; i++) {
        uint64_t state = atomic_fetch_add(&((world *)context)->randomness, 0x9e3779b97f4a7c15u);
        state = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
        out[i] = (unsigned char)(state >> 32);
    }
}

void world_make(world *self, const kedge_allocator *allocator)
{
    self->environment = (kedge_environment){.allocator = allocator,
                                            .now_ms = world_now,
                                            .monotonic_ms = world_now,
                                            .random = world_random,
                                            .context = self};
    atomic_store(&self->now_ms, WORLD_START_MS);
    atomic_store(&self->randomness, 1);
    assert_true(temporary_folder(self->folder, sizeof self->folder, "ports"));
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *at)
{
    (void)about;
    (void)kind;
    (void)at;
    return remove(path);
}

void world_end(world *self)
{
    assert_int_equal(nftw(self->folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

const char *world_path(const world *self, const char *name, char path[128])
{
    snprintf(path, 128, "%s/%s", self->folder, name);
    return path;
}

void world_run_threads(void *(*run)(void *argument), void *argument, size_t count)
{
    pthread_t threads[THREADS_MAX];
    assert_true(count <= THREADS_MAX);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run, argument), 0);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
}
