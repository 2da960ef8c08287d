/* The commands that maintain the data of a project. Most of them run a job that prints lines. */
#include "backend/admin/verbs.h"
#include "backend/jobs/checkpoint.h"
#include "backend/jobs/gc.h"
#include "backend/jobs/retention.h"
#include "backend/jobs/verify.h"
#include "backend/queued/dead_letters.h"
#include "backend/versioned/commit/processor.h"
#include "common/error.h"
#include "common/json.h"

#include <stdio.h>

#define DAY_MS   INT64_C(86400000)
#define DAYS_MAX 100000
#define HOUR_MS  INT64_C(3600000)

#define CLOCK_AHEAD_MS_MAX HOUR_MS /* of retention by days */

static kedge_status print_line(void *context, kedge_bytes line, kedge_error *error)
{
    (void)context;
    if (fwrite(line.data, 1, line.size, stdout) == line.size && putchar('\n') != EOF) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_IO, "output-failed", "the lines could not be written");
}

static const kedge_lines printed = {print_line, NULL};

/* The exit code of a job that has ended. */
static int finish(kedge_status status, const kedge_error *error)
{
    if (status != KEDGE_OK) return kedge_admin_complain(error);
    if (fflush(stdout) == 0) return 0;
    fputs("kedge-admin: the response could not be written\n", stderr);
    return KEDGE_ADMIN_NO_RESPONSE;
}

int kedge_admin_checkpoint(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_project project = kedge_admin_project(admin);
    kedge_status status = kedge_checkpoint_project(&project, &printed, &error);
    return finish(status, &error);
}

int kedge_admin_index(const kedge_admin *admin)
{
    kedge_error error = {0};
    const kedge_version *head = NULL;
    kedge_project project = kedge_admin_project(admin);
    kedge_status status =
        kedge_version_load_detail(&project, 0, KEDGE_VERSION_STATE, &head, &error);
    if (status == KEDGE_OK) status = kedge_processor_index(&project, &error);
    if (status != KEDGE_OK) {
        kedge_version_release(head);
        return kedge_admin_complain(&error);
    }
    kedge_buffer out = kedge_buffer_make(admin->allocator);
    kedge_json_writer writer = kedge_json_write(&out);
    kedge_json_begin_object(&writer);
    kedge_json_key(&writer, "indexed_through");
    kedge_json_integer(&writer, head->number);
    kedge_json_end_object(&writer);
    kedge_version_release(head);
    int code = kedge_admin_print(&out);
    kedge_buffer_free(&out);
    return code;
}

int kedge_admin_verify(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_verify_summary summary;
    kedge_project project = kedge_admin_project(admin);
    kedge_status status = admin->line->repair
                              ? kedge_repair_project(&project, &printed, &summary, &error)
                              : kedge_verify_project(&project, &printed, &summary, &error);
    int code = finish(status, &error);
    return code == 0 && summary.findings > summary.repaired ? KEDGE_ADMIN_FINDINGS : code;
}

kedge_status kedge_admin_read_number(const char *what, const char *text, int64_t least,
                                     int64_t most, int64_t *number, kedge_error *error)
{
    *number = 0;
    if (text == NULL) return KEDGE_OK;
    if (kedge_json_to_integer(kedge_bytes_of(text), number) && *number >= least &&
        *number <= most) {
        return KEDGE_OK;
    }
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                      "%s must be a number from %lld to %lld", what, (long long)least,
                      (long long)most);
}

/* To a clock that is ahead, versions seem older than they are, so that too many would go. */
static kedge_status check_clock_of_days(const kedge_admin *admin, kedge_error *error)
{
    int64_t ahead_ms = -kedge_stores_skew_ms(admin->stores);
    if (ahead_ms < CLOCK_AHEAD_MS_MAX) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAVAILABLE, "aws-clock-skewed",
                      "this machine's clock is %lld seconds ahead of that of AWS, and --keep-days "
                      "would remove versions that are younger: set it; nothing was removed",
                      (long long)(ahead_ms / 1000));
}

/* ---- retention ---- */

static kedge_status read_rule(const kedge_admin_line *line, kedge_retention_rule *rule,
                              kedge_error *error)
{
    int64_t days = 0;
    kedge_status status = kedge_admin_read_number("--keep-versions", line->keep_versions, 1,
                                                  KEDGE_LIMIT_MUTATION_ID, &rule->versions, error);
    if (status == KEDGE_OK)
        status = kedge_admin_read_number("--keep-days", line->keep_days, 1, DAYS_MAX, &days, error);
    if (status != KEDGE_OK) return status;
    rule->age_ms = days * DAY_MS;
    if (rule->versions > 0 || days > 0) return KEDGE_OK;
    return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                      "retention needs --keep-versions N or --keep-days D; without a rule all "
                      "versions are kept");
}

int kedge_admin_retention(const kedge_admin *admin)
{
    bool remove = admin->line->remove;
    kedge_error error = {0};
    kedge_retention_result result;
    kedge_retention_rule rule;
    kedge_project project = kedge_admin_project(admin);
    kedge_status status = read_rule(admin->line, &rule, &error);
    if (status == KEDGE_OK && rule.age_ms > 0 && remove)
        status = check_clock_of_days(admin, &error);
    if (status == KEDGE_OK)
        status = kedge_retention_run(&project, &rule, remove, &printed, &result, &error);
    return finish(status, &error);
}

/* ---- garbage ---- */

static kedge_status add_key(void *kept, kedge_bytes key, kedge_error *error)
{
    return kedge_key_set_add(kept, key, NULL, error);
}

/* A dead letter may wait longer than any other message, so its push is kept. When not all dead
 * letters are known, every push is kept. */
static kedge_status keep_dead_letters(const kedge_admin *admin, kedge_key_set *kept,
                                      kedge_gc_options *options, kedge_error *error)
{
    bool all_known = false;
    kedge_queue queue = kedge_stores_queue(admin->stores);
    kedge_project project = kedge_admin_project(admin);
    kedge_status status =
        kedge_dead_letter_claims(&queue, &project.ref, add_key, kept, &all_known, error);
    if (!all_known) options->pushes_ms = INT64_MAX;
    return status;
}

int kedge_admin_gc(const kedge_admin *admin)
{
    kedge_error error = {0};
    kedge_gc_result result;
    kedge_key_set kept = {.allocator = admin->allocator};
    kedge_gc_options options = {.remove = admin->line->remove, .kept = &kept};
    int64_t hours = 0;
    kedge_project project = kedge_admin_project(admin);
    kedge_status status = kedge_admin_read_number("--grace-hours", admin->line->grace_hours, 1,
                                                  24 * DAYS_MAX, &hours, &error);
    options.grace_ms = hours * HOUR_MS;
    if (status == KEDGE_OK) status = keep_dead_letters(admin, &kept, &options, &error);
    if (status == KEDGE_OK) {
        status = kedge_gc_run(&project, &options, &printed, &result, &error);
    }
    kedge_key_set_free(&kept);
    return finish(status, &error);
}
