/* Opens what a cut left and looks for every edit that was acknowledged: see powercut.h. */
#include "tests/powercut/powercut.h"

#include "common/json.h"
#include "tests/support/history.h"
#include "tests/support/server_process.h"

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define SYNC_TIMEOUT_MS 120000
#define NEW_TOKEN       (POWERCUT_TOKENS_MAX - 1) /* the edit that is made after the cut */

/* What is found in a folder, by token. */
typedef struct finding {
    int pending[POWERCUT_TOKENS_MAX];
    int rejected[POWERCUT_TOKENS_MAX];
    bool readable[POWERCUT_TOKENS_MAX];
    int decided[POWERCUT_TOKENS_MAX]; /* in the server's history */
} finding;

/* One look at one folder. */
typedef struct look {
    const powercut_run *run;
    size_t position;
    const char *folder;
    powercut_counts *counts;
    bool sound;
} look;

static void tell(look *at, long *count, const char *what, long token)
{
    printf("  cut behind operation %zu: ", at->position);
    if (token > 0)
        printf("edit %ld %s\n", token, what);
    else
        printf("%s\n", what);
    (*count)++;
    at->sound = false;
}

static bool failed(look *at, kedge_status status, const kedge_error *error)
{
    if (status != KEDGE_OK) tell(at, &at->counts->wrong, error->message, 0);
    return status != KEDGE_OK;
}

static bool was_acknowledged(const look *at, long token)
{
    return token <= at->run->tokens && at->run->acknowledged[token] <= at->position;
}

typedef enum cancellation { NOT_CANCELLED, MAY_BE_CANCELLED, CANCELLED } cancellation;

static cancellation cancellation_of(const look *at, long token)
{
    if (at->run->cancelled[token] == 0 || at->run->cancel_begun[token] >= at->position)
        return NOT_CANCELLED;
    return at->run->cancelled[token] <= at->position ? CANCELLED : MAY_BE_CANCELLED;
}

/* Counts the mutations of a list by their tokens, and closes the list. */
static bool read_list(look *at, kedge_status opened, kedge_mutation_list *list, int *tokens,
                      kedge_error *error)
{
    kedge_mutation row = KEDGE_MUTATION_INIT;
    kedge_status status;
    if (failed(at, opened, error)) return false;
    while ((status = kedge_mutation_list_next(list, &row, error)) == KEDGE_OK)
        tokens[powercut_token_of(row.args, row.args_size)]++;
    kedge_mutation_list_close(list);
    return status == KEDGE_DONE || !failed(at, status, error);
}

static bool read_folder(look *at, kedge_db *db, finding *found)
{
    kedge_mutation_list *list = NULL;
    kedge_error error = {0};
    kedge_status status = kedge_pending_open(db, &list, &error);
    if (!read_list(at, status, list, found->pending, &error)) return false;
    status = kedge_rejected_open(db, &list, &error);
    if (!read_list(at, status, list, found->rejected, &error)) return false;
    for (long token = 1; token < POWERCUT_TOKENS_MAX; token++) {
        char id[16];
        kedge_document *document = NULL;
        int size = snprintf(id, sizeof id, "t%ld", token);
        status = kedge_get(db, "edits", id, (size_t)size, &document, &error);
        found->readable[token] = status == KEDGE_OK;
        kedge_document_free(document);
        if (status != KEDGE_NOT_FOUND && failed(at, status, &error)) return false;
    }
    return true;
}

/* A cancellation must not be seen by half, although either file may be older than the other. */
static void judge_cancelled(look *at, long token, int listed, bool readable)
{
    bool done = cancellation_of(at, token) == CANCELLED;
    at->counts->cancelled += done;
    if (done && listed > 0) tell(at, &at->counts->revived, "was cancelled and is pending", token);
    if (readable && (done || listed == 0))
        tell(at, &at->counts->revived, "was cancelled and is shown", token);
}

/* Checks what an offline client has: every acknowledged edit is where it must be, once. */
static void judge_folder(look *at, const finding *found)
{
    for (long token = 1; token <= at->run->tokens; token++) {
        int listed = found->pending[token] + found->rejected[token];
        bool rejected = powercut_is_rejected(token);
        if (listed > 1) tell(at, &at->counts->doubled, "is listed twice", token);
        if (!rejected && listed > 0 && !found->readable[token])
            tell(at, &at->counts->wrong, "is pending, and no read shows it", token);
        if (!was_acknowledged(at, token)) {
            /* The edit that was being made at the cut may be there already. */
            if ((listed > 0 || found->readable[token]) && token > 1 &&
                !was_acknowledged(at, token - 1))
                tell(at, &at->counts->wrong, "is there before it was made", token);
            continue;
        }
        if (cancellation_of(at, token) != NOT_CANCELLED) {
            judge_cancelled(at, token, listed, found->readable[token]);
            continue;
        }
        at->counts->acknowledged++;
        if (rejected ? listed == 0 : !found->readable[token])
            tell(at, &at->counts->lost, "was acknowledged and is lost", token);
    }
}

