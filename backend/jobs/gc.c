/* Garbage collection: marks, references, and what becomes of each blob. */
#include "backend/jobs/gc.h"

#include "backend/base/backend.h"
#include "backend/jobs/gc_references.h"
#include "backend/jobs/visit.h"
#include "backend/versioned/versions/blob.h"
#include "common/error.h"

#include <stdlib.h>
#include <string.h>

#define BLOBS_PER_PAGE 1000

/* A mark that there was when the run began. */
typedef struct gc_mark {
    kedge_garbage_mark mark;
    bool met; /* its blob is there */
} gc_mark;

typedef struct collecting {
    const kedge_project *project;
    const kedge_gc_options *options;
    const kedge_lines *lines;
    kedge_gc_result *result;
    kedge_buffer line;
    kedge_key_set references;
    gc_mark *marks; /* by key */
    size_t mark_count;
    size_t mark_capacity;
    int64_t started_ms; /* before anything was read */
} collecting;

static int64_t or_else(int64_t value, int64_t otherwise)
{
    return value == 0 ? otherwise : value;
}

/* ---- marks ---- */

/* They come in the order of their keys. */
static kedge_status keep_mark(void *context, const kedge_record *record, kedge_error *error)
{
    collecting *work = context;
    const kedge_allocator *allocator = work->project->allocator;
    if (work->mark_count == work->mark_capacity) {
        size_t capacity = work->mark_capacity == 0 ? 64 : work->mark_capacity * 2;
        gc_mark *grown =
            allocator->reallocate(allocator->context, work->marks, capacity * sizeof *grown);
        if (grown == NULL) return kedge_fail_no_memory(error);
        work->marks = grown;
        work->mark_capacity = capacity;
    }
    gc_mark *added = &work->marks[work->mark_count];
    memset(added, 0, sizeof *added);
    if (kedge_garbage_read(record, &added->mark)) work->mark_count++;
    return KEDGE_OK;
}

static int compare_key(const void *key, const void *mark)
{
    return kedge_bytes_compare(kedge_key_bytes(key),
                               kedge_key_bytes(&((const gc_mark *)mark)->mark.key));
}

static gc_mark *find_mark(const collecting *work, const kedge_key *key)
{
    if (work->mark_count == 0) return NULL;
    return bsearch(key, work->marks, work->mark_count, sizeof *work->marks, compare_key);
}

/* KEDGE_CONFLICT: a writer or another collection has changed the mark meanwhile. What it has put
 * holds, and this collection leaves the blob as it is. */
static kedge_status unless_changed(kedge_status status)
{
    return status == KEDGE_CONFLICT ? KEDGE_OK : status;
}

/* ---- one blob ---- */

static kedge_status tell_removed(collecting *work, const kedge_blob_info *blob, kedge_error *error)
{
    work->result->removed++;
    work->result->removed_bytes += blob->size_bytes;
    kedge_json_writer writer = kedge_json_write(&work->line);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "garbage");
    kedge_json_chars(&writer, blob->key);
    kedge_json_key(&writer, "bytes");
    kedge_json_integer(&writer, blob->size_bytes);
    kedge_json_end_object(&writer);
    return kedge_lines_put(work->lines, &work->line, error);
}

/* From the claim on, writers that need the blob wait. A writer that has waited for
 * KEDGE_GARBAGE_CLAIM_MS takes the blob for one that stays. So the claim may take at most half of
 * that time; when it took longer, the blob is left. */
