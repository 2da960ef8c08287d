/* Several edits as one. */
package io.kedge;

/**
 * Edits that are made together, or not at all, by {@link #commit}. What was not committed is
 * forgotten at the end.
 *
 * <pre>{@code
 * try (Batch batch = db.batch()) {
 *     batch.mutate("kedge.put", first);
 *     batch.mutate("kedge.put", second);
 *     batch.commit();
 * }
 * }</pre>
 */
public final class Batch extends Owner {
    Batch(Database db, Handle handle) {
        super(db, handle);
    }

    /**
     * Adds an edit, which does not run before the batch is committed.
     *
     * @param name of the mutator
     * @param args JSON
     */
    public void mutate(String name, String args) {
        mutate(name, Texts.utf8(args, "args"));
    }

    /**
     * Adds an edit.
     *
     * @param name of the mutator
     * @param args JSON
     */
    public void mutate(String name, Json args) {
        mutate(name, String.valueOf(args));
    }

    /**
     * Adds an edit.
     *
     * @param name of the mutator
     * @param args JSON as UTF-8
     */
    public void mutate(String name, byte[] args) {
        byte[] word = Texts.terminated(name, "name");
        byte[] given = Texts.given(args, "args");
        handle.run(batch -> Native.batchAdd(batch, word, given));
    }

    /**
     * Makes the edits. The batch is then empty, and may be filled again.
     *
     * @return the sequence of all of them
     * @throws KedgeException.Rejected when a mutator refuses; nothing has changed then
     */
    public long commit() {
        return Here.edit(() -> handle.with(Native::batchCommit));
    }
}
