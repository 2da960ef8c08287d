/* Reads the records that claim a project's name. */
#include "backend/versioned/projects/name_claim.h"

#include "backend/base/backend.h"

#include <string.h>

static void copy_text(const kedge_record *record, const char *name, char *out, size_t size)
{
    const kedge_attribute *found = kedge_record_attribute(record, name);
    if (found == NULL || found->bytes.size >= size) return;
    memcpy(out, found->bytes.data, found->bytes.size);
    out[found->bytes.size] = '\0';
}

/* KEDGE_OK also when there is none: the set is empty. */
static kedge_status get(const kedge_project *project, const kedge_key *sort, kedge_record_set *set,
                        kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(sort)};
    kedge_status status = records->vtable->get(records->self, &key, true, set, error);
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

kedge_status kedge_name_claim_read(const kedge_project *project, kedge_name_claim *claim,
                                   kedge_error *error)
{
    kedge_key sort = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_record_set set = {0};
    kedge_name_claim read = {.importing = false};
    kedge_status status = get(project, &sort, &set, error);
    if (status != KEDGE_OK) return status;
    if (set.count > 0) {
        read.importing = true;
        read.discarding = kedge_record_attribute(&set.records[0], "discarding") != NULL;
        copy_text(&set.records[0], "importing", read.id, sizeof read.id);
        copy_text(&set.records[0], "token", read.token, sizeof read.token);
    }
    kedge_record_set_free(&set);
    *claim = read;
    return KEDGE_OK;
}

kedge_status kedge_name_discarded_read(const kedge_project *project, char token[KEDGE_LINEAGE_HEX],
                                       kedge_error *error)
{
    kedge_key sort = kedge_key_discarded();
    kedge_record_set set = {0};
    kedge_status status = get(project, &sort, &set, error);
    if (status != KEDGE_OK) return status;
    token[0] = '\0';
    if (set.count > 0) copy_text(&set.records[0], "token", token, KEDGE_LINEAGE_HEX);
    kedge_record_set_free(&set);
    return KEDGE_OK;
}
