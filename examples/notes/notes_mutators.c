/* What an edit of a note does, on every copy and on the server: see notes_mutators.h. */
#include "notes_mutators.h"

#include <kedge/cjson.h>
#include <stdio.h>
#include <string.h>

/* A string argument of at most `size_max` bytes; anything else is a rejection. */
static kedge_status text(kedge_tx *tx, const cJSON *args, const char *name, size_t size_max,
                         const char **value, kedge_error *error)
{
    char message[128];
    *value = kedge_member_text(args, name);
    if (*value && strlen(*value) <= size_max) return KEDGE_OK;
    snprintf(message, sizeof message, "\"%s\" must be a string of at most %zu bytes", name,
             size_max);
    return kedge_tx_reject(tx, "bad-argument", message, error);
}

/* A note that is not there is a rejection that a person understands. */
static kedge_status edit(kedge_tx *tx, const cJSON *args, cJSON **note, kedge_error *error)
{
    kedge_status status =
        kedge_tx_edit_json(tx, NOTES_COLLECTION, kedge_member_text(args, "id"), note, error);
    if (status != KEDGE_NOT_FOUND) return status;
    return kedge_tx_reject(tx, "note-deleted", "the note was deleted by another copy", error);
}

static kedge_status notes_add(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *there = NULL;
    const char *id, *title, *body, *folder;
    kedge_status status = text(tx, args, "id", NOTES_ID_SIZE - 1, &id, error);
    if (status == KEDGE_OK) status = text(tx, args, "title", NOTES_TITLE_SIZE - 1, &title, error);
    if (status == KEDGE_OK) status = text(tx, args, "text", NOTES_TEXT_SIZE - 1, &body, error);
    if (status == KEDGE_OK)
        status = text(tx, args, "folder", NOTES_FOLDER_SIZE - 1, &folder, error);
    if (status != KEDGE_OK) return status;
    status = kedge_tx_get_json(tx, NOTES_COLLECTION, id, &there, error);
    cJSON_Delete(there);
    if (status == KEDGE_OK)
        return kedge_tx_reject(tx, "note-exists", "there is a note of this id already", error);
    if (status != KEDGE_NOT_FOUND) return status;

    cJSON *note = cJSON_CreateObject();
    status = kedge_member_set_text(note, "title", title, error);
    if (status == KEDGE_OK) status = kedge_member_set_text(note, "text", body, error);
    if (status == KEDGE_OK) status = kedge_member_set_text(note, "folder", folder, error);
    if (status == KEDGE_OK) status = kedge_tx_put_json(tx, NOTES_COLLECTION, id, note, error);
    cJSON_Delete(note);
    return status;
}

static kedge_status notes_move(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *note;
    const char *folder;
    kedge_status status = text(tx, args, "folder", NOTES_FOLDER_SIZE - 1, &folder, error);
    if (status == KEDGE_OK) status = edit(tx, args, &note, error);
    return status == KEDGE_OK ? kedge_member_set_text(note, "folder", folder, error) : status;
}

static kedge_status notes_delete(kedge_tx *tx, const cJSON *args, void *userdata,
                                 kedge_error *error)
{
    (void)userdata;
    const char *id;
    kedge_status status = text(tx, args, "id", NOTES_ID_SIZE - 1, &id, error);
    return status == KEDGE_OK ? kedge_tx_delete(tx, NOTES_COLLECTION, id, strlen(id), error)
                              : status;
}

const kedge_mutator notes_mutators[] = {
    KEDGE_JSON_MUTATOR("notes.add", 1, notes_add),
    KEDGE_JSON_MUTATOR("notes.move", 1, notes_move),
    KEDGE_JSON_MUTATOR("notes.delete", 1, notes_delete),
};
const size_t notes_mutator_count = sizeof notes_mutators / sizeof *notes_mutators;
