/* How a watched result differs. */
package io.kedge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/**
 * How the result of a watched query differs from the one that was told before: {@code
 * kedge_query_changes} of kedge/watch.h. With an error the result could not be read; Kedge tries
 * again. With the error whose code is "result-lost" the heap had no room for the rows, and those
 * that are told later do not fit: close the watch, and begin it again.
 *
 * @param rows the rows that differ
 * @param rowCount rows of the new result
 * @param first the first result of the watch: each row is an added one
 * @param local an edit of this process has changed what the query reads
 * @param pulled a pull has
 * @param otherProcess an edit of another process has
 * @param error null: none
 */
public record ResultChanges(List<RowChange> rows, long rowCount, boolean first, boolean local,
        boolean pulled, boolean otherProcess, KedgeException error) {
    static ResultChanges of(long[] rows, byte[][] rowTexts, long[] numbers, byte[][] texts) {
        List<RowChange> changes = new ArrayList<>(rows.length / 3);
        for (int i = 0; i < rows.length; i += 3) {
            changes.add(new RowChange(RowChangeKind.of(rows[i]), Texts.text(rowTexts[i]),
                    Row.ofJson(Texts.text(rowTexts[i + 1])), rows[i + 1],
                    Row.ofJson(Texts.text(rowTexts[i + 2])), rows[i + 2]));
        }
        KedgeException error = numbers[5] == 0 ? null
                : KedgeException.of((int) numbers[5], texts[0], texts[1]);
        return new ResultChanges(changes, numbers[0], numbers[1] != 0, numbers[2] != 0,
                numbers[3] != 0, numbers[4] != 0, error);
    }

    static ResultChanges lost() {
        return new ResultChanges(Collections.emptyList(), 0, false, false, false, false,
                new KedgeException.NoMemory("result-lost", "the heap has no room for the rows of a "
                        + "watched result: begin the watch again"));
    }

    /**
     * Brings a list of the rows up to date.
     *
     * @param list the rows of the result before these changes, in their order
     */
    public void apply(List<Row> list) {
        rows.stream().filter(row -> row.oldRow() != null)
                .sorted(Comparator.comparingLong(RowChange::oldPosition).reversed())
                .forEach(row -> list.remove((int) row.oldPosition()));
        rows.stream().filter(row -> row.newRow() != null)
                .sorted(Comparator.comparingLong(RowChange::newPosition))
                .forEach(row -> list.add((int) row.newPosition(), row.newRow()));
    }
}
