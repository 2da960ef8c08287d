/* The one place that knows whether the library can repair: see damage.h. */
#include "tests/damage/damage.h"

#if __has_include(<kedge/repair.h>)
#include <kedge/repair.h>

kedge_status damage_repair(const char *folder, const char *new_folder, kedge_error *error)
{
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    return kedge_repair(folder, new_folder, &report, error);
}
#else
kedge_status damage_repair(const char *folder, const char *new_folder, kedge_error *error)
{
    (void)folder;
    (void)new_folder;
    (void)error;
    return KEDGE_UNSUPPORTED;
}
#endif
