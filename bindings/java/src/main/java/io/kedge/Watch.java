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

    /**
     * Runs a function once when the watch is closed, by {@link #close} or with its database; at
     * once when it is closed already.
     *
     * @param function runs on the thread that closes; what it throws is logged
     */
    public void onClose(Runnable function) {
        if (function == null) {
            throw new KedgeException.InvalidArgument("function-missing", "there is no function");
        }
        handle.whenClosed(function);
    }

    @Override
    public void close() {
        super.close();
        db.forget(this);
    }
}
