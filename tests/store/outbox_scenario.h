/* An outbox with edits in every state, and raw access to its rows. */
#ifndef KEDGE_TESTS_STORE_OUTBOX_SCENARIO_H
#define KEDGE_TESTS_STORE_OUTBOX_SCENARIO_H

#include "tests/store/fixture.h"

#include <sqlite3.h>

#define EDITS 12

/* Edit number n adds 1 to notes/e<n>: applied twice, it shows. Returns its sequence. */
int64_t outbox_make_edit_anew(fixture *f, int number);
/* … in an outbox in which that is n. */
void outbox_make_edit(fixture *f, int number);
/* 1 to 4 are confirmed, 5 is in the inbox, 6 to 8 were sent and have not arrived, or have, and 9 to
 * 12 never left. */
void outbox_fill(fixture *f, bool arrived);
/* How often the canonical state has edit n. */
int outbox_applied(fixture *f, int number);
bool outbox_read_entry(fixture *f, int64_t sequence, char code[64], char message[128]);
bool outbox_is_in_inbox(fixture *f, int64_t sequence, char code[64]);
/* Behind a sync: each edit was applied once, or stands in the inbox, under its sequence or with its
 * contents under a new one. Returns how many are damaged. */
int outbox_expect_accounted(fixture *f, const char *what);

/* Of a closed folder, without triggers. */
sqlite3 *outbox_open_raw(const fixture *f);
/* Returns how many rows were changed last. */
int outbox_run_raw(const fixture *f, const char *sql);
/* Makes the outbox of a closed folder one of layout 5. */
void outbox_make_layout_5(const char *folder);
void outbox_restore_folder(fixture *f, const char *whole);

#endif
