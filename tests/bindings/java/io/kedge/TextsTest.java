/* Texts and JSON that are none, and texts of all kinds. */
package io.kedge;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

class TextsTest extends Case {
    private static final String GREEN_APPLE = "\ud83c\udf4f";

    @Test
    void texts_that_are_no_unicode_or_have_a_nul_are_refused() {
        Database db = opened();
        for (String text : List.of("\ud800", "a\udc00", "no\0tes")) {
            List<Executable> uses = List.of(() -> db.get(text, "1"), () -> db.scan(text),
                    () -> db.mutate(text, "{}"), () -> db.undoGroup(text),
                    () -> db.editText("notes", "1", "/text", null, text),
                    () -> db.editText("notes", "1", text, null, ""),
                    () -> db.editText("notes", "1", "", text, ""),
                    () -> db.declareIndex("i", "notes", List.of(text)), () -> db.dropIndex(text),
                    () -> db.watch(text, changes -> {}), () -> Kedge.orderBetween(text, null, 0),
                    () -> Kedge.repair(text, path("new")), () -> Json.text("{}", text),
                    () -> builder("other").user(text).open(),
                    () -> builder("other").url(text).open(), () -> Database.builder(text).open(),
                    () -> builder("other").mutator(text, 1, (tx, args) -> {}).open());
            uses.forEach(use ->
                    refused(KedgeException.InvalidArgument.class, "text-invalid", use));
        }
        refused(KedgeException.InvalidArgument.class, "text-invalid",
                () -> db.get("notes", "\ud800"));
        refused(KedgeException.InvalidArgument.class, "text-invalid",
                () -> db.mutate("kedge.put", note("1", "\udfff")));
        refused(KedgeException.InvalidArgument.class, "text-invalid", () -> db.query("\ud800"));
    }

    @Test
    void nulls_are_refused() {
        Database db = opened();
        List<Executable> uses = List.of(() -> db.get(null, "1"), () -> db.get("notes", null),
                () -> db.mutate(null, "{}"), () -> db.mutate("kedge.put", (String) null),
                () -> db.mutate("kedge.put", (byte[]) null), () -> db.query(null),
                () -> Database.builder(null).open(), () -> db.undoGroup(null));
        uses.forEach(use -> refused(KedgeException.InvalidArgument.class, "text-missing", use));
        refused(KedgeException.InvalidArgument.class, "function-missing", () -> db.watch(null));
        refused(KedgeException.InvalidArgument.class, "mutator-invalid",
                () -> builder("x").clientMutator("a", null));
        assertThrows(KedgeException.class, () -> Database.builder(path("x")).open());
    }

    @Test
    void texts_of_all_kinds_come_back_as_they_were() {
        Database db = opened();
        for (String text : List.of("", "zw\u00f6lf \u00c4pfel", GREEN_APPLE, "\uffff\u0001\u007f",
                "\"\\/\n\t\b")) {
            db.mutate("kedge.put", note(text, text));
            assertEquals(Json.object("text", text).toString().replace("\\u007f", "\u007f"),
                    db.get("notes", text));
            assertEquals(text, Json.text(db.get("notes", text), "text"));
            assertEquals(List.of(text, text), db.query(
                    "SELECT id, value ->> 'text' FROM notes WHERE id = ?1", text).next().values());
        }
        assertArrayEquals(("{\"text\":\"" + GREEN_APPLE + "\"}").getBytes(StandardCharsets.UTF_8),
                db.getBytes("notes", GREEN_APPLE));
        db.mutate("kedge.put", "{\"collection\":\"notes\",\"id\":\"a\\u0001\",\"value\":1}");
        assertEquals("1", db.get("notes", "a\1"));
        refused(KedgeException.InvalidArgument.class, "invalid-item-id",
                () -> db.find("notes", "a\0b"));
    }

    @Test
    void what_is_no_json_is_refused() {
        Database db = opened();
        assertThrows(KedgeException.InvalidJson.class, () -> db.mutate("kedge.put", "{"));
        assertThrows(KedgeException.InvalidJson.class,
                () -> db.mutate("kedge.put", new byte[] {(byte) 0xff}));
        assertThrows(KedgeException.InvalidJson.class, () -> db.query("SELECT ?1", Double.NaN));
        assertThrows(KedgeException.NotFound.class, () -> Json.text("{\"a\":1}", "b"));
        assertThrows(KedgeException.InvalidArgument.class, () -> Json.text("{\"a\":1}", "a"));
        assertEquals(1, Json.integer("{\"a\":1}", "a"));
    }

