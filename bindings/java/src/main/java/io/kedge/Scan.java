/* A scan of a collection. */
package io.kedge;

/** The items of a collection, by id in byte order. */
public final class Scan extends Cursor<Item> {
    Scan(Database db, Handle handle) {
        super(db, handle);
    }

    @Override
    Item step(long pointer) {
        byte[][] row = Native.scanNext(pointer);
        return row == null ? null : new Item(Texts.text(row[0]), row[1]);
    }
}
