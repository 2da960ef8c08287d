/* Makes many edits, or large ones, in one process, which the notes app's command line cannot:
 *
 *   kedge_e2e_writer FOLDER PROJECT COUNT BYTES PREFIX
 *
 * Each is a kedge.put of the note "PREFIX<number>", whose text has BYTES bytes. Prints, one a line,
 * what was acknowledged; ends with 1 at the first edit that was refused, its error on stderr. */
#include "examples/notes/notes_mutators.h"

#include <kedge/kedge.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const kedge_error *error)
{
    fprintf(stderr, "%s (%s)\n", error->message, error->code);
    return 1;
}

/* The state of the generator of texts that hardly compress. */
static uint64_t random_state = 1;
static const char letters[65] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static int write_one(kedge_db *db, const char *name, size_t bytes, char *args, size_t args_size)
{
    kedge_error error = {0};
    int size =
        snprintf(args, args_size,
                 "{\"collection\":\"notes\",\"id\":\"%s\",\"value\":{\"folder\":\"\",\"title\":"
                 "\"%s\",\"text\":\"",
                 name, name);
    for (size_t i = 0; i < bytes; i++) {
        random_state = random_state * 6364136223846793005u + 1442695040888963407u;
        args[(size_t)size + i] = letters[random_state >> 58];
    }
    memcpy(args + size + bytes, "\"}}", 4);
    if (kedge_mutate(db, "kedge.put", args, strlen(args), NULL, &error) != KEDGE_OK) {
        return fail(&error);
    }
    puts(name);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc != 6) return 2;
    long count = strtol(argv[3], NULL, 10);
    size_t bytes = strtoul(argv[4], NULL, 10);
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = argv[1];
    options.organization = "demo";
    options.project = argv[2];
    options.mutators = notes_mutators;
    options.mutator_count = notes_mutator_count;
    options.offline = true;
    kedge_db *db = NULL;
    kedge_error error = {0};
    if (kedge_open(&options, &db, &error) != KEDGE_OK) return fail(&error);
    size_t args_size = bytes + 1024;
    char *args = malloc(args_size);
    int result = args ? 0 : 1;
    for (long number = 0; number < count && result == 0; number++) {
        char name[64];
        snprintf(name, sizeof name, "%.32s%ld", argv[5], number);
        result = write_one(db, name, bytes, args, args_size);
    }
    free(args);
    kedge_close(db);
    return result;
}
