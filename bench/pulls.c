/* Pulls: a first pull of 100,000 items of 150 bytes, from the response's bytes to the durable
 * commit, against raw SQLite upserts of the same rows in one transaction; and a rebase of 1,000
 * pending mutations over a pull of 100 rows, which touch none of the rows or one each, in a small
 * project and in a large one. */
#include "bench/bench.h"
#include "bench/project.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define ITEMS         100000
#define ITEMS_SMALL   1000
#define PULL_ROUNDS   5
#define PENDING       1000
#define REBASE_ROWS   100
#define REBASE_ROUNDS 21

static kedge_environment environment;

/* The floors: raw SQLite, which upserts rows in durable transactions. */
typedef struct raw {
    sqlite3 *db;
    sqlite3_stmt *upsert;
    kedge_buffer value;
} raw;

static raw raw_open(const char *folder)
{
    raw floor = {.value = kedge_buffer_make(environment.allocator)};
    char path[512];
    snprintf(path, sizeof path, "%s/raw.db", folder);
    sqlite3_open(path, &floor.db);
    sqlite3_exec(floor.db,
                 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=0;"
                 "PRAGMA cache_size=-65536;"
                 "CREATE TABLE item(collection TEXT, id BLOB, value TEXT, "
                 "PRIMARY KEY(collection, id)) WITHOUT ROWID",
                 NULL, NULL, NULL);
    sqlite3_prepare_v2(floor.db, "INSERT OR REPLACE INTO item VALUES('notes', ?1, ?2)", -1,
                       &floor.upsert, NULL);
    return floor;
}

static void raw_close(raw *floor)
{
    kedge_buffer_free(&floor->value);
    sqlite3_finalize(floor->upsert);
    sqlite3_close(floor->db);
}

