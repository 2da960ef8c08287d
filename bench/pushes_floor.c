/* See pushes_floor.h. */
#include "bench/pushes_floor.h"

#include "bench/bench.h"
#include "common/gzip.h"
#include "common/hash.h"
#include <kedge/limits.h>

#include <cjson/cJSON.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARGS, VALUES, REST, LISTS };

struct bench_floor {
    sqlite3 *database;
    sqlite3_stmt *begin, *insert, *commit;
    double cpu_ms;
    kedge_buffer plain;
    kedge_buffer lists[LISTS];
    kedge_buffer packed[LISTS];
};

static void check(bool fine, const char *what)
{
    if (fine) return;
    fprintf(stderr, "bench: the floor failed: %s\n", what);
    exit(2);
}

static sqlite3_stmt *prepare(bench_floor *floor, const char *sql)
{
    sqlite3_stmt *made = NULL;
    check(sqlite3_prepare_v2(floor->database, sql, -1, &made, NULL) == SQLITE_OK, sql);
    return made;
}

bench_floor *bench_floor_open(const char *folder)
{
    char path[400];
    bench_floor *floor = kedge_allocate(&kedge_allocator_default, sizeof *floor);
    check(floor != NULL, "memory");
    snprintf(path, sizeof path, "%s/floor.db", folder);
    check(sqlite3_open(path, &floor->database) == SQLITE_OK, path);
    check(sqlite3_exec(floor->database,
                       "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
                       "CREATE TABLE record(args BLOB, value BLOB, rest BLOB)",
                       NULL, NULL, NULL) == SQLITE_OK,
          "its table");
    floor->begin = prepare(floor, "BEGIN IMMEDIATE");
    floor->insert = prepare(floor, "INSERT INTO record VALUES(?1, ?2, ?3)");
    floor->commit = prepare(floor, "COMMIT");
    floor->plain = kedge_buffer_make(&kedge_allocator_default);
    for (size_t i = 0; i < LISTS; i++)
        floor->lists[i] = floor->packed[i] = kedge_buffer_make(&kedge_allocator_default);
    return floor;
}

static void add_text(bench_floor *floor, int list, const cJSON *value, bool hashed)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    char *text = cJSON_PrintUnformatted(value);
    check(text != NULL, "cJSON_PrintUnformatted");
    if (hashed) kedge_sha256(kedge_bytes_of(text), hash);
    kedge_buffer_append_text(&floor->lists[list], text);
    kedge_buffer_append_byte(&floor->lists[list], ',');
    cJSON_free(text);
}

static void take_apart(bench_floor *floor, cJSON *push)
{
    cJSON *mutation = NULL;
    for (size_t i = 0; i < LISTS; i++)
        kedge_buffer_clear(&floor->lists[i]);
    cJSON_ArrayForEach(mutation, cJSON_GetObjectItemCaseSensitive(push, "mutations"))
    {
        cJSON *args = cJSON_DetachItemFromObjectCaseSensitive(mutation, "args");
        check(args != NULL, "a mutation without args");
        add_text(floor, ARGS, args, true);
        add_text(floor, VALUES, cJSON_GetObjectItemCaseSensitive(args, "value"), true);
        add_text(floor, REST, mutation, false);
        cJSON_Delete(args);
    }
}

static void run(sqlite3_stmt *statement)
{
    check(sqlite3_step(statement) == SQLITE_DONE, "sqlite3_step");
    sqlite3_reset(statement);
}

static void insert(bench_floor *floor)
{
    for (int i = 0; i < LISTS; i++) {
        kedge_buffer *packed = &floor->packed[i];
        kedge_buffer_clear(packed);
        check(kedge_gzip(kedge_buffer_bytes(&floor->lists[i]), packed, NULL) == KEDGE_OK, "gzip");
        sqlite3_bind_blob64(floor->insert, i + 1, packed->data, packed->size, SQLITE_STATIC);
    }
    run(floor->begin);
    run(floor->insert);
    run(floor->commit);
}

void bench_floor_push(bench_floor *floor, kedge_bytes body, bool gzip)
{
    double start_ms = bench_cpu_ms();
    kedge_buffer_clear(&floor->plain);
    if (gzip) {
        check(kedge_gunzip(body, KEDGE_LIMIT_PUSH_BYTES, &floor->plain, NULL) == KEDGE_OK,
              "gunzip");
        body = kedge_buffer_bytes(&floor->plain);
    }
    cJSON *push = cJSON_ParseWithLength(body.data, body.size);
    check(push != NULL, "cJSON_Parse");
    take_apart(floor, push);
    cJSON_Delete(push);
    insert(floor);
    floor->cpu_ms += bench_cpu_ms() - start_ms;
}

double bench_floor_close(bench_floor *floor)
{
    double cpu_ms = floor->cpu_ms;
    sqlite3_finalize(floor->begin);
    sqlite3_finalize(floor->insert);
    sqlite3_finalize(floor->commit);
    sqlite3_close(floor->database);
    kedge_buffer_free(&floor->plain);
    for (size_t i = 0; i < LISTS; i++) {
        kedge_buffer_free(&floor->lists[i]);
        kedge_buffer_free(&floor->packed[i]);
    }
    kedge_release(&kedge_allocator_default, floor);
    return cpu_ms;
}
