/* The implementations of the records port that need no engine. */
#include "tests/ports/records_fixture.h"

#include "backend/memory/memory_ports.h"
#include "backend/sqlite/sqlite_ports.h"

static kedge_status open_memory(world *around, kedge_records *records, kedge_error *error)
{
    return kedge_memory_records_open(&around->environment, records, error);
}

static kedge_status open_sqlite(world *around, kedge_records *records, kedge_error *error)
{
    char path[128];
    return kedge_sqlite_records_open(&around->environment, world_path(around, "records.db", path),
                                     records, error);
}

const char *const records_engine = NULL;

const implementation records_implementations[] = {
    {"records: memory", open_memory, NULL},
    {"records: SQLite", open_sqlite, NULL},
    {0},
};
