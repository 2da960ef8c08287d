/* A public object that owns a handle. */
package io.kedge;

/** What is closed by its user, or when it is collected, or with its database. */
abstract class Owner implements AutoCloseable {
    /** Holds the database: it stays open as long as something that it gave is in use. */
    final Database db;
    final Handle handle;
    private final Forgotten forgotten;

    Owner(Database db, Handle handle) {
        this.db = db;
        this.handle = handle;
        this.forgotten = Forgotten.watch(this, handle);
    }

    /**
     * Ends it and frees what it holds. Closing twice does nothing.
     *
     * @throws KedgeException.InvalidArgument in a mutator, which may only use its transaction
     */
    @Override
    public void close() {
        handle.refuseClose();
        handle.close();
        forgotten.settle();
    }
}
