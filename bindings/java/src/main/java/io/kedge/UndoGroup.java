/* Edits that are undone together. */
package io.kedge;

/**
 * The edits that a thread makes between {@link Database#undoGroup} and {@link #close}, which the
 * same thread calls. They stand when an exception ends the group.
 */
public final class UndoGroup implements AutoCloseable {
    private final Database db;
    private boolean ended;

    UndoGroup(Database db, String label) {
        this.db = db;
        db.beginUndo(Texts.terminated(label, "label"));
    }

    /**
     * Ends the group.
     *
     * @throws KedgeException.Conflict when it has ended, and on another thread, where it goes on
     * @throws KedgeException.LimitExceeded when the group is too large for an undo; its edits stand
     */
    public void end() {
        try {
            db.endUndo();
            ended = true;
        } catch (KedgeException.LimitExceeded tooLarge) {
            ended = true;
            throw tooLarge;
        }
    }

    /** As {@link #end}. Closing a group that has ended does nothing. */
    @Override
    public void close() {
        if (!ended) {
            end();
        }
    }
}
