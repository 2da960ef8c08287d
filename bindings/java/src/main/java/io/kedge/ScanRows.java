/* The rows of a scan on their way from C. */
package io.kedge;

import java.util.Arrays;
import java.util.Iterator;
import java.util.NoSuchElementException;

/**
 * Reads rows in pieces, since a call of C costs more than a row. It has no lock for each row: one
 * thread uses it. A piece is the rows one after the other, each as C's reads.c writes it.
 */
final class ScanRows implements Iterator<Item> {
    private static final int FIRST_BYTES = 512; // who looks at one row does not wait for many
    private static final int MOST_BYTES = 8192; // small beside the first cache of a processor
    private static final int NUMBER_BYTES = 2;
    private static final int HEAD_BYTES = 2 * NUMBER_BYTES; // of a row: what its sizes take
    private static final int NO_PIECE = -1;

    private final Scan scan; // which stays open as long as its rows are read
    private final Handle handle;
    private byte[] bytes = {}; // the piece, which the next one replaces
    private byte[] lastValue; // of the last row, when the piece has no room for it
    private int at = NO_PIECE;
    private int room = FIRST_BYTES;
    private boolean found; // hasNext() has found the row at `at`
    private boolean ended;
    private Thread thread; // that has asked last
    private Here here; // of that thread

    ScanRows(Scan scan, Handle handle) {
        this.scan = scan;
        this.handle = handle;
    }

    @Override
    public boolean hasNext() {
        if (!found && !ended) {
            find();
        }
        return found;
    }

    private void find() {
        if (at == NO_PIECE) {
            handle.run(this::read);
        } else {
            handle.check(here());
        }
        found = number(at) >= 0;
        if (!found) {
            ended = true;
            scan.close();
        }
    }

    /** What this thread does just now. Its own map of thread-locals would be asked for each row. */
    private Here here() {
        if (thread != Thread.currentThread()) {
            thread = Thread.currentThread();
            here = Here.get();
        }
        return here;
    }

    private void read(long pointer) {
        if (bytes.length < room + HEAD_BYTES + Limits.ITEM_ID_BYTES) {
            bytes = new byte[room + HEAD_BYTES + Limits.ITEM_ID_BYTES];
        }
        lastValue = Native.scanNext(pointer, bytes, room);
        at = 0;
        room = Math.min(4 * room, MOST_BYTES);
    }

    @Override
    public Item next() {
        if (!found && !hasNext()) { // a loop has asked hasNext(): no second call for each row
            throw new NoSuchElementException();
        }
        found = false;
        int head = number(at);
        int id = at + HEAD_BYTES;
        int value = id + (head >> 1);
        if ((head & 1) == 0) {
            return decoded(id, value);
        }
        at = value + number(id - NUMBER_BYTES);
        return new Item(ascii(id, value), ascii(value, at));
    }

    /** A row that is not ASCII, or whose value stands apart. */
    private Item decoded(int id, int value) {
        String idText = new String(bytes, id, value - id, Texts.UTF_8);
        int valueSize = number(id - NUMBER_BYTES);
        if (valueSize < 0) {
            at = NO_PIECE;
            return new Item(idText, lastValue);
        }
        at = value + valueSize;
        return new Item(idText, Arrays.copyOfRange(bytes, value, at));
    }

    private int number(int from) {
        return bytes[from] << 8 | bytes[from + 1] & 0xff;
    }

    /** This constructor copies. The others look for the charset first, which takes longer. */
    @SuppressWarnings("deprecation") // it is right for ASCII alone
    private String ascii(int from, int to) {
        return new String(bytes, 0, from, to - from);
    }
}
