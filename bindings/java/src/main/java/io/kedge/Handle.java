/* A pointer of the C library, which is freed once. */
package io.kedge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/** What C has given and takes back. One thread at a time uses it. */
class Handle {
    protected final String what;
    protected final ReentrantLock lock = new ReentrantLock();
    private final LongConsumer free;
    private final CountDownLatch freed = new CountDownLatch(1);
    private volatile long pointer; // written under the lock
    private Set<Handle> siblings = Collections.emptySet();
    private final List<Runnable> atEnd = new ArrayList<>(0); // under the lock

    Handle(String what, long pointer, LongConsumer free) {
        this.what = what;
        this.pointer = pointer;
        this.free = free;
    }

    /** Calls a function with the pointer, which stays valid meanwhile. */
    final <T> T with(LongFunction<T> function) {
        Here.refuseMutator();
        long entered = enter();
        try {
            return function.apply(entered);
        } finally {
            leave();
        }
    }

    /** The same for a function that gives nothing. */
    final void run(LongConsumer function) {
        with(entered -> {
            function.accept(entered);
            return null;
        });
    }

    protected long enter() {
        lock.lock();
        if (pointer == 0) {
            lock.unlock();
            throw new KedgeException.Closed(what);
        }
        return pointer;
    }

    protected void leave() {
        lock.unlock();
    }

    protected final long pointer() {
        return pointer;
    }

    /** Refuses what with() refuses, for a use of this thread that needs no pointer. */
    final void check(Here here) {
        here.refuseInMutator();
        if (pointer == 0) {
            throw new KedgeException.Closed(what);
        }
    }

    final boolean isOpen() {
        lock.lock();
        try {
            return pointer != 0;
        } finally {
            lock.unlock();
        }
    }

    /** From now on nobody may begin to use it. Returns the pointer; 0: it was stopped before. */
    final long stop() {
        lock.lock();
        try {
            long stopped = pointer;
            pointer = 0;
            return stopped;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Refuses a close by the app. In a mutator it would free what the call goes on with that runs
     * the mutator, or wait for somebody who waits for that call.
     */
    final void refuseClose() {
        Here.refuseMutator();
        if (lock.isHeldByCurrentThread()) {
            throw new KedgeException.InvalidArgument("called-back", "the " + what + " cannot be "
                    + "closed in a call of it on the same thread; close it when the call has "
                    + "returned");
        }
    }

    /** Frees what it holds. Closing twice does nothing. */
    void close() {
        long stopped = stop();
        if (stopped != 0) {
            free.accept(stopped); // without the lock: a watch waits here for its callback
            siblings.remove(this);
            end().forEach(Callbacks::run);
        }
    }

    private List<Runnable> end() {
        lock.lock();
        try {
            freed.countDown();
            List<Runnable> functions = new ArrayList<>(atEnd);
            atEnd.clear();
            return functions;
        } finally {
            lock.unlock();
        }
    }

    /** Runs a function of the app once when it is closed; at once when it is closed already. */
    final void whenClosed(Runnable function) {
        lock.lock();
        boolean isClosed;
        try {
            isClosed = freed.getCount() == 0;
            if (!isClosed) {
                atEnd.add(function);
            }
        } finally {
            lock.unlock();
        }
        if (isClosed) {
            Callbacks.run(function);
        }
    }

    /** As close(), and waits for a thread that is closing it already. */
    final void closeAndWait() {
        close();
        boolean interrupted = false;
        while (true) {
            try {
                freed.await();
                break;
            } catch (InterruptedException interruption) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** From now on it is among the open handles of a database, which are closed before it. */
    final void join(Set<Handle> of) {
        of.add(this);
        siblings = of;
    }
}
