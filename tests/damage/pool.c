/* The states of sync, each left behind by real clients and a real server: see damage.h. */
#include "tests/damage/damage.h"

#include "sdk/runtime/db.h"

#include <poll.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SYNC_TIMEOUT_MS 120000
#define STAGING_TRIES   40

/* A state while it is made. */
typedef struct making {
    damage_state *state;
    const char *program;
    server_process server;
    char client[FILES_PATH_BYTES], older[FILES_PATH_BYTES], data[FILES_PATH_BYTES];
    char other[FILES_PATH_BYTES], twin[FILES_PATH_BYTES], backup[FILES_PATH_BYTES];
} making;

/* What one process does with a folder. */
typedef struct plan {
    const char *folder;
    int edits;
    int rejected; /* so many of them, the last ones, the server rejects */
    bool ours;    /* in the folder that gets damaged */
    bool shared;  /* and one more to the shared item, before them */
    bool big;
    bool sync;
    int days_ago;      /* what this machine's clock says meanwhile */
    int dismiss;       /* so many out of the inbox at the end */
    const char *phase; /* killed when it comes there for the n-th time */
    int nth;
} plan;

typedef struct trap {
    const char *phase;
    atomic_int left;
} trap;

/* The C library's clock, for a state that needs a month to come about. It is this one that the
 * whole program calls. */
static long clock_offset_s;

int clock_gettime(clockid_t clock, struct timespec *now)
{
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME) now->tv_sec += clock_offset_s;
    return result;
}

static void on_phase(void *context, const char *phase)
{
    trap *set = context;
    if (!set->phase || strcmp(phase, set->phase) != 0 || atomic_fetch_sub(&set->left, 1) != 1)
        return;
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

static void must(kedge_status status, const kedge_error *error, const char *what)
{
    if (status != KEDGE_OK) damage_fail("%s: %s (%s)", what, error->message, error->code);
}

static void dismiss(kedge_db *db, damage_ledger *ledger, int count)
{
    kedge_mutation_list *list = NULL;
    kedge_mutation row = KEDGE_MUTATION_INIT;
    kedge_error error = {0};
    int64_t sequences[16];
    int found = 0;
    must(kedge_rejected_open(db, &list, &error), &error, "the inbox");
    while (found < count && found < 16 && kedge_mutation_list_next(list, &row, NULL) == KEDGE_OK)
        sequences[found++] = row.sequence;
    kedge_mutation_list_close(list);
    for (int i = 0; i < found; i++) {
        long token = damage_token_of_sequence(ledger, sequences[i]);
        must(kedge_rejected_dismiss(db, sequences[i], &error), &error, "dismissing");
        ledger->edits[token].dismissed = true;
    }
}

/* The ledger is shared: what is noted before the process is killed was acknowledged. */
static void edit(kedge_db *db, damage_ledger *ledger, const plan *work, long first, long token)
{
    kedge_error error = {0};
    damage_edit *one = &ledger->edits[token];
    one->shared = work->shared && token == first;
    one->rejected = token - first >= work->edits + work->shared - work->rejected;
    must(damage_make_edit(db, ledger, token, &error), &error, "an edit");
    one->ours = work->ours;
    if (one->shared) ledger->shared_shown = token;
}

/* A sync may be answered "offline" when the worker has not seen yet that this is over. */
static void sync_all(kedge_db *db)
{
    kedge_error error = {0};
    must(kedge_set_online(db, true, &error), &error, "going online");
    kedge_status status = KEDGE_NETWORK;
    for (int i = 0; status == KEDGE_NETWORK && i < 100; i++)
        status = kedge_sync(db, SYNC_TIMEOUT_MS, &error);
    must(status, &error, "a sync");
}

static void work_in_child(const making *make, const plan *work, long first)
{
    damage_ledger *ledger = make->state->ledger;
    clock_offset_s = -86400L * work->days_ago;
    trap set = {.phase = work->phase};
    atomic_init(&set.left, work->nth);
    kedge_options options = damage_options(work->folder, make->server.url);
    options.offline = !work->sync;
    kedge_db *db = NULL;
    kedge_error error = {0};
    must(kedge_open_with_phases(&options, on_phase, &set, &db, &error), &error, "opening");
    if (work->sync) must(kedge_set_online(db, false, &error), &error, "going offline");
    for (long i = 0; i < work->edits + work->shared; i++)
        edit(db, ledger, work, first, first + i);
    if (work->sync) sync_all(db);
    dismiss(db, ledger, work->dismiss);
    kedge_close(db);
}

static pid_t start_work(const making *make, const plan *work)
{
    damage_ledger *ledger = make->state->ledger;
    long *count = &ledger->count;
    if (work->big && *count < DAMAGE_BIG_TOKENS) *count = DAMAGE_BIG_TOKENS;
    long first = *count;
    *count += work->edits + work->shared;
    if (*count > DAMAGE_TOKENS_MAX - 64) damage_fail("too many edits");
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(120);
        work_in_child(make, work, first);
        _exit(0);
    }
    if (child < 0) damage_fail("no process");
    return child;
}

