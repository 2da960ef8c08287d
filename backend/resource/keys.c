/* See keys.h. */
#include "backend/resource/keys.h"

#include "common/assert.h"
#include "common/names.h"

#include <kedge/limits.h>
#include <stdio.h>

#define SHOW(bytes)    (int)(bytes).size, (bytes).data
#define VERSION_DIGITS 12

kedge_status kedge_resource_check_ref(const kedge_resource_ref *ref, kedge_error *error)
{
    kedge_status status = kedge_check_name("organization", ref->organization, error);
    if (status == KEDGE_OK) status = kedge_check_name("kind", ref->kind, error);
    if (status == KEDGE_OK) status = kedge_check_resource_id(ref->id, error);
    return status;
}

void kedge_resource_key_latest(const kedge_resource_ref *ref, kedge_resource_key *out)
{
    int size = snprintf(out->partition, sizeof out->partition, "Resource#%.*s/%.*s",
                        SHOW(ref->organization), SHOW(ref->kind));
    KEDGE_ASSERT(size > 0 && (size_t)size < sizeof out->partition);
    out->key.partition = (kedge_bytes){out->partition, (size_t)size};
    out->key.sort = ref->id;
}

void kedge_resource_key_history(const kedge_resource_ref *ref, int64_t version,
                                kedge_resource_key *out)
{
    KEDGE_ASSERT(version >= 0 && version <= KEDGE_RESOURCE_VERSION_MAX);
    int size = snprintf(out->partition, sizeof out->partition, "ResourceHistory#%.*s/%.*s/%.*s",
                        SHOW(ref->organization), SHOW(ref->kind), SHOW(ref->id));
    KEDGE_ASSERT(size > 0 && (size_t)size < sizeof out->partition);
    out->key.partition = (kedge_bytes){out->partition, (size_t)size};
    size =
        snprintf(out->version, sizeof out->version, "%0*lld", VERSION_DIGITS, (long long)version);
    KEDGE_ASSERT(size == VERSION_DIGITS);
    out->key.sort = (kedge_bytes){out->version, (size_t)size};
}

bool kedge_resource_key_version(kedge_bytes sort, int64_t *version)
{
    int64_t value = 0;
    if (sort.size != VERSION_DIGITS) return false;
    for (size_t i = 0; i < sort.size; i++) {
        if (sort.data[i] < '0' || sort.data[i] > '9') return false;
        value = value * 10 + (sort.data[i] - '0');
    }
    *version = value;
    return value > 0;
}
