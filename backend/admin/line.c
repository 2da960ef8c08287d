/* Reading the command line of kedge-admin. */
#include "backend/admin/verbs.h"
#include "common/error.h"

#include <string.h>

/* ---- options ---- */

typedef struct admin_option {
    const char *name;
    char letter;        /* in a command's `options`; 0: any command takes it */
    const char **value; /* NULL: a flag */
    bool *flag;
} admin_option;

static kedge_status read_option(int argc, char **argv, int *at, kedge_admin_line *line,
                                char *letter, kedge_error *error)
{
    const admin_option options[] = {
        {"--org", 0, &line->organization, NULL},
        {"--project", 0, &line->project, NULL},
        {"--version", 'v', &line->version, NULL},
        {"--before", 'b', &line->before, NULL},
        {"--after", 'a', &line->after, NULL},
        {"--limit", 'l', &line->limit, NULL},
        {"--items", 'i', NULL, &line->items},
        {"--from", 'f', &line->from, NULL},
        {"--to", 't', &line->to, NULL},
        {"--expected", 'e', &line->expected, NULL},
        {"--since", 's', &line->since, NULL},
        {"--mutators", 'm', &line->mutators, NULL},
        {"--keep-versions", 'k', &line->keep_versions, NULL},
        {"--keep-days", 'd', &line->keep_days, NULL},
        {"--grace-hours", 'g', &line->grace_hours, NULL},
        {"--remove", 'r', NULL, &line->remove},
        {"--repair", 'p', NULL, &line->repair},
        {"--yes", 'y', NULL, &line->yes},
        {"--algorithm", 'A', &line->algorithm, NULL},
        {"--issuer", 'I', &line->issuer, NULL},
        {"--audience", 'U', &line->audience, NULL},
        {"--user", 'u', &line->user, NULL},
        {"--role", 'o', &line->role, NULL},
        {"--projects", 'j', &line->projects, NULL},
        {"--minutes", 'x', &line->minutes, NULL},
        {"--claims", 'c', &line->claims, NULL},
        {"--audit", 0, &line->audit, NULL},
        {"--help", 0, NULL, &line->help},
        {"-h", 0, NULL, &line->help},
    };
    const char **value = kedge_stores_option(&line->stores, argv[*at]);
    bool *flag = kedge_stores_flag(&line->stores, argv[*at]);
    if (value != NULL || flag != NULL) line->of_stores = argv[*at];
    for (size_t option = 0; option < sizeof options / sizeof options[0]; option++) {
        if (strcmp(argv[*at], options[option].name) != 0) continue;
        *letter = options[option].letter;
        value = options[option].value;
        flag = options[option].flag;
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

bool kedge_admin_has_stores(const kedge_admin_command *command)
{
    return command->run != kedge_admin_make_keys && command->run != kedge_admin_token;
}

bool kedge_admin_makes_data(const kedge_admin_command *command)
{
    bool creates = command->method != NULL && strcmp(command->method, "PUT") == 0;
    return (creates && command->arguments[0] == NULL) || command->run == kedge_admin_import ||
           command->run == kedge_admin_create_log_project;
}

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
    if (!kedge_admin_has_stores(command) && line->of_stores != NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s does not take %s",
                          command->name, line->of_stores);
    }
    if (kedge_admin_has_stores(command)) {
        kedge_stores_options stores = line->stores;
        if (stores.data != NULL && kedge_admin_makes_data(command)) stores.create = false;
        kedge_status status = kedge_stores_check(&stores, error);
        if (status != KEDGE_OK) return status;
    }
    bool of_project = strstr(command->path, "{p}") != NULL;
    bool of_organization = of_project || strstr(command->path, "{o}") != NULL;
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
        if (strchr((*command)->options, given.letters[at]) != NULL) continue;
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s does not take %s",
                          line->command, given.names[at]);
    }
    return check_arguments(*command, line, error);
}
