/* Undo and redo in an app: a group for each thing that the user did, and two commands. */
#include <kedge/kedge.h>

#include <stdio.h>
#include <string.h>

kedge_status move_card(kedge_db *db, kedge_error *error);
kedge_status undo(kedge_db *db, kedge_error *error);
kedge_status undo_title(kedge_db *db, char title[80], kedge_error *error);

/* Moves a card, and counts the move: one thing for the user, two edits. */
kedge_status move_card(kedge_db *db, kedge_error *error)
{
    static const char move[] =
        "{\"collection\":\"cards\",\"id\":\"c1\",\"patch\":{\"column\":\"done\"}}";
    static const char count[] = "{\"collection\":\"cards\",\"id\":\"c1\",\"add\":{\"moves\":1}}";
    kedge_error why = {KEDGE_OK, "", ""};
    kedge_status status = kedge_undo_begin(db, "Move card", error);
    if (status != KEDGE_OK) return status;
    status = kedge_mutate(db, "kedge.merge", move, strlen(move), NULL, error);
    if (status == KEDGE_OK)
        status = kedge_mutate(db, "kedge.increment", count, strlen(count), NULL, error);
    /* A group always ends, also after an edit that failed. When the group is too large for an undo,
     * its edits stand. */
    if (kedge_undo_end(db, &why) != KEDGE_OK) fprintf(stderr, "no undo: %s\n", why.message);
    return status;
}

/* What Ctrl-Z does. */
kedge_status undo(kedge_db *db, kedge_error *error)
{
    kedge_undo_result result = KEDGE_UNDO_RESULT_INIT;
    kedge_status status = kedge_undo(db, &result, error);
    if (status == KEDGE_NOT_FOUND) return KEDGE_OK; /* there is nothing to undo */
    if (status == KEDGE_OK && result.kept > 0)
        printf("%lld changes stay, since others have changed them\n", (long long)result.kept);
    return status;
}

/* The text of the menu: "Undo Move card". */
kedge_status undo_title(kedge_db *db, char title[80], kedge_error *error)
{
    kedge_undo_state state = KEDGE_UNDO_STATE_INIT;
    kedge_status status = kedge_get_undo_state(db, &state, error);
    if (status == KEDGE_OK)
        snprintf(title, 80, "Undo%s%s", state.undo_count > 0 ? " " : "", state.undo_label);
    return status;
}
