/* How much an app writes for a mutator that changes one member of an item: the lines of its body,
 * counted where it stands, once an edit with it has kept the item's other members.
 *
 * And what a small edit costs in a large item that an earlier mutation of the push has written,
 * beside the first one of a push, which reads and writes the whole text. */
#include "bench/bench.h"
#include "mutate/transaction.h"

#include <kedge/cjson.h>
#include <kedge/kedge.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_LINES 5

#define AROUND_BODY 4 /* the head of the function, its braces, and the counter after it */
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

/* ---- edits of one large item ---- */

#define EDITS       2000
#define FIRST_EDITS 20
#define EDIT_US     50 /* at most, however large the item is */

typedef enum edit_kind { MERGE, PATCH, TEXT, RESTORE } edit_kind;
static const char *const names[] = {"kedge.merge", "kedge.patch", "kedge.text", "kedge.restore"};

/* The args of an edit of the text of a member. */
static void write_args(edit_kind kind, size_t member, const char *old, const char *new,
                       kedge_buffer *args)
{
    static const char key[] = "\"collection\":\"c\",\"id\":\"a\"";
    kedge_buffer_clear(args);
    switch (kind) {
    case MERGE:
        kedge_buffer_append_format(args, "{%s,\"patch\":{\"%07zu\":{\"text\":\"%s\"}}}", key,
                                   member, new);
        break;
    case PATCH:
        kedge_buffer_append_format(
            args,
            "{%s,\"patch\":[{\"op\":\"test\",\"path\":\"/%07zu/text\",\"value\":\"%s\"},"
            "{\"op\":\"replace\",\"path\":\"/%07zu/text\",\"value\":\"%s\"}]}",
            key, member, old, member, new);
        break;
    case TEXT:
        kedge_buffer_append_format(args,
                                   "{%s,\"base\":\"%s\",\"path\":\"/%07zu/text\",\"text\":\"%s\"}",
                                   key, old, member, new);
        break;
    case RESTORE:
        kedge_buffer_append_format(
            args,
            "{\"changes\":[{%s,\"expected\":\"%s\",\"path\":\"/%07zu/text\",\"value\":\"%s\"}]}",
            key, old, member, new);
        break;
    }
}

static void run(kedge_tx *tx, const char *name, kedge_bytes args)
{
    kedge_error error = {0};
    const kedge_call call = {.name = kedge_bytes_of(name), .args = args};
    bench_check(kedge_tx_run(tx, &call, &error), &error, name);
}

/* CPU of one edit, in microseconds; with a part of the read at the end. Each is of another member,
 * until all have been edited. `first`: each is the first one of a push. */
static double edit_us(kedge_tx *tx, kedge_overlay *overlay, edit_kind kind, size_t members,
                      size_t count, bool first)
{
    char old[32] = "a cell of a table", new[32];
    kedge_overlay_entry edited;
    kedge_buffer args = kedge_buffer_make(&kedge_allocator_default);
    double before_ms = bench_cpu_ms();
    for (size_t i = 0; i < count; i++) {
        size_t round = i / members;
        if (round > 0) (void)snprintf(old, sizeof old, "cell %zu", round);
        (void)snprintf(new, sizeof new, "cell %zu", round + 1);
        write_args(kind, i * 7919 % members, old, new, &args);
        run(tx, names[kind], kedge_buffer_bytes(&args));
        if (first) kedge_overlay_clear(overlay);
    }
    bool found = kedge_overlay_get(overlay, KEDGE_BYTES("c"), KEDGE_BYTES("a"), &edited);
    if (!found && !first) exit(2);
    kedge_buffer_free(&args);
    return (bench_cpu_ms() - before_ms) * 1e3 / (double)count;
}

/* The number of members, which is no multiple of 7919. */
static size_t put_table(kedge_tx *tx, size_t bytes)
{
    size_t members = 0;
    kedge_buffer put = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer_append_text(&put, "{\"collection\":\"c\",\"id\":\"a\",\"value\":{\"\":0");
    for (; put.size < bytes; members++)
        kedge_buffer_append_format(&put, ",\"%07zu\":{\"text\":\"a cell of a table\"}", members);
    kedge_buffer_append_text(&put, "}}");
    run(tx, "kedge.put", kedge_buffer_bytes(&put));
    kedge_buffer_free(&put);
    return members;
}

static bench_row edit_row(const char *name, edit_kind kind, size_t bytes)
{
    const kedge_allocator *memory = &kedge_allocator_default;
    kedge_registry *registry = NULL;
    kedge_tx *tx = NULL, *first = NULL;
    kedge_error error = {0};
    kedge_overlay *overlay = kedge_overlay_new(memory), *above = kedge_overlay_new(memory);
    kedge_overlay_view view = {overlay, kedge_state_reader_empty};
    bench_check(kedge_registry_new(memory, NULL, 0, &registry, &error), &error, "registry");
    bench_check(kedge_tx_new(memory, registry, overlay, kedge_state_reader_empty, &tx, &error),
                &error, "transaction");
    bench_check(kedge_tx_new(memory, registry, above, kedge_overlay_reader(&view), &first, &error),
                &error, "transaction");
    size_t members = put_table(tx, bytes);
    double first_us = edit_us(first, above, kind, members, FIRST_EDITS, true);
    double us = edit_us(tx, overlay, kind, members, EDITS, false);
    kedge_tx_free(first);
    kedge_tx_free(tx);
    kedge_overlay_free(above);
    kedge_overlay_free(overlay);
    kedge_registry_free(registry);
    return (bench_row){.name = name,
                       .value = us,
                       .unit = "us CPU",
                       .floor = first_us,
                       .ratio = first_us / us,
                       .target = EDIT_US,
                       .target_is_ceiling = true};
}

static size_t edit_rows(bench_row *rows)
{
    size_t count = 0;
    rows[count++] = edit_row("a merge into 64 KiB, beside the first of a push", MERGE, 64 << 10);
    rows[count++] = edit_row("a merge into 512 KiB, beside the first", MERGE, 512 << 10);
    rows[count++] = edit_row("a merge into 4 MiB, beside the first", MERGE, 4 << 20);
    rows[count++] = edit_row("a JSON Patch of 64 KiB, beside the first", PATCH, 64 << 10);
    rows[count++] = edit_row("a JSON Patch of 512 KiB, beside the first", PATCH, 512 << 10);
    rows[count++] = edit_row("a JSON Patch of 4 MiB, beside the first", PATCH, 4 << 20);
    rows[count++] = edit_row("an edit of a text in 64 KiB, beside the first", TEXT, 64 << 10);
    rows[count++] = edit_row("an edit of a text in 512 KiB, beside the first", TEXT, 512 << 10);
    rows[count++] = edit_row("an edit of a text in 4 MiB, beside the first", TEXT, 4 << 20);
    rows[count++] = edit_row("a restore in 64 KiB, beside the first", RESTORE, 64 << 10);
    rows[count++] = edit_row("a restore in 512 KiB, beside the first", RESTORE, 512 << 10);
    rows[count++] = edit_row("a restore in 4 MiB, beside the first", RESTORE, 4 << 20);
    return count;
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
    return 1 + edit_rows(rows + 1);
}
