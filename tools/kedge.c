/* kedge: looks into a folder, and saves a damaged one, without the app that it belongs to. */
#include "sdk/store/inspect.h"
#include <kedge/kedge.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char USAGE[] =
    "usage: kedge VERB FOLDER …\n"
    "\n"
    "inspect FOLDER            who the client is, where it stands, what the files hold\n"
    "verify FOLDER             checks both files whole; 1 when something is damaged\n"
    "pending FOLDER            the edits that the server has not decided, as JSON lines\n"
    "rejected FOLDER           the edits in the inbox, as JSON lines\n"
    "trace FOLDER SEQUENCE     what became of one edit, and why\n"
    "export FOLDER             what reads show, as JSON lines\n"
    "lost FOLDER               what a restored server has taken away, as JSON lines\n"
    "watch FOLDER [LINES]      a JSON line now and after each change, LINES of them or without "
    "end\n"
    "repair FOLDER NEW_FOLDER  saves what can be read of a damaged folder into a new one\n"
    "\n"
    "kedge --version prints the version of the library.\n"
    "Only repair writes, and only to NEW_FOLDER. FOLDER may be open in an app, except for repair.\n"
    "Ends 0 when it is done, 1 when it failed and said why, 2 when it was called wrongly.\n";

static int fail(const char *path, const kedge_error *error)
{
    fflush(stdout);
    fprintf(stderr, "kedge: %s: %s (%s)\n", path, error->message, error->code);
    return 1;
}

/* Half an output must not pass for all of it, and a watch would go on without a reader. */
static void check_written(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) return;
    fputs("kedge: the output could not be written\n", stderr);
    exit(1);
}

static void print(void *context, kedge_bytes text)
{
    (void)context;
    fwrite(text.data, 1, text.size, stdout);
    putchar('\n');
    check_written();
}

static const kedge_inspect_sink TO_STDOUT = {NULL, print};

/* ---- the verbs; `number` is that of the third word ---- */

static kedge_status inspect(kedge_inspect *folder, int64_t number, kedge_error *error)
{
    (void)number;
    return kedge_inspect_facts(folder, TO_STDOUT, error);
}

static kedge_status pending(kedge_inspect *folder, int64_t number, kedge_error *error)
{
    (void)number;
    return kedge_inspect_pending(folder, TO_STDOUT, error);
}

static kedge_status rejected(kedge_inspect *folder, int64_t number, kedge_error *error)
{
    (void)number;
    return kedge_inspect_rejected(folder, TO_STDOUT, error);
}

static kedge_status export(kedge_inspect *folder, int64_t number, kedge_error *error)
{
    (void)number;
    return kedge_inspect_export(folder, TO_STDOUT, error);
}

static kedge_status lost(kedge_inspect *folder, int64_t number, kedge_error *error)
{
    (void)number;
    return kedge_inspect_lost(folder, TO_STDOUT, error);
}

static kedge_status trace(kedge_inspect *folder, int64_t number, kedge_error *error)
{
    return kedge_inspect_trace(folder, number, TO_STDOUT, error);
}

static kedge_status watch(kedge_inspect *folder, int64_t number, kedge_error *error)
{
    return kedge_inspect_watch(folder, number, TO_STDOUT, error);
}

static kedge_status verify(kedge_inspect *folder, int64_t number, kedge_error *error)
{
    int64_t findings = 0;
    (void)number;
    kedge_status status = kedge_inspect_verify(folder, TO_STDOUT, &findings, error);
    if (status != KEDGE_OK) return status;
    printf("%" PRId64 " findings\n", findings);
    check_written();
    return findings == 0 ? KEDGE_OK : KEDGE_CORRUPT;
}

typedef struct verb {
    const char *name;
    int words; /* after the name, at least … */
    int words_max;
    kedge_status (*run)(kedge_inspect *folder, int64_t number, kedge_error *error);
} verb;

static const verb VERBS[] = {
    {"inspect", 1, 1, inspect},   {"verify", 1, 1, verify}, {"pending", 1, 1, pending},
    {"rejected", 1, 1, rejected}, {"trace", 2, 2, trace},   {"export", 1, 1, export},
    {"lost", 1, 1, lost},         {"watch", 1, 2, watch},
};

static int look(const verb *what, const char *path, int64_t number)
{
    kedge_error error = {0};
    kedge_inspect *folder = NULL;
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_status status = kedge_inspect_open(&environment, path, &folder, &error);
    if (status == KEDGE_OK) status = what->run(folder, number, &error);
    kedge_inspect_close(folder);
    if (status == KEDGE_OK) return 0;
    return error.status == KEDGE_OK ? 1 : fail(path, &error);
}

/* ---- repair ---- */

static int repair(const char *path, const char *new_path)
{
    kedge_error error = {0};
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    if (kedge_repair(path, new_path, &report, &error) != KEDGE_OK) return fail(path, &error);
    printf("%" PRId64 " pending, %" PRId64 " rejected and %" PRId64 " confirmed edits are saved in"
           " %s\n",
           report.pending, report.rejected, report.confirmed, new_path);
    if (report.damaged > 0)
        printf("%" PRId64 " are damaged: the inbox shows what could be read of them\n",
               report.damaged);
    if (report.missing > 0)
        printf("%" PRId64 " were there and are nowhere to be found\n", report.missing);
    if (report.missing < 0)
        printf("how many there were cannot be known: the counters are damaged, too\n");
    check_written();
    return 0;
}

/* ---- the command line ---- */

static bool read_number(const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    long long read = strtoll(text, &end, 10);
    *number = read;
    return errno == 0 && end != text && *end == '\0' && read > 0;
}

static int misuse(const char *what, const char *word)
{
    fprintf(stderr, "kedge: %s%s; see kedge --help (usage)\n", what, word);
    return 2;
}

/* `words` are those after the verb. */
static int run(const verb *what, int words, char **arguments)
{
    int64_t number = 0;
    if (words < what->words)
        return misuse(words == 0 ? "a FOLDER is missing after " : "a SEQUENCE is missing after ",
                      what->name);
    if (words > what->words_max) return misuse("this is too much: ", arguments[what->words_max]);
    if (words == 2 && !read_number(arguments[1], &number))
        return misuse("this is no number from 1 on: ", arguments[1]);
    return look(what, arguments[0], number);
}

int main(int count, char **arguments)
{
    const char *word = count > 1 ? arguments[1] : "";
    if (count == 1 || strcmp(word, "--help") == 0) {
        fputs(USAGE, count == 1 ? stderr : stdout);
        return count == 1 ? 2 : 0;
    }
    if (strcmp(word, "--version") == 0) {
        printf("kedge %s\n", kedge_library_version());
        return 0;
    }
    if (strcmp(word, "repair") == 0)
        return count == 4 ? repair(arguments[2], arguments[3])
                          : misuse("repair takes FOLDER and NEW_FOLDER", "");
    for (size_t i = 0; i < sizeof VERBS / sizeof *VERBS; i++)
        if (strcmp(word, VERBS[i].name) == 0) return run(&VERBS[i], count - 2, arguments + 2);
    return misuse("there is no verb ", word);
}
