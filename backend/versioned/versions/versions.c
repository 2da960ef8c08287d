/* Loading versions, and what retention leaves of them. */
#include "backend/versioned/versions/versions.h"

#include "backend/base/backend.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/versions/history.h"
#include "backend/versioned/versions/version_codec.h"
#include "common/assert.h"
#include "common/error.h"

#include <string.h>

kedge_project_kind kedge_project_kind_of(const kedge_record *record)
{
    const kedge_attribute *kind = kedge_record_attribute(record, "kind");
    bool log = kind != NULL && kedge_bytes_equal_text(kind->bytes, KEDGE_PROJECT_KIND_LOG);
    return log ? KEDGE_PROJECT_LOG : KEDGE_PROJECT_VERSIONS;
}

kedge_status kedge_version_load_creation(const kedge_project *project,
                                         const kedge_version **version, kedge_error *error)
{
    kedge_key partition = kedge_key_organization(project->ref.organization);
    kedge_key sort = kedge_key_project(project->ref.project);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    const kedge_records *records = project->records;
    kedge_record_set set = {0};
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "project-not-found",
                          "there is no project \"%.*s\"", (int)project->ref.project.size,
                          project->ref.project.data);
    }
    if (status != KEDGE_OK) return status;
    const kedge_attribute *lineage = kedge_record_attribute(&set.records[0], "lineage");
    const kedge_attribute *created = kedge_record_attribute(&set.records[0], "created");
    const kedge_attribute *forked = kedge_record_attribute(&set.records[0], "forked");
    kedge_version_object *object = NULL;
    if (lineage == NULL || created == NULL || lineage->bytes.size != KEDGE_LINEAGE_HEX - 1) {
        status = kedge_fail(error, KEDGE_CORRUPT, "record-damaged",
                            "the record of the project \"%.*s\" is damaged",
                            (int)project->ref.project.size, project->ref.project.data);
        goto out;
    }
    if (project->history == NULL && kedge_project_kind_of(&set.records[0]) == KEDGE_PROJECT_LOG) {
        status =
            kedge_fail(error, KEDGE_UNSUPPORTED, "project-kind",
                       "the project \"%.*s\" is a log project; only a project of versions can be "
                       "used for this",
                       (int)project->ref.project.size, project->ref.project.data);
        goto out;
    }
    object = kedge_version_object_new(project->allocator);
    if (object == NULL) {
        status = kedge_fail_no_memory(error);
        goto out;
    }
    memcpy(object->version.lineage, lineage->bytes.data, lineage->bytes.size);
    object->version.created_ms = created->number;
    if (forked != NULL &&
        !kedge_arena_copy(&object->arena, forked->bytes, &object->version.forked)) {
        kedge_version_release(&object->version);
        status = kedge_fail_no_memory(error);
        goto out;
    }
    *version = &object->version;
out:
    kedge_record_set_free(&set);
    return status;
}

static kedge_status load_newest(const kedge_project *project, kedge_version_detail detail,
                                const kedge_version **version, kedge_error *error)
{
    size_t count = 0;
    kedge_status status = kedge_version_list(project, 0, 1, detail, version, &count, error);
    if (status != KEDGE_OK || count == 1) return status;
    return kedge_version_load_creation(project, version, error);
}

static kedge_status get_record(const kedge_project *project, int64_t number, kedge_record_set *set,
                               kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_version(number);
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    const kedge_records *records = project->records;
    return records->vtable->get(records->self, &key, true, set, error);
}

/* Returns KEDGE_NOT_FOUND also for the record that replaces a version that is no longer kept. */
static kedge_status get_kept(const kedge_project *project, int64_t number, kedge_record_set *set,
                             kedge_error *error)
{
    kedge_status status = get_record(project, number, set, error);
    if (status != KEDGE_OK || !kedge_retained_is_gone(&set->records[0])) return status;
    kedge_record_set_free(set);
    return KEDGE_NOT_FOUND;
}

kedge_status kedge_version_load(const kedge_project *project, int64_t number,
                                const kedge_version **version, kedge_error *error)
{
    return kedge_version_load_detail(project, number, KEDGE_VERSION_WHOLE, version, error);
}

