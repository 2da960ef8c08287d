/* Names that are taken, read. */
#include "backend/core/name_claim.h"

#include "backend/core/backend_internal.h"

#include <string.h>

static void copy_text(const kedge_record *record, const char *name, char *out, size_t size)
{
    const kedge_attribute *found = kedge_record_attribute(record, name);
    if (found == NULL || found->bytes.size >= size) return;
    memcpy(out, found->bytes.data, found->bytes.size);
    out[found->bytes.size] = '\0';
}

static void read_record(const kedge_record *record, const kedge_key *import, kedge_name_claim *read)
{
    if (!kedge_bytes_equal(record->key.sort, kedge_key_bytes(import))) {
        copy_text(record, "token", read->discarded, sizeof read->discarded);
        return;
    }
    read->importing = true;
    read->discarding = kedge_record_attribute(record, "discarding") != NULL;
    copy_text(record, "importing", read->id, sizeof read->id);
    copy_text(record, "token", read->token, sizeof read->token);
}

kedge_status kedge_name_claim_read(kedge_backend *backend, const kedge_project_ref *ref,
                                   kedge_name_claim *claim, kedge_error *error)
{
    const kedge_records *records = &backend->options.records;
    kedge_key partition = kedge_key_partition(ref);
    kedge_key import = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_key discarded = kedge_key_discarded();
    kedge_record_key keys[] = {{kedge_key_bytes(&partition), kedge_key_bytes(&import)},
                               {kedge_key_bytes(&partition), kedge_key_bytes(&discarded)}};
    kedge_record_set set = {0};
    kedge_name_claim read = {.importing = false};
    kedge_status status = records->vtable->batch_get(records->self, keys, 2, true, &set, error);
    if (status != KEDGE_OK) return status;
    for (size_t i = 0; i < set.count; i++)
        read_record(&set.records[i], &import, &read);
    kedge_record_set_free(&set);
    *claim = read;
    return KEDGE_OK;
}
