/* Watches. */
package io.kedge;

/**
 * A watch, which calls the app's function until {@link #close}, or the end of its database, which
 * holds it until then. In the function itself close() does not wait for it.
 */
public final class Watch extends Owner {
    /** C knows it weakly, so it is held here. */
    @SuppressWarnings({"unused", "FieldCanBeLocal"})
    private final Object function;

    Watch(Database db, Handle handle, Object function) {
        super(db, handle);
        this.function = function;
    }

    @Override
    public void close() {
        super.close();
        db.forget(this);
    }
}
