/* kedge/repair.h: with the system's clock, randomness and memory. */
#include <kedge/repair.h>

#include "sdk/runtime/structs.h"
#include "sdk/store/repair.h"

kedge_status kedge_repair(const char *path, const char *new_path, kedge_repair_report *report,
                          kedge_error *error)
{
    kedge_environment environment = kedge_environment_system(NULL);
    static const kedge_struct_kind kind = {.initialiser = "KEDGE_REPAIR_REPORT_INIT",
                                           .size = sizeof(kedge_repair_report)};
    kedge_repair_report found = KEDGE_REPAIR_REPORT_INIT;
    kedge_status status = report == NULL ? KEDGE_OK : kedge_struct_check(kind, report, error);
    if (status == KEDGE_OK) {
        status = kedge_store_repair(&environment, path, new_path, &found, error);
    }
    if (status == KEDGE_OK && report != NULL) kedge_struct_fill(kind, &found, report);
    return status;
}
