/* What an edit of a note does, on every copy and on the server: see notes_mutators.h. */
#include "notes_mutators.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads a string argument; its absence, another type or too much of it is a rejection. */
static kedge_status argument(kedge_tx *tx, const char *args, size_t args_size, const char *name,
                             char *buffer, size_t buffer_size, kedge_error *error)
{
    kedge_status status = kedge_args_text(args, args_size, name, buffer, buffer_size, NULL, NULL);
    if (status == KEDGE_OK) return KEDGE_OK;
    char message[128];
    snprintf(message, sizeof message, "\"%s\" must be a string of at most %zu bytes", name,
             buffer_size - 1);
    return kedge_tx_reject(tx, "bad-argument", message, error);
}

/* Loads a note as a tree; a note that is not there is a rejection that a person understands. */
static kedge_status load(kedge_tx *tx, const char *id, cJSON **note, kedge_error *error)
{
    const char *value = NULL;
    size_t size = 0;
    kedge_status status = kedge_tx_get(tx, NOTES_COLLECTION, id, strlen(id), &value, &size, error);
    if (status == KEDGE_NOT_FOUND) {
        return kedge_tx_reject(tx, "note-deleted", "the note was deleted by another copy", error);
    }
    if (status != KEDGE_OK) return status;
    *note = cJSON_ParseWithLength(value, size);
    return *note ? KEDGE_OK : KEDGE_NO_MEMORY;
}

/* Stores the tree and frees it. */
static kedge_status store(kedge_tx *tx, const char *id, cJSON *note, kedge_error *error)
{
    char *text = cJSON_PrintUnformatted(note);
    cJSON_Delete(note);
    if (!text) return KEDGE_NO_MEMORY;
    kedge_status status =
        kedge_tx_put(tx, NOTES_COLLECTION, id, strlen(id), text, strlen(text), error);
    cJSON_free(text);
    return status;
}

static kedge_status notes_add(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                              kedge_error *error)
{
    (void)userdata;
    char id[NOTES_ID_SIZE];
    kedge_status status = argument(tx, args, args_size, "id", id, sizeof id, error);
    if (status != KEDGE_OK) return status;
    const char *value = NULL;
    size_t size = 0;
    status = kedge_tx_get(tx, NOTES_COLLECTION, id, strlen(id), &value, &size, error);
    if (status == KEDGE_OK) {
        return kedge_tx_reject(tx, "note-exists", "there is a note of this id already", error);
    }
    if (status != KEDGE_NOT_FOUND) return status;

    static const struct {
        const char *name;
        size_t size;
    } fields[] = {
        {"title", NOTES_TITLE_SIZE}, {"text", NOTES_TEXT_SIZE}, {"folder", NOTES_FOLDER_SIZE}};
    cJSON *note = cJSON_CreateObject();
    for (size_t i = 0; note && i < sizeof fields / sizeof *fields; i++) {
        char *field = malloc(fields[i].size);
        status = field ? argument(tx, args, args_size, fields[i].name, field, fields[i].size, error)
                       : KEDGE_NO_MEMORY;
        if (status == KEDGE_OK) cJSON_AddStringToObject(note, fields[i].name, field);
        free(field);
        if (status != KEDGE_OK) {
            cJSON_Delete(note);
            return status;
        }
    }
    return note ? store(tx, id, note, error) : KEDGE_NO_MEMORY;
}

/* Puts what the field holds now into `kept`, the oldest falling out. */
static void keep(cJSON *note, const char *field, const char *value, const char *client)
{
    cJSON *kept = cJSON_GetObjectItemCaseSensitive(note, "kept");
    if (!kept) kept = cJSON_AddArrayToObject(note, "kept");
    cJSON *row = cJSON_CreateObject();
    cJSON_AddStringToObject(row, "by", client);
    cJSON_AddStringToObject(row, "field", field);
    cJSON_AddStringToObject(row, "value", value);
    cJSON_AddItemToArray(kept, row);
    while (cJSON_GetArraySize(kept) > NOTES_KEPT_MAX)
        cJSON_DeleteItemFromArray(kept, 0);
}