static void do_work(const making *make, plan work)
{
    int status = 0;
    pid_t child = start_work(make, &work);
    if (waitpid(child, &status, 0) != child) damage_fail("lost a process");
    bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    bool ended = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (work.phase ? !killed : !ended)
        damage_fail("the state \"%s\" cannot be made: status %d", make->state->name, status);
}

/* What the folder is now is what the older copy will be. The WALs are emptied after it, so that
 * what comes now is in other places than what was there. */
static void keep_older(const making *make)
{
    files_remove_folder(make->older);
    files_copy_folder(make->client, make->older);
    damage_checkpoint(make->client);
}

static void keep_backup(making *make)
{
    server_process_stop(&make->server);
    files_remove_folder(make->backup);
    files_copy_folder(make->data, make->backup);
    server_process_start(&make->server, make->program, make->data);
}

static void restore_backup(making *make)
{
    server_process_stop(&make->server);
    files_remove_folder(make->data);
    files_copy_folder(make->backup, make->data);
    server_process_start(&make->server, make->program, make->data);
}

static void ours(const making *make, int edits, bool sync)
{
    do_work(make, (plan){.folder = make->client, .edits = edits, .ours = true, .sync = sync});
}

/* ---- the states ---- */

static void make_fresh(making *make)
{
    ours(make, 0, false);
    keep_older(make);
}

/* Our edit of the shared item is pending in the older copy; by now it is decided, and another
 * user's came over it. */
static void make_confirmed(making *make)
{
    ours(make, 8, true);
    do_work(make, (plan){.folder = make->client, .edits = 2, .ours = true, .shared = true});
    keep_older(make);
    ours(make, 3, true);
    do_work(make, (plan){.folder = make->other, .edits = 0, .sync = true});
    do_work(make, (plan){.folder = make->other, .edits = 4, .shared = true, .sync = true});
    ours(make, 6, true);
}

static void make_pending(making *make)
{
    make_confirmed(make);
    do_work(make, (plan){.folder = make->client, .edits = 10, .rejected = 2, .ours = true});
}

/* The older copy has pending edits that are pending still. */
static void make_offline(making *make)
{
    ours(make, 3, true);
    ours(make, 7, false);
    keep_older(make);
    do_work(make, (plan){.folder = make->client, .edits = 7, .rejected = 2, .ours = true});
}

static void make_killed(making *make, const char *phase)
{
    make_confirmed(make);
    do_work(make, (plan){.folder = make->client,
                         .edits = 7,
                         .rejected = 2,
                         .ours = true,
                         .sync = true,
                         .phase = phase,
                         .nth = 1});
}

static void make_sent(making *make)
{
    make_killed(make, "push-sent");
}

static void make_decided(making *make)
{
    make_killed(make, "pull-before-inbox");
}

static void make_covered(making *make)
{
    make_killed(make, "pull-before-delete");
}

