/* The tables of kedge-admin's commands and options, and the help. */
#include "backend/admin/verbs.h"
#include "common/assert.h"

#include <stddef.h>
#include <string.h>

#define PROJECT  "/v1/orgs/{o}/projects/{p}"
#define LOG      PROJECT "/logs/{0}"
#define RESOURCE "/v1/orgs/{o}/resources/{0}/{1}"

static const kedge_admin_command commands[] = {
    {.name = "create-project",
     .run = kedge_admin_ask,
     .method = "PUT",
     .path = PROJECT,
     .traits = KEDGE_ADMIN_MAKES_DATA,
     .help = "makes the project; it may exist"},
    {.name = "create-log-project",
     .run = kedge_admin_create_log_project,
     .path = PROJECT,
     .traits = KEDGE_ADMIN_MAKES_DATA,
     .help = "makes a log project; it may exist"},
    {.name = "make-snapshot",
     .run = kedge_admin_ask,
     .method = "POST",
     .path = PROJECT "/snapshot",
     .options = "m",
     .help = "makes a snapshot of a log project"},
    {.name = "projects",
     .arguments = {"ORG"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = "/v1/orgs/{0}/projects",
     .options = "al",
     .help = "the projects of an organization"},
    {.name = "organizations",
     .arguments = {"PROJECT"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = "/v1/projects/{0}",
     .help = "who has a project of this name"},
    {.name = "organizations-all",
     .run = kedge_admin_organizations_all,
     .options = "al",
     .traits = KEDGE_ADMIN_LOOKS,
     .help = "all organizations that have a project"},
    {.name = "usage",
     .arguments = {"ORG"},
     .run = kedge_admin_usage,
     .traits = KEDGE_ADMIN_LOOKS,
     .help = "its projects, and the bytes stored for it"},
    {.name = "recount-usage",
     .arguments = {"ORG"},
     .run = kedge_admin_recount_usage,
     .help = "counts again the bytes stored for it"},
    {.name = "versions",
     .run = kedge_admin_ask,
     .method = "GET",
     .path = PROJECT "/versions",
     .options = "bl",
     .help = "versions with their mutations"},
    {.name = "version",
     .arguments = {"V"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = PROJECT "/versions/{0}",
     .options = "i",
     .help = "one version and its items"},
    {.name = "items",
     .arguments = {"COLLECTION"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = PROJECT "/versions/{v}/collections/{0}",
     .options = "val",
     .help = "the items of a collection, without their values"},
    {.name = "item",
     .arguments = {"COLLECTION", "ID"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = PROJECT "/versions/{v}/collections/{0}/{1}",
     .options = "v",
     .help = "one item"},
    {.name = "mutation",
     .arguments = {"CLIENT", "N"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = PROJECT "/clients/{0}/mutations/{1}",
     .help = "whether and how a mutation was decided"},
    {.name = "latest-mutation",
     .arguments = {"CLIENT"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = PROJECT "/clients/{0}/mutations/latest",
     .help = "the last mutation of a client"},
    {.name = "resources",
     .arguments = {"KIND"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = "/v1/orgs/{o}/resources/{0}",
     .options = "al",
     .help = "the resources of a kind, without their values"},
    {.name = "resource",
     .arguments = {"KIND", "ID"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = RESOURCE,
     .options = "v",
     .help = "one resource: settings, an access list, an app's own"},
    {.name = "resource-versions",
     .arguments = {"KIND", "ID"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = RESOURCE "/versions",
     .options = "bl",
     .help = "its versions, without their values"},
    {.name = "put-resource",
     .arguments = {"KIND", "ID", "FILE"},
     .run = kedge_admin_put_resource,
     .path = RESOURCE,
     .options = "e",
     .help = "a new version of a resource, from a file of JSON"},
    {.name = "rollback-resource",
     .arguments = {"KIND", "ID"},
     .run = kedge_admin_rollback_resource,
     .path = RESOURCE "/rollback",
     .options = "et",
     .help = "a new version with the value of an older one"},
    {.name = "delete-resource",
     .arguments = {"KIND", "ID"},
     .run = kedge_admin_ask,
     .method = "DELETE",
     .path = RESOURCE,
     .options = "e",
     .help = "deletes a resource; its versions stay"},
    {.name = "logs",
     .run = kedge_admin_ask,
     .method = "GET",
     .path = PROJECT "/logs",
     .options = "al",
     .help = "the logs of the project"},
    {.name = "log",
     .arguments = {"LOG"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = LOG,
     .help = "one log: its numbers, its last snapshot"},
    {.name = "create-log",
     .arguments = {"LOG"},
     .run = kedge_admin_ask,
     .method = "PUT",
     .path = LOG,
     .help = "makes the log; it may exist"},
    {.name = "append-log",
     .arguments = {"LOG", "TYPE", "FILE"},
     .run = kedge_admin_append_log,
     .path = LOG "/entries",
     .options = "e",
     .help = "appends an entry with the JSON of a file"},
    {.name = "read-log",
     .arguments = {"LOG"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = LOG "/entries",
     .options = "aflt",
     .help = "entries of a log, also those of archives"},
    {.name = "log-segments",
     .arguments = {"LOG"},
     .run = kedge_admin_ask,
     .method = "GET",
     .path = LOG "/segments",
     .options = "f",
     .help = "the segments of a log, the newest first"},
    {.name = "end-segment",
     .arguments = {"LOG"},
     .run = kedge_admin_ask,
     .method = "POST",
     .path = LOG "/segments",
     .help = "ends the newest segment and begins another"},
    {.name = "archive-segment",
     .arguments = {"LOG", "SEGMENT"},
     .run = kedge_admin_archive_segment,
     .path = LOG "/segments/{1}/archive",
     .options = "r",
     .help = "copies an old segment to blobs"},
    {.name = "truncate-log",
     .arguments = {"LOG", "NUMBER"},
     .run = kedge_admin_truncate_log,
     .path = LOG "/truncate",
     .help = "removes the entries in front of a number, for good"},
    {.name = "reprocess-logs",
     .run = kedge_admin_reprocess_logs,
     .path = PROJECT,
     .options = "s",
     .help = "does for the entries of all logs what a lost change would have caused"},
    {.name = "index",
     .run = kedge_admin_index,
     .path = PROJECT,
     .help = "completes index rows and due checkpoints"},
    {.name = "fork",
     .arguments = {"NAME"},
     .run = kedge_admin_fork,
     .path = PROJECT,
     .options = "v",
     .help = "a version becomes a new project"},
    {.name = "rebase",
     .arguments = {"SOURCE", "JOB"},
     .run = kedge_admin_rebase,
     .path = PROJECT,
     .options = "ftm",
     .help = "replays versions of another project"},
    {.name = "verify",
     .run = kedge_admin_verify,
     .path = PROJECT,
     .options = "p",
     .traits = KEDGE_ADMIN_LOOKS_UNLESS_TOLD,
     .help = "looks for damage in all that the project keeps"},
    {.name = "retention",
     .run = kedge_admin_retention,
     .path = PROJECT,
     .options = "kdr",
     .traits = KEDGE_ADMIN_LOOKS_UNLESS_TOLD,
     .help = "which old versions need not be kept"},
    {.name = "checkpoint",
     .run = kedge_admin_checkpoint,
     .path = PROJECT,
     .help = "writes a checkpoint of every collection"},
    {.name = "export",
     .arguments = {"FILE"},
     .run = kedge_admin_export,
     .path = PROJECT,
     .help = "all versions, into a file"},
    {.name = "import",
     .arguments = {"FILE"},
     .run = kedge_admin_import,
     .path = PROJECT,
     .traits = KEDGE_ADMIN_MAKES_DATA,
     .help = "a project from such a file"},
    {.name = "discard-import",
     .run = kedge_admin_discard_import,
     .path = PROJECT,
     .help = "removes what an import has left"},
    {.name = "delete-project",
     .run = kedge_admin_delete_project,
     .path = PROJECT,
     .options = "y",
     .traits = KEDGE_ADMIN_LOCKS_DATA,
     .help = "removes the project and all that there is of it"},
    {.name = "gc",
     .run = kedge_admin_gc,
     .path = PROJECT,
     .options = "gr",
     .traits = KEDGE_ADMIN_LOOKS_UNLESS_TOLD,
     .help = "blobs that nothing refers to any more"},
    {.name = "backup",
     .arguments = {"FOLDER"},
     .run = kedge_admin_backup,
     .traits = KEDGE_ADMIN_OPENS_DATA_ITSELF,
     .help = "all that a data folder has, into another one, while servers run"},
    {.name = "restore",
     .arguments = {"FOLDER"},
     .run = kedge_admin_restore,
     .traits = KEDGE_ADMIN_OPENS_DATA_ITSELF,
     .help = "makes the data folder, which must be new or empty, from a backup"},
    {.name = "dead-letters",
     .run = kedge_admin_dead_letters,
     .traits = KEDGE_ADMIN_LOOKS,
     .help = "messages that could not be decided, and requests of snapshots, 100 each"},
    {.name = "redrive",
     .arguments = {"ID"},
     .run = kedge_admin_redrive,
     .help = "puts a dead letter back into the queue"},
    {.name = "redrive-all", .run = kedge_admin_redrive_all, .help = "the same for all of them"},
    {.name = "make-keys",
     .arguments = {"PRIVATE", "PUBLIC"},
     .run = kedge_admin_make_keys,
     .options = "A",
     .traits = KEDGE_ADMIN_HAS_NO_DATA,
     .help = "makes a pair of keys: the file that signs, and the key set for --jwks"},
    {.name = "token",
     .arguments = {"PRIVATE"},
     .run = kedge_admin_token,
     .path = "{o}",
     .options = "IUuojxc",
     .traits = KEDGE_ADMIN_HAS_NO_DATA,
     .help = "a token for a user, signed with the private key"},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

/* The offsets of members. Each compiles only for a member of its type. */
#define MEMBER(member) &((kedge_admin_line *)0)->member
#define VALUE(member)                                                                              \
    .offset = offsetof(kedge_admin_line, member) +                                                 \
              0 * sizeof(_Generic(MEMBER(member), const char ** : 0))
#define FLAG(member)                                                                               \
    .is_flag = true, .offset = offsetof(kedge_admin_line, member) +                                \
                               0 * sizeof(_Generic(MEMBER(member), bool * : 0))

static const kedge_admin_option options[] = {
    {"--org", VALUE(organization)},
    {"--project", VALUE(project)},
    {"--version", 'v', VALUE(version)},
    {"--before", 'b', VALUE(before)},
    {"--after", 'a', VALUE(after)},
    {"--limit", 'l', VALUE(limit)},
    {"--items", 'i', FLAG(items)},
    {"--from", 'f', VALUE(from)},
    {"--to", 't', VALUE(to)},
    {"--expected", 'e', VALUE(expected)},
    {"--since", 's', VALUE(since)},
    {"--mutators", 'm', VALUE(mutators)},
    {"--keep-versions", 'k', VALUE(keep_versions)},
    {"--keep-days", 'd', VALUE(keep_days)},
    {"--grace-hours", 'g', VALUE(grace_hours)},
    {"--remove", 'r', FLAG(remove)},
    {"--repair", 'p', FLAG(repair)},
    {"--yes", 'y', FLAG(yes)},
    {"--algorithm", 'A', VALUE(algorithm)},
    {"--issuer", 'I', VALUE(issuer)},
    {"--audience", 'U', VALUE(audience)},
    {"--user", 'u', VALUE(user)},
    {"--role", 'o', VALUE(role)},
    {"--projects", 'j', VALUE(projects)},
    {"--minutes", 'x', VALUE(minutes)},
    {"--claims", 'c', VALUE(claims)},
    {"--audit", VALUE(audit)},
    {"--help", FLAG(help)},
    {"-h", FLAG(help)},
};

const kedge_admin_option *kedge_admin_find_option(const char *name)
{
    for (size_t at = 0; at < sizeof options / sizeof options[0]; at++) {
        if (strcmp(options[at].name, name) == 0) return &options[at];
    }
    return NULL;
}

static bool has_letter(char letter)
{
    for (size_t at = 0; at < sizeof options / sizeof options[0]; at++) {
        if (options[at].letter == letter) return true;
    }
    return false;
}

static void assert_row(const kedge_admin_command *command)
{
    const unsigned looks = KEDGE_ADMIN_LOOKS | KEDGE_ADMIN_LOOKS_UNLESS_TOLD;
    const unsigned changes = KEDGE_ADMIN_MAKES_DATA | KEDGE_ADMIN_LOCKS_DATA;
    unsigned traits = command->traits;
    KEDGE_ASSERT(command->method == NULL || (traits & looks) == 0);
    KEDGE_ASSERT((traits & looks) != looks && (traits & changes) != changes);
    KEDGE_ASSERT((traits & looks) == 0 || (traits & changes) == 0);
    for (const char *at = command->options; at != NULL && *at != '\0'; at++)
        KEDGE_ASSERT(has_letter(*at));
}

const kedge_admin_command *kedge_admin_find(const char *name)
{
    for (size_t at = 0; at < COMMAND_COUNT; at++) {
        assert_row(&commands[at]);
        if (strcmp(commands[at].name, name) == 0) return &commands[at];
    }
    return NULL;
}

void kedge_admin_write_help(kedge_buffer *out)
{
    kedge_buffer_append_text(
        out, "kedge-admin (--data DIR | --table TABLE --bucket BUCKET) [--org ORG --project P]\n"
             "            COMMAND [ARGUMENT…] [OPTION…]\n"
             "kedge-admin (make-keys | token) …\n"
             "\n"
             "Shows and changes what a backend keeps, also while servers run on it.\n"
             "\n");
    for (size_t at = 0; at < COMMAND_COUNT; at++) {
        const kedge_admin_command *command = &commands[at];
        const char *first = command->arguments[0] == NULL ? "" : command->arguments[0];
        const char *second = command->arguments[1] == NULL ? "" : command->arguments[1];
        const char *third = command->arguments[2] == NULL ? "" : command->arguments[2];
        int used = (int)(strlen(command->name) + strlen(first) + strlen(second) + strlen(third));
        kedge_buffer_append_format(out, "  %s %s %s %s%*s%s\n", command->name, first, second, third,
                                   used < 25 ? 25 - used : 1, "", command->help);
    }
    kedge_buffer_append_text(out, "\n");
    kedge_buffer_append_text(out, kedge_stores_help);
    kedge_buffer_append_text(
        out,
        "  --org ORG, --project PROJECT\n"
        "                      which project; for commands about one\n"
        "  --version V         items, item, fork, resource: of this version; otherwise of the\n"
        "                      latest\n"
        "  --items             version: with the items' values\n"
        "  --from V            rebase: the first version of the source; needed;\n"
        "                      read-log: start, snapshot, end or a number; log-segments\n"
        "  --to V              rebase: the last version of the source; otherwise its latest;\n"
        "                      rollback-resource: the version whose value it takes; needed;\n"
        "                      read-log: the last number\n"
        "  --expected V        put-, rollback-, delete-resource: the version that is replaced;\n"
        "                      when not given, there must be none;\n"
        "                      append-log: the number that the entry must get\n"
        "  --since TIME        reprocess-logs: from this time on, YYYY-MM-DD[THH:MM:SSZ]; needed\n"
        "  --mutators LIBRARY  rebase, make-snapshot: the app's mutators, run in child processes\n"
        "  --keep-versions N   retention: the newest N versions are kept\n"
        "  --keep-days D       retention: versions of the last D days are kept\n"
        "  --grace-hours H     gc: what is younger stays; 24 when not given\n"
        "  --remove            retention, gc: removes; otherwise nothing is changed;\n"
        "                      archive-segment: takes the entries out of the table\n"
        "  --repair            verify: writes again what copies still have\n"
        "  --algorithm A       make-keys: ES256 (when not given), EdDSA or RS256\n"
        "  --issuer I, --audience A\n"
        "                      token: what the server is given by the same options; needed\n"
        "  --user U            token: who has it; needed\n"
        "  --role R, --projects P,Q\n"
        "                      token: the role; the projects, all when not given\n"
        "  --minutes N         token: expires after so many; 60 when not given\n"
        "  --claims JSON       token: an object of claims that are added, or replace others\n"
        "  --yes               delete-project: does not ask\n"
        "  --audit FILE        a command that changes something notes it there, at its begin and "
        "its\n"
        "                      end; - is the standard error\n"
        "  --before V          versions, resource-versions: below this one\n"
        "  --after NAME        organizations-all, projects, items, resources: after this one\n"
        "                      (\"next\" of the page before)\n"
        "  --limit N           how many in one page\n"
        "  --                  what follows is not an option\n"
        "\n"
        "The response goes to the standard output. Ends with 1 when there is none (the reason "
        "goes\n"
        "to the standard error), with 2 when the command line is wrong, with 3 when verify has\n"
        "found something that it has not repaired.\n");
}