/* `was` is what the editor saw. When the field has changed since, the edit still counts, and what
 * it covers is kept beside it. */
static kedge_status edit_field(kedge_tx *tx, const char *id, const char *field, const char *value,
                               const char *was, kedge_error *error)
{
    cJSON *note = NULL;
    kedge_status status = load(tx, id, &note, error);
    if (status != KEDGE_OK) return status;
    const char *now = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(note, field));
    if (now && strcmp(now, was) != 0 && strcmp(now, value) != 0) {
        keep(note, field, now, kedge_tx_caller(tx)->client);
    }
    cJSON_ReplaceItemInObjectCaseSensitive(note, field, cJSON_CreateString(value));
    return store(tx, id, note, error);
}

static kedge_status notes_edit(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    (void)userdata;
    char id[NOTES_ID_SIZE];
    char field[16];
    char *value = malloc(NOTES_TEXT_SIZE);
    char *was = malloc(NOTES_TEXT_SIZE);
    kedge_status status = value && was ? KEDGE_OK : KEDGE_NO_MEMORY;
    if (status == KEDGE_OK) status = argument(tx, args, args_size, "id", id, sizeof id, error);
    if (status == KEDGE_OK) {
        status = argument(tx, args, args_size, "field", field, sizeof field, error);
    }
    bool title = status == KEDGE_OK && strcmp(field, "title") == 0;
    if (status == KEDGE_OK && !title && strcmp(field, "text") != 0) {
        status = kedge_tx_reject(tx, "bad-argument", "\"field\" must be title or text", error);
    }
    size_t size = title ? NOTES_TITLE_SIZE : NOTES_TEXT_SIZE;
    if (status == KEDGE_OK) status = argument(tx, args, args_size, "value", value, size, error);
    if (status == KEDGE_OK) status = argument(tx, args, args_size, "was", was, size, error);
    if (status == KEDGE_OK) status = edit_field(tx, id, field, value, was, error);
    free(value);
    free(was);
    return status;
}

static kedge_status notes_move(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                               kedge_error *error)
{
    (void)userdata;
    char id[NOTES_ID_SIZE];
    char folder[NOTES_FOLDER_SIZE];
    kedge_status status = argument(tx, args, args_size, "id", id, sizeof id, error);
    if (status == KEDGE_OK) {
        status = argument(tx, args, args_size, "folder", folder, sizeof folder, error);
    }
    cJSON *note = NULL;
    if (status == KEDGE_OK) status = load(tx, id, &note, error);
    if (status != KEDGE_OK) return status;
    cJSON_ReplaceItemInObjectCaseSensitive(note, "folder", cJSON_CreateString(folder));
    return store(tx, id, note, error);
}

static kedge_status notes_settle(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    char id[NOTES_ID_SIZE];
    cJSON *note = NULL;
    kedge_status status = argument(tx, args, args_size, "id", id, sizeof id, error);
    if (status == KEDGE_OK) status = load(tx, id, &note, error);
    if (status != KEDGE_OK) return status;
    cJSON_DeleteItemFromObjectCaseSensitive(note, "kept");
    return store(tx, id, note, error);
}

static kedge_status notes_delete(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    char id[NOTES_ID_SIZE];
    kedge_status status = argument(tx, args, args_size, "id", id, sizeof id, error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_delete(tx, NOTES_COLLECTION, id, strlen(id), error);
}

const kedge_mutator notes_mutators[] = {
    {"notes.add", 1, notes_add, NULL},       {"notes.edit", 1, notes_edit, NULL},
    {"notes.move", 1, notes_move, NULL},     {"notes.delete", 1, notes_delete, NULL},
    {"notes.settle", 1, notes_settle, NULL},
};
const size_t notes_mutator_count = sizeof notes_mutators / sizeof *notes_mutators;
