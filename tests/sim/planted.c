/* For each bug of tests/planted there is a simulator that has it. It runs seeds until a checker
 * that is meant to catch the bug does; then the same seed is run here, without the bug, and must be
 * clean. */
#include "tests/sim/planted.h"

#include "tests/planted/find.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SEEDS_MAX  400
#define FIRST_SEED 1
#define BIT(check) (1u << (check))

typedef struct planted_bug {
    const char *name; /* of its patch */
    uint32_t checks;  /* any of these catches it */
    sim_mode mode;
    uint64_t faults; /* with these alone it shows soonest; 0: with all */
    bool logged;     /* it shows on log projects */
    uint64_t seed;   /* where the search begins: one that has shown it; 0: at the first */
} planted_bug;

static const planted_bug bugs[] = {
    /* client */
    {"pending-dropped-on-push", BIT(SIM_I6), SIM_MODE_DIRECT, 0, false, 0},
    {"twins-without-uid", BIT(SIM_I6) | BIT(SIM_I11) | BIT(SIM_I2), SIM_MODE_DIRECT, 0, false, 0},
    {"inbox-doubled", BIT(SIM_I6), SIM_MODE_DIRECT,
     SIM_FAULT_BIT(SIM_CLIENT_KILL) | SIM_FAULT_BIT(SIM_CLIENT_POWER_CUT), false, 86},
    {"delta-on-wrong-version", BIT(SIM_I7) | BIT(SIM_I8), SIM_MODE_DIRECT, 0, false, 0},
    {"covered-not-skipped", BIT(SIM_I7), SIM_MODE_DIRECT, 0, false, 0},
    {"ids-reused-after-restore", BIT(SIM_I11) | BIT(SIM_I12), SIM_MODE_DIRECT, 0, false, 0},
    {"rebase-skips-base", BIT(SIM_I7), SIM_MODE_DIRECT, 0, false, 0},
    {"read-unrecorded", BIT(SIM_I7), SIM_MODE_DIRECT, 0, false, 0},
    {"outbox-synced-late", BIT(SIM_I6) | BIT(SIM_I11) | BIT(SIM_I2), SIM_MODE_DIRECT,
     SIM_FAULT_BIT(SIM_CLIENT_POWER_CUT), false, 0},
    {"range-unrecorded", BIT(SIM_I7), SIM_MODE_DIRECT, 0, false, 0},
    {"row-not-checked", BIT(SIM_I22) | BIT(SIM_I18) | BIT(SIM_I7) | BIT(SIM_I6), SIM_MODE_DIRECT, 0,
     false, 91},
    {"cache-not-checked", BIT(SIM_I7), SIM_MODE_DIRECT,
     SIM_FAULT_BIT(SIM_ROW_FLIPPED_CACHE) | SIM_FAULT_BIT(SIM_APP_OFFLINE), false, 41},
    {"withheld-predicted", BIT(SIM_I7) | BIT(SIM_I21), SIM_MODE_DIRECT, 0, false, 0},
    /* server */
    {"dedup-before-head", BIT(SIM_I1) | BIT(SIM_I2) | BIT(SIM_I13), SIM_MODE_DIRECT, 0, false, 0},
    {"recent-shortened-early", BIT(SIM_I1) | BIT(SIM_I2) | BIT(SIM_I13), SIM_MODE_DIRECT, 0, false,
     0},
    {"lmid-newer-than-pin", BIT(SIM_I13), SIM_MODE_DIRECT, 0, false, 0},
    {"no-version-condition", BIT(SIM_I3) | BIT(SIM_I17), SIM_MODE_DIRECT, 0, false, 0},
    {"gap-skipped", BIT(SIM_I2), SIM_MODE_DIRECT, 0, false, 0},
    {"reject-blocks", BIT(SIM_I4), SIM_MODE_DIRECT, 0, false, 0},
    {"mismatch-skipped", BIT(SIM_I2), SIM_MODE_DIRECT, 0, false, 0},
    {"body-after-commit", BIT(SIM_I14), SIM_MODE_DIRECT,
     SIM_FAULT_BIT(SIM_SERVER_CRASH_BEFORE) | SIM_FAULT_BIT(SIM_SERVER_CRASH_AFTER), false, 9},
    {"origin-not-checked", BIT(SIM_I11) | BIT(SIM_I12), SIM_MODE_DIRECT, 0, false, 0},
    {"stale-lineage-rows", BIT(SIM_I1) | BIT(SIM_I2) | BIT(SIM_I5) | BIT(SIM_I12) | BIT(SIM_I13),
     SIM_MODE_DIRECT, 0, false, 29},
    {"rejection-untold", BIT(SIM_I6) | BIT(SIM_I13), SIM_MODE_DIRECT, 0, false, 5},
    /* consumer */
    {"done-before-commit", BIT(SIM_I2), SIM_MODE_QUEUED, 0, false, 0},
    {"merged-backwards", BIT(SIM_I2), SIM_MODE_QUEUED, 0, false, 0},
    {"merged-one-sender", BIT(SIM_I2) | BIT(SIM_I18), SIM_MODE_QUEUED, 0, false, 0},
    /* log projects */
    {"replay-origin-untold", BIT(SIM_I6), SIM_MODE_DIRECT, 0, true, 49},
};
#define BUGS (sizeof bugs / sizeof bugs[0])

