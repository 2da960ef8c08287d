/* Where a change comes from. */
package io.kedge;

/** Who has made a change. */
public enum Source {
    /** An edit of this process, or its cancellation. */
    LOCAL,
    /** It came from the server. */
    PULLED,
    /** An edit of another process of the folder, or its cancellation. */
    OTHER_PROCESS;

    private static final Source[] VALUES = values();

    static Source of(long number) {
        return VALUES[(int) number - 1];
    }
}
