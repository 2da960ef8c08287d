/* How long functions wait. */
package io.kedge;

import java.time.Duration;

/** Timeouts, and the wait for an edit. */
final class Waits {
    /** How long one wait in C lasts. Closing the database ends a wait after it. */
    private static final int SLICE_MS = 500;

    private Waits() {}

    /** A timeout as C takes it; -1: no limit. */
    static int milliseconds(Duration timeout) {
        if (timeout == null) {
            return -1;
        }
        if (timeout.isNegative() || timeout.compareTo(Duration.ofMillis(Integer.MAX_VALUE)) > 0) {
            throw new KedgeException.InvalidArgument("timeout-invalid",
                    "a timeout is null, or 0 to 2,147,483 seconds");
        }
        return (int) timeout.toMillis();
    }

    static Outcome untilDecided(Database db, long sequence, Duration timeout) {
        int limit = milliseconds(timeout);
        long end = System.nanoTime() + limit * 1_000_000L;
        while (true) {
            long left = limit < 0 ? SLICE_MS : (end - System.nanoTime()) / 1_000_000L;
            int slice = (int) Math.max(0, Math.min(left, SLICE_MS));
            try {
                return Outcome.of(db.with(pointer -> Native.waitFor(pointer, sequence, slice)));
            } catch (KedgeException.Timeout timedOut) {
                if (left < SLICE_MS) {
                    throw timedOut;
                }
                if (!db.isOpen()) {
                    throw new KedgeException.Cancelled("closing", "the database was closed");
                }
            }
        }
    }
}
