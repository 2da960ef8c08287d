/* Functions that need no database. */
package io.kedge;

/** What can be asked of Kedge without a database. */
public final class Kedge {
    private Kedge() {}

    /**
     * Saves what can be read of a damaged folder into a new one: see kedge/repair.h.
     *
     * @param path the damaged folder
     * @param newPath a folder that does not exist, or is empty
     * @return how many edits were found
     */
    public static RepairReport repair(String path, String newPath) {
        NativeLibrary.load();
        long[] numbers = Native.repair(Texts.terminated(path, "path"),
                Texts.terminated(newPath, "new path"));
        return new RepairReport(numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]);
    }

    /**
     * An order key between two others.
     *
     * @param before null: no bound
     * @param after null: no bound
     * @param random 32 random bits, so that two copies do not make the same key; 0 in a mutator
     * @return digits and letters
     */
    public static String orderBetween(String before, String after, int random) {
        NativeLibrary.load();
        return Texts.text(Native.orderBetween(Texts.terminatedOrNull(before, "key"),
                Texts.terminatedOrNull(after, "key"), random));
    }

    /**
     * The version of the C library that runs.
     *
     * @return for example "0.1.0"
     */
    public static String libraryVersion() {
        NativeLibrary.load();
        return Texts.text(Native.libraryVersion());
    }
}
