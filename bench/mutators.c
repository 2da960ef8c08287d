/* How much an app writes for a mutator that changes one member of an item: the lines of its body,
 * counted where it stands, once an edit with it has kept the item's other members.
 *
 * And what a small merge costs into a large item that an earlier mutation of the push has written,
 * beside one that reads, merges and writes the whole text. */
#include "bench/bench.h"
#include "mutate/json_merge.h"
#include "mutate/transaction.h"

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

/* ---- merges into one large item ---- */

#define MERGES       2000
#define WHOLE_MERGES 20
#define MERGE_US     50 /* at most, however large the item is */

static kedge_status merge_whole(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error)
{
    (void)userdata;
    kedge_bytes patch = {args, args_size}, target;
    kedge_json_member(patch, "patch", &patch);
    kedge_buffer merged = kedge_buffer_make(&kedge_allocator_default);
    kedge_status status = kedge_tx_get(tx, "c", "a", 1, &target.data, &target.size, error);
    if (status == KEDGE_OK) kedge_json_merge(target, patch, &merged);
    if (status == KEDGE_OK) status = kedge_tx_put(tx, "c", "a", 1, merged.data, merged.size, error);
    kedge_buffer_free(&merged);
    return status;
}

static void run(kedge_tx *tx, const char *name, kedge_bytes args)
{
    kedge_error error = {0};
    const kedge_call call = {.name = kedge_bytes_of(name), .args = args};
    bench_check(kedge_tx_run(tx, &call, &error), &error, name);
}

/* CPU of one merge of a member, in microseconds; with a part of the read at the end. */
static double merge_us(kedge_tx *tx, const kedge_overlay *overlay, const char *name, size_t members,
                       size_t merges)
{
    char args[128];
    kedge_overlay_entry merged;
    double before_ms = bench_cpu_ms();
    for (size_t i = 0; i < merges; i++) {
        int size = snprintf(args, sizeof args,
                            "{\"collection\":\"c\",\"id\":\"a\",\"patch\":{\"%07zu\":%zu}}",
                            i * 7919 % members, 1000 + i);
        run(tx, name, (kedge_bytes){args, (size_t)size});
    }
    if (!kedge_overlay_get(overlay, KEDGE_BYTES("c"), KEDGE_BYTES("a"), &merged)) exit(2);
    return (bench_cpu_ms() - before_ms) * 1e3 / (double)merges;
}

static bench_row merge_row(const char *name, size_t bytes)
{
    static const kedge_mutator whole = {"merge-whole", 1, merge_whole, NULL};
    const kedge_allocator *memory = &kedge_allocator_default;
    kedge_registry *registry = NULL;
    kedge_tx *tx = NULL;
    kedge_error error = {0};
    kedge_overlay *overlay = kedge_overlay_new(memory);
    bench_check(kedge_registry_new(memory, &whole, 1, &registry, &error), &error, "registry");
    bench_check(kedge_tx_new(memory, registry, overlay, kedge_state_reader_empty, &tx, &error),
                &error, "transaction");
    kedge_buffer put = kedge_buffer_make(memory);
    size_t members = 0;
    kedge_buffer_append_text(&put, "{\"collection\":\"c\",\"id\":\"a\",\"value\":{\"\":0");
    for (; put.size < bytes; members++)
        kedge_buffer_append_format(&put, ",\"%07zu\":{\"text\":\"a cell of a table\"}", members);
    kedge_buffer_append_text(&put, "}}");
    run(tx, "kedge.put", kedge_buffer_bytes(&put));
    double whole_us = merge_us(tx, overlay, "merge-whole", members, WHOLE_MERGES);
    double us = merge_us(tx, overlay, "kedge.merge", members, MERGES);
    kedge_buffer_free(&put);
    kedge_tx_free(tx);
    kedge_overlay_free(overlay);
    kedge_registry_free(registry);
    return (bench_row){.name = name,
                       .value = us,
                       .unit = "us CPU",
                       .floor = whole_us,
                       .ratio = whole_us / us,
                       .target = MERGE_US,
                       .target_is_ceiling = true};
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
    rows[1] = merge_row("a merge into 64 KiB, beside one of the whole text", 64 << 10);
    rows[2] = merge_row("a merge into 512 KiB, beside one of the whole text", 512 << 10);
    rows[3] = merge_row("a merge into 4 MiB, beside one of the whole text", 4 << 20);
    return 4;
}
