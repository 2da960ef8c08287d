/* Responses in parts: what stays of one between two parts, and going on with it. */
#include "backend/api/rest.h"
#include "backend/ports/meter.h"
#include "backend/versioned/state/cache.h"
#include "backend/versioned/versions/versions.h"
#include "common/error.h"

#include <string.h>

/* ---- going on ---- */

void kedge_api_rest_free(kedge_api_response *response)
{
    if (response->rest.context != NULL) response->rest.free(response->rest.context);
    response->rest = (kedge_api_rest){.context = NULL};
}

kedge_status kedge_api_go_on(kedge_api_response *response, size_t most, kedge_error *error)
{
    kedge_cost before = kedge_meter_of_thread();
    kedge_status status = response->rest.write(response->rest.context, most, response, error);
    kedge_cost after = kedge_meter_of_thread();
    kedge_cost took = kedge_cost_minus(&after, &before);
    response->cost = kedge_cost_plus(&response->cost, &took);
    bool written = status == KEDGE_OK || status == KEDGE_DONE;
    if (written && response->body.no_memory) {
        written = false;
        status = kedge_fail_no_memory(error);
    }
    if (!written) response->cause = *error;
    if (status == KEDGE_OK) return KEDGE_OK;
    kedge_api_rest_free(response);
    return written ? KEDGE_OK : status;
}

/* ---- a version that is pinned without being held in memory ---- */

kedge_status kedge_api_pin_make(const kedge_api_call *call, const kedge_version *version,
                                kedge_api_pin *pin, kedge_error *error)
{
    const kedge_project_ref *ref = &call->project.ref;
    size_t size = ref->organization.size + ref->project.size;
    *pin = (kedge_api_pin){.backend = call->project.backend, .number = version->number};
    pin->names = kedge_allocate(pin->backend->allocator, size + 1);
    if (pin->names == NULL) return kedge_fail_no_memory(error);
    memcpy(pin->names, ref->organization.data, ref->organization.size);
    memcpy(pin->names + ref->organization.size, ref->project.data, ref->project.size);
    pin->ref.organization = (kedge_bytes){pin->names, ref->organization.size};
    pin->ref.project = (kedge_bytes){pin->names + ref->organization.size, ref->project.size};
    memcpy(pin->lineage, version->lineage, sizeof pin->lineage);
    return KEDGE_OK;
}

void kedge_api_pin_free(kedge_api_pin *pin)
{
    if (pin->names != NULL) kedge_release(pin->backend->allocator, pin->names);
    pin->names = NULL;
}

static kedge_status fail_gone(const kedge_api_pin *pin, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAVAILABLE, "version-gone",
                      "version %lld was removed while a response was made of it",
                      (long long)pin->number);
}

static kedge_status load(const kedge_api_pin *pin, const kedge_project *project,
                         kedge_state **state, kedge_error *error)
{
    const kedge_version *version = NULL;
    kedge_status status =
        kedge_version_load_detail(project, pin->number, KEDGE_VERSION_STATE, &version, error);
    if (status == KEDGE_NOT_FOUND) return fail_gone(pin, error);
    if (status != KEDGE_OK) return status;
    status = strcmp(version->lineage, pin->lineage) == 0
                 ? kedge_state_open(project, version, state, error)
                 : fail_gone(pin, error);
    kedge_version_release(version);
    return status;
}

/* A state in memory is the version's own even when its record is gone: only bodies that it refers
 * to may be, and the reader of one that is missing asks kedge_api_pin_check. */
kedge_status kedge_api_pin_open(const kedge_api_pin *pin, kedge_state **state, kedge_error *error)
{
    kedge_project project = kedge_project_of(pin->backend, &pin->ref);
    *state = kedge_cache_find(pin->backend->cache, &pin->ref, pin->number, pin->lineage);
    return *state != NULL ? KEDGE_OK : load(pin, &project, state, error);
}

kedge_status kedge_api_pin_check(const kedge_api_pin *pin, kedge_error *error)
{
    bool same = false;
    bool gone = false;
    kedge_project project = kedge_project_of(pin->backend, &pin->ref);
    kedge_status status = kedge_version_has_lineage(
        &project, pin->number, kedge_bytes_of(pin->lineage), &same, &gone, error);
    if (status != KEDGE_OK) return status;
    return same && !gone ? KEDGE_OK : fail_gone(pin, error);
}
