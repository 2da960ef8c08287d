/* Responses in parts: the version that all of them are made from. */
#ifndef KEDGE_BACKEND_API_REST_H
#define KEDGE_BACKEND_API_REST_H

#include "backend/api/call.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/state/state.h"

/* The version that all parts of a response are made from. It is not held in memory, and retention
 * may remove it. */
typedef struct kedge_api_pin {
    kedge_backend *backend;
    char *names;
    kedge_project_ref ref;
    int64_t number;
    char lineage[KEDGE_LINEAGE_HEX];
} kedge_api_pin;

/* The caller frees the pin, also after a failure. */
kedge_status kedge_api_pin_make(const kedge_api_call *call, const kedge_version *version,
                                kedge_api_pin *pin, kedge_error *error);
void kedge_api_pin_free(kedge_api_pin *pin);
/* Opens the state of the version, from memory or from the store. KEDGE_UNAVAILABLE "version-gone":
 * the version was removed. */
kedge_status kedge_api_pin_open(const kedge_api_pin *pin, kedge_state **state, kedge_error *error);
/* Checks that the version is still kept. Call it before missing data is reported as lost. */
kedge_status kedge_api_pin_check(const kedge_api_pin *pin, kedge_error *error);

#endif
