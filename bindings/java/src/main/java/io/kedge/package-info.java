/**
 * Kedge: local-first sync. An app reads and writes a local copy of a shared project, online or
 * offline, and Kedge syncs the copy with the server, which decides the order of all changes.
 *
 * <pre>{@code
 * try (Database db = Database.builder("notes").url("http://127.0.0.1:7420")
 *         .organization("demo").project("notes").open()) {
 *     db.mutate("kedge.put", Json.object("collection", "notes", "id", "1",
 *             "value", Json.object("text", "hello")));
 *     for (Item note : db.scan("notes")) {
 *         System.out.println(note.id() + " " + note.json());
 *     }
 *     db.sync();
 * }
 * }</pre>
 */
package io.kedge;
