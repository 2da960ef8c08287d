/* Snapshots of a log project with a million cells, over memory: of all of it, and after a hundred
 * edits.
 *
 * The floor of a snapshot is what must be done with its bytes at least: they are hashed and packed
 * in pieces as long as a chunk, and put. Both are measured in this thread's processor time. */
#include "bench/log_snapshot.h"

#include "bench/bench.h"
#include "common/gzip.h"
#include "common/hash.h"

#include "backend/logged/logged.h"
#include "backend/logged/snapshots.h"
#include "backend/versioned/projects/projects.h"
#include "backend/versioned/state/checkpoint.h"

#include <string.h>

#define PROJECT "cells"
#define ITEMS   2000 /* an item is 500 cells of a column */
#define CELLS   500
#define PUSH    100 /* items of one push */
#define EDITS   100
#define ROUNDS  3

typedef struct cells {
    bench_stage *stage;
    kedge_project project;
    bench_client client;
    kedge_buffer state; /* the items' values, one after the other */
} cells;

static const kedge_project_ref place = {{"bench", 5}, {PROJECT, sizeof PROJECT - 1}};

/* A value as a spreadsheet has it: numbers and short texts. */
static void write_item(kedge_buffer *out, uint32_t item, uint32_t edit)
{
    kedge_buffer_append_byte(out, '[');
    for (uint32_t cell = 0; cell < CELLS; cell++) {
        uint32_t number = (item * CELLS + cell + edit) * 2654435761u;
        if (cell > 0) kedge_buffer_append_byte(out, ',');
        if (number % 8 == 0)
            kedge_buffer_append_format(out, "\"row %u\"", number % 10000);
        else
            kedge_buffer_append_format(out, "%u", number % 1000000);
    }
    kedge_buffer_append_byte(out, ']');
}

/* Puts the first `count` items, in pushes of PUSH. */
static void push_items(cells *self, uint32_t count, uint32_t edit)
{
    kedge_buffer body = kedge_buffer_make(self->project.allocator);
    kedge_buffer args = kedge_buffer_make(self->project.allocator);
    for (uint32_t i = 0; i < count; i++) {
        if (i % PUSH == 0) bench_push_begin(&body, &self->client);
        kedge_buffer_clear(&args);
        kedge_buffer_append_format(&args,
                                   "{\"collection\":\"cells\",\"id\":\"%04u\",\"value\":", i);
        write_item(&args, i, edit);
        kedge_buffer_append_bytes(&args, (kedge_bytes){"}\0", 2});
        bench_push_mutation(&body, &self->client, "kedge.put", args.data);
        if (i % PUSH != PUSH - 1 && i != count - 1) continue;
        bench_push_end(&body, &self->client);
        bench_push(self->stage, PROJECT, &self->client, kedge_buffer_bytes(&body));
    }
    kedge_buffer_free(&args);
    kedge_buffer_free(&body);
}

/* Gives its processor time in ms, and the bytes that it put. */
static double snapshot(cells *self)
{
    bool made;
    int64_t number;
    kedge_error error = {0};
    double start = bench_cpu_ms();
    bench_check(kedge_logged_snapshot_make(&self->project, &number, &made, &error), &error,
                "snapshot");
    if (!made) bench_check(KEDGE_INTERNAL, &error, "a snapshot that was there");
    return bench_cpu_ms() - start;
}

static double floor_ms(cells *self, kedge_blobs blobs, int round)
{
    kedge_error error = {0};
    double start = bench_cpu_ms();
    for (size_t at = 0; at < self->state.size; at += KEDGE_CHUNK_BYTES_TYPICAL) {
        char key[KEDGE_SHA256_HEX + 32];
        uint8_t hash[KEDGE_SHA256_SIZE];
        size_t left = self->state.size - at;
        kedge_bytes piece = {self->state.data + at,
                             left < KEDGE_CHUNK_BYTES_TYPICAL ? left : KEDGE_CHUNK_BYTES_TYPICAL};
        kedge_buffer packed = kedge_buffer_make(self->project.allocator);
        kedge_sha256(piece, hash);
        bench_check(kedge_gzip(piece, &packed, &error), &error, "gzip");
        snprintf(key, sizeof key, "floor/%d/%zu-%02x", round, at, hash[0]);
        bench_check(blobs.vtable->put_if_absent(blobs.self, kedge_bytes_of(key),
                                                kedge_buffer_bytes(&packed), &error),
                    &error, "put");
        kedge_buffer_free(&packed);
    }
    return bench_cpu_ms() - start;
}

static void print(const char *name, double ms, double floor, bool json)
{
    const bench_row row = {.name = name,
                           .value = ITEMS * (double)CELLS / ms * 1e3,
                           .unit = "cells/s",
                           .floor = floor > 0 ? ITEMS * (double)CELLS / floor * 1e3 : 0,
                           .ratio = floor > 0 ? floor / ms : 0};
    bench_print(&row, json);
}

void bench_log_snapshots(bench_stage *stage, kedge_blobs blobs, bool json)
{
    bool created;
    kedge_project_found found;
    kedge_error error = {0};
    cells self = {.stage = stage, .project = kedge_project_of(stage->backend, &place)};
    self.state = kedge_buffer_make(self.project.allocator);
    bench_client_make(&self.client, 7);
    bench_check(
        kedge_project_create_kind(&self.project, KEDGE_PROJECT_LOG, &created, &found, &error),
        &error, "create");
    bench_check(kedge_logged_create(&self.project, &error), &error, "log");
    self.project.history = &kedge_logged_history;
    for (uint32_t item = 0; item < ITEMS; item++)
        write_item(&self.state, item, 0);
    push_items(&self, ITEMS, 0);
    double floor = floor_ms(&self, blobs, 0);
    print("snapshot of 1,000,000 cells", snapshot(&self), floor, json);
    double edited = 0;
    for (int round = 1; round <= ROUNDS; round++) {
        push_items(&self, EDITS, (uint32_t)round);
        edited += snapshot(&self);
    }
    print("the same behind edits of 50,000 cells in one place", edited / ROUNDS, 0, json);
    kedge_buffer_free(&self.state);
}
