/* Undo and redo.
 *
 *   kedge_undo_begin(db, "move the card", &error);
 *   kedge_mutate(db, "kedge.merge", args, args_size, NULL, &error);
 *   kedge_undo_end(db, &error);
 *   …
 *   kedge_undo(db, &result, &error);
 *
 * A group of edits records what they replaced: the smallest places at which an item differs, so
 * that changes of others to other members of the item do not matter. An undo is a new edit, the
 * built-in kedge.restore: it puts the old value back at each place that still has what the group
 * wrote. Where somebody has changed it since, their value stays. In a text that kedge_text_edit
 * edited, the edits of others stay and the group's own are taken back; what kedge.increment added
 * is subtracted. So an undo works while the group is pending and after it was decided, offline and
 * online, and is itself pending until the server decides it.
 *
 * Warning: an undo may take back a part of a group and return KEDGE_OK: places that others have
 * changed are kept (kedge_undo_result.kept), and no mutator of the app runs. Where a rule holds for
 * several places together, such as a sum of two balances, the app needs a mutator of its own that
 * does the opposite.
 *
 * Groups are kept in memory, of this database handle alone, until it is closed: the newest
 * KEDGE_LIMIT_UNDO_GROUPS for undo and as many for redo, and at most KEDGE_LIMIT_UNDO_BYTES of
 * values; the oldest go first. After a restore of the backend they are forgotten. */
#ifndef KEDGE_UNDO_H
#define KEDGE_UNDO_H

#include <kedge/database.h>

KEDGE_BEGIN_DECLS

#define KEDGE_UNDO_LABEL_SIZE 64 /* bytes of a label with its NUL */

/* Begins a group: the edits that the calling thread makes until kedge_undo_end belong to it. Those
 * of other threads do not, and are not undone. `label` is what the app calls the group, for its
 * menu; NULL: "". One group is open at a time. Errors: KEDGE_CONFLICT "undo-open": one is open;
 * KEDGE_INVALID_ARGUMENT "label-invalid": `label` is not UTF-8 or is longer than 63 bytes. */
KEDGE_API kedge_status kedge_undo_begin(kedge_db *db, const char *KEDGE_NULLABLE label,
                                        kedge_error *KEDGE_NULLABLE error);

/* Ends the group; the same thread must call it. When its edits changed anything, the group is the
 * next that kedge_undo takes back, and what could be redone is forgotten. Errors: KEDGE_CONFLICT
 * "undo-not-open": this thread has begun none; KEDGE_LIMIT_EXCEEDED "undo-too-large": the group has
 * more than KEDGE_LIMIT_UNDO_CHANGES changes or KEDGE_LIMIT_UNDO_GROUP_BYTES, or memory ran out
 * for it; its edits stand and cannot be undone, and the group is closed. */
KEDGE_API kedge_status kedge_undo_end(kedge_db *db, kedge_error *KEDGE_NULLABLE error);

/* Start from KEDGE_UNDO_RESULT_INIT (see kedge/base.h). */
typedef struct kedge_undo_result {
    uint32_t size;
    int64_t sequence; /* of the edit that the undo is: for kedge_wait and kedge_cancel */
    int64_t restored; /* places that have their old value again */
    int64_t kept;     /* places that somebody had changed since, and that stay */
} kedge_undo_result;

#define KEDGE_UNDO_RESULT_INIT                                                                     \
    {                                                                                              \
        sizeof(kedge_undo_result), 0, 0, 0                                                         \
    }

/* Takes back the newest group, durably. It can be redone then. `result` may be NULL. Places that
 * others change before the server decides stay as they are; when these are all places, the undo is
 * in the inbox of rejected edits with the code "restore-conflict". Any thread; no network is used.
 * Errors: as of kedge_mutate; KEDGE_NOT_FOUND "nothing-to-undo"; KEDGE_CONFLICT "undo-open": a
 * group must end first; KEDGE_CONFLICT "undo-conflict": all of its places were changed since, all
 * of its edits were rejected or cancelled, or another process made its client-only edits again;
 * nothing is undone, and the group is forgotten. */
KEDGE_API kedge_status kedge_undo(kedge_db *db, kedge_undo_result *KEDGE_NULLABLE result,
                                  kedge_error *KEDGE_NULLABLE error);

/* Takes back the newest undo, in the same way. KEDGE_NOT_FOUND "nothing-to-redo". */
KEDGE_API kedge_status kedge_redo(kedge_db *db, kedge_undo_result *KEDGE_NULLABLE result,
                                  kedge_error *KEDGE_NULLABLE error);

/* Start from KEDGE_UNDO_STATE_INIT (see kedge/base.h). */
typedef struct kedge_undo_state {
    uint32_t size;
    uint32_t undo_count; /* groups that can be undone */
    uint32_t redo_count;
    bool open;                              /* a group was begun and has not ended */
    char undo_label[KEDGE_UNDO_LABEL_SIZE]; /* of the next one; "": none */
    char redo_label[KEDGE_UNDO_LABEL_SIZE];
} kedge_undo_state;

#define KEDGE_UNDO_STATE_INIT                                                                      \
    {                                                                                              \
        sizeof(kedge_undo_state), 0, 0, false, "", ""                                              \
    }

/* Fills `state`, for the app's menu. Any thread. It waits until the writers of this process are
 * done, as kedge_undo_begin and kedge_undo_end do: see kedge_mutate. */
KEDGE_API kedge_status kedge_get_undo_state(kedge_db *db, kedge_undo_state *state,
                                            kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
