/* What reads and edits cost in Java, for bindings.py, which says what is asked: Crossing FOLDER. */
import com.sun.management.ThreadMXBean;
import io.kedge.Database;
import io.kedge.Item;
import io.kedge.ScanOptions;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Scanner;

final class Crossing {
    static final int ITEMS = 1000;
    static final int LARGE_BYTES = 1000000;
    static final String TEXT = "x".repeat(LARGE_BYTES);
    static final String NOTE = TEXT.substring(0, 100);

    static long put(Database db, String id, int n, String text) {
        String args = "{\"collection\":\"notes\",\"id\":\"" + id + "\",\"value\":{\"n\":" + n
                + ",\"text\":\"" + text + "\"}}";
        db.mutate("kedge.put", args);
        return args.length();
    }

    static long scan(Database db) {
        long bytes = 0;
        for (Item item : db.scan("notes", new ScanOptions().prefix("i"))) {
            bytes += item.id().length() + item.json().length();
        }
        return bytes;
    }

    static long scanKept(Database db) {
        List<Item> rows = new ArrayList<>();
        db.scan("notes", new ScanOptions().prefix("i")).iterator().forEachRemaining(rows::add);
        long bytes = 0;
        for (Item item : rows) {
            bytes += item.id().length() + item.json().length();
        }
        return bytes;
    }

    static String id(int number) {
        String digits = Integer.toString(number % ITEMS);
        return "i" + "000".substring(digits.length()) + digits;
    }

    static long work(Database db, String name, int number) {
        switch (name) {
            case "mutate":
                return put(db, id(number), number, NOTE);
            case "get":
                return db.get("notes", id(number)).length();
            case "scan":
            case "scan-texts":
                return scan(db);
            case "scan-kept":
                return scanKept(db);
            case "put-large":
                return put(db, "large", number, TEXT);
            case "get-large":
                return db.get("notes", "large").length();
            default:
                throw new IllegalArgumentException(name);
        }
    }

    public static void main(String[] words) {
        ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        Scanner asked = new Scanner(System.in);
        try (Database db = Database.builder(words[0]).organization("demo").project("bench")
                .open()) {
            while (asked.hasNext()) {
                String name = asked.next();
                int calls = asked.nextInt();
                long bytes = 0;
                long heap = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
                long started = System.nanoTime();
                for (int i = 0; i < calls; i++) {
                    bytes += work(db, name, i);
                }
                started = System.nanoTime() - started;
                heap = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - heap;
                System.out.println(started / 1000 + " 0 " + bytes + " " + heap);
            }
        }
    }
}
