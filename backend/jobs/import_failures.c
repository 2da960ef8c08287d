/* Import: the failures that more than one of its files reports. */
#include "backend/jobs/import_internal.h"

#include "common/error.h"

kedge_status import_damaged(const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "export-damaged",
                      "the lines are no whole export: %s is not what an export has there", what);
}

kedge_status import_raced(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "import-raced",
                      "the import was ended or discarded by somebody else; look, or run it again");
}
