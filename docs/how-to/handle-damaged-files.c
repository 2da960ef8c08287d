/* Opens a database. When its outbox is damaged, saves what can be read into a new folder, and opens
 * that. */
#include <kedge/kedge.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

kedge_status open_or_repair(kedge_options *options, const char *new_path, kedge_db **db,
                            kedge_error *error);

kedge_status open_or_repair(kedge_options *options, const char *new_path, kedge_db **db,
                            kedge_error *error)
{
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    kedge_status status = kedge_open(options, db, error);
    if (status != KEDGE_CORRUPT || strcmp(error->code, "outbox-damaged") != 0) return status;
    status = kedge_repair(options->path, new_path, &report, error);
    if (status != KEDGE_OK) return status;
    printf("%" PRId64 " unsent edits were saved, %" PRId64 " are damaged\n", report.pending,
           report.damaged);
    if (report.missing > 0) printf("%" PRId64 " edits are gone\n", report.missing);
    if (report.missing < 0) printf("how many edits are gone is not known\n");
    options->path = new_path; /* the app's folder from now on: keep that on the disk */
    return kedge_open(options, db, error);
}
