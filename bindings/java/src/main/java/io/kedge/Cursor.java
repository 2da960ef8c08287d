/* Cursors: items of a collection, rows of a query, edits of a list. */
package io.kedge;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;

/**
 * An iterator on one snapshot, for one loop or one stream. It is closed at its last row, by
 * {@link #close}, when it is collected, and with its database. A loop that may end before the last
 * row belongs into a {@code try}. Several threads may use it, one after the other.
 *
 * @param <T> what it iterates over
 */
public abstract class Cursor<T> extends Owner implements Iterator<T>, Iterable<T> {
    private T next;
    private boolean ended;

    Cursor(Database db, Handle handle) {
        super(db, handle);
    }

    /** The next row; null: there are no more. */
    abstract T step(long pointer);

    /**
     * This cursor, for a loop.
     *
     * @return itself: it can be used once
     */
    @Override
    public final Iterator<T> iterator() {
        return this;
    }

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

    /**
     * The rows as a stream, which closes the cursor when it is closed.
     *
     * @return a sequential stream
     */
    public final Stream<T> stream() {
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(this,
                Spliterator.ORDERED | Spliterator.NONNULL), false).onClose(this::close);
    }
}
