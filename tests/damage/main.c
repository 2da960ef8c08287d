/* kedge-damage --server PROGRAM (--seconds N | --rounds N | --seed N [--keep]): see damage.h. Ends
 * 1 when an edit was lost without a word, anything was endless, wrong or mute, or a kind of damage
 * never took effect. */
#include "tests/damage/damage.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define JOBS_MAX      8
#define KINDS_MAX     64
#define ROUND_SECONDS 240
#define SHOWN_MAX     12 /* rounds whose trace is printed */

typedef struct tally {
    int tried, applied, detected, healed, set_aside, refused;
    int lost, endless, wrong, mute;
} tally;

typedef struct totals {
    tally kinds[KINDS_MAX];
    tally all;
    int states[DAMAGE_STATES_MAX];
    int rounds, bad, overstated, repaired, waiting;
    char columns[DAMAGE_COLUMNS_MAX][96];
    bool column_hit[DAMAGE_COLUMNS_MAX];
    size_t column_count;
} totals;

typedef struct arguments {
    const char *server;
    uint64_t first_seed;
    long seconds, rounds, jobs;
    bool replay, keep, all;
} arguments;

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static bool is_detected(const damage_seen *seen)
{
    return seen->refused || seen->healed || seen->set_aside || seen->told_by_read || seen->rotated;
}

static bool is_bad(const damage_result *result)
{
    const damage_seen *seen = &result->seen;
    return seen->lost || seen->endless || seen->wrong || seen->mute;
}

static void add(tally *to, const damage_result *result)
{
    const damage_seen *seen = &result->seen;
    to->tried++;
    if (!result->applied) return;
    to->applied++;
    to->detected += is_detected(seen);
    to->healed += seen->healed;
    to->set_aside += seen->set_aside;
    to->refused += seen->refused;
    to->lost += seen->lost;
    to->endless += seen->endless > 0;
    to->wrong += seen->wrong > 0;
    to->mute += seen->mute > 0;
}

static void print_round(const damage_pool *pool, const damage_result *result)
{
    const damage_seen *seen = &result->seen;
    printf("seed %llu: %s, %s, in \"%s\": %s%s%s%s%s%s%s%s\n", (unsigned long long)result->seed,
           damage_kinds[result->kind].name, damage_kinds[result->kind].file,
           result->applied ? pool->states[result->state].name : "no state",
           result->applied ? "" : "not possible ", seen->healed ? "healed " : "",
           seen->set_aside ? "set aside " : "", seen->refused ? "refused " : "",
           seen->repaired ? "repaired " : "", seen->rotated ? "rotated " : "",
           seen->overstated ? "told more than is missing " : "", is_bad(result) ? "BAD" : "good");
    fputs(seen->trace, stdout);
    fflush(stdout);
}

static void take(totals *sum, const damage_pool *pool, const damage_result *result,
                 const arguments *given)
{
    sum->rounds++;
    add(&sum->kinds[result->kind], result);
    add(&sum->all, result);
    if (result->applied) sum->states[result->state]++;
    sum->overstated += result->seen.overstated;
    sum->repaired += result->seen.repaired;
    sum->waiting += result->seen.waiting;
    for (size_t i = 0; result->applied && i < sum->column_count; i++)
        if (strcmp(sum->columns[i], result->place) == 0) sum->column_hit[i] = true;
    sum->bad += is_bad(result);
    if (given->replay || given->all || (is_bad(result) && sum->bad <= SHOWN_MAX))
        print_round(pool, result);
}

/* ---- rounds beside each other ---- */

typedef struct job {
    pid_t pid;
    damage_result *result;
} job;

