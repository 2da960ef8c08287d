/* The caller-driven mode. */
package io.kedge;

import java.time.Duration;

/**
 * The loop of a database that was opened with {@link DatabaseBuilder#callerDriven}: Kedge starts no
 * thread, and the app does the work. One thread at a time can be in it.
 *
 * <pre>{@code
 * Loop loop = db.loop();
 * while (goesOn()) {
 *     loop.await(loop.run());
 * }
 * }</pre>
 */
public final class Loop {
    private final Database db;
    private final int descriptor;

    Loop(Database db) {
        this.db = db;
        this.descriptor = db.with(Native::loopDescriptor);
        if (descriptor < 0) {
            throw new KedgeException.InvalidArgument("not-caller-driven",
                    "the database was not opened with callerDriven");
        }
    }

    /**
     * Does what is due, and returns without waiting.
     *
     * @return after how long to call it again at the latest
     */
    public Duration run() {
        return Duration.ofMillis(db.<Integer>with(Native::loopRun));
    }

    /**
     * Waits until {@link #run} has something to do.
     *
     * @param timeout null: no limit
     * @return false when the time has passed
     */
    public boolean await(Duration timeout) {
        int milliseconds = Waits.milliseconds(timeout);
        return db.with(pointer -> Native.loopAwait(pointer, milliseconds));
    }

    /**
     * The descriptor that can be read when {@link #run} has something to do, for an event loop that
     * is not Java's. It belongs to the database.
     *
     * @return a file descriptor of this process
     */
    public int descriptor() {
        return descriptor;
    }
}
