/* The implementations of the stream port that need no engine. */
#include "tests/ports/stream_table.h"

#include "backend/memory/memory_ports.h"
#include "backend/sqlite/sqlite_ports.h"

#include <stdio.h>
#include <string.h>

static void close_ports(stream_ports *ports)
{
    ports->stream.vtable->close(ports->stream.self);
    ports->records.vtable->close(ports->records.self);
}

/* ---- memory ---- */

static kedge_status open_memory(world *around, stream_ports *ports, kedge_error *error)
{
    kedge_status status = kedge_memory_records_open(&around->environment, &ports->records, error);
    if (status != KEDGE_OK) return status;
    return kedge_memory_stream_open(&around->environment, &ports->records, &ports->stream, error);
}

static void roll_memory(world *around, stream_ports *ports)
{
    (void)around;
    kedge_stream_shards shards = {0};
    assert_ok(ports->stream.vtable->shards(ports->stream.self, (kedge_bytes){0},
                                           KEDGE_STREAM_SHARDS_MAX, &shards, NULL));
    for (size_t i = 0; i < shards.count; i++) {
        if (!shards.shards[i].closed)
            assert_true(kedge_memory_stream_split(&ports->stream, shards.shards[i].id));
    }
    kedge_stream_shards_free(&shards);
}

static void trim_memory(world *around, stream_ports *ports)
{
    (void)around;
    kedge_memory_stream_trim(&ports->stream, 1);
}

/* ---- SQLite ---- */

static kedge_status open_sqlite(world *around, stream_ports *ports, kedge_error *error)
{
    char path[128];
    kedge_status status = kedge_sqlite_records_open(
        &around->environment, world_path(around, "records.db", path), &ports->records, error);
    if (status != KEDGE_OK) return status;
    const kedge_sqlite_stream_options options = {0};
    return kedge_sqlite_stream_open(&ports->records, &options, &ports->stream, error);
}

/* Makes `count` changes of records that no test reads, in as few transactions as possible. */
static void fill(stream_ports *ports, int count)
{
    static int64_t written;
    while (count > 0) {
        int part = count < KEDGE_TRANSACT_WRITES_MAX ? count : KEDGE_TRANSACT_WRITES_MAX;
        char sorts[KEDGE_TRANSACT_WRITES_MAX][16];
        kedge_record_write writes[KEDGE_TRANSACT_WRITES_MAX];
        kedge_attribute number = {.name = "n", .type = KEDGE_ATTRIBUTE_NUMBER, .number = ++written};
        for (int i = 0; i < part; i++) {
            snprintf(sorts[i], sizeof sorts[i], "s%d", i);
            writes[i] = (kedge_record_write){
                .kind = KEDGE_WRITE_PUT,
                .record = {{KEDGE_BYTES("filling"), kedge_bytes_of(sorts[i])}, &number, 1}};
        }
        assert_ok(ports->records.vtable->transact(ports->records.self, writes, (size_t)part, NULL));
        count -= part;
    }
}

/* Makes enough changes to fill the open shard, so that the next one begins. */
static void roll_sqlite(world *around, stream_ports *ports)
{
    (void)around;
    fill(ports, KEDGE_SQLITE_SHARD_CHANGES);
}

/* A day passes, and later writes trim. */
static void trim_sqlite(world *around, stream_ports *ports)
{
    around->now_ms += KEDGE_STREAM_KEPT_MS + 1;
    fill(ports, 2 * KEDGE_SQLITE_SHARD_CHANGES / 64);
}

const char *const stream_engine = NULL;

const stream_implementation stream_implementations[] = {
    {"stream: memory", open_memory, close_ports, roll_memory, trim_memory, false},
    {"stream: SQLite", open_sqlite, close_ports, roll_sqlite, trim_sqlite, false},
    {0},
};
