/* Records and blobs in memory. */
#include "tests/backend/stores.h"

#include "backend/memory/memory_ports.h"

kedge_status stores_open(const kedge_environment *environment, kedge_records *records,
                         kedge_blobs *blobs, kedge_error *error)
{
    kedge_status status = kedge_memory_records_open(environment, records, error);
    if (status != KEDGE_OK) return status;
    status = kedge_memory_blobs_open(environment, blobs, error);
    if (status != KEDGE_OK) records->vtable->close(records->self);
    return status;
}

void stores_close(kedge_records *records, kedge_blobs *blobs)
{
    blobs->vtable->close(blobs->self);
    records->vtable->close(records->self);
}
