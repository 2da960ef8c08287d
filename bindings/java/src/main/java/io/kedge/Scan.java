/* A scan of a collection. */
package io.kedge;

import java.util.Iterator;

/**
 * The items of a collection, by id in byte order. They are read some at a time. A loop over the
 * scan is faster than its own {@link #hasNext} and {@link #next}, which several threads may call.
 */
public final class Scan extends Cursor<Item> {
    private final ScanRows rows;

    Scan(Database db, Handle handle) {
        super(db, handle);
        rows = new ScanRows(this, handle);
    }

    @Override
    public Iterator<Item> iterator() {
        return rows;
    }

    @Override
    public synchronized boolean hasNext() {
        return rows.hasNext();
    }

    @Override
    public synchronized Item next() {
        return rows.next();
    }
}
