/* Projects of organizations: one record each, write-once. */
#include "backend/versioned/projects/projects.h"

#include "backend/base/backend.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/name_claim.h"
#include "backend/versioned/projects/organizations.h"
#include "common/error.h"

#include <string.h>

/* ---- creating ---- */

/* KEDGE_CONFLICT: there is one, or the name is taken by an import or a deletion. */
static kedge_status put_project(kedge_backend *backend, const kedge_record_key *key,
                                const kedge_project_ref *ref, const kedge_project_found *made,
                                kedge_error *error)
{
    char lineage[KEDGE_LINEAGE_HEX];
    kedge_random_hex(backend->environment, (KEDGE_LINEAGE_HEX - 1) / 2, lineage);
    kedge_key partition = kedge_key_partition(ref);
    kedge_key claim = kedge_key_version(KEDGE_VERSION_IMPORTING);
    kedge_attribute attributes[] = {
        {"created", KEDGE_ATTRIBUTE_NUMBER, {NULL, 0}, made->created_ms},
        {"lineage", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(lineage), 0},
        {KEDGE_RECORDS_INVERTED, KEDGE_ATTRIBUTE_TEXT, ref->project, 0},
        {"kind", KEDGE_ATTRIBUTE_TEXT, kedge_bytes_of(KEDGE_PROJECT_KIND_LOG), 0}};
    size_t count = made->kind == KEDGE_PROJECT_LOG ? 4 : 3;
    kedge_organization_marker marker;
    const kedge_record_write writes[] = {
        {.kind = KEDGE_WRITE_PUT,
         .record = {*key, attributes, count},
         .condition = KEDGE_IF_ABSENT},
        {.kind = KEDGE_WRITE_CHECK,
         .record = {.key = {kedge_key_bytes(&partition), kedge_key_bytes(&claim)}},
         .condition = KEDGE_IF_ABSENT},
        kedge_organization_mark(ref->organization, lineage, &marker)};
    const kedge_records *records = &backend->options.records;
    return records->vtable->transact(records->self, writes, 3, error);
}

static kedge_project_found found_in(const kedge_record *record)
{
    const kedge_attribute *created = kedge_record_attribute(record, "created");
    return (kedge_project_found){created == NULL ? 0 : created->number,
                                 kedge_project_kind_of(record)};
}

static kedge_status get_found(kedge_backend *backend, const kedge_record_key *key,
                              kedge_project_found *found, kedge_error *error)
{
    const kedge_records *records = &backend->options.records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, key, true, &set, error);
    if (status != KEDGE_OK) return status;
    *found = found_in(&set.records[0]);
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

kedge_status kedge_project_check_name(const kedge_project *project, kedge_error *error)
{
    kedge_name_claim claim;
    kedge_status status = kedge_name_claim_read(project, &claim, error);
    if (status != KEDGE_OK || !claim.importing) return status;
    return kedge_fail(error, KEDGE_CONFLICT, KEDGE_PROJECT_NAME_TAKEN,
                      "an import, or a project that is being deleted, has the name \"%.*s\"",
                      (int)project->ref.project.size, project->ref.project.data);
}

/* Why the condition of a creation did not hold. KEDGE_OK: another one was first. */
static kedge_status see_conflict(const kedge_project *project, const kedge_record_key *key,
                                 kedge_project_found *found, kedge_error *error)
{
    kedge_status status = get_found(project->backend, key, found, error);
    if (status != KEDGE_NOT_FOUND) return status;
    status = kedge_project_check_name(project, error);
    if (status != KEDGE_OK) return status;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "project-raced",
                      "the name \"%.*s\" has become free at this moment; create the project again",
                      (int)project->ref.project.size, project->ref.project.data);
}

kedge_status kedge_project_create_kind(const kedge_project *project, kedge_project_kind kind,
                                       bool *created, kedge_project_found *found,
                                       kedge_error *error)
{
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status != KEDGE_OK) return status;
    kedge_key partition = kedge_key_organization(project->ref.organization);
    kedge_key sort = kedge_key_project(project->ref.project);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    kedge_project_found there = {.kind = kind};
    bool made = false;
    status = get_found(project->backend, &key, &there, error);
    if (status == KEDGE_NOT_FOUND) {
        there.created_ms = project->environment->now_ms(project->environment->context);
        status = put_project(project->backend, &key, &project->ref, &there, error);
        made = status == KEDGE_OK;
        if (status == KEDGE_CONFLICT) status = see_conflict(project, &key, &there, error);
    }
    if (status != KEDGE_OK) return status;
    *created = made;
    *found = there;
    return KEDGE_OK;
}

