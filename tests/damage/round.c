/* One round: see damage.h. */
#include "tests/damage/damage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATE_TRIES   48
#define APP_SECONDS   30
#define JUDGE_SECONDS 30
#define MORE_MAX      2

typedef struct round {
    const damage_setting *setting;
    damage_result *result;
    damage_dice dice;
    damage_ledger *ledger;
    bool cache_damaged;
    char folder[FILES_PATH_BYTES], client[FILES_PATH_BYTES], older[FILES_PATH_BYTES];
    char data[FILES_PATH_BYTES], sound[FILES_PATH_BYTES], repaired[FILES_PATH_BYTES];
    server_process server;
} round;

static void place(round *one, const damage_state *state, bool checkpointed)
{
    char from[FILES_PATH_BYTES];
    files_remove_folder(one->client);
    files_remove_folder(one->older);
    files_path(from, state->path, "client");
    files_copy_folder(from, one->client);
    files_path(from, state->path, "older");
    files_copy_folder(from, one->older);
    if (!checkpointed) return;
    damage_checkpoint(one->client);
    damage_checkpoint(one->older);
}

static uint64_t fingerprint(const round *one)
{
    return damage_fingerprint(one->client, "outbox.db") * 31 +
           damage_fingerprint(one->client, "cache.db");
}

static bool apply(round *one, size_t kind, uint64_t turn, bool main_one)
{
    damage_target target = {
        .folder = one->client, .older = one->older, .turn = turn, .dice = &one->dice};
    uint64_t before = fingerprint(one);
    if (!damage_kinds[kind].apply(&target, damage_kinds[kind].file)) return false;
    if (fingerprint(one) == before) return false;
    if (main_one) memcpy(one->result->place, target.place, sizeof target.place);
    damage_note(&one->result->seen, "%s", target.what);
    return true;
}

static bool of_outbox(size_t kind)
{
    return strncmp(damage_kinds[kind].file, "outbox", 6) == 0;
}

/* Now and then does one or two more kinds of damage. Only a sound cache shows that the outbox is an
 * older one, so damage to the cache is not combined with an older outbox. */
static void apply_more(round *one, size_t kind)
{
    bool back = damage_kinds[kind].rolls_back;
    bool cache = !of_outbox(kind);
    one->cache_damaged = cache;
    uint64_t more = damage_draw(&one->dice, 8);
    for (uint64_t i = 0; i < MORE_MAX && i + 6 < more; i++) {
        size_t next = (size_t)damage_draw(&one->dice, damage_kind_count);
        if (of_outbox(next) ? cache && damage_kinds[next].rolls_back : back) continue;
        uint64_t turn = damage_draw(&one->dice, 1000);
        if (!apply(one, next, turn, false)) continue;
        back = back || damage_kinds[next].rolls_back;
        cache = cache || !of_outbox(next);
        one->cache_damaged = cache;
    }
}

/* Looks for a state in which this kind of damage can be done, and does it. */
static bool damage(round *one, uint64_t turn)
{
    const damage_pool *pool = &one->setting->pool;
    size_t kind = one->result->kind;
    for (int tries = 0; tries < STATE_TRIES; tries++) {
        size_t number = (size_t)damage_draw(&one->dice, pool->count);
        const damage_state *state = &pool->states[number];
        bool checkpointed = damage_draw(&one->dice, 2) == 0;
        place(one, state, checkpointed);
        one->result->seen.trace_size = 0;
        if (!apply(one, kind, turn, true)) continue;
        char from[FILES_PATH_BYTES];
        files_path(from, state->path, "server");
        files_copy_folder(from, one->data);
        memcpy(one->ledger, state->ledger, sizeof *one->ledger);
        one->result->state = number;
        apply_more(one, kind);
        return true;
    }
    return false;
}

/* Runs `work` in a child process. Returns whether that has ended well. */
static bool run(round *one, unsigned seconds, void (*work)(round *one), const char *what)
{
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(seconds);
        work(one);
        _exit(0);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        damage_endless(&one->result->seen, "%s did not end within %u s", what, seconds);
    else
        damage_wrong(&one->result->seen, "%s ended with status %d", what, status);
    return false;
}

