/* One changed row of a watched result. */
package io.kedge;

/**
 * One row that differs: {@code kedge_row_change} of kedge/watch.h.
 *
 * @param kind what became of it
 * @param key its first column as text
 * @param oldRow null for an added row
 * @param oldPosition its place in the result before; -1 for an added row
 * @param newRow null for a removed row
 * @param newPosition its place in the result now; -1 for a removed row
 */
public record RowChange(RowChangeKind kind, String key, Row oldRow, long oldPosition, Row newRow,
        long newPosition) {}
