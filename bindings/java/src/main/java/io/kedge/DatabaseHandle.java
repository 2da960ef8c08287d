/* The pointer of a database, with all that must end before it. */
package io.kedge;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.Condition;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/** A handle that several threads may use at once. Closing it waits for those that do. */
final class DatabaseHandle extends Handle {
    private final Condition changed = lock.newCondition();
    /** Scans, queries, lists, batches and watches that are open. */
    private final Set<Handle> children = ConcurrentHashMap.newKeySet();
    /** Numbers by which C knows the app's functions. */
    private final List<Long> tokens;
    /** The app's mutators, which C may call as long as the database is open. */
    @SuppressWarnings({"unused", "FieldCanBeLocal"})
    private final List<?> mutators;
    private int users;
    private int holders;
    @SuppressWarnings({"unused", "FieldCanBeLocal"})
    private Database held;

    DatabaseHandle(long pointer, List<Long> tokens, List<?> mutators) {
        super("database", pointer, ignored -> {});
        this.tokens = tokens;
        this.mutators = mutators;
    }

    @Override
    protected long enter() {
        long entered = super.enter();
        users++;
        lock.unlock();
        return entered;
    }

    @Override
    protected void leave() {
        lock.lock();
        users--;
        changed.signalAll();
        lock.unlock();
    }

    /**
     * Calls a function with the pointer. The owner is held meanwhile, even when nothing else refers
     * to it any more. (java.lang.ref.Reference.reachabilityFence is too new for Android.)
     */
    <T> T with(Database owner, LongFunction<T> function) {
        hold(owner, 1);
        try {
            return with(function);
        } finally {
            hold(owner, -1);
        }
    }

    private void hold(Database owner, int more) {
        lock.lock();
        holders += more;
        held = holders == 0 ? null : owner;
        lock.unlock();
    }

    /** A pointer that C has opened, in a function that {@link #with} calls. */
    Handle child(String name, long opened, LongConsumer free) {
        Handle made = new Handle(name, opened, free);
        made.join(children);
        return made;
    }

    int childCount() {
        return children.size();
    }

    @Override
    void close() {
        long stopped = stop();
        if (stopped == 0) {
            return;
        }
        try {
            Native.setOnline(stopped, false); // ends the syncs of other threads
        } catch (KedgeException ignored) {
            // it is closed all the same
        }
        waitForUsers();
        for (Handle child : new ArrayList<>(children)) {
            child.closeAndWait();
        }
        Native.close(stopped);
        tokens.forEach(Callbacks::drop);
    }

    private void waitForUsers() {
        lock.lock();
        try {
            while (users > 0) {
                changed.awaitUninterruptibly();
            }
        } finally {
            lock.unlock();
        }
    }
}
