/* kedge/repair.h: with the system's clock, randomness and memory. */
#include <kedge/repair.h>

#include "common/error.h"
#include "sdk/store/repair.h"

kedge_status kedge_repair(const char *path, const char *new_path, kedge_repair_report *report,
                          kedge_error *error)
{
    kedge_environment environment = kedge_environment_system(NULL);
    if (report && report->version != KEDGE_REPAIR_REPORT_VERSION)
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "report-version",
                          "the report has version %u, this library knows %d; start from"
                          " KEDGE_REPAIR_REPORT_INIT",
                          report->version, KEDGE_REPAIR_REPORT_VERSION);
    return kedge_store_repair(&environment, path, new_path, report, error);
}
