/* The mutators that every runner has. */
package io.kedge.conformance;

import io.kedge.Caller;
import io.kedge.DatabaseBuilder;
import io.kedge.Item;
import io.kedge.Json;
import io.kedge.Mutator;
import io.kedge.Transaction;
import java.util.Map;

/** See bindings/conformance/README.md. */
final class Mutators {
    private static final Map<String, Mutator> ALL = Map.of("stock.take", Mutators::take,
            "lines.append", Mutators::appendLine, "log.sign", Mutators::signLog,
            "log.fail", Mutators::failLog);

    private Mutators() {}

    static void add(DatabaseBuilder builder, String name, boolean clientOnly) {
        if (clientOnly) {
            builder.clientMutator(name, ALL.get(name));
        } else {
            builder.mutator(name, 1, ALL.get(name));
        }
    }

    private static void take(Transaction tx, String args) {
        String id = Json.text(args, "id");
        long count = Json.integer(args, "count");
        long left = Json.integer(tx.get("shelves", id), "count") - count;
        if (count < 1 || left < 0) {
            throw tx.reject("not-enough", "there are not that many pieces");
        }
        tx.merge("shelves", id, Json.object("count", left));
    }

    private static void appendLine(Transaction tx, String args) {
        String last = "0";
        for (Item item : tx.items("lines")) {
            last = item.id();
        }
        tx.put("lines", String.format("%04d", Integer.parseInt(last) + 1),
                Json.value(Json.text(args, "text")));
    }

    private static void signLog(Transaction tx, String args) {
        Caller caller = tx.caller();
        long signed = tx.findProject().map(record -> Json.integer(record, "signed")).orElse(0L);
        tx.putProject(Json.object("by", caller.user() + "/" + caller.role(),
                "signed", signed + 1));
        tx.delete("log", "last");
    }

    private static void failLog(Transaction tx, String args) {
        tx.put("log", "failed", "true");
        throw new IllegalStateException("by mistake");
    }
}
