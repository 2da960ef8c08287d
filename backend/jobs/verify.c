/* Verify: all of a project, version by version. */
#include "backend/jobs/verify_internal.h"

#include "backend/versioned/projects/organizations.h"
#include "backend/versioned/versions/version_codec.h"
#include "common/error.h"

#include <string.h>

#define RECORDS_PER_PAGE 16

/* ---- versions ---- */

/* A number that should be there and is not. The fold goes on, but nothing is compared with it. */
static kedge_status tell_missing(verifying *work, int64_t number, kedge_error *error)
{
    int64_t oldest = 1;
    kedge_status status = kedge_retained_oldest(work->project, &oldest, error);
    if (status != KEDGE_OK) return status;
    if (oldest > work->oldest) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "version-not-retained",
                          "versions were removed while they were looked at; verify again");
    }
    work->broken = true;
    kedge_key key = kedge_key_version(number);
    return verify_tell(work, "version-missing", number, kedge_key_bytes(&key), error,
                       "there is no record of version %lld", (long long)number);
}

static kedge_status look_at_record(verifying *work, const kedge_record *record, kedge_error *error)
{
    kedge_version_object *object = NULL;
    kedge_error failure = {0};
    int64_t number = 0;
    kedge_key_read_version(record->key.sort, &number);
    if (kedge_retained_is_gone(record)) return tell_missing(work, number, error);
    kedge_status status =
        kedge_version_decode(work->project, record, KEDGE_VERSION_WHOLE, &object, &failure);
    if (status != KEDGE_OK) {
        work->broken = true;
        return verify_failure(work, status, failure.code, number, record->key.sort, &failure,
                              error);
    }
    verify_keep_lineage(work, &object->version);
    status = verify_version(work, &object->version, error);
    kedge_version_release(&object->version);
    return status;
}

static kedge_status visit_versions(verifying *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    int64_t next = work->oldest;
    kedge_status status = KEDGE_OK;
    while (next <= work->newest && status == KEDGE_OK) {
        kedge_key from = kedge_key_version(next);
        kedge_key to = kedge_key_version(work->newest);
        kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                     .sort_from = kedge_key_bytes(&from),
                                     .sort_to = kedge_key_bytes(&to),
                                     .limit = RECORDS_PER_PAGE,
                                     .consistent = true};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status != KEDGE_OK) return status;
        bool empty = set.count == 0;
        for (size_t i = 0; i < set.count && status == KEDGE_OK; i++) {
            int64_t number = next;
            kedge_key_read_version(set.records[i].key.sort, &number);
            for (; next < number && status == KEDGE_OK; next++)
                status = tell_missing(work, next, error);
            if (status == KEDGE_OK) status = look_at_record(work, &set.records[i], error);
            next = number + 1;
        }
        kedge_record_set_free(&set);
        for (; empty && next <= work->newest && status == KEDGE_OK; next++)
            status = tell_missing(work, next, error);
    }
    return status;
}

/* The state in front of the oldest version, whose deltas retention has removed: its bodies. */
static kedge_status start_replay(verifying *work, kedge_error *error)
{
    const kedge_version *oldest = NULL;
    kedge_error failure = {0};
    if (work->oldest == 1 || work->newest == 0) return KEDGE_OK;
    kedge_status status = kedge_version_load_detail(work->project, work->oldest,
                                                    KEDGE_VERSION_STATE, &oldest, &failure);
    if (status == KEDGE_OK) status = kedge_replay_start(&work->replay, oldest, &failure);
    kedge_version_release(oldest);
    if (status != KEDGE_OK) {
        work->broken = true;
        return verify_failure(work, status, failure.code, work->oldest, (kedge_bytes){NULL, 0},
                              &failure, error);
    }
    for (size_t i = 0; i < work->replay.count && status == KEDGE_OK; i++) {
        const kedge_replayed_collection *collection = &work->replay.collections[i];
        kedge_bytes name = kedge_bytes_of(collection->name);
        const kedge_item *item = kedge_map_next(&collection->map, true, (kedge_bytes){NULL, 0});
        while (item != NULL && status == KEDGE_OK) {
            status = verify_body(work, work->oldest, name, &item->entry, error);
            item = kedge_map_next(&collection->map, false, item->entry.id);
        }
    }
    return status;
}

