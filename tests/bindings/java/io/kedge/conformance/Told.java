/* What a watch has told. */
package io.kedge.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.List;

/** What a watch has told and nobody has asked for. */
final class Told {
    private final List<JsonObject> events = new ArrayList<>();
    private JsonObject status;

    synchronized void add(JsonObject event) {
        events.add(event);
        notifyAll();
    }

    synchronized void tell(JsonObject newStatus) {
        status = newStatus;
        notifyAll();
    }

    synchronized JsonObject await(JsonObject wanted, long waitMs) throws InterruptedException {
        String list = null;
        for (String name : List.of("changes", "mutations", "results")) {
            list = wanted.has(name) ? name : list;
        }
        int count = list == null ? 0 : wanted.getAsJsonArray(list).size();
        long end = System.nanoTime() + waitMs * 1_000_000;
        while (list == null ? status == null || !Values.matches(wanted, status)
                : events.size() < count) {
            long left = (end - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                break;
            }
            wait(left);
        }
        JsonObject given = status == null ? new JsonObject() : status.deepCopy();
        if (list != null) {
            JsonArray taken = new JsonArray();
            for (int i = 0; i < count && !events.isEmpty(); i++) {
                taken.add(events.remove(0));
            }
            given.add(list, taken);
        }
        return given;
    }
}
