/* Every planted bug is run over seeds until its checker catches it; then the same seed is run
 * without the bug and must be clean. */
#include "tests/sim/planted.h"

#include "common/planted.h"

#include <inttypes.h>
#include <stdio.h>

#ifdef KEDGE_PLANTED

#define SEEDS_MAX  400
#define FIRST_SEED 1
#define BIT(check) (1u << (check))

int kedge_planted_bug;

typedef struct planted_bug {
    kedge_planted bug;
    uint32_t checks; /* any of these catches it */
    const char *name;
    uint64_t faults; /* with these alone it shows soonest; 0: with all */
} planted_bug;

static const planted_bug bugs[] = {
    {KEDGE_PLANTED_PENDING_DROPPED_ON_PUSH, BIT(SIM_I6), "pending dropped on push", 0},
    {KEDGE_PLANTED_TWINS_WITHOUT_UID, BIT(SIM_I6) | BIT(SIM_I11) | BIT(SIM_I2),
     "two twins that make the same edit under one id pass for one", 0},
    {KEDGE_PLANTED_INBOX_DOUBLED, BIT(SIM_I6), "inbox rows doubled by a crash",
     SIM_FAULT_BIT(SIM_CLIENT_KILL) | SIM_FAULT_BIT(SIM_CLIENT_POWER_CUT)},
    {KEDGE_PLANTED_DELTA_ON_WRONG_VERSION, BIT(SIM_I7) | BIT(SIM_I8),
     "a delta applied wherever it starts from", 0},
    {KEDGE_PLANTED_COVERED_NOT_SKIPPED, BIT(SIM_I7), "covered pending replayed", 0},
    {KEDGE_PLANTED_IDS_REUSED_AFTER_RESTORE, BIT(SIM_I11) | BIT(SIM_I12),
     "ids reused after a restore", 0},
    {KEDGE_PLANTED_REBASE_SKIPS_BASE, BIT(SIM_I7), "a rebase that skips base", 0},
    {KEDGE_PLANTED_ROW_NOT_CHECKED, BIT(SIM_I22) | BIT(SIM_I18) | BIT(SIM_I7) | BIT(SIM_I6),
     "a damaged row is sent", 0},
    {KEDGE_PLANTED_CACHE_NOT_CHECKED, BIT(SIM_I7), "a damaged value of the cache is read",
     SIM_FAULT_BIT(SIM_ROW_FLIPPED_CACHE) | SIM_FAULT_BIT(SIM_APP_OFFLINE)},
    {KEDGE_PLANTED_WITHHELD_PREDICTED, BIT(SIM_I7) | BIT(SIM_I21),
     "edits that the state may have are predicted", 0},
    {KEDGE_PLANTED_DEDUP_BEFORE_HEAD, BIT(SIM_I1) | BIT(SIM_I2) | BIT(SIM_I13),
     "dedup before the head is loaded", 0},
    {KEDGE_PLANTED_RECENT_SHORTENED_EARLY, BIT(SIM_I1) | BIT(SIM_I2) | BIT(SIM_I13),
     "`recent` shortened before its rows are durable", 0},
    {KEDGE_PLANTED_LMID_NEWER_THAN_PIN, BIT(SIM_I13), "lmids newer than the pinned version", 0},
    {KEDGE_PLANTED_NO_VERSION_CONDITION, BIT(SIM_I3) | BIT(SIM_I17),
     "a version put without its condition", 0},
    {KEDGE_PLANTED_GAP_SKIPPED, BIT(SIM_I2), "a gap of ids skipped", 0},
    {KEDGE_PLANTED_REJECT_BLOCKS, BIT(SIM_I4), "a rejection that blocks", 0},
    {KEDGE_PLANTED_MISMATCH_SKIPPED, BIT(SIM_I2), "another payload under a decided id skipped", 0},
    {KEDGE_PLANTED_BODY_AFTER_COMMIT, BIT(SIM_I14), "a body written behind the commit", 0},
    {KEDGE_PLANTED_ORIGIN_NOT_CHECKED, BIT(SIM_I11) | BIT(SIM_I12),
     "an origin applied as often as it comes", 0},
    {KEDGE_PLANTED_STALE_LINEAGE_ROWS,
     BIT(SIM_I1) | BIT(SIM_I2) | BIT(SIM_I5) | BIT(SIM_I12) | BIT(SIM_I13),
     "rows of another lineage believed", 0},
    {KEDGE_PLANTED_REJECTION_UNTOLD, BIT(SIM_I6) | BIT(SIM_I13),
     "a duplicate of a rejection told as applied", 0},
    {KEDGE_PLANTED_DONE_BEFORE_COMMIT, BIT(SIM_I2), "a message done before the commit", 0},
    {KEDGE_PLANTED_MERGED_BACKWARDS, BIT(SIM_I2), "merged messages in the wrong order", 0},
    {KEDGE_PLANTED_MERGED_ONE_SENDER, BIT(SIM_I2) | BIT(SIM_I18),
     "merged messages taken for one sender's", 0},
};
#define BUGS (sizeof bugs / sizeof bugs[0])

/* The first violation of a checker that is meant to catch the bug. NULL: it was not. */
static const sim_violation *caught(const planted_bug *bug, const sim_result *result)
{
    for (uint32_t i = 0; i < result->violation_count; i++)
        if ((bug->checks & BIT(result->violations[i].check)) != 0) return &result->violations[i];
    return NULL;
}

static bool is_clean(const sim_options *options)
{
    sim_report report = {0};
    sim_result result;
    kedge_planted_bug = 0;
    sim_run(options, &report, &result);
    for (uint32_t i = 0; i < result.violation_count; i++)
        printf("  without the bug, seed %" PRIu64 " violates %s: %s\n", options->seed,
               sim_check_names[result.violations[i].check], result.violations[i].text);
    return result.violation_count == 0;
}

static bool catch_bug(const sim_options *asked, const planted_bug *bug)
{
    sim_report report = {0};
    sim_result result;
    sim_options options = *asked;
    if (bug->faults != 0) options.faults = bug->faults;
    bool of_consumer = bug->bug >= KEDGE_PLANTED_DONE_BEFORE_COMMIT;
    options.mode = of_consumer ? SIM_MODE_QUEUED : SIM_MODE_DIRECT;
    for (uint64_t seed = FIRST_SEED; seed < FIRST_SEED + SEEDS_MAX; seed++) {
        options.seed = seed;
        kedge_planted_bug = (int)bug->bug;
        sim_run(&options, &report, &result);
        const sim_violation *violation = caught(bug, &result);
        if (violation == NULL) continue;
        bool clean = is_clean(&options);
        printf("%-62s %-4s %6" PRIu64 "  %s\n", bug->name, sim_check_names[violation->check], seed,
               clean ? "clean without it" : "NOT CLEAN without it");
        printf("    %s\n", violation->text);
        fflush(stdout);
        return clean;
    }
    printf("%-62s NOT CAUGHT in %d seeds\n", bug->name, SEEDS_MAX);
    return false;
}

int sim_planted(const sim_options *options)
{
    size_t good = 0;
    printf("%-62s %-4s %6s\n", "planted bug", "by", "seed");
    for (size_t i = 0; i < BUGS; i++)
        if (catch_bug(options, &bugs[i])) good++;
    printf("%zu of %zu planted bugs caught, their seeds clean without them\n", good, BUGS);
    return good == BUGS ? 0 : 1;
}

#else

int sim_planted(const sim_options *options)
{
    (void)options;
    fputs("this kedge-sim has no bugs planted: run kedge-sim-planted\n", stderr);
    return 2;
}

#endif