/* ---- the project ---- */

/* Projects that were made before there were markers may be in an organization that has none. */
static kedge_status verify_marker(verifying *work, const char *lineage, kedge_error *error)
{
    kedge_bytes organization = work->project->ref.organization;
    bool marked = false;
    kedge_status status = kedge_organization_is_marked(work->project, &marked, error);
    if (status != KEDGE_OK || marked) return status;
    status = verify_tell(work, "organization-unlisted", 0, organization, error,
                         "the list of all organizations lacks this one");
    if (status != KEDGE_OK || !work->repair) return status;
    status = kedge_organization_mark_again(work->project, lineage, error);
    if (status != KEDGE_OK) return status;
    return verify_tell_repaired(work, "organization", 0, organization, "the project", error);
}

static kedge_status verify_creation(verifying *work, kedge_error *error)
{
    const kedge_version *creation = NULL;
    const kedge_version *first = NULL;
    kedge_error failure = {0};
    kedge_bytes none = {NULL, 0};
    kedge_status status = kedge_version_load_creation(work->project, &creation, &failure);
    if (status != KEDGE_OK) {
        return verify_failure(work, status, "project-record-missing", 0, none, &failure, error);
    }
    if (work->oldest == 1 && work->newest > 0) {
        status = kedge_version_load_detail(work->project, 1, KEDGE_VERSION_STATE, &first, &failure);
        if (status == KEDGE_OK && !kedge_bytes_equal(first->forked, creation->forked)) {
            status = verify_tell(work, "project-record-wrong", 1, none, error,
                                 "the project and its first version tell different origins");
        } else if (status == KEDGE_NOT_FOUND || status == KEDGE_CORRUPT) {
            status = KEDGE_OK; /* told with the versions */
        } else if (status != KEDGE_OK) {
            status = kedge_fail(error, status, failure.code, "%s", failure.message);
        }
        kedge_version_release(first);
    }
    if (status == KEDGE_OK) status = verify_marker(work, creation->lineage, error);
    kedge_version_release(creation);
    return status;
}

static kedge_status tell_summary(verifying *work, kedge_error *error)
{
    const kedge_verify_summary *summary = work->summary;
    const struct {
        const char *name;
        int64_t value;
    } members[] = {{"oldest", summary->oldest},       {"newest", summary->newest},
                   {"mutations", summary->mutations}, {"items", summary->items},
                   {"bodies", summary->bodies},       {"checkpoints", summary->checkpoints},
                   {"rows", summary->rows},           {"findings", summary->findings},
                   {"repaired", summary->repaired},   {"lost", summary->lost}};
    size_t count = sizeof members / sizeof members[0];
    if (!work->repair) count -= 2;
    kedge_json_writer writer = kedge_json_write(&work->line);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "verified");
    kedge_json_text(&writer, work->project->ref.project);
    for (size_t i = 0; i < count; i++) {
        kedge_json_key(&writer, members[i].name);
        kedge_json_integer(&writer, members[i].value);
    }
    kedge_json_end_object(&writer);
    return kedge_lines_put(work->lines, &work->line, error);
}

/* The newest version, without reading all of it: it may be damaged. */
static kedge_status find_newest(verifying *work, kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_key from = kedge_key_version(0);
    kedge_key to = kedge_key_version(KEDGE_VERSION_NUMBER_MAX);
    const kedge_version *creation = NULL;
    kedge_record_set set = {0};
    kedge_records_query query = {.partition = kedge_key_bytes(&work->partition),
                                 .sort_from = kedge_key_bytes(&from),
                                 .sort_to = kedge_key_bytes(&to),
                                 .descending = true,
                                 .limit = 1,
                                 .consistent = true};
    kedge_status status = records->vtable->query(records->self, &query, &set, error);
    if (status != KEDGE_OK) return status;
    if (set.count > 0 && kedge_version_is_import(&set.records[0])) {
        status = kedge_fail(error, KEDGE_NOT_FOUND, "project-not-found",
                            "the project is being imported");
    } else if (set.count == 0) {
        status = kedge_version_load_creation(work->project, &creation, error);
        kedge_version_release(creation);
    } else {
        const kedge_attribute *through = kedge_record_attribute(&set.records[0], "indexed_through");
        kedge_key_read_version(set.records[0].key.sort, &work->newest);
        work->rows_through = through == NULL ? 0 : through->number;
    }
    kedge_record_set_free(&set);
    return status;
}

