/* kedge-powercut --server PROGRAM (--seconds N | --seed N): see powercut.h. Ends 1 when an
 * acknowledged edit was lost or came twice, or anything else was wrong. */
#include "tests/powercut/powercut.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define BAD_MAX     20 /* cuts that went wrong, before the program stops */
#define SERVER_EACH 40 /* one cut of so many is opened with the server, too */

static const char *const way_names[POWERCUT_WAYS] = {
    "everything kept", "nothing kept that was not synced", "kept, dropped and torn by the dice"};

typedef struct session {
    const char *program;
    char root[FILES_PATH_BYTES];
    char cut[FILES_PATH_BYTES];    /* the folder that a cut left */
    char server[FILES_PATH_BYTES]; /* the server's data for it */
    double deadline_s;
    sim_dice dice;
    powercut_counts counts;
    long made; /* cuts */
    int bad;
    bool complete; /* the scenario was cut at each of its operations */
} session;

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void make_folder(const char *path)
{
    if (mkdir(path, 0700) != 0) powercut_fail("%s: %s", path, strerror(errno));
}

static const powercut_phase *phase_of(const powercut_run *run, size_t position)
{
    for (size_t i = 0; i < run->phase_count; i++)
        if (position <= run->phases[i].end) return &run->phases[i];
    return &run->phases[run->phase_count - 1];
}

static void cut_once(session *now, const powercut_run *run, const powercut_disk *disk,
                     size_t position, powercut_way way)
{
    bool sound;
    make_folder(now->cut);
    powercut_disk_cut(disk, way, &now->dice, now->cut, &now->counts.losses);
    now->counts.cuts[way]++;
    if (++now->made % SERVER_EACH == 0)
        sound = powercut_check_with_server(run, position, phase_of(run, position), now->cut,
                                           now->program, now->server, &now->counts);
    else
        sound = powercut_check(run, position, now->cut, &now->counts);
    files_remove_folder(now->cut);
    if (sound) return;
    now->bad++;
    printf("  %s; in the phase \"%s\"\n", way_names[way], phase_of(run, position)->name);
}

/* False: it was ended before it was cut everywhere. The first one takes what it needs. */
static bool cut_everywhere(session *now, const powercut_run *run)
{
    powercut_disk *disk = powercut_disk_make();
    size_t position = 0;
    for (; position <= run->record.count; position++) {
        if ((now->complete && now_s() > now->deadline_s) || now->bad >= BAD_MAX) break;
        if (position > 0) powercut_disk_play(disk, &run->record.operations[position - 1]);
        for (int way = 0; way < POWERCUT_WAYS; way++)
            cut_once(now, run, disk, position, (powercut_way)way);
    }
    powercut_disk_free(disk);
    return position > run->record.count;
}

static void play_seed(session *now, uint64_t seed)
{
    powercut_run *run = powercut_allocate(NULL, sizeof *run);
    char folder[FILES_PATH_BYTES];
    files_path(folder, now->root, "run");
    make_folder(folder);
    now->dice = sim_dice_make(seed, 2);
    powercut_run_make(run, seed, now->program, folder);
    bool complete = cut_everywhere(now, run);
    now->complete = now->complete || complete;
    printf("seed %llu: %ld edits, %zu writes, syncs and the like%s\n", (unsigned long long)seed,
           run->tokens, run->record.count, complete ? "" : "; ended before all were cut");
    fflush(stdout);
    powercut_run_free(run);
    free(run);
    files_remove_folder(folder);
}

static int report(const session *now)
{
    const powercut_counts *counts = &now->counts;
    printf("\n");
    for (int way = 0; way < POWERCUT_WAYS; way++)
        printf("cuts, %-36s %8ld\n", way_names[way], counts->cuts[way]);
    printf("%-42s %8ld\n", "  of them opened with the server", counts->with_server);
    printf("%-42s %8ld\n", "changes dropped", counts->losses.dropped);
    printf("%-42s %8ld\n", "writes torn", counts->losses.torn);
    printf("%-42s %8ld\n", "acknowledged edits looked for", counts->acknowledged);
    printf("%-42s %8ld\n", "lost", counts->lost);
    printf("%-42s %8ld\n", "there twice", counts->doubled);
    printf("%-42s %8ld\n", "cancelled edits looked for", counts->cancelled);
    printf("%-42s %8ld\n", "there all the same", counts->revived);
    printf("%-42s %8ld\n", "folders refused", counts->refused);
    printf("%-42s %8ld\n", "otherwise wrong", counts->wrong);
    return now->bad > 0 || !now->complete || counts->acknowledged == 0 || counts->cancelled == 0 ||
           counts->losses.torn == 0 || counts->losses.dropped == 0;
}

int main(int argc, char **argv)
{
    session now = {0};
    long seconds = 0, seed = -1;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--server") == 0) now.program = argv[i + 1];
        if (strcmp(argv[i], "--seconds") == 0) seconds = strtol(argv[i + 1], NULL, 10);
        if (strcmp(argv[i], "--seed") == 0) seed = strtol(argv[i + 1], NULL, 10);
    }
    if (!now.program || (seconds < 1 && seed < 0)) {
        fputs("usage: kedge-powercut --server PROGRAM (--seconds N | --seed N)\n", stderr);
        return 2;
    }
    const char *base = getenv("TMPDIR");
    (void)snprintf(now.root, sizeof now.root, "%s/kedge-powercut.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(now.root)) powercut_fail("%s: %s", now.root, strerror(errno));
    files_path(now.cut, now.root, "cut");
    files_path(now.server, now.root, "cut-server");
    powercut_recorder_install();
    now.deadline_s = seconds > 0 ? now_s() + (double)seconds : 1e18;
    uint64_t next = seed >= 0 ? (uint64_t)seed : 1;
    do {
        play_seed(&now, next++);
    } while (seed < 0 && now_s() < now.deadline_s && now.bad < BAD_MAX);
    files_remove_folder(now.root);
    return report(&now);
}
