/* Going through the entries of logs. */
#include "backend/effects/reprocess.h"

#include "backend/log/layout.h"
#include "backend/log/segments.h"
#include "common/error.h"

#include <stdio.h>
#include <string.h>

#define SORT       "Logs"
#define NAME_SIZE  65
#define LOGS       100 /* that are listed at a time */
#define SEGMENTS   100
#define ATTRIBUTES 4

typedef struct progress {
    char log[NAME_SIZE]; /* "": none yet */
    int64_t next;        /* -1: the log is done with */
    int64_t revision;    /* 0: there is no record, or it is damaged */
} progress;

typedef struct reprocessing {
    const kedge_effects *effects;
    const kedge_project *project;
    int64_t since_s;
    kedge_reprocess_result *result;
    kedge_log_key partition;
    progress at;
    bool damaged; /* the record has no revision */
} reprocessing;

/* ---- the record ---- */

static kedge_record_key key_of(const reprocessing *run)
{
    return (kedge_record_key){kedge_log_key_bytes(&run->partition), KEDGE_BYTES(SORT)};
}

static int64_t number_of(const kedge_record *record, const char *name)
{
    const kedge_attribute *found = kedge_record_attribute(record, name);
    return found != NULL && found->type == KEDGE_ATTRIBUTE_NUMBER ? found->number : 0;
}

static bool read_progress(const kedge_record *record, progress *at)
{
    const kedge_attribute *log = kedge_record_attribute(record, "log");
    at->next = number_of(record, "next");
    if (log == NULL) return true;
    if (log->type != KEDGE_ATTRIBUTE_TEXT || log->bytes.size >= sizeof at->log) return false;
    memcpy(at->log, log->bytes.data, log->bytes.size);
    at->log[log->bytes.size] = '\0';
    return true;
}

/* A damaged record is one of another run: everything can be repeated. */
static kedge_status load(reprocessing *run, kedge_error *error)
{
    const kedge_records *records = run->project->records;
    kedge_record_set set = {0};
    kedge_error failure = {0};
    kedge_record_key key = key_of(run);
    const kedge_records_query query = {.partition = key.partition, .limit = 1, .consistent = true};
    kedge_status status = records->vtable->query(records->self, &query, &set, &failure);
    if (status == KEDGE_OK && set.count > 0) {
        const kedge_record *record = &set.records[0];
        int64_t revision = number_of(record, "revision");
        bool same = revision > 0 && number_of(record, "since") == run->since_s &&
                    read_progress(record, &run->at);
        if (!same) run->at = (progress){.next = -1};
        run->at.revision = revision > 0 ? revision : 0;
        run->damaged = revision <= 0;
        run->result->continued = same;
    }
    kedge_record_set_free(&set);
    if (status != KEDGE_OK && error != NULL) *error = failure;
    return status;
}

static kedge_attribute number(const char *name, int64_t value)
{
    return (kedge_attribute){.name = name, .type = KEDGE_ATTRIBUTE_NUMBER, .number = value};
}

/* Puts the record over the revision that it has, or removes it in the end. */
static kedge_status write_progress(reprocessing *run, kedge_write_kind kind, kedge_error *error)
{
    const kedge_records *records = run->project->records;
    const kedge_attribute attributes[ATTRIBUTES] = {
        number("since", run->since_s),
        number("next", run->at.next),
        number("revision", run->at.revision + 1),
        {.name = "log", .type = KEDGE_ATTRIBUTE_TEXT, .bytes = kedge_bytes_of(run->at.log)}};
    kedge_record_write write = {
        .kind = kind,
        .record = {key_of(run), attributes, kind == KEDGE_WRITE_PUT ? ATTRIBUTES : 0},
        .condition = run->at.revision == 0 ? KEDGE_IF_ABSENT : KEDGE_IF_EQUAL,
        .expected = number("revision", run->at.revision)};
    if (run->damaged) write.condition = KEDGE_IF_ANY;
    kedge_status status = records->vtable->write(records->self, &write, error);
    if (status == KEDGE_OK) {
        run->at.revision++;
        run->damaged = false;
    }
    if (status != KEDGE_CONFLICT) return status;
    return kedge_fail(error, KEDGE_BUSY, "reprocess-elsewhere",
                      "another run goes through the logs of this project; end one of them, and run "
                      "the other again");
}

/* ---- a log ---- */

/* The number of the first entry of the newest segment that began before the time; all entries that
 * are younger are there or later. */
static kedge_status find_start(reprocessing *run, const kedge_log *log, int64_t *number,
                               kedge_error *error)
{
    kedge_log_segment segments[SEGMENTS];
    int64_t from_s = run->since_s - KEDGE_REPROCESS_SKEW_S;
    int64_t from = KEDGE_LOG_NUMBER_MAX;
    bool more = true;
    kedge_status status = KEDGE_OK;
    *number = 0;
    while (more && from >= 0 && status == KEDGE_OK) {
        size_t count = 0;
        status = kedge_log_segments_list(log, from, SEGMENTS, segments, &count, &more, error);
        for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
            *number = segments[i].first;
            from = segments[i].num - 1;
            if (segments[i].created_s < from_s) return KEDGE_OK;
        }
        if (count == 0) break;
    }
    return status;
}