static void make_torn(making *make)
{
    make_confirmed(make);
    do_work(make, (plan){.folder = make->client,
                         .edits = 6,
                         .ours = true,
                         .phase = "mutate-between-commits",
                         .nth = 5});
}

static void make_rejected(making *make)
{
    do_work(make,
            (plan){.folder = make->client, .edits = 5, .rejected = 2, .ours = true, .sync = true});
    keep_older(make);
    do_work(make, (plan){.folder = make->client,
                         .edits = 8,
                         .rejected = 5,
                         .ours = true,
                         .sync = true,
                         .dismiss = 2});
    ours(make, 3, false);
}

/* True when a page has been staged and more are to come, or an outcome is. */
static bool is_staging(const char *folder, const char *table)
{
    char sql[64];
    char path[FILES_PATH_BYTES];
    sqlite3 *db = NULL;
    sqlite3_stmt *find = NULL;
    bool found = false;
    files_path(path, folder, "cache.db");
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK) {
        sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %.20s", table);
        sqlite3_prepare_v2(db, sql, -1, &find, NULL);
        found = find && sqlite3_step(find) == SQLITE_ROW && sqlite3_column_int(find, 0) > 0;
    }
    sqlite3_finalize(find);
    sqlite3_close(db);
    return found;
}

static void remove_cache(const making *make)
{
    static const char *const names[] = {"cache.db", "cache.db-wal"};
    for (size_t i = 0; i < 2; i++) {
        char path[FILES_PATH_BYTES];
        files_path(path, make->client, names[i]);
        unlink(path);
    }
}

/* Killed between two pages of the first pull, as well as it can be hit. */
static void interrupt_first_pull(making *make, const char *table)
{
    for (int tries = 0; tries < STAGING_TRIES; tries++) {
        char saved[FILES_PATH_BYTES];
        files_path(saved, make->state->path, "saved");
        files_copy_folder(make->client, saved);
        plan work = {.folder = make->client, .ours = true, .sync = true};
        pid_t child = start_work(make, &work);
        while (waitpid(child, NULL, WNOHANG) == 0) {
            if (is_staging(make->client, table)) kill(child, SIGKILL);
            poll(NULL, 0, 1);
        }
        bool hit = is_staging(make->client, table);
        if (!hit) {
            files_remove_folder(make->client);
            files_copy_folder(saved, make->client);
        }
        files_remove_folder(saved);
        if (hit) return;
    }
    damage_fail("no first pull was interrupted between its pages");
}

static void make_first_pull(making *make)
{
    do_work(make, (plan){.folder = make->other, .edits = 90, .big = true, .sync = true});
    ours(make, 4, false);
    keep_older(make);
    ours(make, 2, false);
    interrupt_first_pull(make, "staged_item");
}

/* What was pushed had been decided before, so its outcomes come with the first page. */
static void make_staged(making *make)
{
    do_work(make, (plan){.folder = make->other, .edits = 90, .big = true, .sync = true});
    do_work(make, (plan){.folder = make->client, .edits = 5, .rejected = 2, .ours = true});
    keep_older(make);
    do_work(make, (plan){.folder = make->client,
                         .edits = 2,
                         .ours = true,
                         .sync = true,
                         .phase = "pull-before-inbox",
                         .nth = 1});
    remove_cache(make);
    interrupt_first_pull(make, "staged_outcome");
}

/* A folder that was copied: the copy has pushed under the ids that our edits have. */
static void make_twin(making *make)
{
    ours(make, 5, true);
    files_copy_folder(make->client, make->twin);
    do_work(make, (plan){.folder = make->twin, .edits = 4, .sync = true});
    keep_older(make);
    ours(make, 6, false);
}

static void make_rotated(making *make)
{
    make_twin(make);
    keep_older(make);
    ours(make, 2, true);
    ours(make, 3, false);
}

