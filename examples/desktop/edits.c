/* Edits as mutations: those of the notes app, and the built-in kedge.text and kedge.patch. */
#include "edits.h"

#include <cjson/cJSON.h>
#include <glib.h>
#include <string.h>

#define UNTITLED "Untitled"

static char *member(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return g_strdup(text ? text : "");
}

void note_from_json(const char *json, note *into)
{
    cJSON *value = cJSON_Parse(json);
    *into = (note){member(value, "title"), member(value, "text"), member(value, "folder")};
    cJSON_Delete(value);
}

kedge_status note_read(kedge_db *db, const char *id, note *into, kedge_error *error)
{
    kedge_document *document = NULL;
    kedge_status status = kedge_get(db, NOTES_COLLECTION, id, strlen(id), &document, error);
    if (status != KEDGE_OK) return status;
    note_from_json(kedge_document_json(document, NULL), into);
    kedge_document_free(document);
    return KEDGE_OK;
}

void note_clear(note *read)
{
    g_free(read->title);
    g_free(read->text);
    g_free(read->folder);
    *read = (note){NULL, NULL, NULL};
}

const char *note_name(const note *read)
{
    return read->title && *read->title ? read->title : UNTITLED;
}

/* Begins a group with the label `what` and the note's name, which is cut to fit. */
static kedge_status begin(kedge_db *db, const char *what, const char *name, kedge_error *error)
{
    char label[KEDGE_UNDO_LABEL_SIZE];
    char *full = g_strdup_printf("%s “%s”", what, name && *name ? name : UNTITLED);
    const char *end = full;
    while (*end && g_utf8_next_char(end) - full < (gssize)sizeof label)
        end = g_utf8_next_char(end);
    memcpy(label, full, (size_t)(end - full));
    label[end - full] = '\0';
    g_free(full);
    return kedge_undo_begin(db, label, error);
}

/* Makes one edit as a group, and frees `args`. A group that is too large for an undo stands. */
static kedge_status mutate(kedge_db *db, const char *what, const char *note_title,
                           const char *mutator, cJSON *args, kedge_error *error)
{
    char *text = cJSON_PrintUnformatted(args);
    cJSON_Delete(args);
    kedge_status status = begin(db, what, note_title, error);
    if (status == KEDGE_OK) {
        status = kedge_mutate(db, mutator, text, strlen(text), NULL, error);
        (void)kedge_undo_end(db, NULL);
    }
    cJSON_free(text);
    return status;
}

/* The label of an edit needs the title that the note has now. */
static char *title_now(kedge_db *db, const char *id)
{
    note now;
    if (note_read(db, id, &now, NULL) != KEDGE_OK) return NULL;
    char *title = g_strdup(now.title);
    note_clear(&now);
    return title;
}

kedge_status edit_add(kedge_db *db, char id[NOTES_ID_SIZE], const note *value, kedge_error *error)
{
    if (*id == '\0') g_snprintf(id, NOTES_ID_SIZE, "%08x", g_random_int());
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "id", id);
    cJSON_AddStringToObject(args, "title", value->title);
    cJSON_AddStringToObject(args, "text", value->text);
    cJSON_AddStringToObject(args, "folder", value->folder);
    return mutate(db, "Add", value->title, "notes.add", args, error);
}

kedge_status edit_delete(kedge_db *db, const char *id, kedge_error *error)
{
    char *title = title_now(db, id);
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "id", id);
    kedge_status status = mutate(db, "Delete", title, "notes.delete", args, error);
    g_free(title);
    return status;
}

static cJSON *folder_args(const char *id, const char *folder)
{
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "id", id);
    cJSON_AddStringToObject(args, "folder", folder);
    return args;
}

kedge_status edit_folder(kedge_db *db, const char *id, const char *folder, kedge_error *error)
{
    char *title = title_now(db, id);
    kedge_status status = mutate(db, "Move", title, "notes.move", folder_args(id, folder), error);
    g_free(title);
    return status;
}

/* One operation of a JSON Patch on the title. */
static void add_operation(cJSON *patch, const char *name, const char *value)
{
    cJSON *operation = cJSON_CreateObject();
    cJSON_AddStringToObject(operation, "op", name);
    cJSON_AddStringToObject(operation, "path", "/title");
    cJSON_AddStringToObject(operation, "value", value);
    cJSON_AddItemToArray(patch, operation);
}

