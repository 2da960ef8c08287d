/* Arguments, opening, one command or the live view; what the commands of all apps need. */
#include "terminal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int terminal_fail(const char *name, const kedge_error *error)
{
    fprintf(stderr, "%s: %s (%s)\n", name, error->message, error->code);
    return TERMINAL_FAILED;
}

int terminal_print_status(const char *name, kedge_db *db)
{
    static const char *const connections[] = {"offline", "another process syncs", "connecting",
                                              "online", "stopped"};
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    kedge_error error = {0};
    if (kedge_get_sync_status(db, &status, &error) != KEDGE_OK) return terminal_fail(name, &error);
    printf("  %s, version %lld, %lld pending, %lld rejected%s%s%s\n",
           connections[status.connection], (long long)status.version, (long long)status.pending,
           (long long)status.rejected, status.resyncing ? ", resyncing" : "",
           status.last_error.status != KEDGE_OK ? "; " : "",
           status.last_error.status != KEDGE_OK ? status.last_error.message : "");
    return TERMINAL_DONE;
}

int terminal_sync(const char *name, kedge_db *db, int32_t timeout_ms)
{
    kedge_error error = {0};
    if (kedge_sync(db, timeout_ms, &error) != KEDGE_OK) return terminal_fail(name, &error);
    return terminal_print_status(name, db);
}

int terminal_mutate(const char *name, kedge_db *db, const char *mutator, cJSON *args)
{
    char *text = cJSON_PrintUnformatted(args);
    cJSON_Delete(args);
    if (!text) return TERMINAL_FAILED;
    kedge_error error = {0};
    int64_t sequence = 0;
    kedge_status status = kedge_mutate(db, mutator, text, strlen(text), &sequence, &error);
    cJSON_free(text);
    if (status != KEDGE_OK) return terminal_fail(name, &error);
    printf("edit %lld: %s\n", (long long)sequence, mutator);
    return TERMINAL_DONE;
}

int terminal_dismiss(const char *name, kedge_db *db, const char *sequence)
{
    kedge_error error = {0};
    kedge_status status = kedge_rejected_dismiss(db, strtoll(sequence, NULL, 10), &error);
    return status == KEDGE_OK ? TERMINAL_DONE : terminal_fail(name, &error);
}

bool terminal_random(char digits[9])
{
    uint32_t random = 0;
    FILE *file = fopen("/dev/urandom", "rb");
    bool fine = file && fread(&random, sizeof random, 1, file) == 1;
    if (file) fclose(file);
    snprintf(digits, 9, "%08x", random);
    return fine;
}

int terminal_dispatch(const char *name, const terminal_command *commands, size_t command_count,
                      kedge_db *db, int count, char **words)
{
    for (size_t i = 0; i < command_count; i++) {
        if (strcmp(words[0], commands[i].name) != 0) continue;
        if (count < commands[i].words_min || count > commands[i].words_max) break;
        return commands[i].run(db, count, words);
    }
    fprintf(stderr, "%s: \"%s\" is not a command, or takes other words; see --help\n", name,
            words[0]);
    return TERMINAL_USAGE;
}

static kedge_status token_from_environment(void *userdata, char *buffer, size_t buffer_size)
{
    (void)userdata;
    const char *token = getenv("KEDGE_TOKEN");
    if (!token || strlen(token) >= buffer_size) return KEDGE_UNAUTHORIZED;
    memcpy(buffer, token, strlen(token) + 1);
    return KEDGE_OK;
}

/* Fills the options from the arguments; returns the index of the command, or -1. */
static int parse(const terminal_app *app, int argc, char **argv, kedge_options *options)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
        if (strcmp(argv[i], "--offline") == 0) {
            options->offline = true;
            continue;
        }
        const char **target = strcmp(argv[i], "--data") == 0      ? &options->path
                              : strcmp(argv[i], "--url") == 0     ? &options->url
                              : strcmp(argv[i], "--org") == 0     ? &options->organization
                              : strcmp(argv[i], "--project") == 0 ? &options->project
                                                                  : NULL;
        if (!target || i + 1 == argc) {
            if (strcmp(argv[i], "--help") != 0) {
                fprintf(stderr, "%s: %s %s\n", app->name, argv[i],
                        target ? "needs a value" : "is not an option");
            }
            return -1;
        }
        *target = argv[++i];
    }
    if (!options->path) {
        fprintf(stderr, "%s: --data DIR is missing: the folder that keeps this copy\n", app->name);
        return -1;
    }
    return i;
}

static void print_help(const terminal_app *app)
{
    printf("kedge-%s --data DIR [--url URL] [--org NAME] [--project NAME] [--offline] [COMMAND]\n\n"
           "%s\n\n"
           "The environment variable KEDGE_TOKEN, when set, is sent as bearer token.\n",
           app->name, app->help);
}

int terminal_run(const terminal_app *app, int argc, char **argv)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.organization = "demo";
    options.project = app->project;
    options.mutators = app->mutators;
    options.mutator_count = *app->mutator_count;
    if (getenv("KEDGE_TOKEN")) options.token = token_from_environment;
    int command = parse(app, argc, argv, &options);
    if (command < 0) {
        print_help(app);
        return argc > 1 && strcmp(argv[1], "--help") == 0 ? TERMINAL_DONE : TERMINAL_USAGE;
    }

    kedge_db *db = NULL;
    kedge_error error = {0};
    if (kedge_open(&options, &db, &error) != KEDGE_OK) return terminal_fail(app->name, &error);
    int result =
        command < argc ? app->command(db, argc - command, argv + command) : terminal_live(app, db);
    kedge_close(db);
    return result;
}
