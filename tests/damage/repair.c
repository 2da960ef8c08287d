/* The one place that calls kedge_repair: see damage.h. */
#include "tests/damage/damage.h"

#include <kedge/repair.h>

kedge_status damage_repair(const char *folder, const char *new_folder, int64_t *missing,
                           kedge_error *error)
{
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    kedge_status status = kedge_repair(folder, new_folder, &report, error);
    *missing = report.missing;
    return status;
}
