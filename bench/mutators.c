/* How much an app writes for a mutator that changes one member of an item: the lines of its body,
 * counted where it stands, once an edit with it has kept the item's other members. */
#include "bench/bench.h"

#include <kedge/cjson.h>
#include <kedge/kedge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINES 5

#define AROUND_BODY 4 /* the head of the function, its braces, and the counter behind it */
static const int before = __LINE__;
static kedge_status rename_note(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    (void)userdata;
    cJSON *note;
    const char *id = kedge_member_text(args, "id"), *title = kedge_member_text(args, "title");
    kedge_status status = kedge_tx_edit_json(tx, "notes", id, &note, error);
    return status == KEDGE_OK ? kedge_member_set_text(note, "title", title, error) : status;
}
static const int behind = __LINE__;

static const kedge_mutator mutators[] = {KEDGE_JSON_MUTATOR("notes.rename", 1, rename_note)};

static void mutate(kedge_db *db, const char *name, const char *args)
{
    kedge_error error = {0};
    bench_check(kedge_mutate(db, name, args, strlen(args), NULL, &error), &error, name);
}

static void expect_renamed(kedge_db *db)
{
    static const char renamed[] = "{\"done\":true,\"title\":\"new\"}";
    kedge_document *note = NULL;
    kedge_error error = {0};
    bench_check(kedge_get(db, "notes", "a", 1, &note, &error), &error, "kedge_get");
    if (strcmp(kedge_document_json(note, NULL), renamed) != 0) {
        (void)fprintf(stderr, "bench: the mutator lost a member\n");
        exit(2);
    }
    kedge_document_free(note);
}

size_t bench_mutators(bench_row *rows)
{
    char folder[256], path[300];
    bench_make_folder(folder, sizeof folder);
    (void)snprintf(path, sizeof path, "%s/db", folder);
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = path;
    options.organization = "bench";
    options.project = "mutators";
    options.mutators = mutators;
    options.mutator_count = sizeof mutators / sizeof mutators[0];
    kedge_db *db = NULL;
    kedge_error error = {0};
    bench_check(kedge_open(&options, &db, &error), &error, "kedge_open");
    mutate(db, "kedge.put",
           "{\"collection\":\"notes\",\"id\":\"a\",\"value\":{\"title\":\"old\",\"done\":true}}");
    mutate(db, "notes.rename", "{\"id\":\"a\",\"title\":\"new\"}");
    expect_renamed(db);
    kedge_close(db);
    bench_remove_folder(folder);
    rows[0] = (bench_row){.name = "a mutator that edits one member of an item",
                          .value = behind - before - AROUND_BODY,
                          .unit = "lines",
                          .target = MOST_LINES,
                          .target_is_ceiling = true};
    return 1;
}
