/* Cursors: items of a collection, rows of a query, edits of a list. */
package io.kedge;

import java.util.Iterator;
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
    Cursor(Database db, Handle handle) {
        super(db, handle);
    }

    /**
     * What is left of this cursor, for a loop.
     *
     * @return the same rows: they can be read once
     */
    @Override
    public Iterator<T> iterator() {
        return this;
    }

    /**
     * The rows as a stream, which closes the cursor when it is closed.
     *
     * @return a sequential stream
     */
    public final Stream<T> stream() {
        return StreamSupport.stream(Spliterators.spliteratorUnknownSize(iterator(),
                Spliterator.ORDERED | Spliterator.NONNULL), false).onClose(this::close);
    }
}
