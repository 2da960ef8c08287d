/* Runs the scenarios of bindings/conformance in Java. See bindings/conformance/README.md. */
package io.kedge.conformance;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.logging.Level;
import java.util.logging.Logger;

/** usage: Runner SCENARIOS URL ORGANIZATION FOLDER */
public final class Runner {
    private Runner() {}

    private static void run(JsonObject scenario, int number, String url, String organization,
            Path folder) throws Exception {
        Path copies = Files.createDirectory(folder.resolve(String.valueOf(number)));
        int count = 0;
        try (Scenario running = new Scenario(url, organization, copies, "scenario" + number)) {
            for (JsonElement each : scenario.getAsJsonArray("steps")) {
                count++;
                JsonObject step = each.getAsJsonObject();
                String wrong = running.run(step);
                if (wrong != null) {
                    throw new Failed("step " + count + " (" + step.get("do") + "): " + wrong);
                }
            }
            Files.write(folder.resolve(number + ".state"),
                    running.end(scenario.getAsJsonObject("end")));
        }
        System.out.println("ok " + count + " steps: " + scenario.get("name").getAsString());
    }

    /** Runs all scenarios of a file. */
    public static void main(String[] arguments) throws Exception {
        Logger.getLogger("io.kedge").setLevel(Level.OFF); // log.fail throws on purpose
        JsonObject file = JsonParser.parseString(Files.readString(Path.of(arguments[0])))
                .getAsJsonObject();
        if (file.get("format").getAsInt() != 1) {
            System.err.println("another format than 1");
            System.exit(1);
        }
        int number = 0;
        for (JsonElement each : file.getAsJsonArray("scenarios")) {
            JsonObject scenario = each.getAsJsonObject();
            number++;
            try {
                run(scenario, number, arguments[1], arguments[2], Path.of(arguments[3]));
            } catch (Failed failure) {
                System.err.println("scenario " + scenario.get("name") + ", "
                        + failure.getMessage());
                System.exit(1);
            }
        }
        System.out.println(number + " scenarios passed");
    }

    /** A scenario that went another way. */
    static final class Failed extends Exception {
        private static final long serialVersionUID = 1;

        Failed(String message) {
            super(message);
        }
    }
}
