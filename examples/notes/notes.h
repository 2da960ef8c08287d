/* The notes app: an offline-edit notebook for the terminal, on the public API alone.
 *
 *   main.c      arguments, opening, one command or the shell
 *   commands.c  what each command does
 *   print.c     notes, lists and history as text
 *   live.c      the live view, which redraws when another copy edits */
#ifndef NOTES_H
#define NOTES_H

#include "notes_mutators.h"

#include <kedge/kedge.h>

/* Exit codes: 0 done, 1 the command failed, 2 wrong usage. */
enum { NOTES_DONE = 0, NOTES_FAILED = 1, NOTES_USAGE = 2 };

/* Runs one command, for example {"add", "Groceries", "milk"}. */
int notes_command(kedge_db *db, int count, char **words);

/* The live view with a prompt, until end of input or `quit`. */
int notes_live(kedge_db *db);

void notes_print_help(void);
int notes_print_list(kedge_db *db);
int notes_print_note(kedge_db *db, const char *id);
int notes_print_pending(kedge_db *db);
int notes_print_conflicts(kedge_db *db);
int notes_print_history(kedge_db *db);
int notes_print_status(kedge_db *db);
/* Prints "notes: message (code)" and returns NOTES_FAILED. */
int notes_fail(const kedge_error *error);

/* The full id of the note whose id starts with `prefix`; false, with a message, when it is not
 * exactly one. */
bool notes_find(kedge_db *db, const char *prefix, char id[NOTES_ID_SIZE]);

#endif
