/* One scenario that runs: its copies, its watches, and what each step does. */
package io.kedge.conformance;

import static io.kedge.conformance.Values.object;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import io.kedge.Batch;
import io.kedge.Database;
import io.kedge.DatabaseBuilder;
import io.kedge.Index;
import io.kedge.Indexes;
import io.kedge.Item;
import io.kedge.Json;
import io.kedge.Kedge;
import io.kedge.KedgeException;
import io.kedge.Loop;
import io.kedge.Mutation;
import io.kedge.Mutations;
import io.kedge.Query;
import io.kedge.RepairReport;
import io.kedge.Row;
import io.kedge.ScanOptions;
import io.kedge.Stats;
import io.kedge.SyncStatus;
import io.kedge.UndoGroup;
import io.kedge.UndoResult;
import io.kedge.UndoState;
import io.kedge.Watch;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

final class Scenario implements AutoCloseable {
    private static final Duration WAIT = Duration.ofSeconds(120); // for what happens by itself

    private interface Step {
        JsonObject run(JsonObject step) throws InterruptedException;
    }

    private interface Start {
        Watch start(Database db, Told told);
    }

    private final Map<String, Step> steps = new HashMap<>();
    private final Map<String, Database> copies = new HashMap<>();
    private final Map<String, Watch> watches = new HashMap<>();
    private final Map<String, Told> told = new HashMap<>();
    private final Map<String, UndoGroup> groups = new HashMap<>();
    private final String url;
    private final String organization;
    private final Path folder;
    private final String project;

    Scenario(String url, String organization, Path folder, String project) {
        this.url = url;
        this.organization = organization;
        this.folder = folder;
        this.project = project;
        addEdits();
        addReads();
        addSync();
        addWatches();
    }

    // ---- parameters ----

    private static String text(JsonObject step, String name) {
        return step.has(name) && step.get(name).isJsonPrimitive() ? step.get(name).getAsString()
                : null;
    }

    private static boolean flag(JsonObject step, String name) {
        return step.has(name) && step.get(name).getAsBoolean();
    }

    private static long number(JsonObject step, String name, long otherwise) {
        return step.has(name) ? step.get(name).getAsLong() : otherwise;
    }

    private static List<String> texts(JsonObject step, String name) {
        List<String> made = new ArrayList<>();
        if (step.has(name)) {
            step.getAsJsonArray(name).forEach(each -> made.add(each.getAsString()));
        }
        return made;
    }

    private static Object[] parameters(JsonObject step) {
        JsonArray given = step.has("parameters") ? step.getAsJsonArray("parameters")
                : new JsonArray();
        return given.asList().stream().map(each -> Json.of(each.toString())).toArray();
    }

    private static Duration timeout(JsonObject step) {
        return step.has("timeout_ms") ? Duration.ofMillis(number(step, "timeout_ms", 0)) : WAIT;
    }

    private static String args(JsonObject step) {
        return step.has("args_text") ? text(step, "args_text") : step.get("args").toString();
    }

    private Database db(JsonObject step) {
        return copies.get(text(step, "copy"));
    }

    private String path(String copy) {
        return folder.resolve(copy).toString();
    }

    // ---- copies and edits ----

    private JsonObject open(JsonObject step) {
        DatabaseBuilder builder = Database.builder(path(text(step, "copy")))
                .url(step.has("url") ? text(step, "url").equals("false") ? null : text(step, "url")
                        : url)
                .organization(organization)
                .project(step.has("project") ? text(step, "project") : project)
                .user(text(step, "user")).role(text(step, "role"))
                .schemaVersion(text(step, "schema_version")).offline(flag(step, "offline"))
                .callerDriven(flag(step, "caller_driven"))
                .createProject(flag(step, "create_project"));
        texts(step, "mutators").forEach(name -> Mutators.add(builder, name, false));
        texts(step, "client_mutators").forEach(name -> Mutators.add(builder, name, true));
        copies.put(text(step, "copy"), builder.open());
        return object();
    }

    private JsonObject batch(JsonObject step) {
        try (Batch batch = db(step).batch()) {
            for (JsonElement each : step.getAsJsonArray("edits")) {
                JsonObject edit = each.getAsJsonObject();
                batch.mutate(text(edit, "name"), args(edit));
            }
            return object("sequence", batch.commit());
        }
    }

    private static JsonObject result(UndoResult of) {
        return object("sequence", of.sequence(), "restored", of.restored(), "kept", of.kept());
    }

    private JsonObject undoState(JsonObject step) {
        UndoState state = db(step).undoState();
        return object("undo_count", state.undoCount(), "redo_count", state.redoCount(),
                "open", state.open(), "undo_label", state.undoLabel(),
                "redo_label", state.redoLabel());
    }

