/* kedge-notes: arguments, opening, one command or the live view. */
#include "notes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void notes_print_help(void)
{
    puts("kedge-notes --data DIR [--url URL] [--org NAME] [--project NAME] [--offline] [COMMAND]\n"
         "\n"
         "  add TITLE [TEXT [FOLDER]]     a new note; prints its id\n"
         "  edit ID title|text VALUE      change a field (ID: its first letters do)\n"
         "  move ID FOLDER                put it into a folder\n"
         "  delete ID\n"
         "  list | show ID\n"
         "  pending                       edits that the server has not decided yet\n"
         "  conflicts                     rejected edits, and texts that another edit covered\n"
         "  dismiss N | retry N           take rejected edit N out of the list, or make it again\n"
         "  settle ID                     forget the covered texts of a note\n"
         "  history                       the versions of the project, newest first\n"
         "  sync                          push and pull now, and wait for it\n"
         "  status\n"
         "  live                          a view that redraws when another copy edits; also\n"
         "                                what runs without a command\n"
         "\n"
         "The environment variable KEDGE_TOKEN, when set, is sent as bearer token.");
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
static int parse(int argc, char **argv, kedge_options *options)
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
                fprintf(stderr, "notes: %s %s\n", argv[i],
                        target ? "needs a value" : "is not an option");
            }
            return -1;
        }
        *target = argv[++i];
    }
    if (!options->path) {
        fputs("notes: --data DIR is missing: the folder that keeps your notes\n", stderr);
        return -1;
    }
    return i;
}

int main(int argc, char **argv)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.organization = "demo";
    options.project = "notes";
    options.mutators = notes_mutators;
    options.mutator_count = notes_mutator_count;
    if (getenv("KEDGE_TOKEN")) options.token = token_from_environment;
    int command = parse(argc, argv, &options);
    if (command < 0) {
        notes_print_help();
        return argc > 1 && strcmp(argv[1], "--help") == 0 ? NOTES_DONE : NOTES_USAGE;
    }

    kedge_db *db = NULL;
    kedge_error error = {0};
    if (kedge_open(&options, &db, &error) != KEDGE_OK) return notes_fail(&error);
    int result =
        command < argc ? notes_command(db, argc - command, argv + command) : notes_live(db);
    kedge_close(db);
    return result;
}
