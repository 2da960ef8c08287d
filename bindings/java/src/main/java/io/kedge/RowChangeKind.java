/* What became of a row of a watched result. */
package io.kedge;

/** What became of a row. */
public enum RowChangeKind {
    /** The row is new. */
    ADDED,
    /** It has other values, or another place among the rows that stay. */
    CHANGED,
    /** The row is gone. */
    REMOVED;

    private static final RowChangeKind[] VALUES = values();

    static RowChangeKind of(long number) {
        return VALUES[(int) number - 1];
    }
}