/* Every `step`-th item, as bench_write_response has it. Milliseconds. */
static double raw_pull(raw *floor, int version, int count, int step)
{
    double start = bench_now_ms();
    bool ok = sqlite3_exec(floor->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    for (int i = 0; i < count; i++) {
        char id[16];
        int size = snprintf(id, sizeof id, "%06d", i * step);
        kedge_buffer_clear(&floor->value);
        bench_write_value(&floor->value, i * step, version);
        sqlite3_bind_blob(floor->upsert, 1, id, size, SQLITE_STATIC);
        sqlite3_bind_text(floor->upsert, 2, floor->value.data, (int)floor->value.size,
                          SQLITE_STATIC);
        ok = sqlite3_step(floor->upsert) == SQLITE_DONE && ok;
        sqlite3_reset(floor->upsert);
    }
    ok = sqlite3_exec(floor->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK && ok;
    kedge_error error = {.message = "raw SQLite failed", .code = "sqlite"};
    bench_check(ok ? KEDGE_OK : KEDGE_IO, &error, "floor");
    return bench_now_ms() - start;
}

static double raw_upserts(const char *folder, int count)
{
    raw floor = raw_open(folder);
    double took = raw_pull(&floor, 1, count, 1);
    raw_close(&floor);
    return took;
}

size_t bench_pulls(bench_row *rows)
{
    environment = kedge_environment_system(NULL);
    kedge_buffer body = kedge_buffer_make(environment.allocator);
    bench_write_response(&body, 1, 0, ITEMS, 1);
    double ours[PULL_ROUNDS];
    double floors[PULL_ROUNDS];
    double ratios[PULL_ROUNDS];
    for (int round = 0; round < PULL_ROUNDS; round++) {
        char folder[256];
        bench_make_folder(folder, sizeof folder);
        kedge_registry *registry = NULL;
        kedge_store *store = bench_open_store(folder, &registry);
        ours[round] = ITEMS / bench_apply(store, kedge_buffer_bytes(&body)) * 1e3;
        kedge_store_close(store);
        kedge_registry_free(registry);
        floors[round] = ITEMS / raw_upserts(folder, ITEMS) * 1e3;
        ratios[round] = ours[round] / floors[round];
        bench_remove_folder(folder);
    }
    kedge_buffer_free(&body);
    rows[0] = (bench_row){.name = "pull of 100,000 items (floor: raw SQLite upserts)",
                          .value = bench_median(ours, PULL_ROUNDS),
                          .unit = "items/s",
                          .floor = bench_median(floors, PULL_ROUNDS),
                          .ratio = bench_median(ratios, PULL_ROUNDS),
                          .target = 0.85,
                          .target_is_ratio = true,
                          .see = BENCH_SEE_SPEED};
    return 1;
}

/* The item that a pending mutation changes: one of those that the pulls bring, or none of them. */
static int item_of(int pending, int items, bool touched)
{
    int step = items / REBASE_ROWS;
    int pulled = pending % REBASE_ROWS * step;
    return touched ? pulled : pulled + 1 + pending / REBASE_ROWS % (step - 1);
}

/* The same rows, upserted where nothing is pending. */
static double raw_rebase(int items)
{
    char folder[256];
    double times[REBASE_ROUNDS];
    bench_make_folder(folder, sizeof folder);
    raw floor = raw_open(folder);
    raw_pull(&floor, 1, items, 1);
    for (int round = 0; round < REBASE_ROUNDS; round++)
        times[round] = raw_pull(&floor, 2 + round, REBASE_ROWS, items / REBASE_ROWS);
    raw_close(&floor);
    bench_remove_folder(folder);
    return bench_median(times, REBASE_ROUNDS);
}

/* The median time of a rebase in a project of `items` items. */
static double rebase(int items, bool touched)
{
    char folder[256];
    bench_make_folder(folder, sizeof folder);
    kedge_registry *registry = NULL;
    kedge_store *store = bench_open_store(folder, &registry);
    kedge_buffer body = kedge_buffer_make(environment.allocator);
    bench_write_response(&body, 1, 0, items, 1);
    bench_apply(store, kedge_buffer_bytes(&body));
    kedge_error error = {0};
    for (int i = 0; i < PENDING; i++) {
        char args[128];
        int size = snprintf(args, sizeof args,
                            "{\"collection\":\"notes\",\"id\":\"%06d\",\"patch\":{\"done\":true}}",
                            item_of(i, items, touched));
        kedge_change_set changes = kedge_change_set_make(environment.allocator);
        bench_check(kedge_store_mutate(store, KEDGE_BYTES("kedge.merge"),
                                       (kedge_bytes){args, (size_t)size}, NULL, &changes, &error),
                    &error, "mutate");
        kedge_change_set_free(&changes);
    }
    double times[REBASE_ROUNDS];
    for (int round = 0; round < REBASE_ROUNDS; round++) {
        bench_write_response(&body, 2 + round, 0, REBASE_ROWS, items / REBASE_ROWS);
        times[round] = bench_apply(store, kedge_buffer_bytes(&body));
    }
    kedge_buffer_free(&body);
    kedge_store_close(store);
    kedge_registry_free(registry);
    bench_remove_folder(folder);
    return bench_median(times, REBASE_ROUNDS);
}

size_t bench_rebases(bench_row *rows)
{
    environment = kedge_environment_system(NULL);
    double small = rebase(ITEMS_SMALL, false);
    double large = rebase(ITEMS, false);
    double floor = raw_rebase(ITEMS);
    rows[0] = (bench_row){.name = "rebase of 1,000, a pull touches none (floor: raw upserts)",
                          .value = large,
                          .unit = "ms",
                          .floor = floor,
                          .ratio = large / floor,
                          .target = 2,
                          .target_is_ceiling = true,
                          .see = BENCH_SEE_SPEED};
    rows[1] = (bench_row){.name = "the same (floor: the same in a project of 1,000 items)",
                          .value = large,
                          .unit = "ms",
                          .floor = small,
                          .ratio = large / small,
                          .target = 2,
                          .target_is_ratio = true,
                          .target_is_ceiling = true};
    rows[2] = (bench_row){.name = "rebase of 1,000 pending, a pull touches each of them",
                          .value = rebase(ITEMS, true),
                          .unit = "ms",
                          .target = 10,
                          .target_is_ceiling = true,
                          .see = BENCH_SEE_SPEED};
    return 3;
}
