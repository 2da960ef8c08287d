/* What retention leaves of versions, read. */
#include "backend/core/retained.h"

#include "backend/core/backend_internal.h"
#include "backend/core/layout.h"
#include "common/error.h"

#include <string.h>

static kedge_status get(kedge_backend *backend, const kedge_project_ref *ref, const kedge_key *sort,
                        kedge_record_set *set, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(ref);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(sort)};
    const kedge_records *records = &backend->options.records;
    return records->vtable->get(records->self, &key, true, set, error);
}

static kedge_status damaged(const char *what, kedge_error *error)
{
    return kedge_fail(error, KEDGE_CORRUPT, "record-damaged",
                      "a stored record is damaged: %s is not what was written", what);
}

kedge_status kedge_retained_oldest(kedge_backend *backend, const kedge_project_ref *ref,
                                   int64_t *oldest, kedge_error *error)
{
    kedge_key sort = kedge_key_retention();
    kedge_record_set set = {0};
    kedge_status status = get(backend, ref, &sort, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        *oldest = 1;
        return KEDGE_OK;
    }
    if (status != KEDGE_OK) return status;
    const kedge_attribute *number = kedge_record_attribute(&set.records[0], "oldest");
    if (number == NULL || number->type != KEDGE_ATTRIBUTE_NUMBER || number->number < 1) {
        status = damaged("the oldest version", error);
    } else {
        *oldest = number->number;
    }
    kedge_record_set_free(&set);
    return status;
}

static kedge_status look_up(kedge_backend *backend, const kedge_project_ref *ref, int64_t number,
                            const char *lineage, bool *known, kedge_error *error)
{
    kedge_key sort = kedge_key_lineages(number);
    kedge_record_set set = {0};
    uint8_t token[KEDGE_LINEAGE_SIZE];
    *known = false;
    kedge_status status = get(backend, ref, &sort, &set, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    const kedge_attribute *tokens = kedge_record_attribute(&set.records[0], "tokens");
    const kedge_attribute *first = kedge_record_attribute(&set.records[0], "first");
    if (tokens == NULL || tokens->type != KEDGE_ATTRIBUTE_BINARY || first == NULL ||
        first->number > number) {
        status = damaged("the lineages of old versions", error);
    } else {
        size_t at = (size_t)(number - first->number) * KEDGE_LINEAGE_SIZE;
        *known = at + KEDGE_LINEAGE_SIZE <= tokens->bytes.size &&
                 kedge_hex_decode(kedge_bytes_of(lineage), token, sizeof token) &&
                 memcmp(tokens->bytes.data + at, token, sizeof token) == 0;
    }
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_retained_knows(kedge_backend *backend, const kedge_project_ref *ref,
                                  int64_t number, const char *lineage, bool *known,
                                  kedge_error *error)
{
    bool gone = false;
    bool same = false;
    kedge_status status = kedge_version_has_lineage(backend, ref, number, kedge_bytes_of(lineage),
                                                    &same, &gone, error);
    if (status != KEDGE_OK) return status;
    if (gone) return look_up(backend, ref, number, lineage, known, error);
    *known = same;
    return KEDGE_OK;
}

kedge_status kedge_retained_fail(kedge_backend *backend, const kedge_project_ref *ref,
                                 int64_t wanted, int64_t missing, kedge_error *error)
{
    int64_t oldest = 1;
    kedge_status status = kedge_retained_oldest(backend, ref, &oldest, error);
    if (status != KEDGE_OK) return status;
    if (wanted < oldest) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "version-not-retained",
                          "version %lld is no longer kept", (long long)wanted);
    }
    return kedge_fail(error, KEDGE_CORRUPT, "version-missing",
                      "version %lld is not there, and version %lld needs it", (long long)missing,
                      (long long)wanted);
}
