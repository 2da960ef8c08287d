/* kedge: what can be done to a folder without the app that it belongs to. */
#include <kedge/kedge.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char USAGE[] =
    "usage: kedge repair FOLDER NEW_FOLDER\n"
    "\n"
    "repair   saves what can be read of a folder that cannot be opened any more into a new one.\n"
    "         FOLDER stays as it is, and must not be open; NEW_FOLDER must be absent or empty.\n"
    "         The app opens NEW_FOLDER then: it pulls the project anew and sends the saved edits.\n"
    "         When it was interrupted, call it once more with the same folders.\n"
    "\n"
    "Ends 0 when it is done, 1 when it failed and said why, 2 when it was called wrongly.\n";

static int fail(const char *path, const kedge_error *error)
{
    fprintf(stderr, "kedge: %s: %s (%s)\n", path, error->message, error->code);
    return 1;
}

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
    return 0;
}

int main(int count, char **arguments)
{
    if (count == 4 && strcmp(arguments[1], "repair") == 0)
        return repair(arguments[2], arguments[3]);
    bool asked = count == 2 && strcmp(arguments[1], "--help") == 0;
    fputs(USAGE, asked ? stdout : stderr);
    return asked ? 0 : 2;
}
