/* The maker of snapshots. */
#include "backend/effects/make.h"

#include "backend/base/background.h"
#include "backend/effects/fold.h"
#include "backend/logged/snapshots.h"
#include "backend/versioned/projects/projects.h"
#include "backend/versioned/usage/usage.h"
#include "common/error.h"
#include "common/json.h"

#include <string.h>

/* The log of mutations of a log project; one of the same name in another project is an app's. */
static kedge_status look_at_kind(const kedge_log *log, bool *of_project, kedge_error *error)
{
    kedge_project_kind kind = KEDGE_PROJECT_VERSIONS;
    *of_project = kedge_bytes_equal_text(log->name, KEDGE_LOGGED_LOG);
    if (!*of_project) return KEDGE_OK;
    kedge_status status = kedge_project_find_kind(log->project, &kind, error);
    *of_project = kind == KEDGE_PROJECT_LOG;
    if (status != KEDGE_NOT_FOUND) return status;
    return kedge_fail(error, KEDGE_UNSUPPORTED, "snapshot-empty",
                      "the log has been made, and its project not yet");
}

/* The entries are the truth: from a progress that is damaged, the snapshot is begun anew. */
static kedge_fold_piece read_progress(const kedge_log *log, const kedge_buffer *progress)
{
    kedge_error error = {0};
    kedge_fold_piece piece = {.number = -1};
    kedge_bytes text = kedge_buffer_bytes(progress);
    if (text.size == 0 || (kedge_json_member_integer(text, "number", &piece.number) &&
                           kedge_json_member_chars(text, "id", piece.id, sizeof piece.id)))
        return piece;
    kedge_fail(&error, KEDGE_CORRUPT, KEDGE_PENDING_DAMAGED,
               "the progress of a pending snapshot of the log %.*s is damaged", (int)log->name.size,
               log->name.data);
    kedge_background_failed(log->project, KEDGE_BACKGROUND_LOG_SNAPSHOTS, &error);
    return (kedge_fold_piece){.number = -1};
}

static void write_progress(const kedge_fold_piece *piece, kedge_buffer *progress)
{
    kedge_json_writer writer = kedge_json_write(progress);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "id");
    kedge_json_chars(&writer, piece->id);
    kedge_json_key(&writer, "number");
    kedge_json_integer(&writer, piece->number);
    kedge_json_end_object(&writer);
}

static kedge_status make_of_project(const kedge_log *log, int64_t number, kedge_fold_piece *piece,
                                    kedge_error *error)
{
    kedge_project project = *log->project;
    kedge_logged_piece logged = {.number = piece->number};
    project.history = &kedge_logged_history;
    if (number == 0)
        return kedge_fail(error, KEDGE_UNSUPPORTED, "snapshot-empty",
                          "there is no mutation before entry 0");
    memcpy(logged.id, piece->id, sizeof logged.id);
    kedge_status status =
        kedge_logged_snapshot_piece(&project, number, KEDGE_EFFECTS_PIECE_ENTRIES, &logged, error);
    piece->number = logged.number;
    memcpy(piece->id, logged.id, sizeof piece->id);
    return status;
}

static kedge_status make_piece(const kedge_log *log, const kedge_log_place *at,
                               kedge_buffer *progress, bool *complete, kedge_error *error)
{
    bool of_project = false;
    kedge_status status = look_at_kind(log, &of_project, error);
    if (status != KEDGE_OK) return status;
    kedge_fold_piece piece = read_progress(log, progress);
    status = of_project ? make_of_project(log, at->number, &piece, error)
                        : kedge_effects_fold(log, at, KEDGE_EFFECTS_PIECE_ENTRIES, &piece, error);
    if (status != KEDGE_OK) return status;
    *complete = piece.number == at->number;
    kedge_buffer_clear(progress);
    if (*complete)
        kedge_buffer_append_text(progress, piece.id);
    else
        write_progress(&piece, progress);
    return KEDGE_OK;
}

kedge_status kedge_effects_make(void *context, const kedge_log *log, const kedge_log_place *at,
                                kedge_buffer *progress, bool *complete, kedge_error *error)
{
    (void)context;
    kedge_usage_begin();
    kedge_status status = make_piece(log, at, progress, complete, error);
    kedge_usage_end(log->project);
    return status;
}
