/* Reads the inbox of rejected edits, and makes the edits that settle a conflict. */
#include "conflict.h"

#include "marks.h"

#include <cjson/cJSON.h>
#include <string.h>

/* A deleted note whose title is not known is named after the start of its text. */
#define NAME_CHARACTERS 40

static void conflict_free(gpointer data)
{
    conflict *of = data;
    char *texts[] = {of->note, of->name, of->base, of->mine, of->theirs, of->reason};
    for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
        g_free(texts[i]);
    note_clear(&of->last);
    g_array_unref(of->sequences);
    g_free(of);
}

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

static conflict_field field_of_path(const char *path)
{
    if (g_strcmp0(path, "/title") == 0) return CONFLICT_TITLE;
    return g_strcmp0(path, "/text") == 0 ? CONFLICT_TEXT : CONFLICT_OTHER;
}

static void take_values(conflict *of, conflict_field field, const char *base, const char *mine)
{
    of->field = field;
    of->base = g_strdup(base);
    of->mine = g_strdup(mine);
}

static void take_first_note(void *userdata, const char *id)
{
    conflict *of = userdata;
    if (!of->note) of->note = g_strdup(id);
}

/* Which note and field a rejected edit is about. */
static void read_args(conflict *of, const kedge_mutation *mutation)
{
    cJSON *args = cJSON_Parse(mutation->args);
    const cJSON *patch = cJSON_GetObjectItemCaseSensitive(args, "patch");
    const cJSON *last = cJSON_GetArrayItem(patch, cJSON_GetArraySize(patch) - 1);
    if (strcmp(mutation->name, "kedge.text") == 0)
        take_values(of, field_of_path(text_of(args, "path")), text_of(args, "base"),
                    text_of(args, "text"));
    else if (strcmp(mutation->name, "kedge.patch") == 0)
        take_values(of, field_of_path(text_of(last, "path")),
                    text_of(cJSON_GetArrayItem(patch, 0), "value"), text_of(last, "value"));
    else if (strcmp(mutation->name, "notes.move") == 0)
        take_values(of, CONFLICT_FOLDER, NULL, text_of(args, "folder"));
    if (!of->mine || !of->base || of->field == CONFLICT_OTHER) {
        if (of->field != CONFLICT_FOLDER || !of->mine) of->field = CONFLICT_OTHER;
        if (!of->base) of->base = g_strdup("");
    }
    marks_each_note(mutation->args, take_first_note, of);
    cJSON_Delete(args);
    if (!of->note) of->note = g_strdup("");
    if (of->field != CONFLICT_OTHER) return;
    g_free(of->mine);
    of->mine = g_strdup(strcmp(mutation->name, "kedge.restore") == 0 ? "An undo" : mutation->name);
}

static char *reason_of(const kedge_mutation *mutation)
{
    static const struct {
        const char *code, *reason;
    } reasons[] = {
        {"patch-test-failed", "Another copy renamed this note first"},
        {"item-not-found", "Another copy deleted this note"},
        {"note-deleted", "Another copy deleted this note"},
        {"restore-conflict", "Another copy has changed this since"},
    };
    for (size_t i = 0; i < G_N_ELEMENTS(reasons); i++) {
        if (strcmp(reasons[i].code, mutation->code) == 0) return g_strdup(reasons[i].reason);
    }
    return g_strdup(mutation->message);
}

/* The conflict of the same field, to which a later edit belongs. */
static conflict *find(GPtrArray *all, const conflict *like)
{
    for (guint i = 0; like->field != CONFLICT_OTHER && i < all->len; i++) {
        conflict *of = g_ptr_array_index(all, i);
        if (of->field == like->field && strcmp(of->note, like->note) == 0) return of;
    }
    return NULL;
}

static void add(GPtrArray *all, const kedge_mutation *mutation)
{
    conflict *of = g_new0(conflict, 1);
    of->field = CONFLICT_OTHER;
    of->sequences = g_array_new(FALSE, FALSE, sizeof(int64_t));
    of->reason = reason_of(mutation);
    read_args(of, mutation);
    conflict *earlier = find(all, of);
    if (earlier) {
        char *mine = earlier->mine;
        earlier->mine = of->mine;
        of->mine = mine;
        conflict_free(of);
        of = earlier;
    } else {
        g_ptr_array_add(all, of);
    }
    g_array_append_val(of->sequences, mutation->sequence);
}

