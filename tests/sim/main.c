/* kedge-sim: runs seeds until time is up, or replays one.
 *
 *   kedge-sim --seconds N              seeds from the clock on, or from --from S
 *   kedge-sim --seeds N [--from S]     so many seeds
 *   kedge-sim --seed S [--trace]       one seed; with --clients, --edits and --faults as a shrunk
 *                                      run was printed
 *   kedge-sim --hash …                 also prints the hash of each trace
 *   kedge-sim --direct … | --queued …  every seed in one mode; otherwise the seed decides
 *   kedge-sim --versions … | --log …   every project of one kind; otherwise the seed decides
 *   kedge-sim --large …                half of the values are bodies of their own
 *   kedge-sim --planted [BUG]          each planted bug, or one, until its checker catches it
 *   kedge-sim-BUG --find BUG           what the former runs: the first seed that catches the bug
 *
 * Ends 1 when a checker was violated, and, for a run of seeds, when a fault never took effect or a
 * checker never ran. */
#include "tests/sim/files.h"
#include "tests/sim/planted.h"
#include "tests/sim/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

typedef struct arguments {
    sim_options options;
    int64_t seconds;
    uint64_t seeds;
    uint64_t from;
    bool one;
    bool hash;
    const char *planted; /* a bug, "": all; NULL: not asked for */
    const char *find;    /* in the simulator that has this bug */
    bool partial;        /* too short to demand that every fault takes effect */
} arguments;

static int usage(void)
{
    fputs("usage: kedge-sim --seconds N | --seeds N [--from S] [--partial] | --seed S [--trace]\n"
          "                 [--clients N] [--edits N] [--faults 0xMASK] [--large] [--hash]\n"
          "                 [--direct | --queued] [--versions | --log] | --planted [BUG]\n",
          stderr);
    return 2;
}

static bool read_number(const char *text, uint64_t *number)
{
    char *end;
    *number = strtoull(text, &end, 0);
    return *text != '\0' && *end == '\0';
}

static bool read_flag(const char *name, arguments *asked)
{
    if (strcmp(name, "--trace") == 0)
        asked->options.trace = stdout;
    else if (strcmp(name, "--hash") == 0)
        asked->hash = true;
    else if (strcmp(name, "--partial") == 0)
        asked->partial = true;
    else if (strcmp(name, "--direct") == 0)
        asked->options.mode = SIM_MODE_DIRECT;
    else if (strcmp(name, "--queued") == 0)
        asked->options.mode = SIM_MODE_QUEUED;
    else if (strcmp(name, "--versions") == 0)
        asked->options.kind = SIM_KIND_VERSIONS;
    else if (strcmp(name, "--log") == 0)
        asked->options.kind = SIM_KIND_LOG;
    else if (strcmp(name, "--large") == 0)
        asked->options.large = true;
    else
        return false;
    return true;
}

static bool read_option(const char *name, uint64_t number, arguments *asked)
{
    if (strcmp(name, "--seconds") == 0) {
        asked->seconds = (int64_t)number;
    } else if (strcmp(name, "--seeds") == 0) {
        asked->seeds = number;
    } else if (strcmp(name, "--from") == 0) {
        asked->from = number;
    } else if (strcmp(name, "--seed") == 0) {
        asked->options.seed = number;
        asked->one = true;
    } else if (strcmp(name, "--clients") == 0) {
        asked->options.clients = number > 4 ? 4 : (uint32_t)number;
    } else if (strcmp(name, "--edits") == 0) {
        asked->options.edits = (uint32_t)number;
    } else if (strcmp(name, "--faults") == 0) {
        asked->options.faults = number;
    } else {
        return false;
    }
    return true;
}

/* The options about planted bugs. The number of arguments that were read. */
static int read_planted(int count, char **values, arguments *asked)
{
    const char *bug = count > 1 && values[1][0] != '-' ? values[1] : "";
    if (strcmp(values[0], "--planted") == 0)
        asked->planted = bug;
    else if (strcmp(values[0], "--find") == 0)
        asked->find = bug;
    else
        return 0;
    return bug[0] != '\0' ? 2 : 1;
}

static bool read_arguments(int count, char **values, arguments *asked)
{
    for (int i = 1; i < count; i++) {
        uint64_t number;
        if (read_flag(values[i], asked)) continue;
        int read = read_planted(count - i, values + i, asked);
        if (read > 0) {
            i += read - 1;
            continue;
        }
        if (i + 1 >= count || !read_number(values[i + 1], &number)) return false;
        if (!read_option(values[i], number, asked)) return false;
        i++;
    }
    return asked->options.clients > 0;
}

static int64_t seconds_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static int run_one(const arguments *asked)
{
    sim_report report = {0};
    sim_result result;
    sim_run(&asked->options, &report, &result);
    for (uint32_t i = 0; i < result.violation_count; i++)
        printf("%s: %s\n", sim_check_names[result.violations[i].check], result.violations[i].text);
    printf("seed %" PRIu64 ": %" PRIu64 " steps, trace %016" PRIx64 ", %u violations\n",
           asked->options.seed, report.steps, result.trace_hash, result.violation_count);
    return result.violation_count == 0 ? 0 : 1;
}

static int run_many(const arguments *asked)
{
    sim_report report = {0};
    sim_options options = asked->options;
    int64_t end = seconds_now() + asked->seconds;
    uint32_t failed = 0;
    for (uint64_t i = 0; failed < 3; i++) {
        if (asked->seeds > 0 ? i >= asked->seeds : seconds_now() >= end) break;
        sim_result result;
        options.seed = asked->from + i;
        sim_run(&options, &report, &result);
        if (asked->hash)
            printf("seed %" PRIu64 " %016" PRIx64 "\n", options.seed, result.trace_hash);
        if (result.violation_count == 0) continue;
        failed++;
        sim_print_failure(&options, &result);
    }
    sim_print_summary(&report);
    if (failed > 0) return 1;
    return asked->partial || sim_is_complete(&report) ? 0 : 1;
}

static int run(const arguments *asked)
{
    if (asked->planted) return sim_planted(&asked->options, asked->planted);
    if (asked->find) return sim_planted_find(&asked->options, asked->find);
    return asked->one ? run_one(asked) : run_many(asked);
}

int main(int count, char **values)
{
    char root[256];
    struct stat facts;
    const char *base = getenv("TMPDIR");
    arguments asked = {.options = {.faults = SIM_FAULTS_ALL, .clients = 3, .edits = 120},
                       .from = (uint64_t)time(NULL) * 1000};
    if (!read_arguments(count, values, &asked)) return usage();
    bool other = asked.one || asked.planted || asked.find;
    if (!other && asked.seconds == 0 && asked.seeds == 0) return usage();
    /* Memory, where there is: nothing here must outlive a machine. */
    if (base == NULL) base = stat("/dev/shm", &facts) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(root, sizeof root, "%s/kedge-sim.XXXXXX", base);
    if (mkdtemp(root) == NULL || !sim_vfs_register()) {
        perror(root);
        return 2;
    }
    asked.options.root = root;
    int status = run(&asked);
    sim_folder_remove(root);
    return status;
}
