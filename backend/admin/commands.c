/* The table of kedge-admin's commands, and the help that is made of it. */
#include "backend/admin/verbs.h"

#include <string.h>

#define PROJECT  "/v1/orgs/{o}/projects/{p}"
#define LOG      PROJECT "/logs/{0}"
#define RESOURCE "/v1/orgs/{o}/resources/{0}/{1}"

static const kedge_admin_command commands[] = {
    {"create-project",
     {NULL},
     kedge_admin_ask,
     "PUT",
     PROJECT,
     "",
     "makes the project; it may exist"},
    {"create-log-project",
     {NULL},
     kedge_admin_create_log_project,
     NULL,
     PROJECT,
     "",
     "makes a log project; it may exist"},
    {"make-snapshot",
     {NULL},
     kedge_admin_ask,
     "POST",
     PROJECT "/snapshot",
     "m",
     "makes a snapshot of a log project"},
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
    {"organizations-all",
     {NULL},
     kedge_admin_organizations_all,
     NULL,
     "",
     "al",
     "all organizations that have a project"},
    {"usage",
     {"ORG"},
     kedge_admin_usage,
     NULL,
     "",
     "",
     "its projects, and the bytes stored for it"},
    {"recount-usage",
     {"ORG"},
     kedge_admin_recount_usage,
     NULL,
     "",
     "",
     "counts again the bytes stored for it"},
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
    {"resources",
     {"KIND"},
     kedge_admin_ask,
     "GET",
     "/v1/orgs/{o}/resources/{0}",
     "al",
     "the resources of a kind, without their values"},
    {"resource",
     {"KIND", "ID"},
     kedge_admin_ask,
     "GET",
     RESOURCE,
     "v",
     "one resource: settings, an access list, an app's own"},
    {"resource-versions",
     {"KIND", "ID"},
     kedge_admin_ask,
     "GET",
     RESOURCE "/versions",
     "bl",
     "its versions, without their values"},
    {"put-resource",
     {"KIND", "ID", "FILE"},
     kedge_admin_put_resource,
     NULL,
     RESOURCE,
     "e",
     "a new version of a resource, from a file of JSON"},
    {"rollback-resource",
     {"KIND", "ID"},
     kedge_admin_rollback_resource,
     NULL,
     RESOURCE "/rollback",
     "et",
     "a new version with the value of an older one"},
    {"delete-resource",
     {"KIND", "ID"},
     kedge_admin_ask,
     "DELETE",
     RESOURCE,
     "e",
     "deletes a resource; its versions stay"},
    {"logs", {NULL}, kedge_admin_ask, "GET", PROJECT "/logs", "al", "the logs of the project"},
    {"log", {"LOG"}, kedge_admin_ask, "GET", LOG, "", "one log: its numbers, its last snapshot"},
    {"create-log", {"LOG"}, kedge_admin_ask, "PUT", LOG, "", "makes the log; it may exist"},
    {"append-log",
     {"LOG", "TYPE", "FILE"},
     kedge_admin_append_log,
     NULL,
     LOG "/entries",
     "e",
     "appends an entry with the JSON of a file"},
    {"read-log",
     {"LOG"},
     kedge_admin_ask,
     "GET",
     LOG "/entries",
     "aflt",
     "entries of a log, also those of archives"},
    {"log-segments",
     {"LOG"},
     kedge_admin_ask,
     "GET",
     LOG "/segments",
     "f",
     "the segments of a log, the newest first"},
    {"end-segment",
     {"LOG"},
     kedge_admin_ask,
     "POST",
     LOG "/segments",
     "",
     "ends the newest segment and begins another"},
    {"archive-segment",
     {"LOG", "SEGMENT"},
     kedge_admin_archive_segment,
     NULL,
     LOG "/segments/{1}/archive",
     "r",
     "copies an old segment to blobs"},
    {"truncate-log",
     {"LOG", "NUMBER"},
     kedge_admin_truncate_log,
     NULL,
     LOG "/truncate",
     "",
     "removes the entries in front of a number, for good"},
    {"reprocess-logs",
     {NULL},
     kedge_admin_reprocess_logs,
     NULL,
     PROJECT,
     "s",
     "does for the entries of all logs what a lost change would have caused"},
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
    {"export", {"FILE"}, kedge_admin_export, NULL, PROJECT, "", "all versions, into a file"},
    {"import", {"FILE"}, kedge_admin_import, NULL, PROJECT, "", "a project from such a file"},
    {"discard-import",
     {NULL},
     kedge_admin_discard_import,
     NULL,
     PROJECT,
     "",
     "removes what an import has left"},
    {"delete-project",
     {NULL},
     kedge_admin_delete_project,
     NULL,
     PROJECT,
     "y",
     "removes the project and all that there is of it"},
    {"gc", {NULL}, kedge_admin_gc, NULL, PROJECT, "gr", "blobs that nothing refers to any more"},
    {"backup",
     {"FOLDER"},
     kedge_admin_backup,
     NULL,
     "",
     "",
     "all that a data folder has, into another one, while servers run"},
    {"restore",
     {"FOLDER"},
     kedge_admin_restore,
     NULL,
     "",
     "",
     "makes the data folder, which must be new or empty, from a backup"},
    {"dead-letters",
     {NULL},
     kedge_admin_dead_letters,
     NULL,
     "",
     "",
     "messages that could not be decided, and requests of snapshots, 100 each"},
    {"redrive",
     {"ID"},
     kedge_admin_redrive,
     NULL,
     "",
     "",
     "puts a dead letter back into the queue"},
    {"redrive-all", {NULL}, kedge_admin_redrive_all, NULL, "", "", "the same for all of them"},
    {"make-keys",
     {"PRIVATE", "PUBLIC"},
     kedge_admin_make_keys,
     NULL,
     "",
     "A",
     "makes a pair of keys: the file that signs, and the key set for --jwks"},
    {"token",
     {"PRIVATE"},
     kedge_admin_token,
     NULL,
     "{o}",
     "IUuojxc",
     "a token for a user, signed with the private key"},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

const kedge_admin_command *kedge_admin_find(const char *name)
{
    for (size_t at = 0; at < COMMAND_COUNT; at++) {
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
