/* The list of indexes. */
package io.kedge;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/** The declared indexes, in order of declaration. */
public final class Indexes extends StepCursor<Index> {
    Indexes(Database db, Handle handle) {
        super(db, handle);
    }

    @Override
    Index step(long pointer) {
        byte[][] row = Native.indexListNext(pointer);
        if (row == null) {
            return null;
        }
        List<String> paths = new ArrayList<>();
        for (Object path : new FlatArray(Texts.text(row[2])).read()) {
            paths.add((String) path);
        }
        return new Index(Texts.text(row[0]), Texts.text(row[1]),
                Collections.unmodifiableList(paths));
    }
}
