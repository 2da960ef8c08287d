/* The rows of a scan on their way from C. */
package io.kedge;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Reads rows in pieces, since a call of C costs more than a row. It has no lock for each row: one
 * thread uses it. A piece is the rows one after the other, each as C's reads.c writes it.
 */
final class ScanRows implements Iterator<Item> {
    private static final int FIRST_BYTES = 512; // who looks at one row does not wait for many
    private static final int MOST_BYTES = 32768;
    /** Of a row without its value: two numbers and the id. */
    private static final int HEAD_BYTES = 8 + Limits.ITEM_ID_BYTES;
    private static final int NO_PIECE = -1;

    private final Scan scan; // which stays open as long as its rows are read
    private final Handle handle;
    private byte[] bytes = {}; // the piece, which the next one replaces
    private ByteBuffer numbers;
    private byte[] lastValue; // of the last row, when the piece has no room for it
    private int at = NO_PIECE;
    private int room = FIRST_BYTES;
    private boolean found; // hasNext() has found the row at `at`
    private boolean ended;

    ScanRows(Scan scan, Handle handle) {
        this.scan = scan;
        this.handle = handle;
    }

    @Override
    public boolean hasNext() {
        if (found || ended) {
            return found;
        }
        if (at == NO_PIECE) {
            handle.run(this::read);
        } else {
            handle.check();
        }
        found = numbers.getInt(at) >= 0;
        if (!found) {
            ended = true;
            scan.close();
        }
        return found;
    }

    private void read(long pointer) {
        if (bytes.length < room + HEAD_BYTES) {
            bytes = new byte[room + HEAD_BYTES];
            numbers = ByteBuffer.wrap(bytes).order(ByteOrder.nativeOrder());
        }
        lastValue = Native.scanNext(pointer, bytes, room);
        at = 0;
        room = Math.min(4 * room, MOST_BYTES);
    }

    @Override
    public Item next() {
        if (!hasNext()) {
            throw new NoSuchElementException();
        }
        found = false;
        int idNumber = numbers.getInt(at);
        int idSize = idNumber >> 1;
        int valueSize = numbers.getInt(at + 4);
        int id = at + 8;
        int value = id + idSize;
        if (valueSize < 0) {
            at = NO_PIECE;
            return new Item(new String(bytes, id, idSize, Texts.UTF_8), lastValue);
        }
        at = value + valueSize;
        if ((idNumber & 1) != 0) { // all of it is ASCII
            return new Item(ascii(id, idSize), ascii(value, valueSize));
        }
        return new Item(new String(bytes, id, idSize, Texts.UTF_8),
                Arrays.copyOfRange(bytes, value, at));
    }

    /** Java makes a String of Latin-1 by a copy alone. */
    private String ascii(int from, int size) {
        return new String(bytes, from, size, StandardCharsets.ISO_8859_1);
    }
}
