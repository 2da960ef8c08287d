/* Reading the command line of kedge-admin. */
#include "backend/admin/verbs.h"
#include "common/error.h"

#include <string.h>

/* ---- options ---- */

static kedge_status read_option(int argc, char **argv, int *at, kedge_admin_line *line,
                                char *letter, kedge_error *error)
{
    const char **value = kedge_stores_option(&line->stores, argv[*at]);
    bool *flag = kedge_stores_flag(&line->stores, argv[*at]);
    if (value != NULL || flag != NULL) line->of_stores = argv[*at];
    const kedge_admin_option *option = kedge_admin_find_option(argv[*at]);
    if (option != NULL) {
        void *member = (char *)line + option->offset;
        *letter = option->letter;
        if (option->is_flag) {
            flag = member;
        } else {
            value = member;
        }
    }
    if (flag != NULL) {
        *flag = true;
        return KEDGE_OK;
    }
    if (value == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "there is no option %s",
                          argv[*at]);
    }
    if (*at + 1 == argc) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s needs a value", argv[*at]);
    }
    *at += 1;
    *value = argv[*at];
    return KEDGE_OK;
}

/* The options that not every command takes, as they were given. */
typedef struct given_options {
    char letters[8];
    const char *names[8];
    size_t count;
} given_options;

static kedge_status note_option(const char *name, char letter, given_options *given,
                                kedge_error *error)
{
    if (letter == 0) return KEDGE_OK;
    if (given->count == sizeof given->letters) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s is one option too many",
                          name);
    }
    given->letters[given->count] = letter;
    given->names[given->count++] = name;
    return KEDGE_OK;
}

static kedge_status read_words(int argc, char **argv, kedge_admin_line *line, given_options *given,
                               kedge_error *error)
{
    bool only_words = false; /* after "--" */
    for (int at = 1; at < argc; at++) {
        if (!only_words && strcmp(argv[at], "--") == 0) {
            only_words = true;
        } else if (!only_words && argv[at][0] == '-' && argv[at][1] != '\0') {
            char letter = 0;
            const char *name = argv[at];
            kedge_status status = read_option(argc, argv, &at, line, &letter, error);
            if (status == KEDGE_OK) status = note_option(name, letter, given, error);
            if (status != KEDGE_OK) return status;
        } else if (line->command == NULL) {
            line->command = argv[at];
        } else if (line->argument_count < KEDGE_ADMIN_ARGUMENTS_MAX) {
            line->arguments[line->argument_count++] = argv[at];
        } else {
            return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "\"%s\" is one too many",
                              argv[at]);
        }
    }
    return KEDGE_OK;
}

/* ---- the command ---- */

static kedge_status check_arguments(const kedge_admin_command *command,
                                    const kedge_admin_line *line, kedge_error *error)
{
    size_t wanted = 0;
    while (wanted < KEDGE_ADMIN_ARGUMENTS_MAX && command->arguments[wanted] != NULL)
        wanted++;
    if (line->argument_count < wanted) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s needs %s", command->name,
                          command->arguments[line->argument_count]);
    }
    if (line->argument_count > wanted) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s takes no \"%s\"",
                          command->name, line->arguments[wanted]);
    }
    bool has_data = (command->traits & KEDGE_ADMIN_HAS_NO_DATA) == 0;
    if (!has_data && line->of_stores != NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s does not take %s",
                          command->name, line->of_stores);
    }
    if (has_data) {
        kedge_stores_options stores = line->stores;
        bool makes_data = (command->traits & KEDGE_ADMIN_MAKES_DATA) != 0;
        if (stores.data != NULL && makes_data) stores.create = false;
        kedge_status status = kedge_stores_check(&stores, error);
        if (status != KEDGE_OK) return status;
    }
    const char *path = command->path == NULL ? "" : command->path;
    bool of_project = strstr(path, "{p}") != NULL;
    bool of_organization = of_project || strstr(path, "{o}") != NULL;
    if ((of_organization && line->organization == NULL) || (of_project && line->project == NULL)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s needs %s", command->name,
                          line->organization == NULL ? "--org ORG" : "--project PROJECT");
    }
    /* A command for all projects must not run for a caller who has named one of them. */
    if ((!of_organization && line->organization != NULL) ||
        (!of_project && line->project != NULL)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s does not take %s",
                          command->name, of_organization ? "--project" : "--org and --project");
    }
    return KEDGE_OK;
}

kedge_status kedge_admin_parse(int argc, char **argv, kedge_admin_line *line,
                               const kedge_admin_command **command, kedge_error *error)
{
    given_options given = {.count = 0};
    *line = (kedge_admin_line){.help = false};
    kedge_status status = read_words(argc, argv, line, &given, error);
    if (status != KEDGE_OK || line->help) return status;
    if (line->command == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "a command is missing");
    }
    *command = kedge_admin_find(line->command);
    if (*command == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "there is no command \"%s\"",
                          line->command);
    }
    for (size_t at = 0; at < given.count; at++) {
        const char *taken = (*command)->options;
        if (taken != NULL && strchr(taken, given.letters[at]) != NULL) continue;
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s does not take %s",
                          line->command, given.names[at]);
    }
    return check_arguments(*command, line, error);
}