kedge_status kedge_version_load_detail(const kedge_project *project, int64_t number,
                                       kedge_version_detail detail, const kedge_version **version,
                                       kedge_error *error)
{
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status != KEDGE_OK) return status;
    if (project->history != NULL) {
        return number == 0 ? project->history->newest(project, version, error)
                           : project->history->load(project, number, version, error);
    }
    if (number == 0) return load_newest(project, detail, version, error);
    kedge_version_object *object = NULL;
    kedge_record_set set = {0};
    status = number < 0 || number > KEDGE_VERSION_NUMBER_MAX
                 ? KEDGE_NOT_FOUND
                 : get_kept(project, number, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_fail(error, KEDGE_NOT_FOUND, "version-not-found",
                          "there is no version %lld of this project", (long long)number);
    }
    if (status != KEDGE_OK) return status;
    status = kedge_version_decode(project, &set.records[0], detail, &object, error);
    kedge_record_set_free(&set);
    if (status == KEDGE_OK) *version = &object->version;
    return status;
}

static kedge_status history_has_lineage(const kedge_project *project, int64_t number,
                                        kedge_bytes lineage, bool *same, bool *gone,
                                        kedge_error *error)
{
    char found[KEDGE_LINEAGE_HEX];
    kedge_status status = project->history->lineage(project, number, found, error);
    if (gone != NULL) *gone = status == KEDGE_NOT_FOUND;
    *same =
        status == KEDGE_NOT_FOUND || (status == KEDGE_OK && kedge_bytes_equal_text(lineage, found));
    return status == KEDGE_NOT_FOUND ? KEDGE_OK : status;
}

kedge_status kedge_version_has_lineage(const kedge_project *project, int64_t number,
                                       kedge_bytes lineage, bool *same, bool *gone,
                                       kedge_error *error)
{
    kedge_record_set set = {0};
    if (project->history != NULL)
        return history_has_lineage(project, number, lineage, same, gone, error);
    kedge_status status = get_record(project, number, &set, error);
    if (gone != NULL) *gone = status == KEDGE_NOT_FOUND;
    if (status == KEDGE_NOT_FOUND) {
        *same = true;
        return KEDGE_OK;
    }
    if (status != KEDGE_OK) return status;
    if (gone != NULL) *gone = kedge_retained_is_gone(&set.records[0]);
    const kedge_attribute *attribute = kedge_record_attribute(&set.records[0], "lineage");
    *same = attribute != NULL && kedge_bytes_equal(attribute->bytes, lineage);
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

kedge_status kedge_version_lineage(const kedge_project *project, int64_t number,
                                   char lineage[KEDGE_LINEAGE_HEX], kedge_error *error)
{
    kedge_record_set set = {0};
    if (project->history != NULL) return project->history->lineage(project, number, lineage, error);
    kedge_status status = get_record(project, number, &set, error);
    if (status != KEDGE_OK) return status;
    const kedge_attribute *attribute = kedge_record_attribute(&set.records[0], "lineage");
    if (attribute == NULL || attribute->bytes.size != KEDGE_LINEAGE_HEX - 1) {
        status = kedge_fail(error, KEDGE_CORRUPT, "record-damaged",
                            "the record of version %lld is damaged", (long long)number);
    } else {
        memcpy(lineage, attribute->bytes.data, KEDGE_LINEAGE_HEX - 1);
        lineage[KEDGE_LINEAGE_HEX - 1] = '\0';
    }
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_version_is_known(const kedge_project *project, int64_t number,
                                    const char *lineage, bool *known, kedge_error *error)
{
    kedge_record_set set = {0};
    bool gone = false;
    if (project->history != NULL) {
        kedge_status found =
            history_has_lineage(project, number, kedge_bytes_of(lineage), known, &gone, error);
        if (gone) *known = false;
        return found;
    }
    kedge_status status = get_record(project, number, &set, error);
    *known = false;
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK;
    if (status != KEDGE_OK) return status;
    const kedge_attribute *attribute = kedge_record_attribute(&set.records[0], "lineage");
    *known = attribute != NULL && kedge_bytes_equal_text(attribute->bytes, lineage);
    kedge_record_set_free(&set);
    return KEDGE_OK;
}

/* One page of version records below `before`, decoded. */
static kedge_status load_page(const kedge_project *project, int64_t before, uint32_t limit,
                              kedge_version_detail detail, const kedge_version **versions,
                              size_t *count, bool *more, kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key from = kedge_key_version(0);
    kedge_key to = kedge_key_version(before - 1);
    kedge_records_query query = {.partition = kedge_key_bytes(&partition),
                                 .sort_from = kedge_key_bytes(&from),
                                 .sort_to = kedge_key_bytes(&to),
                                 .descending = true,
                                 .limit = limit,
                                 .consistent = true};
    const kedge_records *records = project->records;
    kedge_record_set set = {0};
    KEDGE_ASSERT(before > 0 && limit > 0);
    kedge_status status = records->vtable->query(records->self, &query, &set, error);
    if (status != KEDGE_OK) return status;
    KEDGE_ASSERT(set.count <= limit);
    *more = set.more && set.count > 0;
    for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
        kedge_version_object *object = NULL;
        if (kedge_retained_is_gone(&set.records[i])) {
            *more = false; /* and so are all below */
            break;
        }
        status = kedge_version_decode(project, &set.records[i], detail, &object, error);
        if (status == KEDGE_OK) versions[(*count)++] = &object->version;
    }
    kedge_record_set_free(&set);
    return status;
}

kedge_status kedge_version_list(const kedge_project *project, int64_t before, uint32_t limit,
                                kedge_version_detail detail, const kedge_version **versions,
                                size_t *count, kedge_error *error)
{
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status != KEDGE_OK) return status;
    int64_t below = before == 0 ? KEDGE_VERSION_NUMBER_MAX : before;
    if (status == KEDGE_OK && project->history != NULL)
        return project->history->list(project, below, limit, versions, count, error);
    size_t found = 0;
    bool more = below > 1;
    while (more && found < limit && status == KEDGE_OK) {
        size_t old = found;
        uint32_t wanted = limit - (uint32_t)found;
        if (wanted > 1000) wanted = 1000;
        status = load_page(project, below, wanted, detail, versions, &found, &more, error);
        if (found > old) below = versions[found - 1]->number;
    }
    if (status != KEDGE_OK) {
        while (found > 0)
            kedge_version_release(versions[--found]);
        return status;
    }
    *count = found;
    return KEDGE_OK;
}