kedge_status kedge_project_create(const kedge_project *project, bool *created, int64_t *created_ms,
                                  kedge_error *error)
{
    kedge_project_found found;
    kedge_status status =
        kedge_project_create_kind(project, KEDGE_PROJECT_VERSIONS, created, &found, error);
    if (status != KEDGE_OK) return status;
    if (found.kind != KEDGE_PROJECT_VERSIONS) {
        return kedge_fail(error, KEDGE_CONFLICT, "project-kind",
                          "there is a project of this name that is of another kind");
    }
    *created_ms = found.created_ms;
    return KEDGE_OK;
}

kedge_status kedge_project_find_kind(const kedge_project *project, kedge_project_kind *kind,
                                     kedge_error *error)
{
    int known;
    if (!kedge_project_kinds_find(&project->backend->project_kinds, &project->ref, &known))
        return kedge_project_read_kind(project, kind, error);
    *kind = (kedge_project_kind)known;
    return KEDGE_OK;
}

kedge_status kedge_project_read_kind(const kedge_project *project, kedge_project_kind *kind,
                                     kedge_error *error)
{
    kedge_project_kinds *kinds = &project->backend->project_kinds;
    kedge_key partition = kedge_key_organization(project->ref.organization);
    kedge_key sort = kedge_key_project(project->ref.project);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    kedge_project_found found;
    kedge_status status = get_found(project->backend, &key, &found, error);
    if (status != KEDGE_OK) return status;
    *kind = found.kind;
    kedge_project_kinds_put(kinds, &project->ref, (int)found.kind);
    return KEDGE_OK;
}

/* ---- lists ---- */

typedef struct listing {
    uint32_t left;
    bool by_organization; /* names are organizations, from an inverted query */
    kedge_project_visit visit;
    void *context;
} listing;

static kedge_status visit_record(listing *list, const kedge_record *record, kedge_error *error)
{
    kedge_project_found found = found_in(record);
    kedge_bytes name;
    bool fine = list->by_organization ? kedge_key_read_organization(record->key.partition, &name)
                                      : kedge_key_read_project(record->key.sort, &name);
    if (!fine) return KEDGE_OK;
    list->left--;
    return list->visit(list->context, name, &found, error);
}

/* Reads one page; the next one starts after *after. */
static kedge_status visit_page(kedge_backend *backend, const kedge_records_query *query,
                               listing *list, kedge_key *after, bool *more, kedge_error *error)
{
    const kedge_records *records = &backend->options.records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->query(records->self, query, &set, error);
    if (status != KEDGE_OK) return status;
    *more = set.more && set.count > 0;
    for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
        if (list->left == 0) {
            *more = true;
            break;
        }
        status = visit_record(list, &set.records[i], error);
        const kedge_record_key *key = &set.records[i].key;
        kedge_bytes behind = list->by_organization ? key->partition : key->sort;
        after->size = behind.size < sizeof after->text ? behind.size : sizeof after->text;
        memcpy(after->text, behind.data, after->size);
    }
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_project_list(kedge_backend *backend, kedge_bytes organization, kedge_bytes after,
                                uint32_t limit, kedge_project_visit visit, void *context,
                                bool *more, kedge_error *error)
{
    kedge_key partition = kedge_key_organization(organization);
    kedge_key from = kedge_key_project(KEDGE_BYTES(""));
    kedge_key to = kedge_key_project(KEDGE_BYTES("~"));
    kedge_key behind = kedge_key_project(after);
    listing list = {limit, false, visit, context};
    bool rest = true;
    kedge_status status = KEDGE_OK;
    if (after.size == 0) behind.size = 0;
    while (status == KEDGE_OK && rest && list.left > 0) {
        uint32_t wanted = list.left < 1000 ? list.left : 1000;
        kedge_records_query query = {.partition = kedge_key_bytes(&partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .after = kedge_key_bytes(&behind),
                                     .limit = wanted,
                                     .consistent = true};
        status = visit_page(backend, &query, &list, &behind, &rest, error);
    }
    if (status == KEDGE_OK) *more = rest;
    return status;
}

/* An inverted query reads in order of the partition key, which here is the organization. */
kedge_status kedge_project_organizations(kedge_backend *backend, kedge_bytes project,
                                         kedge_project_visit visit, void *context,
                                         kedge_error *error)
{
    listing list = {UINT32_MAX, true, visit, context};
    kedge_key behind = {.size = 0};
    bool more = true;
    kedge_status status = KEDGE_OK;
    while (more && status == KEDGE_OK) {
        kedge_records_query query = {.partition = project,
                                     .inverted = true,
                                     .after = kedge_key_bytes(&behind),
                                     .limit = 1000};
        status = visit_page(backend, &query, &list, &behind, &more, error);
    }
    return status;
}
