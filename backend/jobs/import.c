/* Import: from the first line to the commit. */
#include "backend/jobs/import_internal.h"

#include "backend/base/background.h"
#include "backend/jobs/export.h"
#include "backend/versioned/state/checkpoint.h"
#include "common/error.h"

#include <string.h>

/* ---- the first line ---- */

static kedge_status read_first(importing *work, kedge_bytes line, kedge_error *error)
{
    int64_t format = 0;
    kedge_bytes forked;
    kedge_status status =
        kedge_json_check(line, KEDGE_LIMIT_JSON_DEPTH, &kedge_allocator_default, error);
    if (status == KEDGE_NO_MEMORY) return status;
    if (status != KEDGE_OK || !kedge_json_member_integer(line, "kedge_export", &format)) {
        return import_damaged("the first line", error);
    }
    if (format != KEDGE_EXPORT_FORMAT) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "export-format-newer",
                          "the export has the format %lld; this Kedge reads the format %d",
                          (long long)format, KEDGE_EXPORT_FORMAT);
    }
    bool fine = kedge_json_member_chars(line, "id", work->id, sizeof work->id) &&
                kedge_json_member_chars(line, "lineage", work->lineage, sizeof work->lineage) &&
                strlen(work->lineage) == KEDGE_LINEAGE_HEX - 1 &&
                kedge_json_member_integer(line, "created", &work->created_ms) &&
                kedge_json_member_integer(line, "oldest", &work->oldest) &&
                kedge_json_member_integer(line, "newest", &work->newest) && work->oldest >= 1 &&
                work->newest >= 0 && work->newest < KEDGE_VERSION_IMPORTING &&
                (work->oldest <= work->newest || work->oldest == 1);
    if (!fine) return import_damaged("the first line", error);
    if (kedge_json_member(line, "forked", &forked)) {
        kedge_buffer_append_bytes(&work->forked, forked);
    }
    work->version = work->oldest - 1;
    work->result->oldest = work->oldest;
    work->result->newest = work->newest;
    return kedge_buffer_status(&work->forked, error);
}

/* ---- all lines ---- */

static kedge_status next_line(const kedge_line_source *lines, kedge_buffer *line, bool *end,
                              kedge_error *error)
{
    kedge_buffer_clear(line);
    *end = false;
    kedge_status status = lines->next(lines->context, line, end, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(line, error);
    return status;
}

/* Damage, with the number of the line that is being read. The chain counts those before it. */
static kedge_status in_line(const importing *work, kedge_status status, kedge_error *error)
{
    char what[sizeof error->message];
    if (status != KEDGE_INVALID_ARGUMENT || error == NULL) return status;
    if (strcmp(error->code, KEDGE_IMPORT_DAMAGED) != 0) return status;
    memcpy(what, error->message, sizeof what);
    return kedge_fail(error, status, KEDGE_IMPORT_DAMAGED, "line %lld of the export: %s",
                      (long long)work->chain.lines + 1, what);
}

static kedge_status read_lines(importing *work, const kedge_line_source *lines, kedge_buffer *line,
                               kedge_error *error)
{
    bool end = false;
    kedge_status status = next_line(lines, line, &end, error);
    while (status == KEDGE_OK && !end && !work->ended) {
        /* The last line tells the hash of those before it. */
        status = in_line(work, import_line(work, kedge_buffer_bytes(line), error), error);
        if (status == KEDGE_OK && !work->ended) {
            status = kedge_chain_add(&work->chain, kedge_buffer_bytes(line), error);
        }
        if (status == KEDGE_OK) status = next_line(lines, line, &end, error);
    }
    if (status != KEDGE_OK) return status;
    if (!work->ended) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, KEDGE_IMPORT_DAMAGED,
                          "the export ends at line %lld, before its last one, {\"end\":…}",
                          (long long)work->chain.lines);
    }
    if (end) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, KEDGE_IMPORT_DAMAGED,
                      "the export has lines after line %lld, its last one, {\"end\":…}",
                      (long long)work->chain.lines + 1);
}

/* So that no reader has to fold all versions from the oldest on. The import is complete without
 * them: a failure is reported as one of background work. */
static void write_checkpoints(importing *work)
{
    kedge_state *state = NULL;
    kedge_error error = {0};
    kedge_status status = kedge_state_open_newest(work->project, &state, &error);
    if (status == KEDGE_OK) status = kedge_checkpoint_write_due(state, true, &error);
    if (status != KEDGE_OK) {
        kedge_background_failed(work->project, KEDGE_BACKGROUND_IMPORT_CHECKPOINTS, &error);
    }
    kedge_state_close(state);
}

static kedge_status run(importing *work, const kedge_line_source *lines, kedge_buffer *line,
                        kedge_error *error)
{
    bool end = false;
    bool done = false;
    kedge_status status = next_line(lines, line, &end, error);
    if (status == KEDGE_OK && end) {
        status = kedge_fail(error, KEDGE_INVALID_ARGUMENT, KEDGE_IMPORT_DAMAGED,
                            "the export has no lines");
    }
    if (status == KEDGE_OK) {
        status = in_line(work, read_first(work, kedge_buffer_bytes(line), error), error);
    }
    if (status == KEDGE_OK) {
        status = kedge_chain_add(&work->chain, kedge_buffer_bytes(line), error);
    }
    if (status == KEDGE_OK) status = import_begin(work, &done, error);
    if (status != KEDGE_OK || done) return status;
    status = read_lines(work, lines, line, error);
    if (status == KEDGE_OK) status = import_commit(work, error);
    if (status != KEDGE_OK) return status;
    work->result->created = true;
    write_checkpoints(work);
    return KEDGE_OK;
}

kedge_status kedge_import_project(const kedge_project *project, const kedge_line_source *lines,
                                  kedge_import_result *result, kedge_error *error)
{
    const kedge_allocator *allocator = project->allocator;
    importing work = {.project = project,
                      .partition = kedge_key_partition(&project->ref),
                      .result = result,
                      .chain = {.allocator = allocator},
                      .forked = kedge_buffer_make(allocator),
                      .bodies = {.allocator = allocator},
                      .replay = kedge_replay_make(project),
                      .items = {.allocator = allocator}};
    kedge_buffer line = kedge_buffer_make(allocator);
    memset(result, 0, sizeof *result);
    kedge_status status = kedge_project_ref_check(&project->ref, error);
    if (status == KEDGE_OK) status = run(&work, lines, &line, error);
    kedge_buffer_free(&line);
    kedge_buffer_free(&work.forked);
    kedge_items_free(&work.items);
    kedge_replay_free(&work.replay);
    kedge_key_set_free(&work.bodies);
    return status;
}
