/* Index rows, read: the newest run of a client, the run of one id, origins, groups. */
#include "backend/versioned/index/index.h"

#include "backend/base/backend.h"
#include "backend/base/packed.h"
#include "backend/versioned/model/version.h"
#include "common/error.h"

#include <string.h>

#define ROWS_PER_PAGE 16

static kedge_bytes text_of(const kedge_record *record, const char *name)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    bool has = attribute != NULL && attribute->type == KEDGE_ATTRIBUTE_TEXT;
    return has ? attribute->bytes : (kedge_bytes){NULL, 0};
}

static int64_t number_of(const kedge_record *record, const char *name)
{
    const kedge_attribute *attribute = kedge_record_attribute(record, name);
    return attribute == NULL || attribute->type != KEDGE_ATTRIBUTE_NUMBER ? 0 : attribute->number;
}

kedge_status kedge_index_row_counts(const kedge_project *project, const kedge_version *at,
                                    int64_t through, const kedge_record *row, bool *counts,
                                    bool *gone, kedge_error *error)
{
    int64_t version = number_of(row, "version");
    kedge_bytes lineage = text_of(row, "lineage");
    *counts = false;
    if (gone != NULL) *gone = false;
    bool covered = version > 0 && version <= through;
    if (!covered || lineage.size != KEDGE_LINEAGE_HEX - 1) return KEDGE_OK;
    if (version == at->number) {
        *counts = kedge_bytes_equal_text(lineage, at->lineage);
        return KEDGE_OK;
    }
    return kedge_version_has_lineage(project, version, lineage, counts, gone, error);
}

void kedge_run_row_free(kedge_run_row *row)
{
    kedge_record_set_free(&row->set);
    memset(row, 0, sizeof *row);
}

static bool fill_row(const kedge_record *record, kedge_run_row *row)
{
    int64_t key_first = 0;
    if (!kedge_key_read_run(record->key.sort, &row->run.client, &key_first)) return false;
    row->run.group = text_of(record, "group");
    row->run.user = text_of(record, "subject");
    row->run.version = number_of(record, "version");
    row->run.first = number_of(record, "first");
    row->run.last = number_of(record, "last");
    row->run.retired = key_first == KEDGE_RETIRED_FIRST;
    row->lineage = text_of(record, "lineage");
    return row->run.group.size > 0;
}

/* Looks for the first row of the page in row->set that counts, and notes the key of the last row
 * that it has looked at in `after`. */
static kedge_status find_in_page(const kedge_project *project, const kedge_version *at,
                                 int64_t through, kedge_key *after, kedge_run_row *row,
                                 kedge_error *error)
{
    for (size_t i = 0; i < row->set.count; i++) {
        const kedge_record *record = &row->set.records[i];
        bool counts = false;
        bool gone = false;
        kedge_status status =
            kedge_index_row_counts(project, at, through, record, &counts, &gone, error);
        if (status != KEDGE_OK) return status;
        if (counts && fill_row(record, row)) {
            row->found = true;
            row->gone = gone;
            return KEDGE_OK;
        }
        after->size = record->key.sort.size;
        memcpy(after->text, record->key.sort.data, after->size);
    }
    return KEDGE_OK;
}

/* Reads a client's rows downwards from the key of `from` to the first that counts. A row does not
 * count when it is of another lineage, or newer than the version. Such rows are few, so the first
 * page has one row. */
static kedge_status find_down(const kedge_project *project, const kedge_version *at,
                              int64_t through, kedge_bytes client, int64_t from, kedge_run_row *row,
                              kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key lowest = kedge_key_run(client, 0);
    kedge_key highest = kedge_key_run(client, from);
    kedge_key after = {.size = 0};
    bool more = true;
    uint32_t limit = 1;
    while (more) {
        kedge_records_query query = {.partition = kedge_key_bytes(&partition),
                                     .sort_from = kedge_key_bytes(&lowest),
                                     .sort_to = kedge_key_bytes(&highest),
                                     .after = kedge_key_bytes(&after),
                                     .descending = true,
                                     .limit = limit,
                                     .consistent = true};
        kedge_status status = records->vtable->query(records->self, &query, &row->set, error);
        if (status != KEDGE_OK) return status;
        more = row->set.count > 0 && (row->set.more || row->set.count == limit);
        status = find_in_page(project, at, through, &after, row, error);
        if (row->found) return KEDGE_OK;
        kedge_run_row_free(row);
        if (status != KEDGE_OK) return status;
        limit = ROWS_PER_PAGE;
    }
    return KEDGE_OK;
}

kedge_status kedge_index_newest_run(const kedge_project *project, const kedge_version *at,
                                    kedge_bytes client, kedge_run_row *row, kedge_error *error)
{
    return find_down(project, at, at->indexed_through, client, KEDGE_RETIRED_FIRST, row, error);
}

kedge_status kedge_index_run_of(const kedge_project *project, const kedge_version *at,
                                int64_t through, kedge_bytes client, int64_t id, kedge_run_row *row,
                                kedge_error *error)
{
    kedge_status status = find_down(project, at, through, client, id, row, error);
    if (status == KEDGE_OK && row->found && row->run.last < id) kedge_run_row_free(row);
    return status;
}

