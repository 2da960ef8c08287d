/* What is closed, forgotten, or used by several threads. */
package io.kedge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.ref.WeakReference;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.concurrent.CountDownLatch;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class ClosingTest extends Case {
    private static final Consumer<Object> NOTHING = ignored -> {};

    @Test
    void what_is_closed_is_refused() {
        Database db = opened();
        db.mutate("kedge.put", NOTE);
        Scan scan = db.scan("notes");
        Query query = db.query("SELECT 1");
        Mutations pending = db.pending();
        Indexes indexes = db.indexes();
        Batch batch = db.batch();
        Watch watch = db.watch(NOTHING::accept);
        UndoGroup group = db.undoGroup("left");
        scan.close();
        refused(KedgeException.Closed.class, "closed", scan::next);
        watch.close();
        watch.close();
        db.close();
        db.close();
        for (Cursor<?> each : List.of(query, pending, indexes)) {
            refused(KedgeException.Closed.class, "closed", each::hasNext);
            each.close();
        }
        List<Executable> uses = List.of(() -> batch.mutate("kedge.put", NOTE), batch::commit,
                group::close, () -> db.get("notes", "1"), () -> db.find("notes", "1"),
                () -> db.mutate("kedge.put", NOTE), () -> db.scan("notes"), db::sync, db::status,
                () -> db.watch(NOTHING::accept), () -> db.await(1), db::batch, db::undo, db::loop,
                db::stats, db::getProject, () -> db.setOnline(true), () -> db.undoGroup(""));
        uses.forEach(use -> refused(KedgeException.Closed.class, "closed", use));
        assertEquals(0, db.openCount());
    }

    @Test
    void a_cursor_that_has_ended_stays_so() {
        Database db = opened();
        db.mutate("kedge.put", NOTE);
        Scan scan = db.scan("notes");
        assertEquals("1 {\"text\":\"hi\"}", scan.next().toString());
        assertFalse(scan.hasNext());
        assertEquals(0, db.openCount());
        db.close();
        assertFalse(scan.hasNext());
        assertThrows(NoSuchElementException.class, scan::next);
    }

    @Test
    void rows_that_were_read_are_refused_once_the_scan_is_closed() {
        Database db = opened();
        for (int i = 0; i < 5; i++) {
            db.mutate("kedge.put", note("" + i, "x"));
        }
        Scan scan = db.scan("notes");
        assertTrue(scan.hasNext());
        assertEquals("0", scan.next().id());
        Iterator<Item> rest = scan.iterator();
        assertEquals("1", rest.next().id());
        assertEquals("2", scan.next().id()); // one reads on where the other was
        scan.close();
        refused(KedgeException.Closed.class, "closed", rest::hasNext);
        refused(KedgeException.Closed.class, "closed", scan::next);
    }

    @Test
    void a_stream_closes_its_cursor() {
        Database db = opened();
        for (int i = 0; i < 5; i++) {
            db.mutate("kedge.put", note("" + i, "x"));
        }
        try (Stream<Item> items = db.scan("notes").stream()) {
            assertEquals(List.of("0", "1"), items.map(Item::id).limit(2).toList());
            assertEquals(1, db.openCount());
        }
        assertEquals(0, db.openCount());
    }

    /** In a method of its own, so that no variable holds the database. */
    private WeakReference<Database> forget(Scan[] kept, boolean watched) {
        Database db = builder("forgotten").open();
        db.mutate("kedge.put", NOTE);
        db.batch();
        if (watched) { // with a function that refers to its database
            db.watch(changes -> db.status());
        }
        kept[0] = db.scan("notes");
        return new WeakReference<>(db);
    }

    @Test
    void a_database_that_nobody_holds_is_closed_also_when_its_watch_refers_to_it()
            throws InterruptedException {
        Scan[] kept = new Scan[1];
        WeakReference<Database> forgotten = forget(kept, true);
        System.gc();
        assertThrows(KedgeException.Busy.class,
                () -> Kedge.repair(path("forgotten"), path("refused")));
        assertEquals("1", kept[0].next().id()); // what it gave keeps it
        kept[0] = null;
        collectUntil(() -> forgotten.get() == null);
        collectUntil(() -> { // which is refused as long as it is open
            try {
                Kedge.repair(path("forgotten"), path("repaired"));
                return true;
            } catch (KedgeException.Busy open) {
                return false;
            }
        });
    }

    @Test
    void cursors_that_nobody_holds_are_closed() throws InterruptedException {
        Database db = opened();
        db.mutate("kedge.put", NOTE);
        for (int i = 0; i < 40; i++) {
            db.scan("notes").hasNext();
            db.query("SELECT 1").hasNext();
            if (i % 20 == 19) {
                collectUntil(() -> db.openCount() == 0);
            }
        }
    }

    @Test
    void a_watch_goes_on_though_nobody_holds_it() throws InterruptedException {
        Database db = opened();
        CountDownLatch told = new CountDownLatch(1);
        db.watch(changes -> told.countDown());
        System.gc();
        db.mutate("kedge.put", NOTE);
        await(told);
    }

    @Test
    void who_wants_to_know_is_told_that_a_watch_is_closed() throws InterruptedException {
        Database db = opened();
        List<String> ended = new ArrayList<>();
        Watch first = db.watch(NOTHING::accept);
        Watch second = db.watch(NOTHING::accept);
        CountDownLatch logged = logged("no end");
        first.onClose(() -> {
            throw new IllegalStateException("no end");
        });
        first.onClose(() -> ended.add("first"));
        second.onClose(() -> ended.add("second"));
        first.close();
        first.close();
        await(logged);
        assertEquals(List.of("first"), ended);
        db.close();
        second.onClose(() -> ended.add("late"));
        assertEquals(List.of("first", "second", "late"), ended);
        refused(KedgeException.InvalidArgument.class, "function-missing",
                () -> second.onClose(null));
    }

    @Test
    void close_ends_what_other_threads_wait_for() throws InterruptedException {
        List<Consumer<Database>> waits = List.of(db -> db.await(1, null), db -> db.sync(null));
        for (int i = 0; i < waits.size(); i++) {
            Database db = opened(builder("copy" + i).url("http://127.0.0.1:9"));
            Consumer<Database> wait = waits.get(i);
            db.mutate("kedge.put", NOTE);
            List<KedgeException> thrown = Collections.synchronizedList(new ArrayList<>());
            CountDownLatch inside = new CountDownLatch(1);
            Thread thread = new Thread(() -> {
                inside.countDown();
                try {
                    wait.accept(db);
                } catch (KedgeException failure) {
                    thrown.add(failure);
                }
            });
            thread.start();
            await(inside);
            db.close();
            thread.join(WAIT_S * 1000L);
            assertFalse(thread.isAlive());
            assertTrue(List.of(Status.CANCELLED, Status.NETWORK, Status.INVALID_ARGUMENT)
                    .contains(thrown.get(0).status()), thrown.toString());
        }
    }

    @Test
    void close_ends_the_wait_of_a_loop() throws InterruptedException {
        Database db = opened(builder("copy").callerDriven(true));
        Loop loop = db.loop();
        loop.run();
        CountDownLatch inside = new CountDownLatch(1);
        Thread thread = new Thread(() -> {
            inside.countDown();
            loop.await(null);
        });
        thread.start();
        await(inside);
        db.close();
        thread.join(WAIT_S * 1000L);
        assertFalse(thread.isAlive());
        refused(KedgeException.Closed.class, "closed", loop::run);
    }

    @Test
    void threads_that_use_a_database_while_it_is_closed_are_refused() throws InterruptedException {
        Database db = opened();
        db.mutate("kedge.put", NOTE);
        Scan scan = db.scan("notes");
        List<Throwable> ends = Collections.synchronizedList(new ArrayList<>());
        CountDownLatch busy = new CountDownLatch(50);
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            String id = String.valueOf(i);
            threads.add(new Thread(() -> {
                try {
                    while (true) {
                        db.mutate("kedge.put", note(id, "x"));
                        db.scan("notes").stream().count();
                        busy.countDown();
                        if (scan.hasNext()) {
                            scan.next();
                        }
                    }
                } catch (KedgeException.Closed | NoSuchElementException end) {
                    ends.add(end instanceof NoSuchElementException ? null : end);
                } catch (RuntimeException | Error failure) {
                    ends.add(failure);
                }
            }));
        }
        threads.forEach(Thread::start);
        await(busy);
        db.close();
        for (Thread thread : threads) {
            thread.join(WAIT_S * 1000L);
            assertFalse(thread.isAlive());
        }
        assertEquals(8, ends.size());
        ends.forEach(end -> assertTrue(end == null || end instanceof KedgeException.Closed,
                String.valueOf(end)));
    }

    private static boolean isRefused(Runnable use) {
        try {
            use.run();
            return false;
        } catch (KedgeException.Closed closed) {
            return true;
        }
    }

    @Test
    void close_waits_for_a_call_of_another_thread() throws InterruptedException {
        Database db = opened();
        CountDownLatch inside = new CountDownLatch(1);
        CountDownLatch goesOn = new CountDownLatch(1);
        Thread user = new Thread(() -> db.handle.run(pointer -> {
            inside.countDown();
            try {
                goesOn.await();
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        }));
        Thread closer = new Thread(db::close);
        user.start();
        await(inside);
        closer.start();
        until("the close has begun", () -> isRefused(db::status));
        closer.join(500); // the time in which it would end if it did not wait
        assertTrue(closer.isAlive());
        refused(KedgeException.Closed.class, "closed", db::status);
        goesOn.countDown();
        for (Thread thread : List.of(user, closer)) {
            thread.join(WAIT_S * 1000L);
            assertFalse(thread.isAlive());
        }
    }

    @Test
    void a_thread_may_not_close_what_it_is_in_a_call_of() {
        Database db = opened();
        Batch batch = db.batch();
        batch.handle.run(pointer -> refused(KedgeException.InvalidArgument.class, "called-back",
                batch::close));
        batch.mutate("kedge.put", NOTE);
        assertEquals(1, batch.commit());
        batch.close();
        assertEquals(0, db.openCount());
    }

    @Test
    void an_undo_group_belongs_to_its_thread() throws InterruptedException {
        Database db = opened();
        List<Throwable> thrown = new ArrayList<>();
        try (UndoGroup group = db.undoGroup("add")) {
            db.mutate("kedge.put", NOTE);
            Thread thread = new Thread(() -> {
                try {
                    group.end();
                } catch (KedgeException failure) {
                    thrown.add(failure);
                }
            });
            thread.start();
            thread.join();
        }
        assertInstanceOf(KedgeException.Conflict.class, thrown.get(0));
        assertEquals("add", db.undoState().undoLabel());
        db.undo();
        assertTrue(db.find("notes", "1").isEmpty());
    }

    @Test
    void the_threads_of_closed_databases_are_gone() throws InterruptedException {
        Database db = opened();
        CountDownLatch told = new CountDownLatch(1);
        db.watchStatus(status -> told.countDown());
        await(told);
        assertTrue(kedgeThreads() > 0);
        db.close();
        collectUntil(() -> kedgeThreads() == 0);
    }

    private static long kedgeThreads() {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("kedge")).count();
    }

    @Test
    void a_folder_that_is_open_twice_is_that_of_one_process() throws Exception {
        Database db = opened();
        Database other = opened();
        db.mutate("kedge.put", NOTE);
        assertEquals("{\"text\":\"hi\"}", other.get("notes", "1"));
        Files.createFile(folder.resolve("file"));
        KedgeException failure = assertThrows(KedgeException.class,
                () -> builder("file").open());
        assertTrue(failure.status() != Status.INTERNAL, failure.toString());
        assertThrows(KedgeException.Timeout.class, () -> db.await(1, Duration.ZERO));
    }
}
