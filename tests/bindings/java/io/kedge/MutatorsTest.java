/* Mutators in Java: what they see, and how they fail. */
package io.kedge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

class MutatorsTest extends Case {
    private Database with(Mutator mutator) {
        return opened(builder("copy").user("ann").clientMutator("test", mutator));
    }

    private static int depth(int of) {
        return depth(of + 1) + 1;
    }

    @Test
    void a_mutator_uses_all_of_a_transaction() {
        Database db = with((tx, args) -> {
            int number = 0;
            for (Item item : tx.items("notes", Json.text(args, "after"))) {
                assertEquals("{\"text\":\"x\"}", item.json());
                tx.put("seen", item.id(), item.bytes()); // writing between the steps
                number++;
            }
            tx.put("counts", "notes", Json.object("number", number, "texts", Json.array()));
            tx.merge("counts", "notes", Json.object("by", tx.caller().user()));
            tx.patch("counts", "notes", Json.array(
                    Json.object("op", "add", "path", "/texts/-", "value", "\u00fc")));
            tx.call("kedge.increment", Json.object("collection", "counts", "id", "notes",
                    "add", Json.object("number", 10)));
            tx.delete("counts", "none");
            assertTrue(tx.find("counts", "none").isEmpty());
            assertTrue(tx.findProject().isEmpty());
            assertThrows(KedgeException.NotFound.class, tx::getProject);
            tx.putProject(Json.object("is", "set"));
            assertEquals("{\"is\":\"set\"}", tx.getProject());
        });
        for (int i = 1; i <= 3; i++) {
            db.mutate("kedge.put", note("" + i, "x"));
        }
        db.mutate("test", Json.object("after", "1"));
        assertEquals("{\"by\":\"ann\",\"number\":12,\"texts\":[\"\u00fc\"]}",
                db.get("counts", "notes"));
        assertEquals(2, db.scan("seen").stream().count());
        assertEquals("{\"is\":\"set\"}", db.getProject());
    }

    @Test
    void one_that_throws_rejects_its_edit_with_the_cause() {
        List<Throwable> throwable = List.of(new IllegalStateException("by mistake"),
                new IOException("checked"), new AssertionError("an error"),
                new IllegalStateException("\ud800 \0 half"),
                new KedgeException.NotFound("own", "made by the app"),
                new IllegalStateException("\u00fc".repeat(300)));
        for (int i = 0; i < throwable.size(); i++) {
            Throwable each = throwable.get(i);
            Database db = opened(builder("copy" + i).clientMutator("test", (tx, args) -> {
                tx.put("notes", "left", "1");
                MutatorsTest.<RuntimeException>sneak(each);
            }));
            KedgeException.Rejected failure = refused(KedgeException.Rejected.class,
                    "mutator-failed", () -> db.mutate("test", "1"));
            assertEquals(each, failure.getCause());
            assertTrue(failure.sentence().contains(each.getClass().getName()));
            assertTrue(failure.sentence().indexOf('\ufffd') < 0, failure.sentence());
            assertTrue(db.find("notes", "left").isEmpty());
            assertEquals(1, db.mutate("kedge.put", NOTE));
        }
    }

    @SuppressWarnings("unchecked") // the compiler shall not know what is thrown
    private static <T extends Throwable> void sneak(Throwable thrown) throws T {
        throw (T) thrown;
    }

    /** An exception without a message, until the test has a failure to tell. */
    private static final class Untold extends RuntimeException {
        private static final long serialVersionUID = 1;
        private boolean isTold;

        @Override
        public String getMessage() {
            if (!isTold) {
                throw new UnsupportedOperationException("no message");
            }
            return "told";
        }
    }

    @Test
    void one_whose_exception_cannot_be_told_rejects_its_edit() {
        Untold thrown = new Untold();
        Database db = with((tx, args) -> {
            throw thrown;
        });
        KedgeException failure = assertThrows(KedgeException.class, () -> {
            try {
                db.mutate("test", "1");
            } finally {
                thrown.isTold = true;
            }
        });
        assertEquals("mutator-failed", failure.code());
        assertEquals(thrown, failure.getCause());
        assertTrue(failure.sentence().contains(Untold.class.getName()), failure.sentence());
    }

    @Test
    void one_for_which_the_heap_has_no_room_rejects_nothing() {
        Database db = with((tx, args) -> {
            tx.put("notes", "left", "1");
            throw new OutOfMemoryError("not really");
        });
        KedgeException failure = refused(KedgeException.NoMemory.class, "out-of-memory",
                () -> db.mutate("test", "1"));
        assertInstanceOf(OutOfMemoryError.class, failure.getCause());
        assertTrue(db.find("notes", "left").isEmpty());
    }