/* Of the client id before the last one the oldest edits have left the tail. */
static void make_trimmed(making *make)
{
    do_work(make,
            (plan){.folder = make->client, .edits = 5, .ours = true, .sync = true, .days_ago = 31});
    ours(make, 4, true);
    keep_older(make);
    files_copy_folder(make->client, make->twin);
    do_work(make, (plan){.folder = make->twin, .edits = 3, .sync = true});
    ours(make, 4, true);
    ours(make, 3, false);
}

static void make_restored(making *make)
{
    do_work(make,
            (plan){.folder = make->client, .edits = 6, .rejected = 2, .ours = true, .sync = true});
    keep_backup(make);
    do_work(make,
            (plan){.folder = make->client, .edits = 6, .rejected = 2, .ours = true, .sync = true});
    keep_older(make);
    ours(make, 3, false);
    restore_backup(make);
}

/* The restored backend has got our edits again, under another client id. */
static void make_called_back(making *make)
{
    make_restored(make);
    ours(make, 1, true);
    ours(make, 3, false);
}

static void make_restored_twice(making *make)
{
    make_called_back(make);
    ours(make, 1, true);
    keep_older(make);
    restore_backup(make);
    ours(make, 3, false);
}

static void make_backlog(making *make)
{
    ours(make, 5, true);
    ours(make, 200, false);
    keep_older(make);
    do_work(make, (plan){.folder = make->client, .edits = 500, .rejected = 20, .ours = true});
}

static const struct {
    const char *name;
    void (*make)(making *make);
} recipes[] = {{"fresh", make_fresh},
               {"all confirmed", make_confirmed},
               {"confirmed and pending", make_pending},
               {"pending offline", make_offline},
               {"killed while pushing", make_sent},
               {"decided, not pulled", make_decided},
               {"pulled, not deleted", make_covered},
               {"killed between two commits", make_torn},
               {"rejected in the inbox", make_rejected},
               {"in the first pull", make_first_pull},
               {"staged, with outcomes", make_staged},
               {"copied folder", make_twin},
               {"trimmed tail", make_trimmed},
               {"rotated", make_rotated},
               {"restored backend", make_restored},
               {"called back", make_called_back},
               {"restored twice", make_restored_twice},
               {"large backlog", make_backlog}};

static void make_state(damage_state *state, const char *program, void (*recipe)(making *make))
{
    making *make = calloc(1, sizeof *make);
    if (!make) damage_fail("no memory");
    make->state = state;
    make->program = program;
    files_path(make->client, state->path, "client");
    files_path(make->older, state->path, "older");
    files_path(make->data, state->path, "server");
    files_path(make->other, state->path, "other");
    files_path(make->twin, state->path, "twin");
    files_path(make->backup, state->path, "backup");
    server_process_start(&make->server, program, make->data);
    recipe(make);
    server_process_stop(&make->server);
    files_remove_folder(make->other);
    files_remove_folder(make->twin);
    files_remove_folder(make->backup);
    free(make);
}

/* Each state in a process of its own, so that they are made beside each other. */
void damage_pool_make(damage_pool *pool, const char *root, const char *server_program)
{
    size_t count = sizeof recipes / sizeof *recipes;
    pid_t children[DAMAGE_STATES_MAX];
    for (size_t i = 0; i < count; i++) {
        damage_state *state = &pool->states[i];
        char name[32];
        (void)snprintf(name, sizeof name, "state-%zu", i);
        state->name = recipes[i].name;
        files_path(state->path, root, name);
        if (mkdir(state->path, 0700) != 0) damage_fail("%s cannot be made", state->path);
        state->ledger = damage_share(sizeof *state->ledger);
        state->ledger->count = 1;
        fflush(NULL);
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            make_state(state, server_program, recipes[i].make);
            _exit(0);
        }
    }
    pool->count = count;
    bool failed = false;
    for (size_t i = 0; i < count; i++) {
        int status = 0;
        failed = waitpid(children[i], &status, 0) != children[i] || status != 0 || failed;
    }
    if (failed) damage_fail("the states could not be made");
}
