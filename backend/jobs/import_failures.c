/* Import: the failures that several of its files report. */
#include "backend/jobs/import_internal.h"

#include "common/error.h"

kedge_status import_damaged(const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, KEDGE_IMPORT_DAMAGED,
                      "%s is not what an export has there", what);
}

kedge_status import_raced(kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "import-raced",
                      "another process has taken this over, or has ended it; check whether the "
                      "project exists, or run the command again");
}
