/* See builtins.h. */
#include "backend/front/builtins.h"

#include "common/error.h"

#include <string.h>

kedge_status kedge_builtins_allow(kedge_registry *registry, const char *list, kedge_error *error)
{
    if (strcmp(list, "all") == 0) return KEDGE_OK;
    kedge_registry_forbid_builtins(registry);
    if (strcmp(list, "none") == 0) return KEDGE_OK;
    for (const char *at = list;; at++) {
        kedge_bytes name = {at, strcspn(at, ",")};
        if (!kedge_registry_allow_builtin(registry, name)) {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "builtins-invalid",
                              "\"%.*s\" is no built-in mutator; allowed are all, none, or names "
                              "such as kedge.put,kedge.merge",
                              (int)name.size, name.data);
        }
        at += name.size;
        if (*at == '\0') return KEDGE_OK;
    }
}
