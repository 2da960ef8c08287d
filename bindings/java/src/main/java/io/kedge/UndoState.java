/* What can be undone. */
package io.kedge;

/**
 * What can be undone and redone, for an app's menu. A label is "" when there is none.
 *
 * @param undoCount groups that can be undone
 * @param redoCount groups that can be redone
 * @param open a group was begun and has not ended
 * @param undoLabel of the next undo
 * @param redoLabel of the next redo
 */
public record UndoState(long undoCount, long redoCount, boolean open, String undoLabel,
        String redoLabel) {
    static UndoState of(long[] numbers, byte[][] labels) {
        return new UndoState(numbers[0], numbers[1], numbers[2] != 0, Texts.text(labels[0]),
                Texts.text(labels[1]));
    }
}