static kedge_status run(verifying *work, kedge_error *error)
{
    int64_t versions = work->newest < work->oldest ? 0 : work->newest - work->oldest + 1;
    work->tokens = kedge_arena_take_array(&work->arena, (size_t)versions + 1, VERIFY_TOKEN_SIZE);
    work->there = kedge_arena_take_array(&work->arena, (size_t)versions + 1, sizeof *work->there);
    if (work->tokens == NULL || work->there == NULL) return kedge_fail_no_memory(error);
    work->summary->oldest = work->oldest;
    work->summary->newest = work->newest;
    kedge_status status = verify_creation(work, error);
    if (status == KEDGE_OK) status = verify_list_roots(work, error);
    if (status == KEDGE_OK) status = start_replay(work, error);
    if (status == KEDGE_OK) status = visit_versions(work, error);
    if (status == KEDGE_OK) status = verify_other_roots(work, error);
    if (status == KEDGE_OK) status = verify_all_rows(work, error);
    if (status == KEDGE_OK) status = verify_gone(work, error);
    /* Bodies first: a checkpoint that is written again may have had a copy of one. */
    if (status == KEDGE_OK) status = verify_repair_bodies(work, error);
    if (status == KEDGE_OK) status = verify_repair_checkpoints(work, error);
    if (status == KEDGE_OK) status = verify_deliver_repaired(work, error);
    return status == KEDGE_OK ? tell_summary(work, error) : status;
}

static kedge_status verify(const kedge_project *project, const kedge_lines *lines, bool repair,
                           kedge_verify_summary *summary, kedge_error *error)
{
    const kedge_allocator *allocator = project->allocator;
    verifying work = {.project = project,
                      .partition = kedge_key_partition(&project->ref),
                      .lines = lines,
                      .summary = summary,
                      .line = kedge_buffer_make(allocator),
                      .project_record = kedge_buffer_make(allocator),
                      .arena = kedge_arena_make(allocator),
                      .replay = kedge_replay_make(project),
                      .bodies = {.allocator = allocator},
                      .rows = {.allocator = allocator},
                      .repair = repair,
                      .lost_sizes = {.allocator = allocator}};
    memset(summary, 0, sizeof *summary);
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status == KEDGE_OK) status = find_newest(&work, error);
    if (status == KEDGE_OK) status = kedge_retained_oldest(project, &work.oldest, error);
    if (status == KEDGE_OK) status = run(&work, error);
    verify_forget_runs(&work, INT64_MAX);
    kedge_release(allocator, work.recent);
    kedge_release(allocator, work.clients);
    kedge_buffer_free(&work.project_record);
    kedge_replay_free(&work.replay);
    verify_forget_bad_roots(&work);
    kedge_key_set_free(&work.lost_sizes);
    kedge_key_set_free(&work.bodies);
    kedge_key_set_free(&work.rows);
    kedge_arena_free(&work.arena);
    kedge_buffer_free(&work.line);
    return status;
}

kedge_status kedge_verify_project(const kedge_project *project, const kedge_lines *lines,
                                  kedge_verify_summary *summary, kedge_error *error)
{
    return verify(project, lines, false, summary, error);
}

kedge_status kedge_repair_project(const kedge_project *project, const kedge_lines *lines,
                                  kedge_verify_summary *summary, kedge_error *error)
{
    return verify(project, lines, true, summary, error);
}
