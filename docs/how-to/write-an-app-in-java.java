/* An app of inspections without its window: what it edits, shows and asks, each on the right
 * thread. inspections FOLDER COMMAND…: ID=TEXT, delete:ID, undo, sync, inbox, again:CODE,
 * dismiss:CODE, list. */
import io.kedge.Connection;
import io.kedge.Database;
import io.kedge.DatabaseBuilder;
import io.kedge.Item;
import io.kedge.Json;
import io.kedge.KedgeException;
import io.kedge.Mutation;
import io.kedge.Mutations;
import io.kedge.SyncStatus;
import io.kedge.UndoGroup;
import io.kedge.UndoResult;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;
import java.util.function.Predicate;

final class Inspections implements AutoCloseable {
    /** What the app shows. All of it is called on the thread of the window. */
    interface Window {
        void progress(long done, long total); // 0, 0: everything is decided

        void mustLogIn(String why);

        void rejected(long count);
    }

    private final ExecutorService edits = Executors.newSingleThreadExecutor();
    private final Executor ui; // SwingUtilities::invokeLater, Platform::runLater, a Handler::post
    private final Window window;
    private volatile String token;
    private Database db;
    private long most; // pending edits since there were none; Kedge's thread alone uses it

    Inspections(Executor ui, Window window) {
        this.ui = ui;
        this.window = window;
    }

    // ---- threads ----

    /** Does what may wait for a turn, in order; the future ends with what it has thrown. */
    private CompletableFuture<Void> edit(Runnable work) {
        return CompletableFuture.runAsync(work, edits);
    }

    /** The app shows that it starts until the future ends: a new release may take seconds. */
    CompletableFuture<Void> open(DatabaseBuilder options) {
        return edit(() -> {
            db = options.open(); // without dispatch(): the watches call back on Kedge's thread
            db.watchStatus(this::show);
            db.watchRejected(edit -> edit(this::dismissUndos));
        });
    }

    /** Behind the edits. Ends what waits for the server. */
    @Override
    public void close() {
        edit(() -> {
            if (db != null) { // it was opened
                db.close();
            }
        }).join();
        edits.shutdown();
    }

    // ---- progress ----

    private void show(SyncStatus status) {
        most = status.pending() == 0 ? 0 : Math.max(most, status.pending());
        long total = most;
        ui.execute(() -> {
            window.progress(total - status.pending(), total);
            window.rejected(status.rejected());
            if (mustLogIn(status)) {
                window.mustLogIn(status.lastError().sentence());
            }
        });
    }

    // ---- login ----

    /** The option token(). It runs on Kedge's thread, and may ask the login service. */
    String giveToken() {
        if (token == null) {
            throw new IllegalStateException("nobody is logged in");
        }
        return token;
    }

    static boolean mustLogIn(SyncStatus status) {
        return status.connection() == Connection.STOPPED
                && status.lastError() instanceof KedgeException.Unauthorized;
    }

    /** The same user has logged in again. Another user gets another folder. */
    void loggedIn(String fresh) {
        token = fresh;
        db.setOnline(true); // does not wait
    }

    // ---- edits and undo ----

    /** One thing that the user did, which can be undone. */
    private CompletableFuture<Void> edit(String label, Runnable work) {
        return edit(() -> {
            try (UndoGroup group = db.undoGroup(label)) {
                work.run();
                group.end();
            }
        });
    }

    CompletableFuture<Void> write(String id, String text) {
        return edit("Edit", () -> {
            if (db.find("inspections", id).isPresent()) {
                db.editText("inspections", id, "/text", null, text);
            } else {
                db.mutate("kedge.put", Json.object("collection", "inspections", "id", id,
                        "value", Json.object("text", text)));
            }
        });
    }

    CompletableFuture<Void> delete(String id) {
        return edit("Delete", () -> db.mutate("kedge.delete",
                Json.object("collection", "inspections", "id", id)));
    }

    CompletableFuture<Void> undo() {
        return edit(() -> {
            UndoResult result = db.undo(); // NotFound: there is nothing to undo
            if (result.kept() > 0) {
                System.out.println(result.kept() + " places stay: others have changed them");
            }
        });
    }

    // ---- the inbox ----

    private List<Mutation> rejected(Predicate<Mutation> which) {
        List<Mutation> found = new ArrayList<>();
        try (Mutations inbox = db.rejected()) { // closed before the inbox is changed
            for (Mutation edit : inbox) {
                if (which.test(edit)) {
                    found.add(edit);
                }
            }
        }
        return found;
    }

    /** The edit was rejected, too, and is in the inbox by itself: nothing to ask the user. */
    private void dismissUndos() {
        answerAll(edit -> edit.name().equals("kedge.restore")
                && edit.code().equals("restore-conflict"), db::dismiss);
    }

    private void answerAll(Predicate<Mutation> which, Consumer<Long> answer) {
        for (Mutation edit : rejected(which)) {
            try {
                answer.accept(edit.sequence());
            } catch (KedgeException.Rejected | KedgeException.NotFound stays) {
                continue; // it is refused here, too; or another window has answered it
            }
        }
    }

    /** "2 edits: item-not-found", not one message for each edit. */
    CompletableFuture<Map<String, Long>> reasons() {
        return edit(this::dismissUndos).thenApplyAsync(done -> {
            Map<String, Long> reasons = new TreeMap<>();
            rejected(edit -> true).forEach(edit -> reasons.merge(edit.code(), 1L, Long::sum));
            return reasons;
        }, edits);
    }

    CompletableFuture<Void> answer(String code, boolean again) {
        return edit(() -> answerAll(edit -> edit.code().equals(code),
                again ? db::resubmit : db::dismiss));
    }

    // ---- a program of it ----

    private void run(String command) {
        String[] words = command.split("[:=]", 2);
        switch (words[0]) {
            case "sync" -> {
                db.setOnline(true);
                db.sync(); // on a thread of its own: here it is that of main
                db.setOnline(false);
            }
            case "undo" -> undo().join();
            case "delete" -> delete(words[1]).join();
            case "again", "dismiss" -> answer(words[1], words[0].equals("again")).join();
            case "inbox" -> reasons().join().forEach((code, count) ->
                    System.out.println(count + " edits: " + code));
            case "list" -> {
                for (Item item : db.scan("inspections")) { // reads wait for nobody
                    System.out.println(item.id() + ": " + Json.text(item.json(), "text"));
                }
            }
            default -> write(words[0], words[1]).join();
        }
    }

    public static void main(String[] words) {
        String url = System.getenv("INSPECTIONS_URL"); // with tokens: .token(app::giveToken)
        DatabaseBuilder options = Database.builder(words[0]).url(url).organization("demo")
                .project("inspections").user(words[0]).offline(true).schemaVersion("1");
        Window window = new Window() {
            @Override
            public void progress(long done, long total) {
                System.err.println(done + " of " + total);
            }

            @Override
            public void mustLogIn(String why) {
                System.err.println("log in: " + why);
            }

            @Override
            public void rejected(long count) {
                System.err.println(count + " rejected");
            }
        };
        try (Inspections app = new Inspections(Runnable::run, window)) {
            app.open(options).join();
            for (int i = 1; i < words.length; i++) {
                app.run(words[i]);
            }
        }
    }
}
