/* The transaction that a mutator sees. */
package io.kedge;

import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/**
 * The state of one project as a mutator sees it, on the mutator's thread and until the mutator
 * returns. Values are JSON, as texts or as UTF-8.
 */
public final class Transaction {
    // What Native.txWithTree does: the same numbers stand in bindings/java/native/transaction.c.
    private static final int MERGE = 0;
    private static final int PATCH = 1;
    private static final int CALL = 2;

    private final Thread thread = Thread.currentThread();
    private volatile long pointer;
    private KedgeException failure; // of the call that failed last

    Transaction(long pointer) {
        this.pointer = pointer;
    }

    void end() {
        pointer = 0;
    }

    boolean hasFailedWith(Throwable thrown) {
        return thrown == failure;
    }

    private <T> T with(LongFunction<T> function) {
        if (pointer == 0) {
            throw new KedgeException.Closed("transaction");
        }
        if (Thread.currentThread() != thread) {
            throw new KedgeException.InvalidArgument("wrong-thread",
                    "a transaction may only be used on the thread of its mutator");
        }
        try {
            return function.apply(pointer);
        } catch (KedgeException failed) {
            failure = failed;
            throw failed;
        }
    }

    private void run(LongConsumer function) {
        with(tx -> {
            function.accept(tx);
            return null;
        });
    }

    /**
     * Who makes the mutation, and when.
     *
     * @return the same at each replay
     */
    public Caller caller() {
        byte[][] texts = new byte[3][];
        long nowMs = with(tx -> Native.txCaller(tx, texts));
        return new Caller(Texts.text(texts[0]), Texts.text(texts[1]), Texts.text(texts[2]), nowMs);
    }

    /**
     * Reads an item.
     *
     * @param collection its collection
     * @param id its id
     * @return canonical JSON
     * @throws KedgeException.NotFound when there is none
     */
    public String get(String collection, String id) {
        return Texts.text(read(collection, id, false));
    }

    /**
     * Reads an item, if there is one.
     *
     * @param collection its collection
     * @param id its id
     * @return canonical JSON
     */
    public Optional<String> find(String collection, String id) {
        return Optional.ofNullable(Texts.text(read(collection, id, true)));
    }

    private byte[] read(String collection, String id, boolean orNull) {
        byte[] name = Texts.terminated(collection, "collection");
        byte[] key = Texts.utf8(id, "id");
        return with(tx -> Native.txGet(tx, name, key, orNull));
    }

    /**
     * The items of a collection, by id in byte order. The mutator may write meanwhile.
     *
     * @param collection the collection
     * @return an iterable that reads as it goes
     */
    public Iterable<Item> items(String collection) {
        return items(collection, null);
    }

    /**
     * The items of a collection after an id.
     *
     * @param collection the collection
     * @param after the id; null: from the first item on
     * @return an iterable that reads as it goes
     */
    public Iterable<Item> items(String collection, String after) {
        byte[] name = Texts.terminated(collection, "collection");
        byte[] first = after == null ? null : Texts.utf8(after, "id");
        return () -> new Items(name, first);
    }

    private final class Items implements Iterator<Item> {
        private final byte[] collection;
        private byte[] last;
        private byte[][] next;
        private boolean ended;

        Items(byte[] collection, byte[] after) {
            this.collection = collection;
            this.last = after;
        }

        @Override
        public boolean hasNext() {
            if (next == null && !ended) {
                next = with(tx -> Native.txNext(tx, collection, last));
                ended = next == null;
            }
            return !ended;
        }

        @Override
        public Item next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            Item item = new Item(Texts.text(next[0]), next[1]);
            last = next[0];
            next = null;
            return item;
        }
    }

    /**
     * Writes an item.
     *
     * @param collection its collection
     * @param id its id
     * @param json any JSON value
     */
    public void put(String collection, String id, String json) {
        put(collection, id, Texts.utf8(json, "value"));
    }

    /**
     * Writes an item.
     *
     * @param collection its collection
     * @param id its id
     * @param json any JSON value
     */
    public void put(String collection, String id, Json json) {
        put(collection, id, String.valueOf(json));
    }

    /**
     * Writes an item.
     *
     * @param collection its collection
     * @param id its id
     * @param json any JSON value, as UTF-8
     */
    public void put(String collection, String id, byte[] json) {
        byte[] name = Texts.terminated(collection, "collection");
        byte[] key = Texts.utf8(id, "id");
        byte[] value = Texts.given(json, "value");
        run(tx -> Native.txPut(tx, name, key, value));
    }

    /**
     * Deletes an item. One that is absent stays absent.
     *
     * @param collection its collection
     * @param id its id
     */
    public void delete(String collection, String id) {
        byte[] name = Texts.terminated(collection, "collection");
        byte[] key = Texts.utf8(id, "id");
        run(tx -> Native.txDelete(tx, name, key));
    }

    /**
     * Reads the project record.
     *
     * @return a JSON object
     * @throws KedgeException.NotFound when it was never set
     */
    public String getProject() {
        return Texts.text(with(tx -> Native.txGetProject(tx, false)));
    }

    /**
     * Reads the project record, if it was set.
     *
     * @return a JSON object
     */
    public Optional<String> findProject() {
        return Optional.ofNullable(Texts.text(with(tx -> Native.txGetProject(tx, true))));
    }

    /**
     * Replaces the project record.
     *
     * @param json an object of at most 1,536 bytes
     */
    public void putProject(String json) {
        byte[] value = Texts.utf8(json, "value");
        run(tx -> Native.txPutProject(tx, value));
    }

    /**
     * Replaces the project record.
     *
     * @param json an object of at most 1,536 bytes
     */
    public void putProject(Json json) {
        putProject(String.valueOf(json));
    }

    /**
     * Merges into an item, which need not exist, as the built-in kedge.merge.
     *
     * @param collection its collection
     * @param id its id, without a NUL
     * @param patch a JSON Merge Patch (RFC 7396)
     */
    public void merge(String collection, String id, Json patch) {
        withTree(MERGE, collection, "collection", id, patch, "patch");
    }

    /**
     * Patches an item, as the built-in kedge.patch.
     *
     * @param collection its collection
     * @param id its id, without a NUL
     * @param patch a JSON Patch (RFC 6902)
     */
    public void patch(String collection, String id, Json patch) {
        withTree(PATCH, collection, "collection", id, patch, "patch");
    }

    /**
     * Calls a built-in mutator, for example "kedge.increment", inside of this one.
     *
     * @param name of the mutator
     * @param args its args
     */
    public void call(String name, Json args) {
        withTree(CALL, name, "name", null, args, "args");
    }

    private void withTree(int kind, String first, String firstName, String id, Json json,
            String jsonName) {
        byte[] one = Texts.terminated(first, firstName);
        byte[] key = Texts.terminatedOrNull(id, "id");
        byte[] tree = Texts.utf8(String.valueOf(json), jsonName);
        run(tx -> Native.txWithTree(tx, kind, one, key, tree));
    }

    /**
     * Refuses the mutation: throws. A mutator may write {@code throw tx.reject(…)}, so that the
     * compiler knows that it ends here.
     *
     * @param code for programs: 1 to 63 of a-z 0-9 -
     * @param message for people
     * @return never
     * @throws KedgeException.Rejected always
     */
    public KedgeException reject(String code, String message) {
        byte[] word = Texts.terminated(code, "code");
        byte[] text = Texts.terminated(message, "message");
        run(tx -> Native.txReject(tx, word, text));
        throw new AssertionError("kedge_tx_reject returned without a failure");
    }
}
