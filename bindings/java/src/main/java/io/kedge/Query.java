/* A query. */
package io.kedge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The rows of a query. */
public final class Query extends StepCursor<Row> {
    // kedge_column_type of kedge/read.h.
    private static final int NULL = 0;
    private static final int INTEGER = 1;
    private static final int REAL = 2;
    private static final int BLOB = 4;

    private final List<String> columns;

    Query(Database db, Handle handle) {
        super(db, handle);
        List<String> names = new ArrayList<>();
        for (byte[] name : handle.with(Native::queryColumns)) {
            names.add(Texts.text(name));
        }
        columns = Collections.unmodifiableList(names);
    }

    /**
     * The names of the columns.
     *
     * @return a list that cannot be changed
     */
    public List<String> columns() {
        return columns;
    }

    @Override
    Row step(long pointer) {
        if (!Native.queryNext(pointer)) {
            return null;
        }
        Object[] values = new Object[columns.size()];
        for (int column = 0; column < values.length; column++) {
            values[column] = value(pointer, column);
        }
        return new Row(values);
    }

    private static Object value(long pointer, int column) {
        switch (Native.queryType(pointer, column)) {
            case NULL:
                return null;
            case INTEGER:
                return Native.queryInteger(pointer, column);
            case REAL:
                return Native.queryReal(pointer, column);
            case BLOB:
                return Native.queryText(pointer, column);
            default:
                return Texts.text(Native.queryText(pointer, column));
        }
    }
}