/* The client goes on: it makes an edit and can read it. */
static bool edit_again(look *at, kedge_db *db)
{
    kedge_error error = {0};
    kedge_document *document = NULL;
    char id[16];
    int size = snprintf(id, sizeof id, "t%d", NEW_TOKEN);
    if (failed(at, powercut_edit(db, NEW_TOKEN, NULL, &error), &error)) return false;
    kedge_status status = kedge_get(db, "edits", id, (size_t)size, &document, &error);
    kedge_document_free(document);
    return !failed(at, status, &error);
}

static void check_pages(look *at, const char *file)
{
    char path[FILES_PATH_BYTES];
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    files_path(path, at->folder, file);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, "PRAGMA quick_check", -1, &statement, NULL) != SQLITE_OK ||
        sqlite3_step(statement) != SQLITE_ROW ||
        strcmp((const char *)sqlite3_column_text(statement, 0), "ok") != 0)
        tell(at, &at->counts->wrong, "a file is no sound database", 0);
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

static kedge_db *open_folder(look *at, const char *url)
{
    kedge_options options = powercut_options(at->folder, url);
    kedge_db *db = NULL;
    kedge_error error = {0};
    if (kedge_open(&options, &db, &error) != KEDGE_OK)
        tell(at, &at->counts->refused, error.message, 0);
    return db;
}

bool powercut_check(const powercut_run *run, size_t position, const char *folder,
                    powercut_counts *counts)
{
    look at = {.run = run, .position = position, .folder = folder, .counts = counts, .sound = true};
    finding found = {0};
    kedge_db *db = open_folder(&at, NULL);
    if (!db) return false;
    if (read_folder(&at, db, &found)) {
        judge_folder(&at, &found);
        (void)edit_again(&at, db);
    }
    kedge_close(db);
    check_pages(&at, "outbox.db");
    check_pages(&at, "cache.db");
    return at.sound;
}

/* ---- with the server ---- */

static void count_decided(void *context, kedge_bytes mutation)
{
    finding *found = context;
    kedge_bytes args;
    if (kedge_json_member(mutation, "args", &args))
        found->decided[powercut_token_of(args.data, args.size)]++;
}

/* Nothing is pending, and every edit was decided once and stands where its outcome puts it. */
static void judge_synced(look *at, const finding *found)
{
    for (long token = 1; token <= at->run->tokens; token++) {
        bool acknowledged = was_acknowledged(at, token);
        if (cancellation_of(at, token) == CANCELLED && found->decided[token] > 0)
            tell(at, &at->counts->revived, "was cancelled and the server has it", token);
        if (cancellation_of(at, token) != NOT_CANCELLED) continue;
        at->counts->acknowledged += acknowledged;
        if (found->pending[token] > 0)
            tell(at, &at->counts->wrong, "is still pending after a sync", token);
        if (found->decided[token] > 1 + at->run->resubmitted[token])
            tell(at, &at->counts->doubled, "was decided twice", token);
        if (acknowledged && found->decided[token] == 0)
            tell(at, &at->counts->lost, "was acknowledged and is unknown to the server", token);
        bool shown =
            powercut_is_rejected(token) ? found->rejected[token] == 1 : found->readable[token];
        if (found->decided[token] > 0 && acknowledged && !shown)
            tell(at, &at->counts->wrong, "was decided and the client does not show it", token);
    }
}

bool powercut_check_with_server(const powercut_run *run, size_t position,
                                const powercut_phase *phase, const char *folder,
                                const char *server_program, const char *server_folder,
                                powercut_counts *counts)
{
    look at = {.run = run, .position = position, .folder = folder, .counts = counts, .sound = true};
    finding found = {0};
    server_process server = {0};
    kedge_error error = {0};
    counts->with_server++;
    files_copy_folder(phase->server, server_folder);
    server_process_start(&server, server_program, server_folder);
    kedge_db *db = open_folder(&at, server.url);
    kedge_status status = db ? kedge_set_online(db, true, &error) : KEDGE_CANCELLED;
    if (status == KEDGE_OK) status = kedge_sync(db, SYNC_TIMEOUT_MS, &error);
    if (status == KEDGE_OK)
        status = history_visit(db, SYNC_TIMEOUT_MS, count_decided, &found, &error);
    if (db && !failed(&at, status, &error) && read_folder(&at, db, &found))
        judge_synced(&at, &found);
    kedge_close(db);
    server_process_stop(&server);
    files_remove_folder(server_folder);
    return at.sound;
}
