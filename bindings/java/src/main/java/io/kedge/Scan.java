/* A scan of a collection. */
package io.kedge;

import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The items of a collection, by id in byte order. They are read some at a time. */
public final class Scan extends Cursor<Item> {
    private static final int FIRST_BYTES = 512; // who looks at one row does not wait for many
    private static final int MOST_BYTES = 32768;

    private ByteBuffer rows = ByteBuffer.allocate(0);
    private int room = FIRST_BYTES;

    Scan(Database db, Handle handle) {
        super(db, handle);
    }

    @Override
    Item step(long pointer) {
        if (!rows.hasRemaining()) {
            rows = ByteBuffer.wrap(Native.scanNext(pointer, room)).order(ByteOrder.nativeOrder());
            room = Math.min(4 * room, MOST_BYTES);
        }
        int idSize = rows.getInt();
        if (idSize < 0) {
            return null;
        }
        int valueSize = rows.getInt();
        int at = rows.position();
        byte[] bytes = rows.array();
        ((Buffer) rows).position(at + idSize + valueSize); // ByteBuffer has its own since Java 9
        return new Item(new String(bytes, at, idSize, Texts.UTF_8),
                Arrays.copyOfRange(bytes, at + idSize, at + idSize + valueSize));
    }
}
