/* Undo and redo.
 *
 *   kedge_undo_begin(db, "move the card", &error);
 *   kedge_mutate(db, "kedge.merge", args, args_size, NULL, &error);
 *   kedge_undo_end(db, &error);
 *   …
 *   kedge_undo(db, &result, &error);
 *
 * A group records what its edits replaced: for each item the smallest places at which it differs.
 * So changes of others to other members of the item do not matter. An undo is a new edit, by the
 * built-in mutator kedge.restore. It puts the old value back at each place that still has the value
 * that the group wrote. At a place that somebody has changed since, their value stays. In a text
 * that kedge_text_edit edited, the group's own edits are taken back, and those of others stay. What
 * kedge.increment added is subtracted. So an undo works while the group is pending and after it was
 * decided, offline and online. The undo itself is pending until the server decides it.
 *
 * Warning: an undo may take back a part of a group and return KEDGE_OK: places that others have
 * changed are kept (kedge_undo_result.kept), and no mutator of the app runs. Where a rule holds for
 * several places together, such as a sum of two balances, the app needs a mutator of its own that
 * does the opposite.
 *
 * Each database handle keeps its own groups, in memory, until it is closed: the newest
 * KEDGE_LIMIT_UNDO_GROUPS for undo and as many for redo, and at most KEDGE_LIMIT_UNDO_BYTES of
 * values. The oldest groups go first. After a restore of the backend all groups are forgotten. */
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
 * for it. The group has ended then, too; its edits are kept, and cannot be undone. Nor can the
 * groups before it: an undo would take back what the user did not do last. */
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

/* Takes back the newest group, durably. Then kedge_redo can make it again. `result` may be NULL.
 * Places that others change before the server decides stay as they are. When these are all places,
 * the undo comes into the inbox of rejected edits with the code "restore-conflict". Any thread. It
 * does not use the network, and waits as kedge_mutate does.
 *
 * Errors: as of kedge_mutate; KEDGE_NOT_FOUND "nothing-to-undo"; KEDGE_CONFLICT "undo-open": a
 * group must end first; KEDGE_CONFLICT "undo-conflict": all places of the group were changed since,
 * all of its edits were rejected or cancelled, or another process has made its client-only edits
 * again; KEDGE_LIMIT_EXCEEDED "json-too-deep", "args-too-large": the args of the kedge.restore,
 * which have the values of the group three levels deeper, would be over the limits of args. After
 * these two and "undo-conflict" nothing is undone, and the group is forgotten. */
KEDGE_API kedge_status kedge_undo(kedge_db *db, kedge_undo_result *KEDGE_NULLABLE result,
                                  kedge_error *KEDGE_NULLABLE error);

/* Takes back the newest undo, in the same way. Errors: as of kedge_undo, with KEDGE_NOT_FOUND
 * "nothing-to-redo". */
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
 * done (see kedge_mutate), as kedge_undo_begin and kedge_undo_end do. Errors:
 * KEDGE_INVALID_ARGUMENT. */
KEDGE_API kedge_status kedge_get_undo_state(kedge_db *db, kedge_undo_state *state,
                                            kedge_error *KEDGE_NULLABLE error);

KEDGE_END_DECLS

#endif