static kedge_status apply_page(reprocessing *run, const kedge_log *log, const kedge_log_page *page,
                               kedge_error *error)
{
    kedge_reprocess_result *result = run->result;
    for (size_t i = 0; i < page->count; i++) {
        const kedge_log_entry *entry = &page->entries[i];
        run->at.next = entry->at.number;
        if (entry->created_s >= run->since_s - KEDGE_REPROCESS_SKEW_S) {
            kedge_status status = kedge_effects_of_entry(run->effects, log, entry, error);
            if (status != KEDGE_OK) return status;
            result->entries++;
            result->bodies += entry->external.size > 0;
            result->snapshots += entry->snapshot.size == 0 &&
                                 kedge_bytes_equal_text(entry->type, KEDGE_LOG_SNAPSHOT);
        }
        run->at.next = entry->at.number + 1;
    }
    return KEDGE_OK;
}

static void pass_over(const reprocessing *run, const kedge_error *why)
{
    if (run->effects->passed != NULL) run->effects->passed(run->effects->context, why);
    run->result->passed++;
}

/* Goes on by one page, or by one entry that cannot be read: its failure is told, and it is passed
 * over. */
static kedge_status step(reprocessing *run, const kedge_log *log, bool *ended, kedge_error *error)
{
    kedge_log_reader reader;
    kedge_error failure = {0};
    kedge_log_page page = kedge_log_page_make(run->project->allocator);
    int64_t next = run->at.next;
    kedge_status status =
        kedge_log_query(log, KEDGE_LOG_FROM_NUMBER, next, false, &reader, &failure);
    if (status == KEDGE_OK) {
        reader.consistent = true;
        status = kedge_log_read(&reader, KEDGE_REPROCESS_PAGE, &page, &failure);
    }
    if (status == KEDGE_OK) {
        status = apply_page(run, log, &page, &failure);
        *ended = page.count == 0;
    } else if (status == KEDGE_CORRUPT || status == KEDGE_UNSUPPORTED) {
        pass_over(run, &failure);
        run->at.next = next + 1;
        status = KEDGE_OK;
    }
    kedge_log_page_free(&page);
    if (status != KEDGE_OK && error != NULL) *error = failure;
    return status;
}

static kedge_status walk(reprocessing *run, const kedge_log *log, kedge_error *error)
{
    bool ended = false;
    kedge_log_summary summary = {.snapshot_entry = kedge_log_page_make(run->project->allocator)};
    kedge_status status = kedge_log_summarize(log, true, &summary, error);
    kedge_log_page_free(&summary.snapshot_entry);
    while (status == KEDGE_OK && !ended) {
        status = step(run, log, &ended, error);
        if (run->at.next >= summary.next) ended = true;
        if (status == KEDGE_OK && !ended) status = write_progress(run, KEDGE_WRITE_PUT, error);
    }
    return status;
}

/* A log that is damaged must not hold up those behind it. */
static kedge_status process_log(reprocessing *run, kedge_bytes name, kedge_error *error)
{
    kedge_error failure = {0};
    kedge_log log = kedge_log_of(run->project, name);
    bool within = run->at.next >= 0 && kedge_bytes_equal_text(name, run->at.log);
    kedge_status status = KEDGE_OK;
    if (!within) status = find_start(run, &log, &run->at.next, &failure);
    if (!within) {
        memcpy(run->at.log, name.data, name.size);
        run->at.log[name.size] = '\0';
    }
    if (status == KEDGE_OK) status = walk(run, &log, &failure);
    if (status == KEDGE_CORRUPT)
        pass_over(run, &failure);
    else if (status == KEDGE_OK)
        run->result->logs++;
    else
        return kedge_fail(error, status, failure.code, "%s", failure.message);
    run->at.next = -1;
    return write_progress(run, KEDGE_WRITE_PUT, error);
}

/* ---- all logs ---- */

typedef struct name_list {
    char names[LOGS][NAME_SIZE];
    size_t count;
} name_list;

static kedge_status note_log(void *context, kedge_bytes name, int64_t created_s, kedge_error *error)
{
    (void)created_s;
    name_list *list = context;
    if (name.size >= NAME_SIZE)
        return kedge_fail(error, KEDGE_CORRUPT, "log-corrupt", "the name of a log is too long");
    snprintf(list->names[list->count++], NAME_SIZE, "%.*s", (int)name.size, name.data);
    return KEDGE_OK;
}

static kedge_status process_all(reprocessing *run, name_list *list, kedge_error *error)
{
    bool more = true;
    kedge_status status = KEDGE_OK;
    if (run->at.next >= 0 && run->at.log[0] != '\0')
        status = process_log(run, kedge_bytes_of(run->at.log), error);
    while (more && status == KEDGE_OK) {
        list->count = 0;
        status = kedge_log_list(run->project, kedge_bytes_of(run->at.log), LOGS, note_log, list,
                                &more, error);
        for (size_t i = 0; i < list->count && status == KEDGE_OK; i++)
            status = process_log(run, kedge_bytes_of(list->names[i]), error);
    }
    return status;
}

kedge_status kedge_reprocess_logs(const kedge_effects *effects, const kedge_project *project,
                                  int64_t since_s, kedge_reprocess_result *result,
                                  kedge_error *error)
{
    reprocessing run = {.effects = effects,
                        .project = project,
                        .since_s = since_s,
                        .result = result,
                        .partition = kedge_log_key_reprocess(&project->ref),
                        .at = {.next = -1}};
    *result = (kedge_reprocess_result){.continued = false};
    name_list *list = kedge_allocate(project->allocator, sizeof *list);
    if (list == NULL) return kedge_fail_no_memory(error);
    kedge_status status = load(&run, error);
    if (status == KEDGE_OK) status = process_all(&run, list, error);
    if (status == KEDGE_OK && run.at.revision > 0)
        status = write_progress(&run, KEDGE_WRITE_DELETE, error);
    kedge_release(project->allocator, list);
    return status;
}
