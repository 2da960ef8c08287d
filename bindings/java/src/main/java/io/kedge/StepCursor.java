/* A cursor that C steps from row to row. */
package io.kedge;

import java.util.NoSuchElementException;

/** Reads one row at a call: what is short, or has rows that are made column by column. */
abstract class StepCursor<T> extends Cursor<T> {
    private T next;
    private boolean ended;

    StepCursor(Database db, Handle handle) {
        super(db, handle);
    }

    /** The next row; null: there are no more. */
    abstract T step(long pointer);

    @Override
    public final synchronized boolean hasNext() {
        if (next == null && !ended) {
            next = handle.with(this::step);
            if (next == null) {
                ended = true;
                close();
            }
        }
        return next != null;
    }

    @Override
    public final synchronized T next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        T row = next;
        next = null;
        return row;
    }
}
