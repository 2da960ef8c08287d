/* Databases, watches and cursors that come and go on many threads, while garbage is collected all
 * the time: the process goes on, and nothing is left. */
package io.kedge;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

class StormTest extends Case {
    private static final int ROUNDS = 10;
    private static final int WATCHES = 60;

    private final AtomicInteger told = new AtomicInteger();
    private final List<Throwable> failures = Collections.synchronizedList(new ArrayList<>());

    private static void write(Transaction tx, String args) {
        tx.put("items", args, Json.object("number", Json.of(args)));
        if (Integer.parseInt(args) % 7 == 0) {
            throw new IllegalStateException(args);
        }
    }

    private void edit(Database db, AtomicBoolean stop) {
        try {
            for (int number = 1; !stop.get(); number++) {
                try {
                    db.mutate("storm.write", "" + number);
                } catch (KedgeException.Rejected expected) {
                    assertEquals("mutator-failed", expected.code());
                }
                try (Scan scan = db.scan("items")) {
                    for (int i = 0; i < 3 && scan.hasNext(); i++) {
                        scan.next();
                    }
                }
                if (number % 10 == 0) {
                    forgetCursor(db);
                }
            }
        } catch (KedgeException.Closed ended) {
            // by the other thread
        } catch (RuntimeException | Error failure) {
            failures.add(failure);
        }
    }

    /** Too many may be forgotten before garbage is collected: a database has 64 readers. */
    private static void forgetCursor(Database db) {
        try {
            db.scan("items").hasNext();
        } catch (KedgeException.LimitExceeded tooMany) {
            System.gc();
        }
    }

    private void watch(Database db, Random random) {
        List<Watch> held = new ArrayList<>();
        for (int i = 0; i < WATCHES; i++) {
            held.add(db.watch(changes -> {
                told.incrementAndGet();
                db.find("items", "1");
            }));
            db.watchStatus(status -> told.incrementAndGet());
            held.add(db.watchQuery("SELECT id FROM items", List.of(), rows -> {
                if (random.nextInt(10) == 0) {
                    throw new IllegalStateException("a callback fails");
                }
            }));
            if (random.nextInt(3) > 0) {
                held.remove(random.nextInt(held.size())).close();
            }
        }
    }

    private void run(String name) {
        Random random = new Random(name.hashCode());
        try {
            for (int round = 0; round < ROUNDS; round++) {
                storm(builder(name).clientMutator("storm.write", StormTest::write).open(), random,
                        round);
            }
        } catch (RuntimeException | Error | InterruptedException failure) {
            failures.add(failure);
        }
    }

    private void storm(Database db, Random random, int round) throws InterruptedException {
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            threads.add(new Thread(() -> edit(db, stop)));
        }
        threads.forEach(Thread::start);
        watch(db, random);
        if (round % 3 == 0) {
            db.close(); // while the threads are in it
        }
        stop.set(true);
        for (Thread thread : threads) {
            thread.join();
        }
        if (round % 3 == 1) {
            db.close();
        } // else it is forgotten, with all of its watches
    }

    @Test
    void databases_watches_and_cursors_come_and_go() throws InterruptedException {
        AtomicBoolean over = new AtomicBoolean();
        CountDownLatch never = new CountDownLatch(1);
        Thread collector = new Thread(() -> {
            try {
                while (!over.get()) {
                    System.gc();
                    never.await(20, TimeUnit.MILLISECONDS);
                }
            } catch (InterruptedException ended) {
                Thread.currentThread().interrupt();
            }
        });
        collector.start();
        List<Thread> threads = List.of(new Thread(() -> run("a")), new Thread(() -> run("b")));
        threads.forEach(Thread::start);
        for (Thread thread : threads) {
            thread.join();
        }
        over.set(true);
        collector.join();
        assertEquals(List.of(), failures);
        collectUntil(() -> Callbacks.keptCount() == 0);
        System.out.println(2 * ROUNDS + " databases with " + 3 * WATCHES + " watches each, told "
                + told.get() + " times");
    }
}
