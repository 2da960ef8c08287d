/* Saves what can be read of a damaged folder into a new one: see kedge/repair.h. */
#ifndef KEDGE_SDK_STORE_REPAIR_H
#define KEDGE_SDK_STORE_REPAIR_H

#include "common/environment.h"
#include <kedge/repair.h>

kedge_status kedge_store_repair(const kedge_environment *environment, const char *path,
                                const char *new_path, kedge_repair_report *report,
                                kedge_error *error);

#endif
