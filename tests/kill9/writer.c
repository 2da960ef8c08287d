/* The victim: see kill9.h. */
#include "tests/kill9/kill9.h"

#include "sdk/runtime/db.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SYNC_TIMEOUT_MS 120000
#define SYNC_EVERY      8

typedef struct trap {
    const char *phase;
    atomic_long left;
    int report;
} trap;

/* Runs on the app's thread or the worker's, whichever came to the phase. A push in flight is for
 * the killer to hit, from outside: it is told when one leaves and when its pull begins. */
static void on_phase(void *context, const char *phase)
{
    trap *set = context;
    if (set->phase && strcmp(set->phase, KILL9_IN_FLIGHT) == 0) {
        bool push = strcmp(phase, "push-sent") == 0;
        bool pull = strcmp(phase, "pull-before-inbox") == 0;
        if ((push || pull) && write(set->report, push ? "push\n" : "pull\n", 5) != 5) abort();
        return;
    }
    if (set->phase && strcmp(phase, set->phase) == 0 && atomic_fetch_sub(&set->left, 1) == 1) {
        kill(getpid(), SIGKILL);
        for (;;)
            pause();
    }
}

bool kill9_is_rejected(long token)
{
    return token % 5 == 0 && token % 2 == 1;
}

static kedge_status client_only(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                                kedge_error *error)
{
    (void)userdata;
    return kedge_tx_put(tx, "local", "last", 4, args, args_size, error);
}

const kedge_mutator kill9_mutators[1] = {{"kill9.client-only", 1, client_only, NULL}};

static kedge_status edit(kedge_db *db, long token, kedge_error *error)
{
    char args[128];
    int size = snprintf(args, sizeof args,
                        "{\"collection\":\"edits\",\"id\":\"t%ld\",\"value\":{\"token\":%ld}}",
                        token, token);
    const char *name = kill9_is_rejected(token) ? kill9_mutators[0].name : "kedge.put";
    return kedge_mutate(db, name, args, (size_t)size, NULL, error);
}

/* Writes the token in one piece: what the pipe holds was acknowledged. */
static bool report(const kill9_writer *writer, long token)
{
    char line[32];
    int size = snprintf(line, sizeof line, "%ld\n", token);
    return write(writer->report, line, (size_t)size) == size;
}

int kill9_write(const kill9_writer *writer)
{
    trap set = {.phase = writer->phase, .report = writer->report};
    atomic_init(&set.left, writer->nth);
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = writer->folder;
    options.url = writer->url;
    options.organization = KILL9_ORGANIZATION;
    options.project = KILL9_PROJECT;
    options.mutators = kill9_mutators;
    options.mutator_count = 1;
    options.server_wait_ms = -1;
    kedge_db *db = NULL;
    kedge_error error = {0};
    kedge_status status = kedge_open_with_phases(&options, on_phase, &set, &db, &error);
    for (long i = 0; status == KEDGE_OK && i < writer->edits; i++) {
        long token = writer->first_token + i;
        status = edit(db, token, &error);
        if (status == KEDGE_OK && !report(writer, token)) status = KEDGE_IO;
        if (status == KEDGE_OK && i % SYNC_EVERY == SYNC_EVERY - 1) {
            status = kedge_sync(db, SYNC_TIMEOUT_MS, &error);
        }
    }
    if (status == KEDGE_OK) status = kedge_sync(db, SYNC_TIMEOUT_MS, &error);
    if (status != KEDGE_OK) fprintf(stderr, "writer: %s (%s)\n", error.message, error.code);
    kedge_close(db);
    return status == KEDGE_OK ? 0 : 1;
}