/* What is there now, and what the note is called. */
static kedge_status compare(kedge_db *db, conflict *of, GHashTable *deleted, kedge_error *error)
{
    kedge_status status = note_read(db, of->note, &of->last, error);
    if (status == KEDGE_OK) {
        const char *values[] = {of->last.title, of->last.text, of->last.folder, ""};
        of->theirs = g_strdup(values[of->field]);
    } else if (status == KEDGE_NOT_FOUND) {
        const char *json = g_hash_table_lookup(deleted, of->note);
        note_from_json(json ? json : "{}", &of->last);
        status = KEDGE_OK;
    }
    if (status != KEDGE_OK) return status;
    if (*of->last.title == '\0' && !of->theirs && of->field <= CONFLICT_TEXT) {
        char *line = g_strndup(of->mine, strcspn(of->mine, "\n"));
        g_free(of->last.title);
        of->last.title = g_utf8_substring(line, 0, MIN(g_utf8_strlen(line, -1), NAME_CHARACTERS));
        g_free(line);
    }
    of->name = g_strdup(note_name(&of->last));
    return KEDGE_OK;
}

GPtrArray *conflicts_read(kedge_db *db, GHashTable *deleted, kedge_error *error)
{
    GPtrArray *all = g_ptr_array_new_with_free_func(conflict_free);
    kedge_mutation_list *list = NULL;
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    kedge_status status = kedge_rejected_open(db, &list, error);
    if (status == KEDGE_OK) {
        while ((status = kedge_mutation_list_next(list, &mutation, error)) == KEDGE_OK)
            add(all, &mutation);
        kedge_mutation_list_close(list);
    }
    if (status == KEDGE_DONE) status = KEDGE_OK;
    for (guint i = 0; status == KEDGE_OK && i < all->len; i++)
        status = compare(db, g_ptr_array_index(all, i), deleted, error);
    if (status == KEDGE_OK) return all;
    g_ptr_array_unref(all);
    return NULL;
}

kedge_status conflict_take_theirs(kedge_db *db, const conflict *of, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (guint i = 0; status == KEDGE_OK && i < of->sequences->len; i++)
        status = kedge_rejected_dismiss(db, g_array_index(of->sequences, int64_t, i), error);
    return status;
}

/* The note as it would be with the rejected value in it. Its texts are borrowed. */
static note with_mine(const conflict *of)
{
    note value = of->last;
    if (of->field == CONFLICT_TITLE) value.title = of->mine;
    if (of->field == CONFLICT_TEXT) value.text = of->mine;
    if (of->field == CONFLICT_FOLDER) value.folder = of->mine;
    return value;
}

/* Makes the rejected edits again; each leaves the inbox by that. */
static kedge_status resubmit(kedge_db *db, const conflict *of, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (guint i = 0; status == KEDGE_OK && i < of->sequences->len; i++)
        status = kedge_rejected_resubmit(db, g_array_index(of->sequences, int64_t, i), NULL, error);
    return status;
}

kedge_status conflict_take_mine(kedge_db *db, const conflict *of, kedge_error *error)
{
    char id[NOTES_ID_SIZE];
    g_strlcpy(id, of->note, sizeof id);
    note value = with_mine(of);
    kedge_status status = KEDGE_OK;
    if (of->field == CONFLICT_OTHER) return resubmit(db, of, error);
    if (!of->theirs)
        status = edit_add(db, id, &value, error);
    else if (of->field == CONFLICT_TITLE)
        status = edit_title(db, id, of->theirs, of->mine, error);
    else if (of->field == CONFLICT_TEXT)
        status = edit_merged(db, id, "text", of->theirs, of->mine, error);
    else
        status = edit_folder(db, id, of->mine, error);
    return status == KEDGE_OK ? conflict_take_theirs(db, of, error) : status;
}

bool conflict_can_merge(const conflict *of)
{
    return of->field == CONFLICT_TITLE || of->field == CONFLICT_TEXT;
}

kedge_status conflict_merge(kedge_db *db, const conflict *of, char into[NOTES_ID_SIZE],
                            kedge_error *error)
{
    kedge_status status;
    note value = with_mine(of);
    if (of->theirs) {
        g_strlcpy(into, of->note, NOTES_ID_SIZE);
        status = edit_merged(db, into, of->field == CONFLICT_TITLE ? "title" : "text", of->base,
                             of->mine, error);
    } else {
        into[0] = '\0';
        status = edit_add(db, into, &value, error);
    }
    return status == KEDGE_OK ? conflict_take_theirs(db, of, error) : status;
}
