/* What tests of a database share: a folder, databases in it, failures that are looked at. */
package io.kedge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

@Timeout(300)
abstract class Case {
    static final int WAIT_S = 120;
    static final Json NOTE = note("1", "hi");

    @TempDir
    Path folder;

    private final List<Database> open = new ArrayList<>();

    @BeforeAll
    static void keepTheLogApart() {
        Logger.getLogger("io.kedge").setUseParentHandlers(false);
    }

    static Json note(String id, String text) {
        return Json.object("collection", "notes", "id", id, "value", Json.object("text", text));
    }

    String path(String name) {
        return folder.resolve(name).toString();
    }

    DatabaseBuilder builder(String name) {
        return Database.builder(path(name)).organization("acme").project("plan");
    }

    /** A database that the end of the test closes. */
    Database opened(DatabaseBuilder builder) {
        Database db = builder.open();
        open.add(db);
        return db;
    }

    Database opened() {
        return opened(builder("copy"));
    }

    @AfterEach
    void closeAll() {
        open.forEach(Database::close);
    }

    /** A failure of this class, with this code and a sentence. */
    static <T extends KedgeException> T refused(Class<T> type, String code, Executable function) {
        T failure = assertThrows(type, function);
        assertEquals(code, failure.code());
        assertTrue(failure.sentence().matches("(?s).*\\w+ \\w+.*"), failure.sentence());
        return failure;
    }

    static void await(CountDownLatch latch) throws InterruptedException {
        assertTrue(latch.await(WAIT_S, TimeUnit.SECONDS), "nothing came");
    }

    /** Waits until something holds, which `what` names. */
    static void until(String what, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(WAIT_S);
        CountDownLatch never = new CountDownLatch(1);
        while (!condition.getAsBoolean()) {
            assertTrue(System.nanoTime() < end, "not yet: " + what);
            never.await(10, TimeUnit.MILLISECONDS);
        }
    }

    /** Collects garbage until something holds. */
    static void collectUntil(BooleanSupplier condition) throws InterruptedException {
        until("the garbage is collected", () -> {
            boolean holds = condition.getAsBoolean();
            if (!holds) {
                System.gc();
            }
            return holds;
        });
    }

    /** Counts down when a line of the log has this text, in itself or in what was thrown. */
    static CountDownLatch logged(String text) {
        CountDownLatch seen = new CountDownLatch(1);
        Logger.getLogger("io.kedge").addHandler(new Handler() {
            @Override
            public void publish(LogRecord line) {
                boolean has = (line.getMessage() + line.getThrown()).contains(text);
                if (has && line.getLevel().intValue() >= Level.WARNING.intValue()) {
                    seen.countDown();
                }
            }

            @Override
            public void flush() {}

            @Override
            public void close() {}
        });
        return seen;
    }
}
