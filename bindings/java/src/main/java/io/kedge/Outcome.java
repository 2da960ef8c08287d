/* What became of an edit. */
package io.kedge;

/** What the server has decided about an edit. */
public enum Outcome {
    /** Nothing yet. */
    PENDING,
    /** The pulled version contains it. */
    APPLIED,
    /** It is in the inbox, or was dismissed from it. */
    REJECTED;

    private static final Outcome[] VALUES = values();

    static Outcome of(long number) {
        return VALUES[(int) number];
    }
}
