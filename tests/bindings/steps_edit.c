/* Steps that open, edit and close copies. */
#include "tests/bindings/runner.h"

#include <stdlib.h>
#include <string.h>

static bool flag(const cJSON *step, const char *member)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(step, member));
}

static size_t fill_mutators(kedge_mutator mutators[RUNNER_MUTATORS], const cJSON *names)
{
    size_t count = 0;
    const cJSON *name;
    cJSON_ArrayForEach(name, names)
    {
        if (count < RUNNER_MUTATORS) mutators[count++] = runner_mutator(name->valuestring);
    }
    return count;
}

static kedge_status open_copy(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    char path[RUNNER_PATH_BYTES];
    copy *opened = runner_find_copy(at, step_text(step, "copy"));
    kedge_options options = KEDGE_OPTIONS_INIT;
    runner_copy_path(at, opened->name, path);
    options.path = path;
    options.url = cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(step, "url")) ? NULL : at->url;
    options.organization = at->organization;
    options.project = step_text_or_null(step, "project");
    if (!options.project) options.project = at->project;
    options.user = step_text_or_null(step, "user");
    options.role = step_text_or_null(step, "role");
    options.schema_version = step_text_or_null(step, "schema_version");
    options.offline = flag(step, "offline");
    options.caller_driven = flag(step, "caller_driven");
    options.create_project = flag(step, "create_project");
    options.mutators = opened->mutators;
    options.mutator_count =
        fill_mutators(opened->mutators, cJSON_GetObjectItemCaseSensitive(step, "mutators"));
    options.client_mutators = opened->client_mutators;
    options.client_mutator_count = fill_mutators(
        opened->client_mutators, cJSON_GetObjectItemCaseSensitive(step, "client_mutators"));
    return kedge_open(&options, &opened->db, error);
}

static kedge_status close_copy(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    (void)error;
    kedge_status status = kedge_close(step_db(at, step));
    runner_find_copy(at, step_text(step, "copy"))->db = NULL;
    return status;
}

/* Args are JSON, or a text that need not be JSON. */
static char *step_args(const cJSON *step)
{
    const char *raw = step_text_or_null(step, "args_text");
    return raw ? strdup(raw) : step_json(step, "args");
}

static void give_sequence(cJSON *given, int64_t sequence)
{
    cJSON_AddNumberToObject(given, "sequence", (double)sequence);
}

static kedge_status mutate(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    int64_t sequence = 0;
    char *args = step_args(step);
    kedge_status status = kedge_mutate(step_db(at, step), step_text(step, "name"), args,
                                       strlen(args), &sequence, error);
    if (status == KEDGE_OK) give_sequence(given, sequence);
    free(args);
    return status;
}

static kedge_status edit_text(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    int64_t sequence = 0;
    const char *id = step_text(step, "id");
    kedge_status status = kedge_text_edit(
        step_db(at, step), step_text(step, "collection"), id, strlen(id), step_text(step, "path"),
        step_text_or_null(step, "base"), step_text(step, "text"), &sequence, error);
    if (status == KEDGE_OK) give_sequence(given, sequence);
    return status;
}

static kedge_status commit_batch(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    int64_t sequence = 0;
    kedge_batch *batch = NULL;
    kedge_status status = kedge_batch_begin(step_db(at, step), &batch, error);
    const cJSON *edit;
    cJSON_ArrayForEach(edit, cJSON_GetObjectItemCaseSensitive(step, "edits"))
    {
        char *args = step_args(edit);
        if (status == KEDGE_OK)
            status = kedge_batch_add(batch, step_text(edit, "name"), args, strlen(args), error);
        free(args);
    }
    if (status == KEDGE_OK) status = kedge_batch_commit(batch, &sequence, error);
    if (status == KEDGE_OK) give_sequence(given, sequence);
    kedge_batch_free(batch);
    return status;
}

static kedge_status cancel(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    return kedge_cancel(step_db(at, step), step_integer(step, "sequence", 0), error);
}

static kedge_status begin_undo(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    return kedge_undo_begin(step_db(at, step), step_text_or_null(step, "label"), error);
}

static kedge_status end_undo(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    (void)given;
    return kedge_undo_end(step_db(at, step), error);
}

typedef kedge_status (*take_back)(kedge_db *, kedge_undo_result *, kedge_error *);

static kedge_status undo_or_redo(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    take_back function = strcmp(step_text(step, "do"), "undo") == 0 ? kedge_undo : kedge_redo;
    kedge_status status = function(step_db(at, step), &result, error);
    if (status != KEDGE_OK) return status;
    give_sequence(given, result.sequence);
    cJSON_AddNumberToObject(given, "restored", (double)result.restored);
    cJSON_AddNumberToObject(given, "kept", (double)result.kept);
    return status;
}

static kedge_status undo_state(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    kedge_status status = kedge_get_undo_state(step_db(at, step), &state, error);
    cJSON_AddNumberToObject(given, "undo_count", state.undo_count);
    cJSON_AddNumberToObject(given, "redo_count", state.redo_count);
    cJSON_AddBoolToObject(given, "open", state.open);
    cJSON_AddStringToObject(given, "undo_label", state.undo_label);
    cJSON_AddStringToObject(given, "redo_label", state.redo_label);
    return status;
}

static kedge_status repair(runner *at, const cJSON *step, cJSON *given, kedge_error *error)
{
    char path[RUNNER_PATH_BYTES], new_path[RUNNER_PATH_BYTES];
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    runner_copy_path(at, step_text(step, "copy"), path);
    runner_copy_path(at, step_text(step, "into"), new_path);
    kedge_status status = kedge_repair(path, new_path, &report, error);
    cJSON_AddNumberToObject(given, "pending", (double)report.pending);
    cJSON_AddNumberToObject(given, "rejected", (double)report.rejected);
    cJSON_AddNumberToObject(given, "confirmed", (double)report.confirmed);
    cJSON_AddNumberToObject(given, "damaged", (double)report.damaged);
    cJSON_AddNumberToObject(given, "missing", (double)report.missing);
    return status;
}

const step_row edit_steps[] = {
    {"open", open_copy},
    {"close", close_copy},
    {"mutate", mutate},
    {"text", edit_text},
    {"batch", commit_batch},
    {"cancel", cancel},
    {"undo_begin", begin_undo},
    {"undo_end", end_undo},
    {"undo", undo_or_redo},
    {"redo", undo_or_redo},
    {"undo_state", undo_state},
    {"repair", repair},
    {NULL, NULL},
};
