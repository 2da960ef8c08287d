/* What the client does while it is recorded: see powercut.h. Each phase opens the database, makes
 * edits or syncs, and closes it, so that the work of opening and closing is cut, too. */
#include "tests/powercut/powercut.h"

#include "common/json.h"
#include "tests/support/server_process.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SYNC_TIMEOUT_MS 120000
#define FOREIGN_TOKEN   1000 /* edits of another copy are named from here on */
#define LARGE_BYTES     12000

typedef struct player {
    powercut_run *run;
    const char *root;
    const char *program;
    sim_dice dice;
    char client[FILES_PATH_BYTES];
    char foreign[FILES_PATH_BYTES];
    char data[FILES_PATH_BYTES];
} player;

void powercut_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("powercut: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(3);
}

void *powercut_allocate(void *block, size_t size)
{
    void *larger = realloc(block, size);
    if (!larger) powercut_fail("no memory");
    return larger;
}

static kedge_status client_only(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error)
{
    (void)userdata;
    return kedge_tx_put(tx, "local", "last", 4, args, args_size, error);
}

const kedge_mutator powercut_mutators[1] = {{"powercut.client-only", 1, client_only, NULL}};

kedge_options powercut_options(const char *folder, const char *url)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = folder;
    options.url = url;
    options.organization = POWERCUT_ORGANIZATION;
    options.project = POWERCUT_PROJECT;
    options.mutators = powercut_mutators;
    options.mutator_count = 1;
    options.server_wait_ms = -1;
    options.offline = true;
    return options;
}

bool powercut_is_rejected(long token)
{
    return token % 5 == 3;
}

static bool is_cancelled(long token)
{
    return token % 3 == 2;
}

kedge_status powercut_edit(kedge_db *db, long token, int64_t *sequence, kedge_error *error)
{
    char args[LARGE_BYTES + 128];
    int padding = token % 7 == 4 ? LARGE_BYTES : (int)(token % 64);
    int size = snprintf(args, sizeof args,
                        "{\"collection\":\"edits\",\"id\":\"t%ld\","
                        "\"value\":{\"padding\":\"%0*d\",\"token\":%ld}}",
                        token, padding, 0, token);
    const char *name = powercut_is_rejected(token) ? powercut_mutators[0].name : "kedge.put";
    return kedge_mutate(db, name, args, (size_t)size, sequence, error);
}

long powercut_token_of(const char *args, size_t args_size)
{
    kedge_bytes value;
    int64_t token = 0;
    if (!kedge_json_member((kedge_bytes){args, args_size}, "value", &value) ||
        !kedge_json_member_integer(value, "token", &token) || token < 0 ||
        token >= POWERCUT_TOKENS_MAX)
        return 0;
    return (long)token;
}

/* ---- playing ---- */

static kedge_db *open_client(const char *folder, const char *url)
{
    kedge_options options = powercut_options(folder, url);
    kedge_db *db = NULL;
    kedge_error error = {0};
    if (kedge_open(&options, &db, &error) != KEDGE_OK) powercut_fail("%s", error.message);
    return db;
}

static void sync_client(kedge_db *db)
{
    kedge_error error = {0};
    if (kedge_set_online(db, true, &error) != KEDGE_OK ||
        kedge_sync(db, SYNC_TIMEOUT_MS, &error) != KEDGE_OK)
        powercut_fail("%s", error.message);
}

static void cancel_edit(player *play, kedge_db *db, long token, int64_t sequence)
{
    kedge_error error = {0};
    play->run->cancel_begun[token] = powercut_recorder_position();
    if (kedge_cancel(db, sequence, &error) != KEDGE_OK) powercut_fail("%s", error.message);
    play->run->cancelled[token] = powercut_recorder_position();
}

