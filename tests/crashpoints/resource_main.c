/* kedge-crashpoints-resource: the same as kedge-crashpoints for the writes of resources, in
 * transactions and in order.
 *
 *   kedge-crashpoints-resource                  in memory: every single point, every pair
 *   kedge-crashpoints-resource --engines        on DynamoDB: every single point, and pairs drawn
 *       [--seconds N] [--seed S]                for N seconds
 *   kedge-crashpoints-resource --story K --first I --second J --ending E
 *                                               one run again, in memory
 *   kedge-crashpoints-resource --planted [BUG]  each planted bug, or one, until it is caught
 *   kedge-crashpoints-resource-BUG --find BUG   what the former runs
 *
 * A story's number is twice its place, and one more in order. */
#include "tests/crashpoints/resource_run.h"

#include <stdio.h>

#define STORIES_MAX 64

static const char *const bugs[] = {"resource-row-replaced", "resource-uid-ignored"};

int main(int argc, char **argv)
{
    char texts[STORIES_MAX][64];
    const char *names[STORIES_MAX];
    size_t count = 0;
    for (; count < resource_story_count * RESOURCE_MODES && count < STORIES_MAX; count++) {
        snprintf(texts[count], sizeof texts[count], "%s%s",
                 resource_stories[count / RESOURCE_MODES].name,
                 count % RESOURCE_MODES == IN_ORDER ? ", in order" : "");
        names[count] = texts[count];
    }
    suite resources = {.program = "kedge-crashpoints-resource",
                       .title = "resources",
                       .stories = names,
                       .story_count = count,
                       .checks = resource_check_names,
                       .check_count = RESOURCE_CHECKS,
                       .bugs = bugs,
                       .bug_count = sizeof bugs / sizeof bugs[0],
                       .run = resource_run_once};
    return suite_main(&resources, argc, argv);
}
