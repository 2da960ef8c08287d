/* Functions of the app that Kedge calls, on its threads and through dispatchers. */
package io.kedge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.Test;

class CallbacksTest extends Case {
    private static int depth(int of) {
        return depth(of + 1) + 1;
    }

    @Test
    void one_that_throws_is_logged_and_called_again() throws InterruptedException {
        Database db = opened();
        CountDownLatch logged = logged("no callback");
        CountDownLatch overflow = logged("StackOverflowError");
        Semaphore calls = new Semaphore(0);
        db.watch("notes", changes -> {
            calls.release();
            throw new IllegalStateException("no callback");
        });
        db.watch("notes", changes -> depth(0));
        db.mutate("kedge.put", NOTE);
        assertTrue(calls.tryAcquire(WAIT_S, TimeUnit.SECONDS));
        await(logged);
        await(overflow);
        db.mutate("kedge.put", note("1", "again"));
        assertTrue(calls.tryAcquire(WAIT_S, TimeUnit.SECONDS));
    }

    @Test
    void one_may_not_close_the_database_or_wait_but_may_close_its_watch()
            throws InterruptedException {
        Database db = opened(builder("copy").url("http://127.0.0.1:9"));
        CountDownLatch ended = new CountDownLatch(1);
        List<String> codes = Collections.synchronizedList(new ArrayList<>());
        Watch[] watch = new Watch[1];
        watch[0] = db.watch(changes -> {
            for (Runnable each : List.<Runnable>of(db::close, db::sync)) {
                try {
                    each.run();
                } catch (KedgeException.InvalidArgument failure) {
                    codes.add(failure.code());
                }
            }
            codes.add(db.get("notes", "1"));
            codes.add("" + db.mutate("kedge.put", note("2", "from a callback")));
            watch[0].close();
            ended.countDown();
        });
        db.mutate("kedge.put", NOTE);
        await(ended);
        assertEquals("called-back", codes.get(0));
        assertEquals(List.of("{\"text\":\"hi\"}", "2"), codes.subList(2, 4));
        CountDownLatch other = new CountDownLatch(1);
        db.watch(changes -> other.countDown());
        db.mutate("kedge.put", note("3", "not told to the first"));
        await(other);
        assertEquals(4, codes.size());
    }

    @Test
    void nothing_is_told_after_the_end_of_a_watch() throws InterruptedException {
        Database db = opened();
        List<Object> told = Collections.synchronizedList(new ArrayList<>());
        Watch watch = db.watch(told::add);
        int kept = Callbacks.keptCount();
        watch.close();
        assertEquals(kept - 1, Callbacks.keptCount());
        CountDownLatch other = new CountDownLatch(1);
        db.watch(changes -> other.countDown());
        db.mutate("kedge.put", NOTE);
        await(other);
        assertEquals(List.of(), told);
    }

    @Test
    void a_number_that_is_freed_calls_nobody() {
        byte[][] texts = new byte[0][];
        Callbacks.changes(Long.MAX_VALUE, new long[0], texts);
        Callbacks.status(Long.MAX_VALUE, new long[0], texts);
        Callbacks.log(Long.MAX_VALUE, 0, null, null);
        assertEquals(null, Callbacks.token(Long.MAX_VALUE, 10));
        assertFalse(Callbacks.dispatch(Long.MAX_VALUE, 0, 0));
    }

    /** All that the heap has in blocks of this size. */
    private static List<byte[]> rest(int size) {
        List<byte[]> blocks = new ArrayList<>();
        try {
            while (true) {
                blocks.add(new byte[size]);
            }
        } catch (OutOfMemoryError full) {
            return blocks;
        }
    }

    @Test
    void changes_that_the_heap_has_no_room_for_are_told_as_ones_to_read_again()
            throws InterruptedException {
        Database db = opened();
        int size = 4_000_000;
        db.mutate("kedge.put", note("1", "x".repeat(size)));
        CountDownLatch told = new CountDownLatch(1);
        List<Integer> counts = Collections.synchronizedList(new ArrayList<>());
        byte[] spare = new byte[size / 4];
        db.watch("notes", changes -> {
            counts.add(changes.size());
            told.countDown();
        });
        List<byte[]> hog = rest(size / 2);
        spare = null; // for what is small
        db.mutate("kedge.put", note("1", "y")); // the change has the old value
        boolean came = told.await(WAIT_S, TimeUnit.SECONDS);
        int blocks = hog.size();
        hog = null;
        assertTrue(came && blocks > 0);
        assertEquals(List.of(0), counts);
    }

    @Test
    void a_result_that_the_heap_has_no_room_for_is_told_as_lost() throws InterruptedException {
        Database db = opened();
        int size = 4_000_000;
        db.mutate("kedge.put", note("1", "x".repeat(size)));
        Semaphore calls = new Semaphore(0);
        List<String> told = Collections.synchronizedList(new ArrayList<>());
        byte[] spare = new byte[size / 4];
        db.watchQuery("SELECT id, value FROM notes", List.of(), changes -> {
            told.add(changes.error() == null ? "" + changes.rowCount() : changes.error().code());
            calls.release();
        });
        assertTrue(calls.tryAcquire(WAIT_S, TimeUnit.SECONDS));
        List<byte[]> hog = rest(size / 2);
        spare = null; // for what is small
        db.mutate("kedge.put", note("1", "y")); // the row that differs has the old value
        boolean came = calls.tryAcquire(WAIT_S, TimeUnit.SECONDS);
        int blocks = hog.size();
        hog = null;
        assertTrue(came && blocks > 0);
        assertEquals(List.of("1", "result-lost"), told);
    }