/* ---- what retention leaves ---- */

kedge_status kedge_retained_oldest(const kedge_project *project, int64_t *oldest,
                                   kedge_error *error)
{
    kedge_key partition = kedge_key_partition(&project->ref);
    kedge_key sort = kedge_key_retention();
    kedge_record_key key = {kedge_key_bytes(&partition), kedge_key_bytes(&sort)};
    const kedge_records *records = project->records;
    kedge_record_set set = {0};
    if (project->history != NULL) return project->history->oldest(project, oldest, error);
    kedge_status status = records->vtable->get(records->self, &key, true, &set, error);
    if (status == KEDGE_NOT_FOUND) {
        *oldest = 1;
        return KEDGE_OK;
    }
    if (status != KEDGE_OK) return status;
    const kedge_attribute *number = kedge_record_attribute(&set.records[0], "oldest");
    if (number == NULL || number->type != KEDGE_ATTRIBUTE_NUMBER || number->number < 1) {
        status = kedge_record_damaged("the oldest version", error);
    } else {
        *oldest = number->number;
    }
    kedge_record_set_free(&set);
    return status;
}

bool kedge_retained_is_gone(const kedge_record *record)
{
    return kedge_record_attribute(record, "gone") != NULL;
}

kedge_status kedge_retained_fail(const kedge_project *project, int64_t wanted, int64_t missing,
                                 kedge_error *error)
{
    int64_t oldest = 1;
    kedge_status status = kedge_retained_oldest(project, &oldest, error);
    if (status != KEDGE_OK) return status;
    if (wanted < oldest) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "version-not-retained",
                          "version %lld is no longer kept", (long long)wanted);
    }
    return kedge_fail(error, KEDGE_CORRUPT, "version-missing",
                      "version %lld is not there, and version %lld needs it", (long long)missing,
                      (long long)wanted);
}
