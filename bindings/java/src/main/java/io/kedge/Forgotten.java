/* Closes what an app has forgotten to close. */
package io.kedge;

import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A phantom reference to a public object, with the handle that the object owns. A thread closes the
 * handles of objects that were collected. It is no thread of the app, and in no callback, so it may
 * wait. (java.lang.ref.Cleaner does the same, but Android has it from API 33 on.)
 */
final class Forgotten extends PhantomReference<Object> {
    private static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
    private static final Set<Forgotten> ALL = ConcurrentHashMap.newKeySet();

    static {
        Thread thread = new Thread(Forgotten::work, "kedge-forgotten");
        thread.setDaemon(true);
        thread.start();
    }

    private final Handle handle;

    private Forgotten(Object owner, Handle handle) {
        super(owner, QUEUE);
        this.handle = handle;
    }

    /** From now on the handle is closed when the owner is collected. */
    static Forgotten watch(Object owner, Handle handle) {
        Forgotten made = new Forgotten(owner, handle);
        ALL.add(made);
        return made;
    }

    /** The owner has closed its handle. */
    void settle() {
        ALL.remove(this);
        clear();
    }

    private static void work() {
        while (true) {
            try {
                Forgotten found = (Forgotten) QUEUE.remove();
                ALL.remove(found);
                found.handle.close();
            } catch (InterruptedException ignored) {
                // nobody may end this thread
            } catch (RuntimeException | Error failure) {
                Callbacks.log("a forgotten handle could not be closed", failure);
            }
        }
    }
}
