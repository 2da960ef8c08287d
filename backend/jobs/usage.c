/* See usage.h. */
#include "backend/jobs/usage.h"

#include "backend/log/layout.h"
#include "backend/ports/records_support.h"
#include "backend/versioned/model/layout.h"
#include "backend/versioned/projects/projects.h"
#include "backend/versioned/usage/usage.h"
#include "common/error.h"

#define RECORDS_PER_PAGE  100
#define BLOBS_PER_PAGE    1000
#define PROJECTS_PER_PAGE 100

typedef struct counting {
    const kedge_project *project; /* the one whose records are counted */
    const kedge_log *log;         /* … and the log */
    int64_t bytes;
    kedge_buffer last; /* the last project of a page */
} counting;

/* ---- records ---- */

/* Called for each record of a partition. */
typedef kedge_status (*visit_record)(counting *work, const kedge_record *record,
                                     kedge_error *error);

static kedge_status count_page(counting *work, const kedge_record_set *set, visit_record visit,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < set->count && status == KEDGE_OK; i++) {
        work->bytes += (int64_t)kedge_record_bytes(&set->records[i]);
        if (visit != NULL) status = visit(work, &set->records[i], error);
    }
    return status;
}

static kedge_status count_partition(counting *work, kedge_bytes partition, visit_record visit,
                                    kedge_error *error)
{
    const kedge_records *records = work->project->records;
    kedge_buffer behind = kedge_buffer_make(work->project->allocator);
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        const kedge_records_query query = {.partition = partition,
                                           .after = kedge_buffer_bytes(&behind),
                                           .limit = RECORDS_PER_PAGE};
        kedge_record_set set = {0};
        status = records->vtable->query(records->self, &query, &set, error);
        if (status == KEDGE_OK) status = count_page(work, &set, visit, error);
        more = status == KEDGE_OK && set.more && set.count > 0;
        if (more) {
            kedge_buffer_clear(&behind);
            kedge_buffer_append_bytes(&behind, set.records[set.count - 1].key.sort);
            status = kedge_buffer_status(&behind, error);
        }
        kedge_record_set_free(&set);
    }
    kedge_buffer_free(&behind);
    return status;
}

static kedge_status count_entries(counting *work, const kedge_record *segment, kedge_error *error)
{
    int64_t number;
    if (!kedge_log_key_read_num(segment->key.sort, &number)) return KEDGE_OK;
    kedge_log_key entries = kedge_log_key_entries(work->log, number);
    return count_partition(work, kedge_log_key_bytes(&entries), NULL, error);
}

static kedge_status count_log(counting *work, const kedge_record *record, kedge_error *error)
{
    const kedge_log log = kedge_log_of(work->project, record->key.sort);
    kedge_log_key segments = kedge_log_key_segments(&log);
    kedge_log_key pending = kedge_log_key_pending(&log);
    work->log = &log;
    kedge_status status = count_partition(work, kedge_log_key_bytes(&pending), NULL, error);
    if (status == KEDGE_OK)
        status = count_partition(work, kedge_log_key_bytes(&segments), count_entries, error);
    work->log = NULL;
    return status;
}

/* ---- projects ---- */

static kedge_status count_project(void *context, kedge_bytes name, const kedge_project_found *found,
                                  kedge_error *error)
{
    counting *work = context;
    const kedge_project *organization = work->project;
    kedge_project project = *organization;
    project.ref.project = name;
    kedge_key versions = kedge_key_partition(&project.ref);
    kedge_log_key logs = kedge_log_key_logs(&project.ref);
    (void)found;
    kedge_buffer_clear(&work->last);
    kedge_buffer_append_bytes(&work->last, name);
    work->project = &project;
    kedge_status status = kedge_buffer_status(&work->last, error);
    if (status == KEDGE_OK) status = count_partition(work, kedge_key_bytes(&versions), NULL, error);
    if (status == KEDGE_OK)
        status = count_partition(work, kedge_log_key_bytes(&logs), count_log, error);
    work->project = organization;
    return status;
}

static kedge_status count_projects(counting *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        kedge_buffer after = kedge_buffer_make(work->project->allocator);
        kedge_buffer_append_bytes(&after, kedge_buffer_bytes(&work->last));
        status = kedge_buffer_status(&after, error);
        if (status == KEDGE_OK)
            status = kedge_project_list(work->project->backend, work->project->ref.organization,
                                        kedge_buffer_bytes(&after), PROJECTS_PER_PAGE,
                                        count_project, work, &more, error);
        kedge_buffer_free(&after);
    }
    return status;
}

/* ---- blobs ---- */

static kedge_status count_blobs(counting *work, kedge_error *error)
{
    const kedge_blobs *blobs = work->project->blobs;
    kedge_key prefix = kedge_key_blobs_of_organization(work->project->ref.organization);
    kedge_buffer after = kedge_buffer_make(work->project->allocator);
    kedge_status status = KEDGE_OK;
    for (bool more = true; more && status == KEDGE_OK;) {
        kedge_blob_list list = {0};
        status = blobs->vtable->list(blobs->self, kedge_key_bytes(&prefix),
                                     kedge_buffer_bytes(&after), BLOBS_PER_PAGE, &list, error);
        if (status != KEDGE_OK) break;
        for (size_t i = 0; i < list.count; i++)
            work->bytes += list.blobs[i].size_bytes;
        more = list.more && list.count > 0;
        if (more) {
            kedge_buffer_clear(&after);
            kedge_buffer_append_text(&after, list.blobs[list.count - 1].key);
            status = kedge_buffer_status(&after, error);
        }
        kedge_blob_list_free(&list);
    }
    kedge_buffer_free(&after);
    return status;
}

kedge_status kedge_usage_recount(const kedge_project *project, int64_t *before, int64_t *after,
                                 kedge_error *error)
{
    counting work = {.project = project, .last = kedge_buffer_make(project->allocator)};
    kedge_status status = kedge_usage_read(project, before, error);
    if (status == KEDGE_OK) status = count_projects(&work, error);
    if (status == KEDGE_OK) status = count_blobs(&work, error);
    if (status == KEDGE_OK) status = kedge_usage_add(project, work.bytes - *before, after, error);
    kedge_buffer_free(&work.last);
    return status;
}
