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
    private byte[] lastValue; // of the last row, which stands apart
    private int room = FIRST_BYTES;

    Scan(Database db, Handle handle) {
        super(db, handle);
    }

    @Override
    Item step(long pointer) {
        if (!rows.hasRemaining()) {
            byte[][] read = Native.scanNext(pointer, room);
            rows = ByteBuffer.wrap(read[0]).order(ByteOrder.nativeOrder());
            lastValue = read[1];
            room = Math.min(4 * room, MOST_BYTES);
        }
        int idSize = rows.getInt();
        if (idSize < 0) {
            return null;
        }
        int valueSize = rows.getInt();
        byte[] bytes = rows.array();
        int value = rows.position() + idSize;
        String id = new String(bytes, rows.position(), idSize, Texts.UTF_8);
        if (value == bytes.length) {
            ((Buffer) rows).position(value); // ByteBuffer has its own since Java 9
            return new Item(id, lastValue);
        }
        ((Buffer) rows).position(value + valueSize);
        return new Item(id, Arrays.copyOfRange(bytes, value, value + valueSize));
    }
}
