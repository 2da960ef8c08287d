/* As hello.c, in Java: the note "java". */
import io.kedge.Database;
import io.kedge.DatabaseBuilder;
import io.kedge.Json;

final class Hello {
    public static void main(String[] words) {
        DatabaseBuilder hello = Database.builder(words[0]).url(words[1]).organization("acme")
                .project("todo").token(() -> System.getenv("KEDGE_TOKEN"));
        try (Database db = hello.open()) {
            Json note = Json.object("text", "hi");
            db.mutate("kedge.put",
                    Json.object("collection", "notes", "id", "java", "value", note));
            db.sync();
            System.out.println(db.get("notes", "java"));
        }
    }
}
