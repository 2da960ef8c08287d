/* The hash of a project's name. */
#include "backend/base/project_ref.h"

static uint64_t mix(uint64_t hash, kedge_bytes bytes)
{
    for (size_t i = 0; i < bytes.size; i++) {
        hash = (hash ^ (unsigned char)bytes.data[i]) * UINT64_C(1099511628211);
    }
    return (hash ^ '/') * UINT64_C(1099511628211);
}

uint64_t kedge_project_ref_hash(const kedge_project_ref *ref)
{
    return mix(mix(UINT64_C(14695981039346656037), ref->organization), ref->project);
}