static cJSON *title_args(const char *id, const char *base, const char *title)
{
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "collection", NOTES_COLLECTION);
    cJSON_AddStringToObject(args, "id", id);
    cJSON *patch = cJSON_AddArrayToObject(args, "patch");
    add_operation(patch, "test", base);
    add_operation(patch, "replace", title);
    return args;
}

kedge_status edit_title(kedge_db *db, const char *id, const char *base, const char *title,
                        kedge_error *error)
{
    cJSON *args = title_args(id, base, title);
    kedge_error why = {KEDGE_OK, "", ""};
    kedge_status status = mutate(db, "Rename", base, "kedge.patch", args, &why);
    if (status == KEDGE_REJECTED && strcmp(why.code, "patch-test-failed") == 0) {
        return edit_merged(db, id, "title", base, title, error);
    }
    if (status != KEDGE_OK && error) *error = why;
    return status;
}

kedge_status edit_merged(kedge_db *db, const char *id, const char *field, const char *base,
                         const char *text, kedge_error *error)
{
    char *title = title_now(db, id);
    char *path = g_strconcat("/", field, NULL);
    kedge_status status = begin(db, strcmp(field, "title") == 0 ? "Rename" : "Edit", title, error);
    if (status == KEDGE_OK) {
        status =
            kedge_text_edit(db, NOTES_COLLECTION, id, strlen(id), path, base, text, NULL, error);
        (void)kedge_undo_end(db, NULL);
    }
    g_free(path);
    g_free(title);
    return status;
}

static cJSON *text_args(const char *id, const char *base, const char *text)
{
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "collection", NOTES_COLLECTION);
    cJSON_AddStringToObject(args, "id", id);
    cJSON_AddStringToObject(args, "path", "/text");
    cJSON_AddStringToObject(args, "base", base);
    cJSON_AddStringToObject(args, "text", text);
    return args;
}

/* Adds an edit to the batch unless it would change nothing, and frees `args`. */
static kedge_status add_if(kedge_batch *batch, bool differs, const char *name, cJSON *args,
                           kedge_error *error)
{
    char *text = cJSON_PrintUnformatted(args);
    kedge_status status =
        differs ? kedge_batch_add(batch, name, text, strlen(text), error) : KEDGE_OK;
    cJSON_free(text);
    cJSON_Delete(args);
    return status;
}

/* Fills the batch with what leads from `now` to `value`. */
static kedge_status add_differences(kedge_batch *batch, const char *id, const note *now,
                                    const note *value, kedge_error *error)
{
    kedge_status status = add_if(batch, strcmp(now->text, value->text) != 0, "kedge.text",
                                 text_args(id, now->text, value->text), error);
    if (status == KEDGE_OK)
        status = add_if(batch, strcmp(now->title, value->title) != 0, "kedge.patch",
                        title_args(id, now->title, value->title), error);
    if (status == KEDGE_OK)
        status = add_if(batch, strcmp(now->folder, value->folder) != 0, "notes.move",
                        folder_args(id, value->folder), error);
    return status;
}

kedge_status edit_restore(kedge_db *db, const char *id, const note *value, kedge_error *error)
{
    note now;
    kedge_batch *batch = NULL;
    kedge_error why = {KEDGE_OK, "", ""};
    kedge_status status = note_read(db, id, &now, error);
    if (status != KEDGE_OK) return status;
    status = kedge_batch_begin(db, &batch, error);
    if (status == KEDGE_OK) status = add_differences(batch, id, &now, value, error);
    if (status == KEDGE_OK) status = begin(db, "Restore", now.title, error);
    if (status == KEDGE_OK) {
        status = kedge_batch_commit(batch, NULL, &why);
        (void)kedge_undo_end(db, NULL);
        if (strcmp(why.code, "batch-empty") == 0) status = KEDGE_OK; /* it is so already */
        if (status != KEDGE_OK && error) *error = why;
    }
    kedge_batch_free(batch);
    note_clear(&now);
    return status;
}