static sim_options options_for(const planted_bug *bug, const sim_options *asked)
{
    sim_options options = *asked;
    if (bug->faults != 0) options.faults = bug->faults;
    options.mode = bug->mode;
    options.kind = bug->logged ? SIM_KIND_LOG : SIM_KIND_VERSIONS;
    options.large = bug->checks == BIT(SIM_I14); /* about bodies, which few edits have */
    return options;
}

static const planted_bug *find_bug(const char *name)
{
    for (size_t i = 0; i < BUGS; i++)
        if (strcmp(bugs[i].name, name) == 0) return &bugs[i];
    (void)fprintf(stderr, "tests/sim/planted.c does not say what catches the bug %s\n", name);
    return NULL;
}

/* ---- in the simulator that has the bug ---- */

/* The first violation of a checker that is meant to catch the bug. NULL: it was not. */
static const sim_violation *caught(const planted_bug *bug, const sim_result *result)
{
    for (uint32_t i = 0; i < result->violation_count; i++)
        if ((bug->checks & BIT(result->violations[i].check)) != 0) return &result->violations[i];
    return NULL;
}

int sim_planted_find(const sim_options *asked, const char *name)
{
    sim_report report = {0};
    sim_result result;
    const planted_bug *bug = find_bug(name);
    if (bug == NULL) return 2;
    sim_options options = options_for(bug, asked);
    uint64_t first = bug->seed == 0 ? FIRST_SEED : bug->seed;
    for (uint64_t seed = first; seed < first + SEEDS_MAX; seed++) {
        options.seed = seed;
        sim_run(&options, &report, &result);
        const sim_violation *violation = caught(bug, &result);
        if (violation == NULL) continue;
        printf("%" PRIu64 " %s %s\n", seed, sim_check_names[violation->check], violation->text);
        return 0;
    }
    return 1;
}

/* ---- in the sound one ---- */

static bool is_clean(const sim_options *options)
{
    sim_report report = {0};
    sim_result result;
    sim_run(options, &report, &result);
    for (uint32_t i = 0; i < result.violation_count; i++)
        printf("  without the bug, seed %" PRIu64 " violates %s: %s\n", options->seed,
               sim_check_names[result.violations[i].check], result.violations[i].text);
    return result.violation_count == 0;
}

static bool catch_bug(const sim_options *asked, const planted_bug *bug)
{
    char line[512];
    char check[8];
    int text = 0;
    sim_options options = options_for(bug, asked);
    if (!planted_find("kedge-sim", bug->name, line, sizeof line) ||
        sscanf(line, "%" SCNu64 " %7s %n", &options.seed, check, &text) != 2) {
        printf("%-26s NOT CAUGHT in %d seeds\n", bug->name, SEEDS_MAX);
        return false;
    }
    bool clean = is_clean(&options);
    printf("%-26s %-4s %6" PRIu64 "  %s\n    %s\n", bug->name, check, options.seed,
           clean ? "clean without it" : "NOT CLEAN without it", line + text);
    (void)fflush(stdout);
    return clean;
}

int sim_planted(const sim_options *options, const char *name)
{
    size_t good = 0;
    if (name[0] != '\0') {
        const planted_bug *bug = find_bug(name);
        return bug != NULL && catch_bug(options, bug) ? 0 : 1;
    }
    printf("%-26s %-4s %6s\n", "planted bug", "by", "seed");
    for (size_t i = 0; i < BUGS; i++)
        if (catch_bug(options, &bugs[i])) good++;
    printf("%zu of %zu planted bugs caught, their seeds clean without them\n", good, BUGS);
    return good == BUGS ? 0 : 1;
}
