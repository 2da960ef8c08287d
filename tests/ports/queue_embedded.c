/* The implementations of the queue port that need no engine. */
#include "backend/memory/memory_ports.h"
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/queue_table.h"

static kedge_status open_memory(world *around, kedge_queue *queue, kedge_error *error)
{
    return kedge_memory_queue_open(&around->environment, QUEUE_TABLE_RECEIVE_MAX, queue, error);
}

static kedge_status open_sqlite(world *around, kedge_queue *queue, kedge_error *error)
{
    char path[128];
    return kedge_sqlite_queue_open(&around->environment, world_path(around, "queue.db", path),
                                   QUEUE_TABLE_RECEIVE_MAX, queue, error);
}

const char *const queue_engine = NULL;

const queue_implementation queue_implementations[] = {
    {.name = "queue: memory",
     .open = open_memory,
     .any_bytes_max = KEDGE_QUEUE_BODY_BYTES_MAX,
     .names_span_groups = true},
    {.name = "queue: SQLite",
     .open = open_sqlite,
     .any_bytes_max = KEDGE_QUEUE_BODY_BYTES_MAX,
     .names_span_groups = true},
    {0},
};
