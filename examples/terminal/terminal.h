/* What the example apps for a terminal share: arguments, opening, one command or the live view. */
#ifndef TERMINAL_H
#define TERMINAL_H

#include <cjson/cJSON.h>
#include <kedge/kedge.h>

/* Exit codes: 0 done, 1 the command failed, 2 wrong usage. */
enum { TERMINAL_DONE = 0, TERMINAL_FAILED = 1, TERMINAL_USAGE = 2 };

typedef struct terminal_app {
    const char *name; /* in front of messages */
    const char *project;
    const kedge_mutator *mutators;
    const size_t *mutator_count;
    const char *help;
    const char *title; /* of the live view */
    /* Runs one command, for example {"add", "Groceries", "milk"}; returns an exit code. */
    int (*command)(kedge_db *db, int count, char **words);
    /* Prints what the live view shows. */
    void (*draw)(kedge_db *db);
} terminal_app;

/* The whole program: kedge-NAME --data DIR [--url URL] [--org NAME] [--project NAME] [--offline]
 * [COMMAND]. Without a command it is the live view. The environment variable KEDGE_TOKEN, when set,
 * is sent as bearer token. */
int terminal_run(const terminal_app *app, int argc, char **argv);

/* The live view with a prompt, until end of input or `quit`. */
int terminal_live(const terminal_app *app, kedge_db *db);

/* Prints "NAME: message (code)" and returns TERMINAL_FAILED. */
int terminal_fail(const char *name, const kedge_error *error);
int terminal_print_status(const char *name, kedge_db *db);
int terminal_sync(const char *name, kedge_db *db, int32_t timeout_ms);

/* A command: its name, how many words it may have with the name, and what runs it. */
typedef struct terminal_command {
    const char *name;
    int words_min, words_max;
    int (*run)(kedge_db *db, int count, char **words);
} terminal_command;

/* Runs the command that the words name; TERMINAL_USAGE with a message when there is none. */
int terminal_dispatch(const char *name, const terminal_command *commands, size_t command_count,
                      kedge_db *db, int count, char **words);
/* Makes the edit, prints its sequence and frees `args`. */
int terminal_mutate(const char *name, kedge_db *db, const char *mutator, cJSON *args);
/* Dismisses the rejected edit of a sequence, given as text. */
int terminal_dismiss(const char *name, kedge_db *db, const char *sequence);
/* Eight hexadecimal digits at random, for ids that no other copy makes. */
bool terminal_random(char digits[9]);

#endif
