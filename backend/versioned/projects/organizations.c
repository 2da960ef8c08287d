/* Markers of organizations: put, removed, listed. */
#include "backend/versioned/projects/organizations.h"

#include "backend/base/backend.h"
#include "common/assert.h"
#include "common/error.h"
#include "common/hash.h"

#include <string.h>

#define PER_QUERY 100

/* ---- one marker ---- */

static kedge_key shard_of(kedge_bytes organization)
{
    uint8_t hash[KEDGE_SHA256_SIZE];
    kedge_sha256_of(&organization, 1, hash);
    return kedge_key_organizations(hash[0] % KEDGE_ORGANIZATION_SHARDS);
}

kedge_record_write kedge_organization_mark(kedge_bytes organization, const char *token,
                                           kedge_organization_marker *memory)
{
    memory->partition = shard_of(organization);
    memory->token = (kedge_attribute){"token", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(token), 0};
    return (kedge_record_write){
        .kind = KEDGE_WRITE_PUT,
        .record = {{kedge_key_bytes(&memory->partition), organization}, &memory->token, 1}};
}

static kedge_status get_marker(const kedge_project *project, const kedge_key *shard,
                               kedge_record_set *set, kedge_error *error)
{
    const kedge_records *records = project->records;
    const kedge_record_key key = {kedge_key_bytes(shard), project->ref.organization};
    return records->vtable->get(records->self, &key, true, set, error);
}

