/* The summary of a run of seeds, and shrinking. */
#include "tests/sim/summary.h"

#include <inttypes.h>
#include <time.h>

#define SHRINK_SECONDS 20

void sim_print_summary(const sim_report *report)
{
    printf("\n%-44s %12s\n", "", "count");
    printf("%-44s %12" PRIu64 "\n", "seeds", report->seeds);
    printf("%-44s %12" PRIu64 "\n", "steps", report->steps);
    printf("%-44s %12" PRIu64 "\n", "mutations acknowledged", report->mutations);
    printf("%-44s %12" PRIu64 "\n", "versions committed", report->versions);
    printf("%-44s %12" PRIu64 "\n", "requests served", report->requests);
    printf("%-44s %12" PRIu64 "\n", "seeds of a log project", report->log_seeds);
    printf("%-44s %12" PRIu64 "\n", "snapshots made", report->snapshots);
    printf("%-44s %12" PRIu64 "\n", "segments ended", report->segments);
    printf("%-44s %12" PRIu64 "\n", "seeds in queued mode", report->queued_seeds);
    printf("%-44s %12" PRIu64 "\n", "messages queued", report->queued);
    printf("%-44s %12" PRIu64 "\n", "messages consumed", report->consumed);
    printf("%-44s %12" PRIu64 "\n", "stores opened", report->reopened);
    printf("%-44s %12" PRIu64 "\n", "client-only edits made again", report->remade);
    printf("%-44s %12" PRIu64 "\n", "client-only edits made anew when sent", report->renewed);
    printf("%-44s %12" PRIu64 "\n", "client ids rotated", report->rotations);
    printf("%-44s %12" PRIu64 "\n", "lineages lost", report->lineages_lost);
    printf("%-44s %12" PRIu64 "\n", "folders repaired", report->repaired);
    printf("\n%-44s %12s\n", "fault", "took effect");
    for (size_t i = 0; i < SIM_FAULTS; i++)
        printf("%-44s %12" PRIu64 "\n", sim_fault_names[i], report->faults[i]);
    printf("\n%-44s %12s\n", "checker", "evaluations");
    for (size_t i = 0; i < SIM_CHECKS; i++)
        printf("%-4s %-39s %12" PRIu64 "\n", sim_check_names[i], sim_check_words[i],
               report->checks[i]);
    printf("\n%-44s %12" PRIu64 "\n", "violations", report->violations);
}

/* A log project has no bodies that a restore of the blobs alone may take, and pushes to it are
 * never queued. */
static bool needs_versions(size_t fault)
{
    return fault == SIM_RESTORE_BLOBS || (fault >= SIM_QUEUE_AWAY && fault <= SIM_QUEUE_REDRIVE);
}

bool sim_is_complete(const sim_report *report)
{
    bool complete = true;
    bool logs_only = report->log_seeds == report->seeds;
    for (size_t i = 0; i < SIM_FAULTS; i++) {
        if (report->faults[i] > 0 || (logs_only && needs_versions(i))) continue;
        printf("never took effect: %s\n", sim_fault_names[i]);
        complete = false;
    }
    for (size_t i = 0; i < SIM_CHECKS; i++) {
        if (report->checks[i] > 0 || (logs_only && i == SIM_I14)) continue;
        printf("never ran: %s\n", sim_check_names[i]);
        complete = false;
    }
    return complete;
}

/* ---- shrinking ---- */

static bool is_time_up(time_t since)
{
    return time(NULL) - since >= SHRINK_SECONDS;
}

static bool still_fails(const sim_options *options, sim_check check)
{
    sim_report report = {0};
    sim_result result;
    sim_run(options, &report, &result);
    for (uint32_t i = 0; i < result.violation_count; i++)
        if (result.violations[i].check == check) return true;
    return false;
}

/* Fewer edits by halves, fewer clients by one, fewer kinds of faults by one, as
 * long as it fails. */
static sim_options shrink(const sim_options *options, sim_check check)
{
    sim_options least = *options;
    time_t since = time(NULL);
    for (sim_options next = least; next.edits > 4 && !is_time_up(since);) {
        next.edits = next.edits * 2 / 3;
        if (!still_fails(&next, check)) break;
        least = next;
    }
    for (sim_options next = least; next.clients > 1 && !is_time_up(since);) {
        next.clients--;
        if (!still_fails(&next, check)) break;
        least = next;
    }
    for (size_t i = 0; i < SIM_FAULTS && !is_time_up(since); i++) {
        sim_options next = least;
        next.faults &= ~SIM_FAULT_BIT(i);
        if (next.faults == least.faults) continue;
        if (still_fails(&next, check)) least = next;
    }
    return least;
}

/* What a replay needs besides the seed, which decides mode and kind by itself. */
static const char *mode_of(const sim_options *options)
{
    if (options->mode == SIM_MODE_BY_SEED) return "";
    return options->mode == SIM_MODE_QUEUED ? " --queued" : " --direct";
}

static const char *kind_of(const sim_options *options)
{
    if (options->kind == SIM_KIND_BY_SEED) return "";
    return options->kind == SIM_KIND_LOG ? " --log" : " --versions";
}

static const char *values_of(const sim_options *options)
{
    return options->large ? " --large" : "";
}

void sim_print_failure(const sim_options *options, const sim_result *result)
{
    for (uint32_t i = 0; i < result->violation_count; i++)
        printf("seed %" PRIu64 " violates %s: %s\n", options->seed,
               sim_check_names[result->violations[i].check], result->violations[i].text);
    printf("replay: scripts/sim --seed %" PRIu64 "%s%s%s --trace\n", options->seed,
           mode_of(options), kind_of(options), values_of(options));
    fflush(stdout);
    sim_options least = shrink(options, result->violations[0].check);
    printf("shrunk: scripts/sim --seed %" PRIu64 " --clients %u --edits %u --faults 0x%" PRIx64
           "%s%s%s --trace\n",
           least.seed, least.clients, least.edits, least.faults, mode_of(&least), kind_of(&least),
           values_of(&least));
    fflush(stdout);
}
