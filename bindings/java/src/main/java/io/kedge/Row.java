/* A row of a query's result. */
package io.kedge;

import java.util.Arrays;
import java.util.Collections;
import java.util.List;

/**
 * The values of a row, counted from 0. A value is null, a {@link Long}, a {@link Double}, a
 * {@link String}, or a {@code byte[]} for a blob.
 */
public final class Row {
    private final Object[] values;

    Row(Object[] values) {
        this.values = values;
    }

    /** A row of a watched result, which Kedge gives as a JSON array; null for null. */
    static Row ofJson(String json) {
        return json == null ? null : new Row(new FlatArray(json).read());
    }

    /**
     * All values.
     *
     * @return a list that cannot be changed
     */
    public List<Object> values() {
        return Collections.unmodifiableList(Arrays.asList(values));
    }

    /**
     * A value of any kind.
     *
     * @param column counted from 0
     * @return null, a Long, a Double, a String, or a byte[]
     */
    public Object get(int column) {
        return values[column];
    }

    /**
     * A text.
     *
     * @param column counted from 0
     * @return null for an SQL NULL
     */
    public String text(int column) {
        return (String) values[column];
    }

    /**
     * A number as an integer; what is true in JSON is 1.
     *
     * @param column counted from 0
     * @return 0 for an SQL NULL
     */
    public long integer(int column) {
        return values[column] == null ? 0 : ((Number) values[column]).longValue();
    }

    /**
     * A number.
     *
     * @param column counted from 0
     * @return 0 for an SQL NULL
     */
    public double real(int column) {
        return values[column] == null ? 0 : ((Number) values[column]).doubleValue();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Row && Arrays.deepEquals(values, ((Row) other).values);
    }

    @Override
    public int hashCode() {
        return Arrays.deepHashCode(values);
    }

    @Override
    public String toString() {
        return Arrays.deepToString(values);
    }
}