/* ---- outcomes ---- */

static kedge_status read_outcome(kedge_bytes value, kedge_arena *arena,
                                 kedge_version_mutation *mutation, kedge_error *error)
{
    kedge_json_iterator parts = kedge_json_iterate(value);
    kedge_bytes part;
    int64_t outcome = -1;
    bool fine = kedge_json_next_element(&parts, &part) && part.size == KEDGE_DIGEST_HEX + 1 &&
                kedge_hex_decode((kedge_bytes){part.data + 1, part.size - 2}, mutation->digest,
                                 KEDGE_DIGEST_SIZE) &&
                kedge_json_next_element(&parts, &part) && kedge_json_to_integer(part, &outcome) &&
                outcome >= KEDGE_MUTATION_APPLIED && outcome <= KEDGE_MUTATION_DUPLICATE;
    if (!fine) return kedge_record_damaged("an outcome", error);
    mutation->outcome = (kedge_mutation_outcome)outcome;
    bool more = kedge_json_next_element(&parts, &part);
    if (!more && mutation->outcome != KEDGE_MUTATION_REJECTED) return KEDGE_OK;
    if (!more) return kedge_record_damaged("an outcome", error);
    kedge_status status = kedge_text_read(part, arena, &mutation->code, error);
    if (status != KEDGE_OK) return status;
    if (!kedge_json_next_element(&parts, &part)) return kedge_record_damaged("an outcome", error);
    return kedge_text_read(part, arena, &mutation->message, error);
}

kedge_status kedge_index_visit_outcomes(kedge_backend *backend, const kedge_run_row *row,
                                        int64_t from, int64_t to, kedge_mutation_visit visit,
                                        void *context, kedge_error *error)
{
    const kedge_attribute *packed = NULL;
    for (size_t i = 0; i < row->set.count && packed == NULL; i++) {
        if (number_of(&row->set.records[i], "first") != row->run.first ||
            number_of(&row->set.records[i], "version") != row->run.version) {
            continue;
        }
        packed = kedge_record_attribute(&row->set.records[i], "outcomes");
    }
    if (packed == NULL) return kedge_record_damaged("a run's outcomes", error);
    kedge_arena arena = kedge_arena_make(backend->allocator);
    kedge_bytes text;
    kedge_bytes value;
    kedge_status status = kedge_unpack(packed, &arena, &text, error);
    if (status != KEDGE_OK) goto out;
    kedge_json_iterator outcomes = kedge_json_iterate(text);
    for (int64_t id = row->run.first; id <= row->run.last && status == KEDGE_OK; id++) {
        kedge_version_mutation mutation = {.client = row->run.client, .id = id};
        if (!kedge_json_next_element(&outcomes, &value)) {
            status = kedge_record_damaged("a run's outcomes", error);
            break;
        }
        if (id < from || id > to) continue;
        mutation.user = row->run.user;
        status = read_outcome(value, &arena, &mutation, error);
        if (status == KEDGE_OK) status = visit(context, row->run.version, &mutation, error);
    }
out:
    kedge_arena_free(&arena);
    return status;
}

/* ---- origins and groups ---- */

kedge_status kedge_index_origin(const kedge_project *project, const kedge_version *at,
                                kedge_bytes client, int64_t id,
                                const uint8_t digest[KEDGE_DIGEST_SIZE], kedge_origin_row *row,
                                kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_origin(client, id, digest);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    kedge_record_set set = {0};
    *row = (kedge_origin_row){0};
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    kedge_bytes as = text_of(&set.records[0], "client");
    status =
        kedge_index_row_counts(project, at, at->number, &set.records[0], &row->found, NULL, error);
    if (as.size > 0 && as.size < sizeof row->client) {
        memcpy(row->client, as.data, as.size);
        row->id = number_of(&set.records[0], "id");
    } else if (status == KEDGE_OK && row->found) {
        status = kedge_record_damaged("an origin", error);
    }
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_index_group(const kedge_project *project, const kedge_version *at,
                               kedge_bytes group, kedge_group_row_visit visit, void *context,
                               kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key lowest = kedge_key_group(group, KEDGE_BYTES(""));
    kedge_key highest = kedge_key_group(group, KEDGE_BYTES("~"));
    kedge_key after = {.size = 0};
    bool more = true;
    kedge_status status = KEDGE_OK;
    while (more && status == KEDGE_OK) {
        kedge_records_query query = {.partition = kedge_key_bytes(&partition),
                                     .sort_from = kedge_key_bytes(&lowest),
                                     .sort_to = kedge_key_bytes(&highest),
                                     .after = kedge_key_bytes(&after),
                                     .limit = 1000,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
            const kedge_record *record = &set.records[i];
            kedge_bytes row_group;
            kedge_bytes client;
            bool counts = false;
            status = kedge_index_row_counts(project, at, at->indexed_through, record, &counts, NULL,
                                            error);
            if (status == KEDGE_OK && counts &&
                kedge_key_read_group(record->key.sort, &row_group, &client)) {
                status = visit(context, client, error);
            }
            after.size = record->key.sort.size;
            memcpy(after.text, record->key.sort.data, after.size);
        }
        more = set.more && set.count > 0;
        kedge_record_set_free(&set);
    }
    return status;
}