    private JsonObject repair(JsonObject step) {
        RepairReport of = Kedge.repair(path(text(step, "copy")), path(text(step, "into")));
        return object("pending", of.pending(), "rejected", of.rejected(),
                "confirmed", of.confirmed(), "damaged", of.damaged(), "missing", of.missing());
    }

    private void addEdits() {
        steps.put("open", this::open);
        steps.put("close", step -> {
            copies.remove(text(step, "copy")).close();
            return object();
        });
        steps.put("mutate",
                step -> object("sequence", db(step).mutate(text(step, "name"), args(step))));
        steps.put("text", step -> object("sequence", db(step).editText(text(step, "collection"),
                text(step, "id"), text(step, "path"), text(step, "base"), text(step, "text"))));
        steps.put("batch", this::batch);
        steps.put("cancel", step -> {
            db(step).cancel(number(step, "sequence", 0));
            return object();
        });
        steps.put("undo_begin", step -> {
            String label = text(step, "label");
            groups.put(text(step, "copy"), db(step).undoGroup(label == null ? "" : label));
            return object();
        });
        steps.put("undo_end", step -> {
            groups.get(text(step, "copy")).end();
            return object();
        });
        steps.put("undo", step -> result(db(step).undo()));
        steps.put("redo", step -> result(db(step).redo()));
        steps.put("undo_state", this::undoState);
        steps.put("repair", this::repair);
    }

    // ---- reads ----

    private JsonObject scan(JsonObject step) {
        ScanOptions options = new ScanOptions().limit(number(step, "limit", 0));
        if (step.has("after")) {
            options.after(text(step, "after"));
        }
        if (step.has("prefix")) {
            options.prefix(text(step, "prefix"));
        }
        if (flag(step, "descending")) {
            options.descending();
        }
        JsonArray items = new JsonArray();
        for (Item item : db(step).scan(text(step, "collection"), options)) {
            JsonArray pair = new JsonArray();
            pair.add(item.id());
            pair.add(Values.parsed(item.json()));
            items.add(pair);
        }
        return object("items", items);
    }

    private JsonObject query(JsonObject step) {
        try (Query query = db(step).query(text(step, "sql"), parameters(step))) {
            JsonArray rows = new JsonArray();
            query.stream().map(Values::row).forEach(rows::add);
            return object("columns", Values.texts(query.columns()), "rows", rows);
        }
    }

    private JsonObject indexes(JsonObject step) {
        JsonArray made = new JsonArray();
        try (Indexes indexes = db(step).indexes()) {
            for (Index index : indexes) {
                made.add(object("name", index.name(), "collection", index.collection(),
                        "paths", Values.texts(index.paths())));
            }
        }
        return object("indexes", made);
    }

    private void addReads() {
        steps.put("get", step -> object("id", text(step, "id"), "value",
                Values.parsed(db(step).get(text(step, "collection"), text(step, "id")))));
        steps.put("project", step -> object("value", Values.parsed(db(step).getProject())));
        steps.put("scan", this::scan);
        steps.put("query", this::query);
        steps.put("index", step -> {
            db(step).declareIndex(text(step, "name"), text(step, "collection"),
                    texts(step, "paths"));
            return object();
        });
        steps.put("index_drop", step -> {
            db(step).dropIndex(text(step, "name"));
            return object();
        });
        steps.put("indexes", this::indexes);
        steps.put("order", step -> object("key", Kedge.orderBetween(text(step, "before"),
                text(step, "after"), (int) number(step, "random", 0))));
        steps.put("stats", step -> {
            Stats stats = db(step).stats();
            return object("edits", stats.edits(), "edits_refused", stats.editsRefused(),
                    "requests", stats.requests(), "pulls", stats.pulls());
        });
    }

    // ---- sync ----

    private static JsonObject mutations(Mutations list) {
        JsonArray made = new JsonArray();
        for (Mutation each : list) {
            made.add(Values.mutation(each));
        }
        return object("mutations", made);
    }

    private JsonObject online(JsonObject step, boolean online) {
        db(step).setOnline(online);
        return object();
    }

    private JsonObject loop(JsonObject step) {
        Loop loop = db(step).loop();
        long end = System.nanoTime() + WAIT.toNanos();
        while (true) {
            Duration wait = loop.run();
            JsonObject given = Values.status(db(step).status());
            if (Values.matches(step.getAsJsonObject("until"), given)) {
                return given;
            }
            if (System.nanoTime() > end) {
                throw new IllegalStateException("the status did not come");
            }
            loop.await(wait.compareTo(Duration.ofSeconds(1)) < 0 ? wait : Duration.ofSeconds(1));
        }
    }

