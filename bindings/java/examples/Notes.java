/* Notes in a terminal, which work offline.

       Notes FOLDER [--url URL] [--project NAME] COMMAND

       list                    all notes
       add TEXT                a new note; prints its id
       edit ID TEXT            what others write in the same note is merged with it
       delete ID
       pending                 edits that the server has not decided
       inbox                   edits that it has rejected, with the reason
       dismiss SEQUENCE        forgets one of them
       sync                    sends and fetches, and says what came of it
       live                    syncs, and shows each change as it comes, until a note with the text
                               "bye"

   Every command but `sync` and `live` works without a network. */
import io.kedge.Change;
import io.kedge.Database;
import io.kedge.DatabaseBuilder;
import io.kedge.Json;
import io.kedge.KedgeException;
import io.kedge.Mutation;
import io.kedge.Row;
import io.kedge.SyncStatus;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;

final class Notes {
    private static final String COLLECTION = "notes";

    private Notes() {}

    private static void list(Database db) {
        for (Row note : db.query(
                "SELECT id, value ->> 'text' FROM notes ORDER BY value ->> 'text'")) {
            System.out.println(note.text(0) + "  " + note.text(1));
        }
    }

    private static void add(Database db, String text) {
        String id = UUID.randomUUID().toString().substring(0, 8);
        db.mutate("kedge.put", Json.object("collection", COLLECTION, "id", id,
                "value", Json.object("text", text)));
        System.out.println(id);
    }

    private static void pending(Database db) {
        for (Mutation edit : db.pending()) {
            if (!edit.name().equals("kedge.noop")) { // what a cancelled edit has become
                System.out.println(edit.sequence() + " " + edit.name() + " "
                        + Json.text(edit.args(), "id"));
            }
        }
    }

    private static void inbox(Database db) {
        for (Mutation edit : db.rejected()) {
            System.out.println(edit.sequence() + " " + edit.name() + " " + edit.code() + ": "
                    + edit.message());
        }
    }

    private static void sync(Database db) {
        db.setOnline(true);
        db.sync();
        SyncStatus status = db.status();
        System.out.println("version " + status.version() + ", " + status.pending() + " pending, "
                + status.rejected() + " rejected");
    }

    /** Shows a commit. True: a note says bye. */
    private static boolean show(Database db, List<Change> commit) {
        if (commit.isEmpty()) { // more than is listed: read everything again
            list(db);
        }
        boolean bye = false;
        for (Change change : commit) {
            String text = change.newJson() == null ? "(deleted)"
                    : Json.text(change.newJson(), "text");
            System.out.println(change.source().name().toLowerCase(Locale.ROOT) + " " + change.id()
                    + " " + text);
            bye |= text.equals("bye");
        }
        System.out.flush();
        return bye;
    }

    private static void live(Database db) throws InterruptedException {
        CountDownLatch bye = new CountDownLatch(1);
        db.setOnline(true);
        db.sync();
        db.watch(COLLECTION, commit -> {
            if (show(db, commit)) {
                bye.countDown();
            }
        });
        System.out.println("live");
        bye.await();
    }

    private static void run(Database db, String command, List<String> words)
            throws InterruptedException {
        switch (command) {
            case "list" -> list(db);
            case "add" -> add(db, words.get(0));
            case "edit" -> db.editText(COLLECTION, words.get(0), "/text", null, words.get(1));
            case "delete" -> db.mutate("kedge.delete",
                    Json.object("collection", COLLECTION, "id", words.get(0)));
            case "pending" -> pending(db);
            case "inbox" -> inbox(db);
            case "dismiss" -> db.dismiss(Long.parseLong(words.get(0)));
            case "sync" -> sync(db);
            case "live" -> live(db);
            default -> throw new IllegalArgumentException("there is no command " + command);
        }
    }

    /** Takes an option and its value out of the words. */
    private static String option(List<String> words, String name, String otherwise) {
        int at = words.indexOf(name);
        if (at < 0) {
            return otherwise;
        }
        words.remove(at);
        return words.remove(at);
    }

    public static void main(String[] arguments) throws InterruptedException {
        List<String> words = new ArrayList<>(Arrays.asList(arguments));
        try {
            DatabaseBuilder notes = Database.builder(words.remove(0)).organization("demo")
                    .url(option(words, "--url", null))
                    .project(option(words, "--project", "notes")).offline(true);
            String command = words.remove(0);
            try (Database db = notes.open()) {
                run(db, command, words);
            }
        } catch (KedgeException | IllegalArgumentException failure) {
            System.err.println(failure.getMessage());
            System.exit(1);
        } catch (IndexOutOfBoundsException missing) {
            System.err.println("usage: Notes FOLDER [--url URL] [--project NAME] COMMAND [WORD…]");
            System.exit(2);
        }
    }
}
