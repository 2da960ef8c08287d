/* A shopping list that works offline: shopping FOLDER list|add|take|inbox|sync [WHAT]. */
import io.kedge.Database;
import io.kedge.DatabaseBuilder;
import io.kedge.Item;
import io.kedge.Json;
import io.kedge.KedgeException;
import io.kedge.Mutation;
import io.kedge.Transaction;

final class Shopping {
    /** Takes a thing, unless somebody else has taken it. */
    static void take(Transaction tx, String args) {
        String id = Json.text(args, "id");
        if (!tx.get("things", id).equals("\"wanted\"")) {
            throw tx.reject("taken", "somebody has taken it");
        }
        tx.put("things", id, Json.value("taken"));
    }

    static void run(Database db, String command, String what) {
        switch (command) {
            case "list":
                for (Item thing : db.scan("things")) {
                    System.out.println(thing.id() + ": " + thing.json());
                }
                break;
            case "inbox":
                for (Mutation edit : db.rejected()) {
                    System.out.println(edit.args() + " " + edit.message());
                }
                break;
            case "sync":
                db.setOnline(true);
                db.sync();
                break;
            case "take":
                db.mutate("list.take", Json.object("id", what));
                break;
            default:
                db.mutate("kedge.put",
                        Json.object("collection", "things", "id", what, "value", "wanted"));
        }
    }

    public static void main(String[] words) {
        DatabaseBuilder shopping = Database.builder(words[0]).url(System.getenv("SHOPPING_URL"))
                .organization("demo").project("shopping").offline(true)
                .clientMutator("list.take", Shopping::take); // the server needs no code
        try (Database db = shopping.open()) {
            run(db, words[1], words.length > 2 ? words[2] : "");
        } catch (KedgeException failure) {
            System.out.println(failure.getMessage());
        }
    }
}