kedge_status kedge_organization_is_marked(const kedge_project *project, bool *marked,
                                          kedge_error *error)
{
    kedge_key shard = shard_of(project->ref.organization);
    kedge_record_set set = {0};
    kedge_status status = get_marker(project, &shard, &set, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    *marked = status == KEDGE_OK;
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

kedge_status kedge_organization_mark_again(const kedge_project *project, const char *lineage,
                                           kedge_error *error)
{
    kedge_organization_marker marker;
    kedge_key organization = kedge_key_organization(project->ref.organization);
    kedge_key name = kedge_key_project(project->ref.project);
    kedge_record_write writes[] = {
        kedge_organization_mark(project->ref.organization, lineage, &marker),
        {.kind = KEDGE_WRITE_CHECK,
         .record = {.key = {kedge_key_bytes(&organization), kedge_key_bytes(&name)}},
         .condition = KEDGE_IF_EQUAL,
         .expected = {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(lineage), 0}}};
    writes[0].condition = KEDGE_IF_ABSENT;
    const kedge_records *records = project->records;
    kedge_status status = records->vtable->transact(records->self, writes, 2, error);
    return status == KEDGE_CONFLICT ? KEDGE_OK : status;
}

static kedge_status has_projects(const kedge_project *project, bool *has, kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key partition = kedge_key_organization(project->ref.organization);
    const kedge_records_query query = {
        .partition = kedge_key_bytes(&partition), .limit = 1, .consistent = true};
    kedge_record_set set = {0};
    kedge_status status = records->vtable->query(records->self, &query, &set, error);
    if (status != KEDGE_OK) return status;
    *has = set.count > 0;
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

/* The marker is read before the projects. So a project that is created after the projects were read
 * has changed the marker's token since the marker was read, and the marker is not removed. */
kedge_status kedge_organization_unmark(const kedge_project *project, kedge_error *error)
{
    const kedge_records *records = project->records;
    kedge_key shard = shard_of(project->ref.organization);
    kedge_record_set set = {0};
    bool has = true;
    kedge_status status = get_marker(project, &shard, &set, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    const kedge_attribute *token = kedge_record_attribute(&set.records[0], "token");
    status = has_projects(project, &has, error);
    if (status == KEDGE_OK && !has) {
        kedge_record_write write = {.kind = KEDGE_WRITE_DELETE,
                                    .record = {.key = set.records[0].key}};
        if (token != NULL) {
            write.condition = KEDGE_IF_EQUAL;
            write.expected = *token;
        }
        status = records->vtable->write(records->self, &write, error);
        if (status == KEDGE_CONFLICT) status = KEDGE_OK;
    }
    kedge_record_set_free(&set);
    return status;
}

/* ---- all of them ---- */

/* What was read of a shard and not given yet. */
typedef struct shard {
    kedge_key partition;
    kedge_key behind;
    kedge_record_set set;
    size_t at;
    bool more; /* there may be more after the set */
} shard;

typedef struct merge {
    const kedge_records *records;
    shard shards[KEDGE_ORGANIZATION_SHARDS];
} merge;

/* Ends with a record in the set, or with none left in the shard. */
static kedge_status fill(const merge *all, shard *one, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    while (one->at == one->set.count && one->more && status == KEDGE_OK) {
        const kedge_records_query query = {.partition = kedge_key_bytes(&one->partition),
                                           .after = kedge_key_bytes(&one->behind),
                                           .limit = PER_QUERY,
                                           .consistent = true};
        kedge_record_set_free(&one->set);
        one->at = 0;
        status = all->records->vtable->query(all->records->self, &query, &one->set, error);
        if (status != KEDGE_OK) return status;
        one->more = one->set.more && one->set.count > 0;
        if (one->more) {
            kedge_bytes last = one->set.records[one->set.count - 1].key.sort;
            KEDGE_ASSERT(last.size < sizeof one->behind.text);
            one->behind.size = last.size;
            memcpy(one->behind.text, last.data, last.size);
        }
    }
    return status;
}

/* The shard with the least name; NULL: there is none any more. */
static kedge_status next(merge *all, shard **least, kedge_error *error)
{
    *least = NULL;
    for (uint32_t i = 0; i < KEDGE_ORGANIZATION_SHARDS; i++) {
        shard *one = &all->shards[i];
        kedge_status status = fill(all, one, error);
        if (status != KEDGE_OK) return status;
        if (one->at == one->set.count) continue;
        if (*least == NULL || kedge_bytes_compare(one->set.records[one->at].key.sort,
                                                  (*least)->set.records[(*least)->at].key.sort) < 0)
            *least = one;
    }
    return KEDGE_OK;
}

static kedge_status visit_all(merge *all, uint32_t limit, kedge_organization_visit visit,
                              void *context, bool *more, kedge_error *error)
{
    shard *least;
    kedge_status status = next(all, &least, error);
    for (uint32_t left = limit; left > 0 && status == KEDGE_OK && least != NULL; left--) {
        status = visit(context, least->set.records[least->at++].key.sort, error);
        if (status == KEDGE_OK) status = next(all, &least, error);
    }
    if (status == KEDGE_OK) *more = least != NULL;
    return status;
}

kedge_status kedge_organization_list(kedge_backend *backend, kedge_bytes after, uint32_t limit,
                                     kedge_organization_visit visit, void *context, bool *more,
                                     kedge_error *error)
{
    kedge_key behind = {.size = 0};
    if (after.size > KEDGE_LIMIT_NAME_BYTES) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "name-invalid",
                          "no organization has a name of %zu bytes", after.size);
    }
    memcpy(behind.text, after.size == 0 ? "" : after.data, after.size);
    behind.size = after.size;
    merge *all = kedge_allocate(backend->allocator, sizeof *all);
    if (all == NULL) return kedge_fail_no_memory(error);
    all->records = &backend->options.records;
    for (uint32_t i = 0; i < KEDGE_ORGANIZATION_SHARDS; i++)
        all->shards[i] = (shard){kedge_key_organizations(i), behind, {0}, 0, true};
    kedge_status status = visit_all(all, limit, visit, context, more, error);
    for (uint32_t i = 0; i < KEDGE_ORGANIZATION_SHARDS; i++)
        kedge_record_set_free(&all->shards[i].set);
    kedge_release(backend->allocator, all);
    return status;
}
