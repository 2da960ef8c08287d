/* Which built-in mutators clients may push, as set by the operator. */
#ifndef KEDGE_BACKEND_FRONT_BUILTINS_H
#define KEDGE_BACKEND_FRONT_BUILTINS_H

#include "mutate/registry.h"

/* `list` is "all", "none", or names with commas between them, as "kedge.put,kedge.merge". Another
 * name is KEDGE_INVALID_ARGUMENT with the code builtins-invalid. */
kedge_status kedge_builtins_allow(kedge_registry *registry, const char *list, kedge_error *error);

#endif