    @Test
    void arguments_out_of_range_are_refused() {
        Database db = opened();
        refused(KedgeException.InvalidArgument.class, "timeout-invalid",
                () -> db.sync(Duration.ofMillis(-1)));
        refused(KedgeException.InvalidArgument.class, "timeout-invalid",
                () -> db.sync(Duration.ofDays(1000)));
        refused(KedgeException.InvalidArgument.class, "not-caller-driven", db::loop);
        refused(KedgeException.InvalidArgument.class, "invalid-name",
                () -> builder("other").schemaVersion(".1").open());
        for (int version : new int[] {0, -1, Integer.MIN_VALUE}) {
            refused(KedgeException.InvalidArgument.class, "mutator-invalid",
                    () -> builder("other").mutator("a", version, (tx, args) -> {}).open());
        }
        assertThrows(KedgeException.NotFound.class, () -> db.cancel(Long.MAX_VALUE));
        assertThrows(KedgeException.LimitExceeded.class, () -> db.get("notes", "x".repeat(513)));
    }

    /** Bytes of Java's memory that a function takes on this thread. */
    private static long allocated(Runnable function) {
        com.sun.management.ThreadMXBean threads =
                (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        function.run(); // once for what is made at the first time
        long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
        function.run();
        return threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before;
    }

    @Test
    void a_document_is_not_copied_more_than_its_type_needs() {
        int size = 1 << 20;
        int spare = 64 << 10;
        Database db = opened();
        byte[] args = note("1", "x".repeat(size)).toString().getBytes(StandardCharsets.UTF_8);
        long edit = allocated(() -> db.mutate("kedge.put", args));
        long bytes = allocated(() -> db.getBytes("notes", "1"));
        long scan = allocated(() -> db.scan("notes").next().bytes());
        long text = allocated(() -> db.get("notes", "1"));
        System.out.println("allocated for 1 MiB: edit " + edit + ", bytes " + bytes + ", scan "
                + scan + ", text " + text);
        assertTrue(edit < spare, edit + " bytes for an edit");
        assertTrue(bytes >= size && bytes < size + spare, bytes + " for the bytes");
        assertTrue(scan >= size && scan < size + spare, scan + " for the bytes of a scan");
        assertTrue(text >= size && text < size + spare, text + " for a String");
    }

    /** Rows come in pieces of 8 KiB: values that just fit, just do not, and are far larger. */
    @Test
    void a_scan_gives_rows_of_all_sizes_as_they_are() {
        Database db = opened();
        int[] sizes = {0, 1, 400, 501, 502, 503, 504, 505, 2000, 8000, 8140, 8160, 8180,
            40000, 70000};
        Map<String, String> put = new TreeMap<>();
        for (int number = 0; number < 120; number++) {
            String id = String.format("%03d", number) + "\u00e9".repeat(number % 7);
            String text = (number % 2 == 0 ? "x" : GREEN_APPLE).repeat(sizes[number * 7 % 15] / 2);
            db.mutate("kedge.put", note(id, text));
            put.put(id, db.get("notes", id));
        }
        for (int limit : new int[] {120, 50, 1}) {
            List<String> found = new ArrayList<>();
            for (Item item : db.scan("notes", new ScanOptions().limit(limit))) {
                found.add(item.id());
                assertEquals(put.get(item.id()), item.json());
                assertArrayEquals(db.getBytes("notes", item.id()), item.bytes());
            }
            assertEquals(new ArrayList<>(put.keySet()).subList(0, limit), found);
        }
    }

    @Test
    void statuses_and_limits_are_those_of_the_headers() throws Exception {
        Path headers = Path.of(System.getProperty("kedge.headers"));
        List<String> declared = new ArrayList<>();
        Matcher statuses = Pattern.compile("^    KEDGE_(\\w+) = (\\d+)", Pattern.MULTILINE)
                .matcher(Files.readString(headers.resolve("error.h")));
        while (statuses.find()) {
            assertEquals(declared.size(), Integer.parseInt(statuses.group(2)));
            declared.add(statuses.group(1));
        }
        assertEquals(declared, Arrays.stream(Status.values()).map(Enum::name).toList());
        for (Status status : Status.values()) {
            KedgeException made = KedgeException.of(status, "code", "a sentence");
            boolean own = status != Status.OK && status != Status.DONE;
            assertEquals(own ? status : Status.INTERNAL, made.status());
        }
        assertEquals("disk-full", Status.DISK_FULL.word());
        assertTrue(Kedge.libraryVersion().matches("\\d+\\.\\d+\\.\\d+"));
        assertEquals(limitsOf(headers), limits());
    }

    private static Map<String, Long> limitsOf(Path headers) throws Exception {
        Map<String, Long> found = new TreeMap<>();
        Matcher limits = Pattern.compile("#define KEDGE_LIMIT_(\\w+) +(\\d+)")
                .matcher(Files.readString(headers.resolve("limits.h")));
        while (limits.find()) {
            found.put(limits.group(1), Long.valueOf(limits.group(2)));
        }
        return found;
    }

    private static Map<String, Long> limits() throws IllegalAccessException {
        Map<String, Long> made = new TreeMap<>();
        for (java.lang.reflect.Field field : Limits.class.getFields()) {
            made.put(field.getName(), ((Number) field.get(null)).longValue());
        }
        return made;
    }
}
