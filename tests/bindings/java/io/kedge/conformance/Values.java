/* The JSON of scenarios, and what Kedge gives as JSON. */
package io.kedge.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import io.kedge.Change;
import io.kedge.KedgeException;
import io.kedge.Mutation;
import io.kedge.ResultChanges;
import io.kedge.Row;
import io.kedge.RowChange;
import io.kedge.Status;
import io.kedge.SyncStatus;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/** Comparisons, and objects that steps give. */
final class Values {
    private static final List<String> LISTS =
            List.of("mutations", "changes", "results", "versions");

    private Values() {}

    /** As JSON: 1 equals 1.0, but not true. */
    static boolean same(JsonElement wanted, JsonElement given) {
        if (isNumber(wanted) && isNumber(given)) {
            return wanted.getAsBigDecimal().compareTo(given.getAsBigDecimal()) == 0;
        }
        if (wanted.isJsonArray() && given.isJsonArray()) {
            return sameArrays(wanted.getAsJsonArray(), given.getAsJsonArray());
        }
        if (wanted.isJsonObject() && given.isJsonObject()) {
            JsonObject one = wanted.getAsJsonObject();
            JsonObject other = given.getAsJsonObject();
            return one.keySet().equals(other.keySet())
                    && one.keySet().stream().allMatch(each -> same(one.get(each), other.get(each)));
        }
        return !isNumber(wanted) && !isNumber(given) && wanted.equals(given);
    }

    private static boolean isNumber(JsonElement value) {
        return value.isJsonPrimitive() && value.getAsJsonPrimitive().isNumber();
    }

    private static boolean sameArrays(JsonArray wanted, JsonArray given) {
        for (int i = 0; i < wanted.size() && wanted.size() == given.size(); i++) {
            if (!same(wanted.get(i), given.get(i))) {
                return false;
            }
        }
        return wanted.size() == given.size();
    }

    /** Only members that are named are compared. */
    static boolean matches(JsonObject wanted, JsonObject given) {
        for (Map.Entry<String, JsonElement> each : wanted.entrySet()) {
            JsonElement of = given.get(each.getKey());
            if (of == null || !(LISTS.contains(each.getKey())
                    ? listsMatch(each.getValue().getAsJsonArray(), of.getAsJsonArray())
                    : same(each.getValue(), of))) {
                return false;
            }
        }
        return true;
    }

    private static boolean listsMatch(JsonArray wanted, JsonArray given) {
        for (int i = 0; i < wanted.size() && wanted.size() == given.size(); i++) {
            if (!matches(wanted.get(i).getAsJsonObject(), given.get(i).getAsJsonObject())) {
                return false;
            }
        }
        return wanted.size() == given.size();
    }

    /** An object of pairs of a name and a value. */
    static JsonObject object(Object... namesAndValues) {
        JsonObject made = new JsonObject();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            made.add((String) namesAndValues[i], value(namesAndValues[i + 1]));
        }
        return made;
    }

    static JsonElement value(Object value) {
        if (value instanceof JsonElement) {
            return (JsonElement) value;
        }
        if (value instanceof Number) {
            return new JsonPrimitive((Number) value);
        }
        if (value instanceof Boolean) {
            return new JsonPrimitive((Boolean) value);
        }
        if (value instanceof Enum) {
            return new JsonPrimitive(word((Enum<?>) value));
        }
        if (value instanceof byte[]) {
            StringBuilder digits = new StringBuilder();
            for (byte each : (byte[]) value) {
                digits.append(String.format("%02x", each));
            }
            return object("hex", digits.toString());
        }
        return value == null ? JsonNull.INSTANCE : new JsonPrimitive((String) value);
    }

    static String word(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /** What JSON holds; null is null. */
    static JsonElement parsed(String json) {
        return json == null ? JsonNull.INSTANCE : JsonParser.parseString(json);
    }

    static JsonArray texts(List<String> texts) {
        JsonArray made = new JsonArray();
        texts.forEach(made::add);
        return made;
    }

    static JsonElement row(Row row) {
        if (row == null) {
            return JsonNull.INSTANCE;
        }
        JsonArray made = new JsonArray();
        row.values().forEach(each -> made.add(value(each)));
        return made;
    }

    static JsonObject status(SyncStatus status) {
        KedgeException error = status.lastError();
        return object("connection", status.connection(), "resyncing", status.resyncing(),
                "version", status.version(), "pending", status.pending(),
                "rejected", status.rejected(), "withheld", status.withheld(),
                "unrecovered", status.unrecovered(),
                "last_error", (error == null ? Status.OK : error.status()).word());
    }

    static JsonObject mutation(Mutation of) {
        return object("sequence", of.sequence(), "sent", of.sent(), "withheld", of.withheld(),
                "name", of.name(), "args", parsed(of.args()), "code", of.code());
    }

    static JsonObject change(Change of) {
        return object("collection", of.collection(), "id", of.id(), "old", parsed(of.oldJson()),
                "new", parsed(of.newJson()), "source", of.source());
    }

    static JsonObject result(ResultChanges of) {
        JsonArray rows = new JsonArray();
        for (RowChange row : of.rows()) {
            rows.add(object("kind", row.kind(), "key", row.key(), "old", row(row.oldRow()),
                    "old_position", row.oldPosition(), "new", row(row.newRow()),
                    "new_position", row.newPosition()));
        }
        return object("rows", rows, "row_count", of.rowCount(), "first", of.first(),
                "local", of.local(), "pulled", of.pulled(),
                "code", of.error() == null ? "" : of.error().code());
    }
}
