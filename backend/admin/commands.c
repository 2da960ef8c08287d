/* The table of kedge-admin's commands, and reading its command line. */
#include "backend/admin/verbs.h"
#include "common/error.h"
#include "common/percent.h"

#include <string.h>

#define PROJECT "/v1/orgs/{o}/projects/{p}"

static const kedge_admin_command commands[] = {
    {"create-project",
     {NULL},
     kedge_admin_ask,
     "PUT",
     PROJECT,
     "",
     "makes the project; it may exist"},
    {"projects",
     {"ORG"},
     kedge_admin_ask,
     "GET",
     "/v1/orgs/{0}/projects",
     "al",
     "the projects of an organization"},
    {"organizations",
     {"PROJECT"},
     kedge_admin_ask,
     "GET",
     "/v1/projects/{0}",
     "",
     "who has a project of this name"},
    {"versions",
     {NULL},
     kedge_admin_ask,
     "GET",
     PROJECT "/versions",
     "bl",
     "versions with their mutations"},
    {"version",
     {"V"},
     kedge_admin_ask,
     "GET",
     PROJECT "/versions/{0}",
     "i",
     "one version and its items"},
    {"items",
     {"COLLECTION"},
     kedge_admin_ask,
     "GET",
     PROJECT "/versions/{v}/collections/{0}",
     "val",
     "the items of a collection, without their values"},
    {"item",
     {"COLLECTION", "ID"},
     kedge_admin_ask,
     "GET",
     PROJECT "/versions/{v}/collections/{0}/{1}",
     "v",
     "one item"},
    {"mutation",
     {"CLIENT", "N"},
     kedge_admin_ask,
     "GET",
     PROJECT "/clients/{0}/mutations/{1}",
     "",
     "whether and how a mutation was decided"},
    {"latest-mutation",
     {"CLIENT"},
     kedge_admin_ask,
     "GET",
     PROJECT "/clients/{0}/mutations/latest",
     "",
     "the last mutation of a client"},
    {"index",
     {NULL},
     kedge_admin_index,
     NULL,
     PROJECT,
     "",
     "completes index rows and due checkpoints"},
    {"fork", {"NAME"}, kedge_admin_fork, NULL, PROJECT, "v", "a version becomes a new project"},
    {"rebase",
     {"SOURCE", "JOB"},
     kedge_admin_rebase,
     NULL,
     PROJECT,
     "ftm",
     "replays versions of another project"},
    {"verify",
     {NULL},
     kedge_admin_verify,
     NULL,
     PROJECT,
     "p",
     "looks for damage in all that the project keeps"},
    {"retention",
     {NULL},
     kedge_admin_retention,
     NULL,
     PROJECT,
     "kdr",
     "which old versions need not be kept"},
    {"checkpoint",
     {NULL},
     kedge_admin_checkpoint,
     NULL,
     PROJECT,
     "",
     "writes a checkpoint of every collection"},
    {"export", {"FILE"}, kedge_admin_export, NULL, PROJECT, "", "the whole project, into a file"},
    {"import", {"FILE"}, kedge_admin_import, NULL, PROJECT, "", "a project from such a file"},
    {"discard-import",
     {NULL},
     kedge_admin_discard_import,
     NULL,
     PROJECT,
     "",
     "removes what an import has left"},
    {"gc", {NULL}, kedge_admin_gc, NULL, PROJECT, "gr", "blobs that nothing refers to any more"},
    {"dead-letters",
     {NULL},
     kedge_admin_dead_letters,
     NULL,
     "",
     "",
     "queued messages that could not be decided, the oldest 100"},
    {"redrive",
     {"ID"},
     kedge_admin_redrive,
     NULL,
     "",
     "",
     "puts a dead letter back into the queue"},
    {"redrive-all", {NULL}, kedge_admin_redrive_all, NULL, "", "", "the same for all of them"},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

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
        {"--mutators", 'm', &line->mutators, NULL},
        {"--keep-versions", 'k', &line->keep_versions, NULL},
        {"--keep-days", 'd', &line->keep_days, NULL},
        {"--grace-hours", 'g', &line->grace_hours, NULL},
        {"--remove", 'r', NULL, &line->remove},
        {"--repair", 'p', NULL, &line->repair},
        {"--help", 0, NULL, &line->help},
        {"-h", 0, NULL, &line->help},
    };
    const char **value = kedge_stores_option(&line->stores, argv[*at]);
    bool *flag = kedge_stores_flag(&line->stores, argv[*at]);
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
    bool only_words = false; /* behind "--" */
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

static const kedge_admin_command *find_command(const char *name)
{
    for (size_t at = 0; at < COMMAND_COUNT; at++) {
        if (strcmp(commands[at].name, name) == 0) return &commands[at];
    }
    return NULL;
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
    kedge_status status = kedge_stores_check(&line->stores, error);
    if (status != KEDGE_OK) return status;
    bool of_project = strstr(command->path, "{p}") != NULL;
    if (of_project && (line->organization == NULL || line->project == NULL)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s needs %s", command->name,
                          line->organization == NULL ? "--org ORG" : "--project PROJECT");
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
    *command = find_command(line->command);
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

void kedge_admin_write_help(kedge_buffer *out)
{
    kedge_buffer_append_text(
        out, "kedge-admin (--data DIR | --table TABLE --bucket BUCKET) [--org ORG --project P]\n"
             "            COMMAND [ARGUMENT…] [OPTION…]\n"
             "\n"
             "Shows and changes what a backend keeps, also while servers run on it.\n"
             "\n");
    for (size_t at = 0; at < COMMAND_COUNT; at++) {
        const kedge_admin_command *command = &commands[at];
        const char *first = command->arguments[0] == NULL ? "" : command->arguments[0];
        const char *second = command->arguments[1] == NULL ? "" : command->arguments[1];
        int used = (int)(strlen(command->name) + strlen(first) + strlen(second));
        kedge_buffer_append_format(out, "  %s %s %s%*s%s\n", command->name, first, second,
                                   used < 26 ? 26 - used : 1, "", command->help);
    }
    kedge_buffer_append_text(out, "\n");
    kedge_buffer_append_text(out, kedge_stores_help);
    kedge_buffer_append_text(
        out,
        "  --org ORG, --project PROJECT\n"
        "                      which project; for commands about one\n"
        "  --version V         items, item, fork: of this version; otherwise of the latest\n"
        "  --items             version: with the items' values\n"
        "  --from V            rebase: the first version of the source; needed\n"
        "  --to V              rebase: the last version of the source; otherwise its latest\n"
        "  --mutators LIBRARY  rebase: the app's mutators, run in child processes\n"
        "  --keep-versions N   retention: the newest N versions are kept\n"
        "  --keep-days D       retention: versions of the last D days are kept\n"
        "  --grace-hours H     gc: what is younger stays; 24 when not given\n"
        "  --remove            retention, gc: removes; otherwise nothing is changed\n"
        "  --repair            verify: writes again what copies still have\n"
        "  --before V          versions: below this one\n"
        "  --after NAME        projects, items: behind this one (\"next\" of the page before)\n"
        "  --limit N           how many in one page\n"
        "  --                  what follows is not an option\n"
        "\n"
        "The response goes to the standard output. Ends with 1 when there is none (the reason "
        "goes\n"
        "to the standard error), with 2 when the command line is wrong, with 3 when verify has\n"
        "found something that it has not repaired.\n");
}