    private void addSync() {
        steps.put("online", step -> online(step, true));
        steps.put("offline", step -> online(step, false));
        steps.put("sync", step -> {
            db(step).sync(timeout(step));
            return object();
        });
        steps.put("wait", step -> object("outcome",
                db(step).await(number(step, "sequence", 0), timeout(step))));
        steps.put("status", step -> Values.status(db(step).status()));
        steps.put("pending", step -> mutations(db(step).pending()));
        steps.put("rejected", step -> mutations(db(step).rejected()));
        steps.put("dismiss", step -> {
            db(step).dismiss(number(step, "sequence", 0));
            return object();
        });
        steps.put("dismiss_through", step -> object("dismissed",
                db(step).dismissThrough(number(step, "sequence", 0))));
        steps.put("resubmit", step -> object("sequence",
                db(step).resubmit(number(step, "sequence", 0))));
        steps.put("history", step -> object("versions", Values.parsed(db(step).history(
                number(step, "before", 0), (int) number(step, "limit", 10), WAIT))));
        steps.put("loop", this::loop);
    }

    // ---- watches ----

    private JsonObject watch(JsonObject step, Start start) {
        Told made = new Told();
        watches.put(text(step, "watch"), start.start(db(step), made));
        told.put(text(step, "watch"), made);
        return object();
    }

    private void addWatches() {
        steps.put("watch", step -> watch(step, (db, made) -> db.watch(text(step, "collection"),
                changes -> changes.forEach(each -> made.add(Values.change(each))))));
        steps.put("watch_query", step -> watch(step, (db, made) -> db.watchQuery(text(step, "sql"),
                Arrays.asList(parameters(step)), each -> made.add(Values.result(each)))));
        steps.put("watch_status", step -> watch(step,
                (db, made) -> db.watchStatus((SyncStatus each) -> made.tell(Values.status(each)))));
        steps.put("watch_rejected", step -> watch(step,
                (db, made) -> db.watchRejected(each -> made.add(Values.mutation(each)))));
        steps.put("told", step -> told.get(text(step, "watch"))
                .await(step.getAsJsonObject("gives"), WAIT.toMillis()));
        steps.put("unwatch", step -> {
            watches.remove(text(step, "watch")).close();
            return object();
        });
    }

    // ---- the whole ----

    /** Null when the step went as it should; else what was wanted and what came. */
    String run(JsonObject step) throws InterruptedException {
        JsonObject fails = step.has("fails") ? step.getAsJsonObject("fails") : null;
        JsonObject given;
        try {
            given = steps.get(text(step, "do")).run(step);
        } catch (KedgeException failure) {
            boolean expected = fails != null
                    && text(fails, "status").equals(failure.status().word())
                    && (!fails.has("code") || text(fails, "code").equals(failure.code()));
            return expected ? null : "wanted " + fails + ", got " + failure;
        }
        JsonObject gives = step.has("gives") ? step.getAsJsonObject("gives") : object();
        if (fails != null) {
            return "wanted " + fails + ", got " + given;
        }
        return Values.matches(gives, given) ? null : "wanted " + gives + ", got " + given;
    }

    /** Syncs the copies, and compares them. Returns the bytes that all of them have. */
    byte[] end(JsonObject end) throws Runner.Failed {
        List<String> names = texts(end, "copies");
        for (int round = 0; round < 2; round++) { // the second one brings what others have pushed
            for (String name : names) {
                copies.get(name).setOnline(true);
                copies.get(name).sync(WAIT);
            }
        }
        byte[] first = null;
        for (String name : names) {
            JsonObject items = new JsonObject();
            byte[] state = state(copies.get(name), items);
            if (!Values.same(end.get("items"), items)) {
                throw new Runner.Failed("the end: wanted " + end.get("items") + ", got " + items);
            }
            if (first != null && !Arrays.equals(first, state)) {
                throw new Runner.Failed("the copies end with different bytes");
            }
            first = state;
        }
        return first == null ? new byte[0] : first;
    }

    /** The bytes of a copy; its items are added to `items`. */
    private static byte[] state(Database db, JsonObject items) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        for (Row row : db.query("SELECT collection, id, value FROM kedge_items"
                + " ORDER BY collection, id")) {
            bytes.writeBytes((row.text(0) + "\t" + row.text(1) + "\t" + row.text(2) + "\n")
                    .getBytes(StandardCharsets.UTF_8));
            if (!items.has(row.text(0))) {
                items.add(row.text(0), new JsonObject());
            }
            items.getAsJsonObject(row.text(0)).add(row.text(1), Values.parsed(row.text(2)));
        }
        db.findProject().ifPresent(
                record -> bytes.writeBytes((record + "\n").getBytes(StandardCharsets.UTF_8)));
        return bytes.toByteArray();
    }

    @Override
    public void close() {
        watches.values().forEach(Watch::close);
        copies.values().forEach(Database::close);
    }
}