static kedge_status remove_blob(collecting *work, const kedge_blob_info *blob,
                                kedge_garbage_mark *mark, kedge_error *error)
{
    const kedge_environment *environment = work->project->environment;
    const kedge_blobs *blobs = work->project->blobs;
    int64_t claimed_ms = environment->monotonic_ms(environment->context);
    kedge_status status = kedge_garbage_claim(work->project, mark, error);
    if (status != KEDGE_OK) return unless_changed(status);
    int64_t taken_ms = environment->monotonic_ms(environment->context) - claimed_ms;
    if (taken_ms > KEDGE_GARBAGE_CLAIM_MS / 2) {
        return kedge_fail(error, KEDGE_UNAVAILABLE, "too-slow",
                          "the store took %lld ms to claim a blob, and %d ms are allowed, since "
                          "it may be needed again; run the collection again",
                          (long long)taken_ms, KEDGE_GARBAGE_CLAIM_MS / 2);
    }
    status = blobs->vtable->remove(blobs->self, kedge_bytes_of(blob->key), error);
    if (status == KEDGE_OK) {
        status = unless_changed(kedge_garbage_delete(work->project, mark, error));
    }
    return status == KEDGE_OK ? tell_removed(work, blob, error) : status;
}

/* A blob that nobody refers to, old enough, with the mark of an earlier run. */
static kedge_status see_marked(collecting *work, const kedge_blob_info *blob, gc_mark *marked,
                               int64_t grace_ms, kedge_error *error)
{
    kedge_garbage_mark *mark = &marked->mark;
    if (!kedge_garbage_is_found(mark)) {
        if (!work->options->remove || kedge_garbage_is_claimed(mark, work->started_ms))
            return KEDGE_OK;
        return unless_changed(kedge_garbage_put(work->project, &mark->key, mark, error));
    }
    if (work->started_ms - mark->since_ms < grace_ms) return KEDGE_OK;
    return work->options->remove ? remove_blob(work, blob, mark, error)
                                 : tell_removed(work, blob, error);
}

static kedge_status see_unreferenced(collecting *work, const kedge_blob_info *blob,
                                     const kedge_key *key, gc_mark *marked, kedge_error *error)
{
    bool is_push = kedge_bytes_start_with(kedge_key_bytes(key), KEDGE_BYTES("Garbage#pushes/"));
    int64_t grace_ms = or_else(work->options->grace_ms, KEDGE_GC_GRACE_MS);
    int64_t least_ms = is_push ? or_else(work->options->pushes_ms, KEDGE_GC_PUSHES_MS) : grace_ms;
    work->result->unreferenced++;
    work->result->unreferenced_bytes += blob->size_bytes;
    if (work->started_ms - blob->modified_ms < least_ms) return KEDGE_OK;
    if (marked != NULL) return see_marked(work, blob, marked, grace_ms, error);
    if (!work->options->remove) return KEDGE_OK;
    kedge_status status = kedge_garbage_put(work->project, key, NULL, error);
    if (status == KEDGE_OK) work->result->marked++;
    return unless_changed(status);
}

static kedge_status see_blob(collecting *work, const kedge_blob_info *blob, kedge_error *error)
{
    kedge_bytes name = kedge_bytes_of(blob->key);
    kedge_key key;
    work->result->blobs++;
    work->result->bytes += blob->size_bytes;
    /* A blob that is not named by its content was not put by Kedge. */
    if (!kedge_garbage_key(&work->project->ref, name, &key)) return KEDGE_OK;
    gc_mark *marked = find_mark(work, &key);
    if (marked != NULL) marked->met = true;
    bool kept = kedge_key_set_has(&work->references, name) ||
                (work->options->kept != NULL && kedge_key_set_has(work->options->kept, name));
    if (!kept) return see_unreferenced(work, blob, &key, marked, error);
    if (marked == NULL || !work->options->remove ||
        kedge_garbage_is_claimed(&marked->mark, work->started_ms)) {
        return KEDGE_OK;
    }
    return unless_changed(kedge_garbage_delete(work->project, &marked->mark, error));
}

/* ---- all blobs ---- */