    @Test
    void one_that_recurses_without_end_rejects_its_edit() {
        Database db = with((tx, args) -> tx.put("notes", "1", "" + depth(0)));
        KedgeException failure = refused(KedgeException.Rejected.class, "mutator-failed",
                () -> db.mutate("test", "1"));
        assertInstanceOf(StackOverflowError.class, failure.getCause());
    }

    @Test
    void one_that_writes_nonsense_is_rejected() {
        List<Mutator> mutators = List.of((tx, args) -> tx.put("notes", "left", "{"),
                (tx, args) -> tx.put("notes", "left", new byte[] {(byte) 0xc3}),
                (tx, args) -> tx.put("no name", "left", "1"),
                (tx, args) -> tx.put("notes", "left", (Json) null),
                (tx, args) -> tx.putProject("[]"),
                (tx, args) -> tx.merge("notes", "left", Json.of("{nonsense")),
                (tx, args) -> tx.merge("notes", "left", Json.of("{} nonsense")),
                (tx, args) -> tx.call("kedge.none", Json.object()),
                (tx, args) -> tx.put("notes", "\ud800", "1"),
                (tx, args) -> tx.put(null, null, "1"),
                (tx, args) -> tx.reject("No Code!", "a message"),
                (tx, args) -> tx.reject("code", "a\0message"),
                (tx, args) -> tx.get("notes", "none"));
        for (int i = 0; i < mutators.size(); i++) {
            Database db = opened(builder("copy" + i).clientMutator("test", mutators.get(i)));
            if (i == 3) { // null is JSON
                db.mutate("test", "1");
                assertEquals("null", db.get("notes", "left"));
                continue;
            }
            int number = i;
            assertThrows(KedgeException.Rejected.class, () -> db.mutate("test", "1"),
                    () -> "mutator " + number);
            assertTrue(db.find("notes", "left").isEmpty());
        }
    }

    /** What tx.put says of a tree, and then a call, which must say the same. */
    private static void refusedAsByPut(Transaction tx, Json tree, Consumer<Json> call) {
        KedgeException put = assertThrows(KedgeException.InvalidJson.class,
                () -> tx.put("notes", "1", tree));
        KedgeException failure = assertThrows(KedgeException.InvalidJson.class,
                () -> call.accept(tree));
        assertEquals(put.getMessage(), failure.getMessage());
        throw failure;
    }

    @Test
    void a_string_that_put_refuses_is_refused_by_merge_patch_and_call() {
        Mutator[] now = new Mutator[1];
        Database db = with((tx, args) -> now[0].run(tx, args));
        db.mutate("kedge.put", NOTE);
        Json[] texts = {Json.value("a\0b"), Json.value("\\\0"), Json.of("\"\\\"\\u0000\""),
            Json.of("\"a\u0001b\""), Json.of("\"a\0b\"")};
        for (int i = 0; i < texts.length; i++) {
            Json text = texts[i];
            for (Mutator mutator : List.<Mutator>of(
                    (tx, args) -> refusedAsByPut(tx, Json.object("text", text),
                            tree -> tx.merge("notes", "1", tree)),
                    (tx, args) -> refusedAsByPut(tx, Json.of("{" + text + ":1}"),
                            tree -> tx.merge("notes", "1", tree)),
                    (tx, args) -> refusedAsByPut(tx, Json.array(
                            Json.object("op", "add", "path", "/text", "value", text)),
                            tree -> tx.patch("notes", "1", tree)),
                    (tx, args) -> refusedAsByPut(tx,
                            Json.object("collection", "notes", "id", "1", "value", text),
                            tree -> tx.call("kedge.put", tree)))) {
                now[0] = mutator;
                refused(KedgeException.Rejected.class, i < 3 ? "json-nul" : "json-syntax",
                        () -> db.mutate("test", "1"));
                assertEquals("{\"text\":\"hi\"}", db.get("notes", "1"));
            }
        }
        now[0] = (tx, args) -> tx.merge("notes", "1", Json.of("{\t\"text\":\"\\\\u0000\\\"\"}"));
        db.mutate("test", "1"); // a text about an escape
        assertEquals("{\"text\":\"\\\\u0000\\\"\"}", db.get("notes", "1"));
    }

