/* What C calls. No exception of the app goes back through C: it is logged, and Kedge gets the
 * status of a failure. */
package io.kedge;

import java.lang.ref.WeakReference;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The app's objects by the numbers that C knows. They are held weakly here: the database, or its
 * handle, holds them, so that one that is forgotten can be collected with all that its functions
 * refer to.
 */
final class Callbacks {
    private static final Logger LOGGER = Logger.getLogger("io.kedge");
    private static final AtomicLong LAST = new AtomicLong();
    private static final Map<Long, WeakReference<Object>> KEPT = new ConcurrentHashMap<>();

    private Callbacks() {}

    /** A number that stands for an object until {@link #drop}. */
    static long keep(Object what) {
        long token = LAST.incrementAndGet();
        KEPT.put(token, new WeakReference<>(what));
        return token;
    }

    static void drop(long token) {
        KEPT.remove(token);
    }

    static int keptCount() {
        return KEPT.size();
    }

    /** The object of a number; null: it is not kept any more. */
    private static <T> T kept(long token, Class<T> type) {
        WeakReference<Object> found = KEPT.get(token);
        return found == null ? null : type.cast(found.get());
    }

    static void log(String what, Throwable thrown) {
        try {
            LOGGER.log(Level.SEVERE, what, thrown);
        } catch (RuntimeException | Error ignored) {
            // a logger that fails must not take Kedge's thread with it
        }
    }

    /** Runs what calls a function of the app. False: it has thrown, and was logged. */
    private static boolean guarded(Runnable function) {
        Here here = Here.get();
        here.callbacks++;
        try {
            function.run();
            return true;
        } catch (Throwable thrown) { // an Error, too, would go through C
            log("a function that Kedge calls has thrown", thrown);
            return false;
        } finally {
            here.callbacks--;
        }
    }

    /** Runs a function of the app after a close, which is none that Kedge waits for. */
    static void run(Runnable function) {
        try {
            function.run();
        } catch (RuntimeException | Error thrown) {
            log("a function that is called behind a close has thrown", thrown);
        }
    }

    /** Calls the consumer of a watch. */
    @SuppressWarnings("unchecked") // each watch keeps a consumer of what it tells
    private static <T> void tell(long token, java.util.function.Supplier<T> event) {
        Consumer<T> consumer = kept(token, Consumer.class);
        if (consumer != null) {
            guarded(() -> consumer.accept(event.get()));
        }
    }

    static int mutate(long token, long tx, long error, byte[] args) {
        NamedMutator mutator = kept(token, NamedMutator.class);
        if (mutator == null) {
            return Native.refuse(error, Status.REJECTED.ordinal(), Texts.utf8("mutator-failed", ""),
                    Texts.utf8("the mutator is not kept any more", ""));
        }
        return mutator.call(tx, error, args);
    }

    /**
     * The token; or "error: ", which begins no token, and why there is none. Null: the app's
     * functions are gone.
     */
    static byte[] token(long token, int size) {
        byte[][] given = new byte[1][];
        Functions functions = kept(token, Functions.class);
        if (functions == null) {
            return null;
        }
        guarded(() -> {
            try {
                byte[] text = Texts.terminated(functions.token.get(), "token");
                if (text.length >= size) {
                    throw new KedgeException.LimitExceeded("token-too-long",
                            "a token has at most " + (size - 1) + " bytes");
                }
                given[0] = text;
            } catch (Throwable thrown) {
                byte[] why = ("error: " + thrown).getBytes(StandardCharsets.UTF_8);
                given[0] = Arrays.copyOf(why, Math.min(why.length, size - 1));
                throw thrown;
            }
        });
        return given[0];
    }

    /** Work of Kedge that the app's executor runs, once. */
    private static final class Work extends AtomicBoolean implements Runnable {
        private static final long serialVersionUID = 1;
        private final long work;
        private final long argument;

        Work(long work, long argument) {
            this.work = work;
            this.argument = argument;
        }

        @Override
        public void run() {
            if (compareAndSet(false, true)) {
                Native.runWork(work, argument);
            }
        }
    }

    /** False: nobody will run the work. */
    static boolean dispatch(long token, long work, long argument) {
        Functions functions = kept(token, Functions.class);
        if (functions == null) {
            return false;
        }
        Work made = new Work(work, argument);
        if (!guarded(() -> functions.dispatch.execute(made))) {
            made.run(); // here, unless it was run
        }
        return true;
    }

    static void log(long token, int level, byte[] event, byte[] message) {
        Functions functions = kept(token, Functions.class);
        if (functions != null) {
            guarded(() -> functions.log.log(LogLevel.values()[level], Texts.text(event),
                    Texts.text(message)));
        }
    }

    /** Changes for which the heap has no room are told as none: the app reads everything again. */
    static void changes(long token, long[] sources, byte[][] texts) {
        tell(token, () -> {
            try {
                List<Change> changes = new ArrayList<>(sources.length);
                for (int i = 0; i < sources.length; i++) {
                    changes.add(new Change(Texts.text(texts[4 * i]), Texts.text(texts[4 * i + 1]),
                            Texts.text(texts[4 * i + 2]), Texts.text(texts[4 * i + 3]),
                            Source.of(sources[i])));
                }
                return changes;
            } catch (OutOfMemoryError full) {
                return Collections.emptyList();
            }
        });
    }

    static void status(long token, long[] numbers, byte[][] texts) {
        tell(token, () -> SyncStatus.of(numbers, texts));
    }

    /** `rows` null: the heap has no room for what differs. */
    static void result(long token, long[] rows, byte[][] rowTexts, long[] numbers, byte[][] texts) {
        tell(token, () -> {
            try {
                return rows == null ? ResultChanges.lost()
                        : ResultChanges.of(rows, rowTexts, numbers, texts);
            } catch (OutOfMemoryError full) {
                return ResultChanges.lost();
            }
        });
    }

    static void rejected(long token, long[] numbers, byte[][] texts) {
        tell(token, () -> Mutation.of(numbers, texts));
    }
}
