/* Durable local writes: kedge_mutate against raw SQLite doing the same two inserts, one into a
 * database with synchronous=FULL (the outbox), one into a database with NORMAL (the cache). */
#include "bench/bench.h"

#include <kedge/kedge.h>

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define BLOCKS       15
#define BLOCK_WRITES 200

static const char value[] =
    "{\"author\":\"somebody\",\"done\":false,\"text\":\"buy milk and bread, and do not forget the "
    "coffee this time, please\",\"title\":\"groceries\"}";

typedef struct raw_writer {
    sqlite3 *outbox;
    sqlite3 *cache;
    sqlite3_stmt *insert;
    sqlite3_stmt *upsert;
} raw_writer;

static sqlite3 *open_raw(const char *folder, const char *name, const char *synchronous)
{
    char path[512];
    sqlite3 *db = NULL;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    sqlite3_open(path, &db);
    sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
    sqlite3_exec(db, synchronous, NULL, NULL, NULL);
    return db;
}

static void open_writer(raw_writer *raw, const char *folder)
{
    raw->outbox = open_raw(folder, "raw-outbox.db", "PRAGMA synchronous=FULL");
    raw->cache = open_raw(folder, "raw-cache.db", "PRAGMA synchronous=NORMAL");
    sqlite3_exec(raw->outbox,
                 "CREATE TABLE pending(sequence INTEGER PRIMARY KEY, name TEXT, args TEXT, "
                 "uid BLOB, digest BLOB, timestamp INTEGER)",
                 NULL, NULL, NULL);
    sqlite3_exec(raw->cache,
                 "CREATE TABLE item(collection TEXT, id TEXT, value TEXT, "
                 "PRIMARY KEY(collection, id)) WITHOUT ROWID",
                 NULL, NULL, NULL);
    sqlite3_prepare_v2(raw->outbox,
                       "INSERT INTO pending(name, args, uid, digest, timestamp) "
                       "VALUES('kedge.put', ?1, randomblob(16), randomblob(16), 1)",
                       -1, &raw->insert, NULL);
    sqlite3_prepare_v2(raw->cache, "INSERT OR REPLACE INTO item VALUES('notes', ?1, ?2)", -1,
                       &raw->upsert, NULL);
}

static void close_writer(raw_writer *raw)
{
    sqlite3_finalize(raw->insert);
    sqlite3_finalize(raw->upsert);
    sqlite3_close(raw->outbox);
    sqlite3_close(raw->cache);
}

/* Of one block of writes. The CPU is that of all threads: an edit may wake the worker. */
typedef struct block_time {
    double wall_ms;
    double cpu_ms;
} block_time;

static block_time begin_block(void)
{
    return (block_time){.wall_ms = bench_now_ms(), .cpu_ms = bench_process_cpu_ms()};
}

static block_time end_block(block_time began)
{
    return (block_time){.wall_ms = bench_now_ms() - began.wall_ms,
                        .cpu_ms = bench_process_cpu_ms() - began.cpu_ms};
}

static void must(int result, int expected)
{
    kedge_error error = {.message = "raw SQLite failed", .code = "sqlite"};
    if (result != expected) bench_check(KEDGE_IO, &error, "floor");
}

static block_time raw_block(raw_writer *raw, int block)
{
    char id[32];
    block_time took = begin_block();
    for (int i = 0; i < BLOCK_WRITES; i++) {
        snprintf(id, sizeof id, "%06d", block * BLOCK_WRITES + i);
        sqlite3_bind_text(raw->upsert, 1, id, -1, SQLITE_STATIC);
        sqlite3_bind_text(raw->upsert, 2, value, sizeof value - 1, SQLITE_STATIC);
        must(sqlite3_exec(raw->cache, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
        must(sqlite3_step(raw->upsert), SQLITE_DONE);
        sqlite3_reset(raw->upsert);
        sqlite3_bind_text(raw->insert, 1, value, sizeof value - 1, SQLITE_STATIC);
        must(sqlite3_step(raw->insert), SQLITE_DONE);
        sqlite3_reset(raw->insert);
        must(sqlite3_exec(raw->cache, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    }
    return end_block(took);
}

static block_time kedge_block(kedge_db *db, int block)
{
    char args[512];
    kedge_error error = {0};
    block_time took = begin_block();
    for (int i = 0; i < BLOCK_WRITES; i++) {
        int size =
            snprintf(args, sizeof args, "{\"collection\":\"notes\",\"id\":\"%06d\",\"value\":%s}",
                     block * BLOCK_WRITES + i, value);
        bench_check(kedge_mutate(db, "kedge.put", args, (size_t)size, NULL, &error), &error,
                    "kedge_mutate");
    }
    return end_block(took);
}

size_t bench_writes(bench_row *rows)
{
    char folder[256];
    char path[300];
    bench_make_folder(folder, sizeof folder);
    snprintf(path, sizeof path, "%s/db", folder);
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = path;
    options.organization = "bench";
    options.project = "writes";
    kedge_db *db = NULL;
    kedge_error error = {0};
    bench_check(kedge_open(&options, &db, &error), &error, "kedge_open");
    raw_writer raw;
    open_writer(&raw, folder);

    double ours[BLOCKS], floors[BLOCKS], ratios[BLOCKS];
    double our_cpu[BLOCKS], floor_cpu[BLOCKS], cpu_ratios[BLOCKS];
    for (int block = 0; block < BLOCKS; block++) {
        block_time our = kedge_block(db, block);
        block_time floor = raw_block(&raw, block);
        ours[block] = BLOCK_WRITES / our.wall_ms * 1e3;
        floors[block] = BLOCK_WRITES / floor.wall_ms * 1e3;
        ratios[block] = ours[block] / floors[block];
        our_cpu[block] = our.cpu_ms / BLOCK_WRITES * 1e3;
        floor_cpu[block] = floor.cpu_ms / BLOCK_WRITES * 1e3;
        cpu_ratios[block] = floor_cpu[block] / our_cpu[block];
    }
    kedge_close(db);
    close_writer(&raw);
    bench_remove_folder(folder);
    rows[0] = (bench_row){.name = "durable local write (floor: raw SQLite, two inserts)",
                          .value = bench_median(ours, BLOCKS),
                          .unit = "1/s",
                          .floor = bench_median(floors, BLOCKS),
                          .ratio = bench_median(ratios, BLOCKS),
                          .target = 0.85,
                          .target_is_ratio = true,
                          .see = BENCH_SEE_SPEED};
    /* What a disk with slow syncs hides. */
    rows[1] = (bench_row){.name = "CPU of a durable write (floor: raw SQLite)",
                          .value = bench_median(our_cpu, BLOCKS),
                          .unit = "us CPU",
                          .floor = bench_median(floor_cpu, BLOCKS),
                          .ratio = bench_median(cpu_ratios, BLOCKS)};
    return 2;
}