    @Test
    void what_a_mutator_catches_does_no_harm() {
        Database db = with((tx, args) -> {
            try {
                tx.get("notes", "none");
            } catch (KedgeException.NotFound none) {
                tx.put("notes", "made", "1");
            }
        });
        db.mutate("test", "1");
        assertEquals("1", db.get("notes", "made"));
    }

    @Test
    void a_transaction_ends_with_its_mutator_and_belongs_to_its_thread() {
        List<Transaction> kept = new ArrayList<>();
        List<KedgeException> thrown = new ArrayList<>();
        Database db = with((tx, args) -> {
            kept.add(tx);
            Thread other = new Thread(() -> {
                try {
                    tx.put("notes", "1", "1");
                } catch (KedgeException failure) {
                    thrown.add(failure);
                }
            });
            other.start();
            other.join();
        });
        db.mutate("test", "1");
        assertEquals("wrong-thread", thrown.get(0).code());
        Transaction tx = kept.get(0);
        refused(KedgeException.Closed.class, "closed", () -> tx.put("notes", "1", "1"));
        refused(KedgeException.Closed.class, "closed", tx::caller);
        refused(KedgeException.Closed.class, "closed", () -> tx.items("notes").iterator().next());
    }

    @Test
    void a_mutator_may_not_use_or_close_the_database() {
        Database[] outside = new Database[1];
        List<Mutator> mutators = List.of((tx, args) -> outside[0].get("notes", "1"),
                (tx, args) -> outside[0].mutate("kedge.put", NOTE),
                (tx, args) -> outside[0].close());
        for (int i = 0; i < mutators.size(); i++) {
            outside[0] = opened(builder("copy" + i).clientMutator("test", mutators.get(i)));
            KedgeException failure = refused(KedgeException.Rejected.class, "mutator-failed",
                    () -> outside[0].mutate("test", "1"));
            assertEquals("called-back", ((KedgeException) failure.getCause()).code());
        }
    }

    @Test
    void a_mutator_may_not_close_its_batch_a_cursor_or_a_watch() {
        List<AutoCloseable> outside = new ArrayList<>();
        List<String> codes = new ArrayList<>();
        Database db = with((tx, args) -> {
            for (AutoCloseable each : outside) {
                codes.add(refused(KedgeException.InvalidArgument.class, "called-back",
                        each::close).code());
            }
            tx.put("notes", "1", args);
        });
        Batch batch = db.batch();
        outside.addAll(List.of(batch, db.scan("notes"), db.watch(changes -> {})));
        batch.mutate("test", "1");
        batch.mutate("test", "2");
        assertEquals(1, batch.commit());
        assertEquals(6, codes.size());
        assertEquals("2", db.get("notes", "1"));
        assertEquals(3, db.openCount());
    }

    @Test
    void a_mutator_is_not_given_rows_that_a_scan_has_read() throws Exception {
        List<Iterator<Item>> scans = new ArrayList<>();
        Database db = with((tx, args) -> scans.get(0).next());
        for (int i = 0; i < 9; i++) {
            db.mutate("kedge.put", Json.object("collection", "notes", "id", "" + i, "value", i)
                    .toString());
        }
        scans.add(db.scan("notes").iterator());
        assertEquals("0", scans.get(0).next().id());
        List<String> codes = new ArrayList<>();
        Runnable edit = () -> codes.add(((KedgeException) refused(KedgeException.Rejected.class,
                "mutator-failed", () -> db.mutate("test", "1")).getCause()).code());
        edit.run();
        Thread other = new Thread(edit); // which has not read this scan before
        other.start();
        other.join();
        assertEquals(List.of("called-back", "called-back"), codes);
        assertEquals("1", scans.get(0).next().id());
    }

    @Test
    void mutators_of_a_log_project_and_of_a_batch_run_in_the_transaction() {
        Database db = with((tx, args) -> tx.putProject(Json.object("signed",
                tx.findProject().map(record -> Json.integer(record, "signed")).orElse(0L) + 1)));
        try (Batch batch = db.batch()) {
            batch.mutate("test", "1");
            batch.mutate("test", Json.value(2));
            batch.mutate("kedge.put", NOTE);
            assertEquals(1, batch.commit());
        }
        assertEquals("{\"signed\":2}", db.getProject());
        try (Batch batch = db.batch()) {
            refused(KedgeException.InvalidArgument.class, "batch-empty", batch::commit);
            batch.mutate("kedge.delete", "{}");
            assertThrows(KedgeException.Rejected.class, batch::commit);
        }
        assertEquals("{\"signed\":2}", db.getProject());
    }
}