static kedge_status see_blobs(collecting *work, kedge_error *error)
{
    const kedge_blobs *blobs = work->project->blobs;
    kedge_key prefix = kedge_key_blobs(&work->project->ref);
    kedge_buffer after = kedge_buffer_make(work->project->allocator);
    bool more = true;
    kedge_status status = KEDGE_OK;
    while (more && status == KEDGE_OK) {
        kedge_blob_list list = {0};
        status = blobs->vtable->list(blobs->self, kedge_key_bytes(&prefix),
                                     kedge_buffer_bytes(&after), BLOBS_PER_PAGE, &list, error);
        if (status != KEDGE_OK) break;
        more = list.more && list.count > 0;
        for (size_t i = 0; i < list.count && status == KEDGE_OK; i++) {
            status = see_blob(work, &list.blobs[i], error);
        }
        if (list.count > 0) {
            kedge_buffer_clear(&after);
            kedge_buffer_append_text(&after, list.blobs[list.count - 1].key);
        }
        if (status == KEDGE_OK) status = kedge_buffer_status(&after, error);
        kedge_blob_list_free(&list);
    }
    kedge_buffer_free(&after);
    return status;
}

/* Marks whose blob is not there: it was removed, and the mark was not. */
static kedge_status drop_marks(collecting *work, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < work->mark_count && status == KEDGE_OK; i++) {
        const gc_mark *marked = &work->marks[i];
        if (marked->met || !work->options->remove ||
            kedge_garbage_is_claimed(&marked->mark, work->started_ms))
            continue;
        status = unless_changed(kedge_garbage_delete(work->project, &marked->mark, error));
    }
    return status;
}

/* ---- the job ---- */

static kedge_status tell_summary(collecting *work, kedge_error *error)
{
    const kedge_gc_result *result = work->result;
    const struct {
        const char *name;
        int64_t value;
    } members[] = {
        {"blobs", result->blobs},
        {"bytes", result->bytes},
        {"unreferenced", result->unreferenced},
        {"unreferenced_bytes", result->unreferenced_bytes},
        {"marked", result->marked},
        {work->options->remove ? "removed" : "removable", result->removed},
        {work->options->remove ? "removed_bytes" : "removable_bytes", result->removed_bytes}};
    kedge_json_writer writer = kedge_json_write(&work->line);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "collected");
    kedge_json_text(&writer, work->project->ref.project);
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        kedge_json_key(&writer, members[i].name);
        kedge_json_integer(&writer, members[i].value);
    }
    kedge_json_end_object(&writer);
    return kedge_lines_put(work->lines, &work->line, error);
}

/* The order matters. A writer that found a blob's key taken before there was a mark has committed
 * long before the mark is as old as the grace, so that the references, which are read after that
 * moment, have it; one that came after has taken the mark away. */
static kedge_status run(collecting *work, kedge_error *error)
{
    kedge_backend *backend = work->project->backend;
    const kedge_version *creation = NULL;
    work->started_ms = backend->environment->now_ms(backend->environment->context);
    kedge_status status = kedge_version_load_creation(work->project, &creation, error);
    kedge_version_release(creation);
    if (status == KEDGE_OK) {
        status = kedge_visit_records(work->project, "Garbage#", keep_mark, work, error);
    }
    if (status == KEDGE_OK) {
        status = kedge_gc_references(work->project, &work->references, error);
    }
    if (status == KEDGE_OK) status = see_blobs(work, error);
    if (status == KEDGE_OK) status = drop_marks(work, error);
    return status == KEDGE_OK ? tell_summary(work, error) : status;
}

kedge_status kedge_gc_run(const kedge_project *project, const kedge_gc_options *options,
                          const kedge_lines *lines, kedge_gc_result *result, kedge_error *error)
{
    collecting work = {.project = project,
                       .options = options,
                       .lines = lines,
                       .result = result,
                       .line = kedge_buffer_make(project->allocator),
                       .references = {.allocator = project->allocator}};
    memset(result, 0, sizeof *result);
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status == KEDGE_OK) status = run(&work, error);
    kedge_key_set_free(&work.references);
    kedge_release(project->allocator, work.marks);
    kedge_buffer_free(&work.line);
    return status;
}
