/* Asks for the versions page by page, newest first, and then replays them, oldest first. */
#include "replay.h"

#include "marks.h"

#include <cjson/cJSON.h>
#include <glib/gstdio.h>
#include <string.h>

#define PAGE_VERSIONS 100
#define TIMEOUT_MS    10000

static void version_free(gpointer data)
{
    note_version *version = data;
    g_free(version->what);
    note_clear(&version->value);
    g_free(version);
}

static const char *text_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? text : "";
}

static int64_t number_of(const cJSON *object, const char *name)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(number) ? (int64_t)number->valuedouble : 0;
}

static kedge_status cancelled(kedge_error *error)
{
    *error = (kedge_error){KEDGE_CANCELLED, "cancelled", "the history is no longer wanted"};
    return KEDGE_CANCELLED;
}

/* Puts the versions into `all`, newest first. */
static kedge_status ask(kedge_db *db, cJSON *all, GCancellable *cancel, kedge_error *error)
{
    int64_t before = 0;
    while (cJSON_GetArraySize(all) < REPLAY_VERSIONS_MAX) {
        kedge_document *document = NULL;
        if (g_cancellable_is_cancelled(cancel)) return cancelled(error);
        kedge_status status =
            kedge_history(db, before, PAGE_VERSIONS, TIMEOUT_MS, &document, error);
        if (status != KEDGE_OK) return status;
        cJSON *page = cJSON_Parse(kedge_document_json(document, NULL));
        kedge_document_free(document);
        int count = cJSON_GetArraySize(page);
        for (int i = 0; i < count; i++) {
            cJSON *version = cJSON_DetachItemFromArray(page, 0);
            before = number_of(version, "version");
            cJSON_AddItemToArray(all, version);
        }
        cJSON_Delete(page);
        if (count == 0 || before <= 1) break;
    }
    return KEDGE_OK;
}

/* Whether an edit names the note. */
typedef struct search {
    const char *id;
    bool found;
} search;

static void compare(void *userdata, const char *id)
{
    search *looked = userdata;
    if (strcmp(id, looked->id) == 0) looked->found = true;
}

static const char *what_of(const cJSON *mutation)
{
    static const struct {
        const char *name, *what;
    } kinds[] = {
        {"notes.add", "Note added"}, {"notes.delete", "Note deleted"},
        {"notes.move", "Moved"},     {"kedge.patch", "Renamed"},
        {"kedge.restore", "Undone"}, {"kedge.batch", "Older version taken"},
    };
    const char *name = text_of(mutation, "name");
    const cJSON *args = cJSON_GetObjectItemCaseSensitive(mutation, "args");
    for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
        if (strcmp(kinds[i].name, name) == 0) return kinds[i].what;
    }
    if (strcmp(name, "kedge.text") != 0) return "Edited";
    return strcmp(text_of(args, "path"), "/title") == 0 ? "Renamed" : "Text edited";
}

/* Makes the applied mutations of a version that name the note; `*what` is what the last one did.
 * One that builds on what is older than the versions at hand is left out. */
static void replay(kedge_db *scratch, const cJSON *version, const char *id, const char *client,
                   note_version *into)
{
    const cJSON *mutation = NULL;
    cJSON_ArrayForEach(mutation, cJSON_GetObjectItemCaseSensitive(version, "mutations"))
    {
        search looked = {id, false};
        if (strcmp(text_of(mutation, "outcome"), "applied") != 0) continue;
        char *args = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(mutation, "args"));
        marks_each_note(args, compare, &looked);
        if (looked.found && kedge_mutate(scratch, text_of(mutation, "name"), args, strlen(args),
                                         NULL, NULL) == KEDGE_OK) {
            g_free(into->what);
            into->what = g_strdup(what_of(mutation));
            into->own = strcmp(text_of(mutation, "client"), client) == 0;
        }
        cJSON_free(args);
    }
}

/* The versions that changed the note, one after the other. */
static kedge_status replay_all(kedge_db *scratch, const cJSON *all, const char *id,
                               const char *client, GPtrArray *into, GCancellable *cancel,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (int i = cJSON_GetArraySize(all); status == KEDGE_OK && i-- > 0;) {
        const cJSON *version = cJSON_GetArrayItem(all, i);
        if (g_cancellable_is_cancelled(cancel)) return cancelled(error);
        note_version *made = g_new0(note_version, 1);
        made->version = number_of(version, "version");
        made->created_ms = number_of(version, "created");
        replay(scratch, version, id, client, made);
        if (!made->what) {
            version_free(made);
            continue;
        }
        status = note_read(scratch, id, &made->value, error);
        made->deleted = status == KEDGE_NOT_FOUND;
        if (made->deleted) {
            note_from_json("{}", &made->value);
            status = KEDGE_OK;
        }
        g_ptr_array_add(into, made);
    }
    return status;
}

/* Removes the folder of a database that was closed. */
static void remove_folder(const char *path)
{
    GDir *folder = g_dir_open(path, 0, NULL);
    const char *name;
    while (folder && (name = g_dir_read_name(folder)) != NULL) {
        char *file = g_build_filename(path, name, NULL);
        g_unlink(file);
        g_free(file);
    }
    if (folder) g_dir_close(folder);
    g_rmdir(path);
}

static kedge_status replay_in(const char *path, const cJSON *all, const char *id,
                              const char *client, GPtrArray *into, GCancellable *cancel,
                              kedge_error *error)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = path;
    options.organization = "history";
    options.project = "history";
    options.mutators = notes_mutators;
    options.mutator_count = notes_mutator_count;
    kedge_db *scratch = NULL;
    kedge_status status = kedge_open(&options, &scratch, error);
    if (status == KEDGE_OK) status = replay_all(scratch, all, id, client, into, cancel, error);
    (void)kedge_close(scratch);
    return status;
}

GPtrArray *replay_note(kedge_db *db, const char *id, GCancellable *cancel, kedge_error *error)
{
    GPtrArray *versions = g_ptr_array_new_with_free_func(version_free);
    cJSON *all = cJSON_CreateArray();
    GError *problem = NULL;
    char *path = g_dir_make_tmp("kedge-history-XXXXXX", &problem);
    kedge_sync_status sync = KEDGE_SYNC_STATUS_INIT;
    kedge_status status = kedge_get_sync_status(db, &sync, error);
    if (!path && status == KEDGE_OK) {
        *error = (kedge_error){KEDGE_IO, "no-folder", ""};
        g_strlcpy(error->message, problem->message, sizeof error->message);
        status = KEDGE_IO;
    }
    if (status == KEDGE_OK) status = ask(db, all, cancel, error);
    if (status == KEDGE_OK) status = replay_in(path, all, id, sync.client, versions, cancel, error);
    if (path) remove_folder(path);
    g_clear_error(&problem);
    g_free(path);
    cJSON_Delete(all);
    if (status == KEDGE_OK) return versions;
    g_ptr_array_unref(versions);
    return NULL;
}