static void start_job(job *one, const damage_setting *setting, uint64_t seed)
{
    memset(one->result, 0, sizeof *one->result);
    one->result->seed = seed;
    fflush(NULL);
    one->pid = fork();
    if (one->pid < 0) damage_fail("no process");
    if (one->pid > 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(ROUND_SECONDS);
    damage_round(setting, seed, one->result);
    atomic_store(&one->result->done, true);
    _exit(0);
}

static void end_job(job *one, totals *sum, const damage_pool *pool, const arguments *given)
{
    if (!atomic_load(&one->result->done))
        damage_fail("the round of seed %llu ended early", (unsigned long long)one->result->seed);
    take(sum, pool, one->result, given);
    one->pid = 0;
}

static void run_rounds(const damage_setting *setting, const arguments *given, totals *sum)
{
    job jobs[JOBS_MAX] = {{0}};
    double start = now_s(), told = start;
    long begun = 0, running = 0;
    for (long i = 0; i < given->jobs; i++)
        jobs[i].result = damage_share(sizeof *jobs[i].result);
    for (;;) {
        bool more =
            given->seconds ? now_s() - start < (double)given->seconds : begun < given->rounds;
        for (long i = 0; more && i < given->jobs && running < given->jobs; i++) {
            if (jobs[i].pid || (!given->seconds && begun >= given->rounds)) continue;
            start_job(&jobs[i], setting, given->first_seed + (uint64_t)begun++);
            running++;
        }
        if (running == 0) break;
        pid_t ended = waitpid(-1, NULL, 0);
        for (long i = 0; i < given->jobs; i++) {
            if (ended <= 0 || jobs[i].pid != ended) continue;
            end_job(&jobs[i], sum, &setting->pool, given);
            running--;
        }
        if (now_s() - told >= 10) {
            told = now_s();
            printf("  %d rounds, %d bad, %.0f s\n", sum->rounds, sum->bad, told - start);
            fflush(stdout);
        }
    }
}

/* ---- the table ---- */

static void print_row(const char *name, const char *file, const tally *row)
{
    printf("%-20s %-13s %5d %5d %8d %6d %9d %7d %5d %7d %5d %4d\n", name, file, row->tried,
           row->applied, row->detected, row->healed, row->set_aside, row->refused, row->lost,
           row->endless, row->wrong, row->mute);
}

/* Returns how many kinds never took effect, where each had its turn. */
static int print_table(const damage_pool *pool, const totals *sum)
{
    int never = 0;
    printf("%-20s %-13s %5s %5s %8s %6s %9s %7s %5s %7s %5s %4s\n", "damage", "to", "tried", "took",
           "detected", "healed", "set aside", "refused", "lost", "endless", "wrong", "mute");
    for (size_t i = 0; i < damage_kind_count; i++)
        print_row(damage_kinds[i].name, damage_kinds[i].file, &sum->kinds[i]);
    print_row("all", "", &sum->all);
    bool whole = (uint64_t)sum->rounds >= damage_period();
    for (size_t i = 0; whole && i < damage_kind_count; i++) {
        if (sum->kinds[i].applied > 0) continue;
        printf("never took effect: %s, %s\n", damage_kinds[i].name, damage_kinds[i].file);
        never++;
    }
    printf("states:");
    for (size_t i = 0; i < pool->count; i++)
        printf("%s %s %d", i ? "," : "", pool->states[i].name, sum->states[i]);
    puts("");
    size_t hit = 0;
    for (size_t i = 0; i < sum->column_count; i++)
        hit += sum->column_hit[i];
    printf("%zu of %zu columns were given another value", hit, sum->column_count);
    for (size_t i = 0; hit + 24 > sum->column_count && i < sum->column_count; i++)
        if (!sum->column_hit[i]) printf("; not %s", sum->columns[i]);
    printf("\n%d rounds; %d folders repaired; %d told of more than was missing; %d waited with a "
           "rotation\n",
           sum->rounds, sum->repaired, sum->overstated, sum->waiting);
    printf("lost without a word %d, endless %d, wrong %d, refused without saying what to do %d\n",
           sum->all.lost, sum->all.endless, sum->all.wrong, sum->all.mute);
    return never;
}

static bool parse(int argc, char **argv, arguments *out)
{
    *out = (arguments){.jobs = sysconf(_SC_NPROCESSORS_ONLN)};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--keep") == 0 || strcmp(argv[i], "--all") == 0) {
            *(argv[i][2] == 'k' ? &out->keep : &out->all) = true;
            continue;
        }
        if (!value) return false;
        long number = strtol(value, NULL, 10);
        if (strcmp(argv[i], "--server") == 0)
            out->server = value;
        else if (strcmp(argv[i], "--seconds") == 0)
            out->seconds = number;
        else if (strcmp(argv[i], "--rounds") == 0)
            out->rounds = number;
        else if (strcmp(argv[i], "--jobs") == 0)
            out->jobs = number;
        else if (strcmp(argv[i], "--from") == 0)
            out->first_seed = strtoull(value, NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0)
            *out = (arguments){out->server, strtoull(value, NULL, 10), 0, 1, 1, true, out->keep,
                               out->all};
        else
            return false;
        i++;
    }
    if (out->jobs < 1) out->jobs = 1;
    if (out->jobs > JOBS_MAX) out->jobs = JOBS_MAX;
    return out->server && (out->seconds > 0 || out->rounds > 0);
}

/* Of this process: its children end through exit, too. */
static char root[256];
static pid_t root_owner;

static void remove_root(void)
{
    if (root_owner == getpid()) files_remove_folder(root);
}

static void make_root(bool keep)
{
    const char *base = getenv("TMPDIR");
    (void)snprintf(root, sizeof root, "%.200s/kedge-damage.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(root)) damage_fail("no temporary folder");
    if (keep)
        printf("the folders stay in %s\n", root);
    else
        root_owner = getpid();
    atexit(remove_root);
}

int main(int argc, char **argv)
{
    arguments given;
    if (!parse(argc, argv, &given)) {
        fputs("usage: kedge-damage --server PROGRAM (--seconds N | --rounds N | --seed N [--keep])"
              " [--from SEED] [--jobs N] [--all]\n",
              stderr);
        return 2;
    }
    static damage_setting setting;
    static totals sum;
    make_root(given.keep);
    setting.server_program = given.server;
    setting.root = root;
    setting.keep = given.keep;
    double start = now_s();
    damage_pool_make(&setting.pool, root, given.server);
    printf("%zu states made in %.1f s\n", setting.pool.count, now_s() - start);
    char fresh[FILES_PATH_BYTES];
    files_path(fresh, setting.pool.states[0].path, "older");
    sum.column_count = damage_list_columns(fresh, sum.columns);
    run_rounds(&setting, &given, &sum);
    int never = given.replay ? 0 : print_table(&setting.pool, &sum);
    return sum.all.lost || sum.all.endless || sum.all.wrong || sum.all.mute || never;
}