/* Of the oldest rejected edit, if there is one. It is in the inbox or pending, never both. */
static void resubmit(player *play, kedge_db *db)
{
    kedge_error error = {0};
    kedge_mutation_list *list = NULL;
    kedge_mutation row = KEDGE_MUTATION_INIT;
    if (kedge_rejected_open(db, &list, &error) != KEDGE_OK) powercut_fail("%s", error.message);
    kedge_status status = kedge_mutation_list_next(list, &row, &error);
    if (status == KEDGE_OK) play->run->resubmitted[powercut_token_of(row.args, row.args_size)]++;
    kedge_mutation_list_close(list);
    if (status == KEDGE_OK) status = kedge_rejected_resubmit(db, row.sequence, NULL, &error);
    if (status != KEDGE_OK && status != KEDGE_DONE) powercut_fail("%s", error.message);
}

static void edit_client(player *play, kedge_db *db, long count)
{
    kedge_error error = {0};
    for (long i = 0; i < count; i++) {
        long token = ++play->run->tokens;
        if (token >= POWERCUT_TOKENS_MAX) powercut_fail("a scenario has too many edits");
        int64_t sequence = 0;
        if (powercut_edit(db, token, &sequence, &error) != KEDGE_OK)
            powercut_fail("%s", error.message);
        play->run->acknowledged[token] = powercut_recorder_position();
        if (is_cancelled(token)) cancel_edit(play, db, token, sequence);
    }
    resubmit(play, db);
}

/* A phase of `edits`, or, when that is 0, of a sync. The server runs during a sync alone. */
static void play_phase(player *play, const char *name, long edits)
{
    powercut_phase *phase = &play->run->phases[play->run->phase_count];
    char copy[32];
    server_process server = {0};
    phase->name = name;
    phase->syncs = edits == 0;
    phase->begin = powercut_recorder_position();
    (void)snprintf(copy, sizeof copy, "server-%zu", play->run->phase_count++);
    files_path(phase->server, play->root, copy);
    if (phase->syncs)
        server_process_start(&server, play->program, play->data);
    else
        files_copy_folder(play->data, phase->server);
    kedge_db *db = open_client(play->client, phase->syncs ? server.url : NULL);
    if (phase->syncs)
        sync_client(db);
    else
        edit_client(play, db, edits);
    kedge_close(db);
    phase->end = powercut_recorder_position();
    server_process_stop(&server);
    if (phase->syncs) files_copy_folder(play->data, phase->server);
}

/* Another copy makes edits, so that the next sync has something to rebase on. */
static void play_foreign(player *play, long count)
{
    server_process server = {0};
    kedge_error error = {0};
    server_process_start(&server, play->program, play->data);
    kedge_db *db = open_client(play->foreign, server.url);
    for (long i = 0; i < count; i++)
        if (powercut_edit(db, FOREIGN_TOKEN + i, NULL, &error) != KEDGE_OK)
            powercut_fail("%s", error.message);
    sync_client(db);
    kedge_close(db);
    server_process_stop(&server);
}

static long draw(player *play, long least, long most)
{
    return least + (long)sim_dice_below(&play->dice, (uint64_t)(most - least + 1));
}

void powercut_run_make(powercut_run *run, uint64_t seed, const char *server_program,
                       const char *root)
{
    player play = {
        .run = run, .root = root, .program = server_program, .dice = sim_dice_make(seed, 1)};
    *run = (powercut_run){0};
    files_path(play.client, root, "client");
    files_path(play.foreign, root, "foreign");
    files_path(play.data, root, "server");
    if (mkdir(play.data, 0700) != 0) powercut_fail("%s: %s", play.data, strerror(errno));
    powercut_recorder_start(play.client, &run->record);
    play_phase(&play, "edits in a new folder", draw(&play, 4, 10));
    play_phase(&play, "the first sync", 0);
    play_foreign(&play, draw(&play, 1, 12));
    play_phase(&play, "edits on a pulled version", draw(&play, 3, 10));
    play_phase(&play, "a sync with a rebase", 0);
    play_phase(&play, "edits after it", draw(&play, 1, 4));
    powercut_recorder_stop();
}

void powercut_run_free(powercut_run *run)
{
    powercut_record_free(&run->record);
}
