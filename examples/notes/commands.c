/* What each command does: an edit is one kedge_mutate, and it is there at once. */
#include "notes.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYNC_TIMEOUT_MS 60000

int notes_fail(const kedge_error *error)
{
    return terminal_fail(notes_app.name, error);
}

static int mutate(kedge_db *db, const char *name, cJSON *args)
{
    return terminal_mutate(notes_app.name, db, name, args);
}

static int add(kedge_db *db, int count, char **words)
{
    char id[NOTES_ID_SIZE];
    if (!terminal_random(id)) return TERMINAL_FAILED;
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "id", id);
    cJSON_AddStringToObject(args, "title", words[1]);
    cJSON_AddStringToObject(args, "text", count > 2 ? words[2] : "");
    cJSON_AddStringToObject(args, "folder", count > 3 ? words[3] : "");
    int result = mutate(db, "notes.add", args);
    if (result == TERMINAL_DONE) printf("note %s\n", id);
    return result;
}

/* Merged with what others write meanwhile: the edit is based on what the field shows now. */
static int edit(kedge_db *db, int count, char **words)
{
    (void)count;
    char id[NOTES_ID_SIZE];
    bool title = strcmp(words[2], "title") == 0;
    if (!title && strcmp(words[2], "text") != 0) {
        fprintf(stderr, "notes: \"%s\" is no field; a note has title and text\n", words[2]);
        return TERMINAL_USAGE;
    }
    if (!notes_find(db, words[1], id)) return TERMINAL_FAILED;
    int64_t sequence = 0;
    kedge_error error = {0};
    kedge_status status =
        kedge_text_edit(db, NOTES_COLLECTION, id, strlen(id), title ? "/title" : "/text", NULL,
                        words[3], &sequence, &error);
    if (status != KEDGE_OK) return notes_fail(&error);
    printf("edit %lld: kedge.text\n", (long long)sequence);
    return TERMINAL_DONE;
}

/* notes.move and notes.delete: the id and perhaps a folder. */
static int change(kedge_db *db, const char *mutator, const char *prefix, const char *folder)
{
    char id[NOTES_ID_SIZE];
    if (!notes_find(db, prefix, id)) return TERMINAL_FAILED;
    cJSON *args = cJSON_CreateObject();
    cJSON_AddStringToObject(args, "id", id);
    if (folder) cJSON_AddStringToObject(args, "folder", folder);
    return mutate(db, mutator, args);
}

static int move(kedge_db *db, int count, char **words)
{
    (void)count;
    return change(db, "notes.move", words[1], words[2]);
}

static int delete (kedge_db *db, int count, char **words)
{
    (void)count;
    return change(db, "notes.delete", words[1], NULL);
}

static int show(kedge_db *db, int count, char **words)
{
    (void)count;
    char id[NOTES_ID_SIZE];
    return notes_find(db, words[1], id) ? notes_print_note(db, id) : TERMINAL_FAILED;
}

static int dismiss(kedge_db *db, int count, char **words)
{
    (void)count;
    return terminal_dismiss(notes_app.name, db, words[1]);
}

static int retry(kedge_db *db, int count, char **words)
{
    (void)count;
    kedge_error error = {0};
    int64_t sequence = 0;
    kedge_status status =
        kedge_rejected_resubmit(db, strtoll(words[1], NULL, 10), &sequence, &error);
    if (status != KEDGE_OK) return notes_fail(&error);
    printf("edit %lld\n", (long long)sequence);
    return TERMINAL_DONE;
}

static int sync_now(kedge_db *db, int count, char **words)
{
    (void)count;
    (void)words;
    return terminal_sync(notes_app.name, db, SYNC_TIMEOUT_MS);
}

static int print(kedge_db *db, int count, char **words)
{
    (void)count;
    if (strcmp(words[0], "list") == 0) return notes_print_list(db);
    if (strcmp(words[0], "pending") == 0) return notes_print_pending(db);
    if (strcmp(words[0], "conflicts") == 0) return notes_print_conflicts(db);
    if (strcmp(words[0], "history") == 0) return notes_print_history(db);
    return terminal_print_status(notes_app.name, db);
}

static int live(kedge_db *db, int count, char **words)
{
    (void)count;
    (void)words;
    return terminal_live(&notes_app, db);
}

int notes_command(kedge_db *db, int count, char **words)
{
    static const terminal_command commands[] = {
        {"add", 2, 4, add},       {"edit", 4, 4, edit},       {"move", 3, 3, move},
        {"delete", 2, 2, delete}, {"show", 2, 2, show},       {"dismiss", 2, 2, dismiss},
        {"retry", 2, 2, retry},   {"sync", 1, 1, sync_now},   {"list", 1, 1, print},
        {"pending", 1, 1, print}, {"conflicts", 1, 1, print}, {"history", 1, 1, print},
        {"status", 1, 1, print},  {"live", 1, 1, live},
    };
    return terminal_dispatch(notes_app.name, commands, sizeof commands / sizeof *commands, db,
                             count, words);
}