static void use(round *one)
{
    damage_app(one->client, one->server.url, one->cache_damaged, one->ledger, &one->result->seen);
}

static void use_repaired(round *one)
{
    damage_app(one->repaired, one->server.url, true, one->ledger, &one->result->seen);
}

static void repair(round *one)
{
    damage_seen *seen = &one->result->seen;
    kedge_error error = {0};
    int64_t missing = 0;
    kedge_status status = damage_repair(one->client, one->repaired, &missing, &error);
    if (status == KEDGE_OK) {
        seen->repaired = true;
        seen->nobody_knows = missing < 0;
        damage_note(seen, "repaired into a new folder; %lld edits are missing", (long long)missing);
    } else {
        damage_note(seen, "not repaired: %s (%s)", error.message, error.code);
    }
}

static void look_at_server(round *one)
{
    damage_read_server(one->sound, one->server.url, one->ledger, &one->result->seen);
}

static void wait_for_it(round *one)
{
    bool repaired = one->result->seen.repaired;
    damage_app_waits(repaired ? one->repaired : one->client, one->server.url, one->ledger,
                     &one->result->seen);
}

static ino_t cache_identity(const round *one)
{
    char path[FILES_PATH_BYTES];
    struct stat facts;
    files_path(path, one->client, "cache.db");
    return stat(path, &facts) == 0 ? facts.st_ino : 0;
}

/* The folder was refused: its outbox must be unchanged, and a repair must save what can be
 * saved. */
static void after_refusal(round *one, uint64_t before)
{
    damage_seen *seen = &one->result->seen;
    if (!seen->opened && damage_fingerprint(one->client, "outbox.db") != before)
        damage_wrong(seen, "the folder was refused, and its outbox was changed");
    if (!run(one, APP_SECONDS, repair, "the repair") || !seen->repaired) return;
    seen->opened = false;
    seen->finished = false;
    kedge_error first = seen->refusal;
    seen->refused = false;
    run(one, APP_SECONDS, use_repaired, "the app in the repaired folder");
    if (seen->refused) damage_wrong(seen, "the repaired folder is refused");
    seen->refused = true;
    seen->refusal = first;
}

static void play(round *one)
{
    damage_seen *seen = &one->result->seen;
    ino_t cache = cache_identity(one);
    uint64_t before = damage_fingerprint(one->client, "outbox.db");
    if (one->setting->keep) {
        char damaged[FILES_PATH_BYTES];
        files_path(damaged, one->folder, "damaged");
        files_copy_folder(one->client, damaged);
    }
    server_process_start(&one->server, one->setting->server_program, one->data);
    run(one, APP_SECONDS, use, "the app");
    if (seen->refused) after_refusal(one, before);
    run(one, JUDGE_SECONDS, look_at_server, "the sound copy");
    if (damage_difference(seen)) run(one, APP_SECONDS, wait_for_it, "the app that waits");
    if (!seen->refused && cache_identity(one) != cache) seen->healed = true;
    server_process_stop(&one->server);
    damage_judge(one->ledger, seen);
}

void damage_round(const damage_setting *setting, uint64_t seed, damage_result *result)
{
    char name[48];
    uint64_t turn = 0;
    round one = {.setting = setting, .result = result, .dice = damage_dice_make(seed)};
    result->seed = seed;
    result->kind = damage_kind_of(seed, &turn);
    one.ledger = damage_share(sizeof *one.ledger);
    (void)snprintf(name, sizeof name, "round-%llu", (unsigned long long)seed);
    files_path(one.folder, setting->root, name);
    if (mkdir(one.folder, 0700) != 0) damage_fail("%s: %s", one.folder, strerror(errno));
    files_path(one.client, one.folder, "client");
    files_path(one.older, one.folder, "older");
    files_path(one.data, one.folder, "server");
    files_path(one.sound, one.folder, "sound");
    files_path(one.repaired, one.folder, "repaired");
    result->applied = damage(&one, turn);
    if (result->applied) play(&one);
    if (!setting->keep) files_remove_folder(one.folder);
    damage_unshare(one.ledger, sizeof *one.ledger);
}
