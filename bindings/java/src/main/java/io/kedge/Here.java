/* What a thread does just now. */
package io.kedge;

import java.util.function.Supplier;

/** How deep this thread is in functions of the app that Kedge calls. */
final class Here {
    private static final ThreadLocal<Here> OF_THREAD = ThreadLocal.withInitial(Here::new);

    int callbacks;
    int mutators;
    /** What the mutator that failed last has thrown. */
    Throwable thrown;

    private Here() {}

    static Here get() {
        return OF_THREAD.get();
    }

    /** Kedge waits for callbacks to end. One that waits for Kedge in turn would never do so. */
    static void refuseCallback(String what) {
        Here here = get();
        if (here.callbacks > 0 || here.mutators > 0) {
            throw new KedgeException.InvalidArgument("called-back",
                    what + " may not be called in a function that Kedge calls");
        }
    }

    /** A mutator runs while Kedge holds its locks, and sees nothing but its transaction. */
    static void refuseMutator() {
        get().refuseInMutator();
    }

    void refuseInMutator() {
        if (mutators > 0) {
            throw new KedgeException.InvalidArgument("called-back",
                    "a mutator may only use its transaction");
        }
    }

    /** An edit runs mutators on this thread. What one has thrown is the cause of the failure. */
    static <T> T edit(Supplier<T> function) {
        Here here = get();
        here.thrown = null;
        try {
            return function.get();
        } catch (KedgeException.Rejected | KedgeException.NoMemory failure) {
            if (here.thrown != null && !(here.thrown instanceof KedgeException.Rejected)) {
                failure.initCause(here.thrown);
            }
            throw failure;
        } finally {
            here.thrown = null;
        }
    }
}
