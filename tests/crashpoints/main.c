/* kedge-crashpoints: a processor is stopped before and after every port call, and every pair of
 * such points across two processors, and nothing that must hold is violated.
 *
 *   kedge-crashpoints                   in memory: every single point, every pair
 *   kedge-crashpoints --engines         DynamoDB and S3: every single point, and a sample of pairs
 *       [--seconds N] [--seed S]        for N seconds
 *   kedge-crashpoints --story K --first I --second J --ending E
 *                                       one run again, in memory
 *   kedge-crashpoints --planted [BUG]   each planted bug, or one, until it is caught
 *   kedge-crashpoints-BUG --find BUG    what the former runs: the first run that catches the bug */
#include "tests/crashpoints/run.h"

#include <assert.h>

#define STORIES_MAX 64

static const char *const bugs[] = {"no-version-condition", "dedup-before-head", "body-after-commit",
                                   "recent-shortened-early", "lmid-newer-than-pin"};

int main(int argc, char **argv)
{
    const char *names[STORIES_MAX];
    assert(story_count <= STORIES_MAX);
    for (size_t i = 0; i < story_count; i++)
        names[i] = stories[i].name;
    suite pushes = {.program = "kedge-crashpoints",
                    .title = "pushes",
                    .stories = names,
                    .story_count = story_count,
                    .checks = check_names,
                    .check_count = CHECKS,
                    .bugs = bugs,
                    .bug_count = sizeof bugs / sizeof bugs[0],
                    .all_endings_max = 600,
                    .run = run_once};
    return suite_main(&pushes, argc, argv);
}
