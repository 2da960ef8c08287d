/* Whether the real engine that a test wants is there. */
#ifndef KEDGE_TESTS_SUPPORT_ENGINES_H
#define KEDGE_TESTS_SUPPORT_ENGINES_H

#define ENGINES_SKIPPED 77 /* what ctest takes as skipped of a test with the label engines */

/* 0 when the environment variable is set. Else says why the test does not run, and gives what main
 * returns: ENGINES_SKIPPED, or 1 when KEDGE_ENGINES is "required". */
int engines_missing(const char *variable);

#endif
