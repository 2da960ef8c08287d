/* kedge-crashpoints-effects: the same as kedge-crashpoints for what follows the writes of logs.
 *
 *   kedge-crashpoints-effects                  in memory: every single point, an even part of the
 *                                            pairs
 *   kedge-crashpoints-effects --story K --first I --second J --ending E
 *                                              one run again
 *   kedge-crashpoints-effects --planted [BUG]  each planted bug, or one, until it is caught
 *   kedge-crashpoints-effects-BUG --find BUG   what the former runs */
#include "tests/crashpoints/effects_run.h"

static const char *const bugs[] = {"effects-checkpoint-first", "effects-id-random"};

int main(int argc, char **argv)
{
    suite effects = {.program = "kedge-crashpoints-effects",
                     .title = "effects of logs",
                     .stories = effects_story_names,
                     .story_count = effects_story_count,
                     .checks = effects_check_names,
                     .check_count = EFFECTS_CHECKS,
                     .bugs = bugs,
                     .bug_count = sizeof bugs / sizeof bugs[0],
                     .all_endings_max = 800,
                     .pairs_max = 800,
                     .run = effects_run_once};
    return suite_main(&effects, argc, argv);
}