    @Test
    void watches_of_all_kinds_tell() throws InterruptedException {
        Database db = opened();
        List<Row> rows = new ArrayList<>();
        Semaphore results = new Semaphore(0);
        CountDownLatch pending = new CountDownLatch(1);
        List<Change> changes = Collections.synchronizedList(new ArrayList<>());
        db.watchQuery("SELECT id, value ->> 'text', 1.5, NULL FROM notes WHERE id > ?1 ORDER BY 2",
                List.of("0"), told -> {
                    told.apply(rows);
                    results.release();
                });
        db.watchStatus(status -> {
            if (status.pending() == 4) {
                pending.countDown();
            }
        });
        CountDownLatch changed = new CountDownLatch(4);
        db.watch("notes", told -> told.forEach(change -> {
            changes.add(change);
            changed.countDown();
        }));
        assertTrue(results.tryAcquire(WAIT_S, TimeUnit.SECONDS));
        for (String each : List.of("1b", "2a", "3c", "1z")) {
            db.mutate("kedge.put", note(each.substring(0, 1), each.substring(1)));
            assertTrue(results.tryAcquire(WAIT_S, TimeUnit.SECONDS));
        }
        await(pending);
        await(changed);
        assertEquals("[[2, a, 1.5, null], [3, c, 1.5, null], [1, z, 1.5, null]]", rows.toString());
        assertEquals(new Change("notes", "1", "{\"text\":\"b\"}", "{\"text\":\"z\"}",
                Source.LOCAL), changes.get(3));
    }

    @Test
    void a_dispatcher_runs_what_is_told() throws Exception {
        ExecutorService executor = Executors.newSingleThreadExecutor(
                work -> new Thread(work, "dispatched"));
        Database db = opened(builder("copy").dispatch(executor));
        CountDownLatch told = new CountDownLatch(1);
        List<String> names = Collections.synchronizedList(new ArrayList<>());
        db.watch(changes -> {
            names.add(Thread.currentThread().getName());
            assertThrows(KedgeException.InvalidArgument.class, db::close);
            told.countDown();
        });
        db.mutate("kedge.put", NOTE);
        await(told);
        assertEquals("dispatched", names.get(0));
        executor.submit(db::close).get(WAIT_S, TimeUnit.SECONDS); // no callback: it may close
        executor.shutdown();
    }

    @Test
    void functions_of_the_options_that_fail_do_no_harm() throws InterruptedException {
        List<Supplier<String>> tokens = List.of(() -> {
            throw new IllegalStateException("no token");
        }, () -> null, () -> "x".repeat(20000), () -> "a\0b", () -> "\ud800");
        List<String> reasons = List.of("java.lang.IllegalStateException: no token",
                "the token is null", "a token has at most 16383 bytes",
                "the token has a NUL inside", "token");
        for (int i = 0; i < tokens.size(); i++) {
            Database db = opened(builder("copy" + i).url("http://127.0.0.1:9")
                    .token(tokens.get(i)).dispatch(work -> {
                        throw new IllegalStateException("no dispatcher");
                    }).log(LogLevel.DEBUG, (level, event, message) -> {
                        throw new IllegalStateException("no log");
                    }));
            String reason = reasons.get(i);
            CountDownLatch unauthorized = new CountDownLatch(1);
            db.watchStatus(status -> { // which runs although the dispatcher fails
                if (status.lastError() instanceof KedgeException.Unauthorized
                        && status.lastError().getMessage().contains(reason)) {
                    unauthorized.countDown();
                }
            });
            await(unauthorized);
            db.close();
        }
    }

    @Test
    void a_builder_that_is_changed_leaves_its_open_database_alone() throws InterruptedException {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch stopped = new CountDownLatch(1);
        List<String> others = Collections.synchronizedList(new ArrayList<>());
        DatabaseBuilder builder = builder("copy").log(LogLevel.INFO, (level, event, message) -> {
            (event.equals("stopped") ? stopped : started).countDown();
        }).dispatch(Runnable::run);
        Database db = opened(builder);
        await(started);
        builder.dispatch(null).log(LogLevel.INFO, (level, event, message) -> others.add(event));
        CountDownLatch told = new CountDownLatch(1);
        db.watch(changes -> told.countDown());
        db.mutate("kedge.put", NOTE);
        await(told);
        db.close();
        await(stopped);
        assertEquals(List.of(), others);
    }

    @Test
    void a_log_is_told() throws InterruptedException {
        CountDownLatch started = new CountDownLatch(1);
        opened(builder("copy").log(LogLevel.INFO, (level, event, message) -> {
            if (level == LogLevel.INFO && event.equals("started") && message.length() > 0) {
                started.countDown();
            }
        }));
        await(started);
    }
}
