/* The contract of the queue port, for the implementations that need nothing else. */
#include "backend/memory/memory_ports.h"
#include "backend/sqlite/sqlite_ports.h"
#include "tests/ports/queue_suite.h"

static kedge_status open_memory(world *around, kedge_queue *queue, kedge_error *error)
{
    return kedge_memory_queue_open(&around->environment, QUEUE_SUITE_RECEIVE_MAX, queue, error);
}

static kedge_status open_sqlite(world *around, kedge_queue *queue, kedge_error *error)
{
    char path[128];
    return kedge_sqlite_queue_open(&around->environment, world_path(around, "queue.db", path),
                                   QUEUE_SUITE_RECEIVE_MAX, queue, error);
}

int main(void)
{
    const queue_implementation implementations[] = {
        {.name = "queue: memory",
         .open = open_memory,
         .any_bytes_max = KEDGE_QUEUE_BODY_BYTES_MAX,
         .names_span_groups = true},
        {.name = "queue: SQLite",
         .open = open_sqlite,
         .any_bytes_max = KEDGE_QUEUE_BODY_BYTES_MAX,
         .names_span_groups = true},
    };
    return queue_suite_run(implementations, sizeof implementations / sizeof implementations[0]);
}
