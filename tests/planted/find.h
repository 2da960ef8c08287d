/* Runs a program that has a bug of tests/planted in it. The sound program reads what it found, and
 * runs the same without the bug. */
#ifndef KEDGE_TESTS_PLANTED_FIND_H
#define KEDGE_TESTS_PLANTED_FIND_H

#include <stdbool.h>
#include <stddef.h>

/* Runs `program`-`bug`, which is in the folder planted beside this program, with --find `bug`.
 * True: it ended 0, and `line` has its last line of output. */
bool planted_find(const char *program, const char *bug, char *line, size_t size);

#endif
