/* The notes app: an offline-edit notebook for the terminal, on the public API alone.
 *
 *   main.c       what the program is: its name, its mutators, its help
 *   commands.c   what each command does
 *   print.c      notes, lists and history as text
 *   ../terminal  arguments, opening, and the live view, which redraws when another copy edits */
#ifndef NOTES_H
#define NOTES_H

#include "notes_mutators.h"

#include "terminal.h"

#include <kedge/kedge.h>

extern const terminal_app notes_app;

/* Runs one command, for example {"add", "Groceries", "milk"}. */
int notes_command(kedge_db *db, int count, char **words);

int notes_print_list(kedge_db *db);
int notes_print_note(kedge_db *db, const char *id);
int notes_print_pending(kedge_db *db);
int notes_print_conflicts(kedge_db *db);
int notes_print_history(kedge_db *db);
/* Prints "notes: message (code)" and returns TERMINAL_FAILED. */
int notes_fail(const kedge_error *error);

/* The full id of the note whose id starts with `prefix`; false, with a message, when it is not
 * exactly one. */
bool notes_find(kedge_db *db, const char *prefix, char id[NOTES_ID_SIZE]);

#endif
