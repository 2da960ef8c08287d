/* The implementations of the blobs port that need no engine. */
#include "tests/ports/blobs_table.h"

#include "backend/memory/memory_ports.h"
#include "backend/sqlite/sqlite_ports.h"

static kedge_status open_memory(world *around, kedge_blobs *blobs, kedge_error *error)
{
    return kedge_memory_blobs_open(&around->environment, blobs, error);
}

static kedge_status open_folder(world *around, kedge_blobs *blobs, kedge_error *error)
{
    char path[128];
    return kedge_folder_blobs_open(&around->environment, world_path(around, "blobs", path), blobs,
                                   error);
}

const char *const blobs_engine = NULL;

const blobs_implementation blobs_implementations[] = {
    {"blobs: memory", open_memory, NULL},
    {"blobs: folder", open_folder, NULL},
    {0},
};
