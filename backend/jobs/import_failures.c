/* Import: the failures that more than one of its files reports. */
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
                      "another process goes on with this, or has ended it; see whether the project "
                      "is there, or run this again");
}
