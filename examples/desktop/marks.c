/* Reads the lists of pending and of rejected edits, and finds the notes in their args. */
#include "marks.h"

#include "notes_mutators.h"

#include <cjson/cJSON.h>
#include <string.h>

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* The args of the notes app have an id alone, those of built-in mutators a collection, too. */
static void one_note(const cJSON *args, void (*each)(void *userdata, const char *id),
                     void *userdata)
{
    const char *collection = text_of(args, "collection");
    const char *id = text_of(args, "id");
    if (id && (!collection || strcmp(collection, NOTES_COLLECTION) == 0)) each(userdata, id);
}

void marks_each_note(const char *args, void (*each)(void *userdata, const char *id), void *userdata)
{
    cJSON *parsed = cJSON_Parse(args);
    const cJSON *part = NULL;
    one_note(parsed, each, userdata);
    cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(parsed, "changes"))
        one_note(part, each, userdata);
    cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(parsed, "ops"))
        one_note(part, each, userdata);
    cJSON_ArrayForEach(part, cJSON_GetObjectItemCaseSensitive(parsed, "mutations"))
        one_note(cJSON_GetObjectItemCaseSensitive(part, "args"), each, userdata);
    cJSON_Delete(parsed);
}

static note_marks *marks_of(GHashTable *table, const char *id)
{
    note_marks *marks = g_hash_table_lookup(table, id);
    if (!marks) {
        marks = g_new0(note_marks, 1);
        g_hash_table_insert(table, g_strdup(id), marks);
    }
    return marks;
}

static void count_pending(void *table, const char *id)
{
    marks_of(table, id)->pending++;
}

static void count_rejected(void *table, const char *id)
{
    marks_of(table, id)->rejected++;
}

/* Closes the list. A mutation without effect is of no interest to a person. */
static kedge_status count(kedge_mutation_list *list, GHashTable *table,
                          void (*each)(void *userdata, const char *id), kedge_error *error)
{
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    kedge_status status;
    while ((status = kedge_mutation_list_next(list, &mutation, error)) == KEDGE_OK) {
        if (strcmp(mutation.name, "kedge.noop") != 0) marks_each_note(mutation.args, each, table);
    }
    kedge_mutation_list_close(list);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

GHashTable *marks_read(kedge_db *db, kedge_error *error)
{
    GHashTable *table = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
    kedge_mutation_list *list = NULL;
    kedge_status status = kedge_pending_open(db, &list, error);
    if (status == KEDGE_OK) status = count(list, table, count_pending, error);
    if (status == KEDGE_OK) status = kedge_rejected_open(db, &list, error);
    if (status == KEDGE_OK) status = count(list, table, count_rejected, error);
    if (status == KEDGE_OK) return table;
    g_hash_table_unref(table);
    return NULL;
}
