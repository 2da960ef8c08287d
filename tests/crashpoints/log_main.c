/* kedge-crashpoints-log: the same as kedge-crashpoints for event logs.
 *
 *   kedge-crashpoints-log                  in memory: every single point, every pair
 *   kedge-crashpoints-log --engines        on DynamoDB and S3: every single point, and pairs drawn
 *       [--seconds N] [--seed S]           for N seconds
 *   kedge-crashpoints-log --story K --first I --second J --ending E
 *                                          one run again, in memory
 *   kedge-crashpoints-log --planted [BUG]  each planted bug, or one, until it is caught
 *   kedge-crashpoints-log-BUG --find BUG   what the former runs */
#include "tests/crashpoints/log_run.h"

static const char *const bugs[] = {"log-entry-replaced", "log-id-ignored"};

int main(int argc, char **argv)
{
    suite logs = {.program = "kedge-crashpoints-log",
                  .title = "event logs",
                  .stories = log_story_names,
                  .story_count = log_story_count,
                  .checks = log_check_names,
                  .check_count = LOG_CHECKS,
                  .bugs = bugs,
                  .bug_count = sizeof bugs / sizeof bugs[0],
                  .run = log_run_once};
    return suite_main(&logs, argc, argv);
}
