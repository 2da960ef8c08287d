/* A database: one folder with one project. */
package io.kedge;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import java.util.function.LongFunction;

/**
 * An open database. Any thread may use it. JSON is given and taken as texts, as UTF-8 in byte
 * arrays, or as {@link Json}.
 *
 * <p>Reads wait for nobody. Functions that take a turn wait until other writers of the folder are
 * done, such as a pull that is applied: mostly milliseconds, with many pending edits seconds
 * (docs/reference/c-api.md, "What waits"). A user interface leaves them to another thread.
 */
public final class Database implements AutoCloseable {
    private static final Duration USUAL_TIMEOUT = Duration.ofSeconds(30);

    final DatabaseHandle handle;
    private final Forgotten forgotten;
    // C knows both weakly, so they are held here.
    @SuppressWarnings({"unused", "FieldCanBeLocal"})
    private final Functions functions;
    private final Set<Watch> watches = ConcurrentHashMap.newKeySet();

    Database(DatabaseHandle handle, Functions functions) {
        this.handle = handle;
        this.functions = functions;
        this.forgotten = Forgotten.watch(this, handle);
    }

    /**
     * Options of a database in a folder.
     *
     * @param path the folder; it is made when it is absent, in a folder that exists
     * @return a builder with {@link DatabaseBuilder#open}
     */
    public static DatabaseBuilder builder(String path) {
        return new DatabaseBuilder(path);
    }

    /**
     * Closes the database with its cursors, batches and watches; pending edits stay on the disk.
     * Ends the waits of other threads for the server, waits for their other calls and for a running
     * callback or token function, and takes a turn. Closing twice does nothing.
     *
     * @throws KedgeException.InvalidArgument in a function that Kedge calls, which would wait for
     *     itself: close on a thread of the app
     */
    @Override
    public void close() {
        Here.refuseCallback("close()");
        handle.close();
        watches.clear();
        forgotten.settle();
    }

    void forget(Watch watch) {
        watches.remove(watch);
    }

    int openCount() {
        return handle.childCount();
    }

    /** Calls C; the database is not taken for forgotten meanwhile. */
    <T> T with(LongFunction<T> function) {
        return handle.with(this, function);
    }

    private void run(LongConsumer function) {
        with(db -> {
            function.accept(db);
            return null;
        });
    }

    /** What a function of C opens, as a handle that ends with the database at the latest. */
    private Handle child(String name, LongFunction<Long> open, LongConsumer free) {
        return with(db -> handle.child(name, open.apply(db), free));
    }

    private <T> T edit(LongFunction<T> function) {
        return Here.edit(() -> with(function));
    }

    void beginUndo(byte[] label) {
        run(db -> Native.undoBegin(db, label));
    }

    void endUndo() {
        run(Native::undoEnd);
    }

    // ---- edits ----

    /**
     * Makes an edit: runs the mutator, and keeps the mutation until the server has decided it. When
     * it returns, the edit is on the disk and every read shows it. Takes a turn, as all edits do.
     *
     * @param name of the mutator, for example "kedge.put"
     * @param args JSON
     * @return the sequence of the edit: 1, 2, 3…
     * @throws KedgeException.Rejected when the mutator refuses
     * @throws KedgeException.NotFound for an unknown mutator
     */
    public long mutate(String name, String args) {
        return mutate(name, Texts.utf8(args, "args"));
    }

    /**
     * As {@link #mutate(String, String)}.
     *
     * @param name of the mutator
     * @param args JSON
     * @return the sequence of the edit
     */
    public long mutate(String name, Json args) {
        return mutate(name, String.valueOf(args));
    }

    /**
     * As {@link #mutate(String, String)}.
     *
     * @param name of the mutator
     * @param args JSON as UTF-8
     * @return the sequence of the edit
     */
    public long mutate(String name, byte[] args) {
        byte[] word = Texts.terminated(name, "name");
        byte[] given = Texts.given(args, "args");
        return edit(db -> Native.mutate(db, word, given));
    }

    /**
     * Several edits as one.
     *
     * @return an empty batch
     */
    public Batch batch() {
        return new Batch(this, child("batch", Native::batchBegin, Native::batchFree));
    }

    /**
     * Makes a text of an item become another one. Edits of others since {@code base} are merged.
     *
     * @param collection the item's collection
     * @param id the item's id
     * @param path a JSON Pointer
     * @param base what the user saw when the editing began; null: what is there now
     * @param text the new text
     * @return the sequence of the edit; 0: nothing was changed
     */
    public long editText(String collection, String id, String path, String base, String text) {
        byte[] name = Texts.terminated(collection, "collection");
        byte[] key = Texts.utf8(id, "id");
        byte[] place = Texts.terminated(path, "path");
        byte[] before = Texts.terminatedOrNull(base, "base");
        byte[] after = Texts.terminated(text, "text");
        return edit(db -> Native.editText(db, name, key, place, before, after));
    }

    /**
     * Takes back an edit that was not sent. Takes a turn; edits that build on it run again.
     *
     * @param sequence of the edit
     * @throws KedgeException.Conflict when it was or may have been sent
     * @throws KedgeException.NotFound when it is not pending
     */
    public void cancel(long sequence) {
        run(db -> Native.cancel(db, sequence));
    }

    /**
     * Begins a group: the edits of this thread until its end are undone together. Its begin and its
     * end wait as {@link #undoState} does.
     *
     * @param label what the app calls the group; at most 63 bytes
     * @return the group, for {@code try}
     */
    public UndoGroup undoGroup(String label) {
        return new UndoGroup(this, label);
    }

    /**
     * Takes back the newest group.
     *
     * @return what was done
     * @throws KedgeException.NotFound when there is none
     * @throws KedgeException.Conflict when others have changed all of it
     */
    public UndoResult undo() {
        return takeBack(false);
    }

    /**
     * Takes back the newest undo.
     *
     * @return what was done
     * @throws KedgeException.NotFound when there is none
     */
    public UndoResult redo() {
        return takeBack(true);
    }

    private UndoResult takeBack(boolean redo) {
        long[] made = edit(db -> Native.takeBack(db, redo));
        return new UndoResult(made[0], made[1], made[2]);
    }

    /**
     * What can be undone and redone. It waits until the writers of this process are done.
     *
     * @return for the app's menu
     */
    public UndoState undoState() {
        long[] numbers = new long[3];
        byte[][] labels = new byte[2][];
        run(db -> Native.undoState(db, numbers, labels));
        return UndoState.of(numbers, labels);
    }

    // ---- reads ----

    /**
     * Reads an item.
     *
     * @param collection its collection
     * @param id its id
     * @return canonical JSON
     * @throws KedgeException.NotFound when there is none
     */
    public String get(String collection, String id) {
        return read(collection, id, false);
    }

    /**
     * Reads an item, if there is one.
     *
     * @param collection its collection
     * @param id its id
     * @return canonical JSON
     */
    public Optional<String> find(String collection, String id) {
        return Optional.ofNullable(read(collection, id, true));
    }

    /**
     * Reads an item as UTF-8, for a parser that reads bytes.
     *
     * @param collection its collection
     * @param id its id
     * @return canonical JSON
     * @throws KedgeException.NotFound when there is none
     */
    public byte[] getBytes(String collection, String id) {
        return with(db -> Native.getBytes(db, Texts.terminated(collection, "collection"),
                Texts.utf8(id, "id")));
    }

    private String read(String collection, String id, boolean orNull) {
        return Texts.made(with(db -> Native.get(db, Texts.terminated(collection, "collection"),
                Texts.utf8(id, "id"), orNull)));
    }

    /**
     * Reads the project record.
     *
     * @return a JSON object
     * @throws KedgeException.NotFound when it was never set
     */
    public String getProject() {
        return Texts.text(with(db -> Native.getProject(db, false)));
    }

    /**
     * Reads the project record, if it was set.
     *
     * @return a JSON object
     */
    public Optional<String> findProject() {
        return Optional.ofNullable(Texts.text(with(db -> Native.getProject(db, true))));
    }

    /**
     * The items of a collection, by id in byte order.
     *
     * @param collection may have no items yet
     * @return an open cursor
     */
    public Scan scan(String collection) {
        return scan(collection, new ScanOptions());
    }

    /**
     * Some of the items of a collection.
     *
     * @param collection may have no items yet
     * @param options which items
     * @return an open cursor
     */
    public Scan scan(String collection, ScanOptions options) {
        byte[] name = Texts.terminated(collection, "collection");
        return new Scan(this, child("cursor", db -> Native.scanOpen(db, name, options.after,
                options.prefix, options.limit, options.descending), Native::scanClose));
    }

    /**
     * The rows of a read-only SELECT. Each collection is a view with the columns id and value (JSON
     * text); kedge_items has all of them.
     *
     * @param sql one SELECT
     * @param parameters bound to ?1, ?2…: null, Boolean, Number or String
     * @return an open cursor
     */
    public Query query(String sql, Object... parameters) {
        byte[] text = Texts.utf8(sql, "SQL");
        byte[] values = Json.utf8Array(parameters);
        return new Query(this, child("cursor", db -> Native.queryOpen(db, text, values),
                Native::queryClose));
    }

    /**
     * Declares an index over members of the items of a collection, and makes it: see kedge/index.h.
     *
     * @param name of the index
     * @param collection that it covers
     * @param paths 1 to 4 members, such as "due" or "$.address.city"
     */
    public void declareIndex(String name, String collection, List<String> paths) {
        byte[] of = Texts.terminated(collection, "collection");
        byte[][] all = paths.stream().map(path -> Texts.terminated(path, "path"))
                .toArray(byte[][]::new);
        run(db -> Native.declareIndex(db, Texts.terminated(name, "name"), of, all));
    }

    /**
     * Drops an index.
     *
     * @param name of the index
     * @throws KedgeException.NotFound when there is none
     */
    public void dropIndex(String name) {
        run(db -> Native.dropIndex(db, Texts.terminated(name, "name")));
    }

    /**
     * The declared indexes.
     *
     * @return an open cursor
     */
    public Indexes indexes() {
        return new Indexes(this, child("list", Native::indexListOpen, Native::indexListClose));
    }

    /**
     * Counters and sizes, for monitoring.
     *
     * @return those of now
     */
    public Stats stats() {
        return Stats.of(with(Native::stats));
    }

    // ---- sync ----

    /**
     * The state of sync, without using the network. It may take a turn: a user interface keeps what
     * {@link #watchStatus} has told last.
     *
     * @return that of now
     */
    public SyncStatus status() {
        long[] numbers = new long[8];
        byte[][] texts = new byte[3][];
        run(db -> Native.syncStatus(db, numbers, texts));
        return SyncStatus.of(numbers, texts);
    }

    /**
     * Switches offline or online, without waiting for a connection. Once offline, no edit is sent
     * that was made after the call, and no response is taken in that comes after it.
     *
     * @param online whether to sync
     */
    public void setOnline(boolean online) {
        run(db -> Native.setOnline(db, online));
    }

    /** As {@link #sync(Duration)}, within 30 seconds. */
    public void sync() {
        sync(USUAL_TIMEOUT);
    }

    /**
     * Pushes what is pending, and pulls. When it returns, the server has decided every edit made
     * before the call, also client-only ones that have conflicted and were made again, and reads
     * show a version that the server had after the call. After an exception no edit is lost, and
     * sync goes on in the background.
     *
     * @param timeout null: no limit
     * @throws KedgeException.Timeout also when the server is down; the message names the cause
     * @throws KedgeException at once: Network when offline, NotFound without such a project,
     *     Conflict when an edit waits for a newer server, the error of the status when it stopped
     */
    public void sync(Duration timeout) {
        int milliseconds = Waits.milliseconds(timeout);
        run(db -> Native.sync(db, milliseconds));
    }

    /**
     * As {@link #await(long, Duration)}, within 30 seconds.
     *
     * @param sequence of the edit
     * @return what the server has decided
     */
    public Outcome await(long sequence) {
        return await(sequence, USUAL_TIMEOUT);
    }

    /**
     * Waits until an edit is decided and pulled.
     *
     * @param sequence of the edit
     * @param timeout null: no limit
     * @return what the server has decided
     * @throws KedgeException.Timeout when it is not decided yet
     * @throws KedgeException.Cancelled when another thread closes the database
     */
    public Outcome await(long sequence, Duration timeout) {
        return Waits.untilDecided(this, sequence, timeout);
    }

    boolean isOpen() {
        return handle.isOpen();
    }

    /**
     * The edits that the server has not decided.
     *
     * @return an open cursor
     */
    public Mutations pending() {
        return new Mutations(this, child("list", db -> Native.listOpen(db, false),
                Native::listClose));
    }

    /**
     * The inbox of rejected edits.
     *
     * @return an open cursor
     */
    public Mutations rejected() {
        return new Mutations(this, child("list", db -> Native.listOpen(db, true),
                Native::listClose));
    }

    /**
     * Removes a rejected edit from the inbox.
     *
     * @param sequence of the edit
     * @throws KedgeException.NotFound when it is not in the inbox
     */
    public void dismiss(long sequence) {
        run(db -> Native.dismiss(db, sequence));
    }

    /**
     * Removes the rejected edits up to this one of {@link #rejected} from the inbox.
     *
     * @param sequence of the last one
     * @return how many
     */
    public long dismissThrough(long sequence) {
        return with(db -> Native.dismissThrough(db, sequence));
    }

    /**
     * Makes a rejected edit again, and removes it from the inbox.
     *
     * @param sequence of the edit
     * @return the new sequence
     */
    public long resubmit(long sequence) {
        return edit(db -> Native.resubmit(db, sequence));
    }

    /**
     * Asks the server for versions of the project, newest first.
     *
     * @param before only versions below this one; 0: from the newest on
     * @param limit 1 to 100 versions
     * @param timeout null: as long as a request may take
     * @return a JSON array: see kedge_history of kedge/sync.h
     */
    public String history(long before, int limit, Duration timeout) {
        int milliseconds = Waits.milliseconds(timeout);
        return Texts.text(with(db -> Native.history(db, before, limit, milliseconds)));
    }

    // ---- watches ----

    /**
     * Tells the changes of each commit to any collection.
     *
     * @param function gets them, on Kedge's thread or through the dispatcher; an empty list means:
     *     read everything again. It comes, too, when the heap has no room for the changes. The
     *     function may not wait for the server
     * @return the watch
     */
    public Watch watch(Consumer<List<Change>> function) {
        return watch(null, function);
    }

    /**
     * Tells the changes of each commit to a collection.
     *
     * @param collection null: any
     * @param function as of {@link #watch(Consumer)}
     * @return the watch
     */
    public Watch watch(String collection, Consumer<List<Change>> function) {
        byte[] name = Texts.terminatedOrNull(collection, "collection");
        return watch(function, (db, token) -> Native.watch(db, name, token), Native::watchFree);
    }

    /**
     * Tells the status of now, and whenever it has changed.
     *
     * @param function gets the status
     * @return the watch
     */
    public Watch watchStatus(Consumer<SyncStatus> function) {
        return watch(function, Native::watchStatus, Native::syncWatchFree);
    }

    /**
     * Tells each edit of the inbox, and each that comes.
     *
     * @param function gets the edit
     * @return the watch
     */
    public Watch watchRejected(Consumer<Mutation> function) {
        return watch(function, Native::watchRejected, Native::syncWatchFree);
    }

    /**
     * Tells the whole result of a query, and then the rows that differ. The first column is the key
     * of a row: it is not NULL, and another one in each row. See {@code kedge_watch_query}.
     *
     * @param sql one SELECT
     * @param parameters bound to ?1, ?2…
     * @param function gets the rows
     * @return the watch
     */
    public Watch watchQuery(String sql, List<?> parameters, Consumer<ResultChanges> function) {
        byte[] text = Texts.utf8(sql, "SQL");
        byte[] values = Json.utf8Array(parameters.toArray());
        return watch(function, (db, token) -> Native.watchQuery(db, text, values, token),
                Native::queryWatchFree);
    }

    private interface Begin {
        long begin(long db, long token);
    }

    private Watch watch(Consumer<?> function, Begin begin, LongConsumer free) {
        if (function == null) {
            throw new KedgeException.InvalidArgument("function-missing", "a watch has a function");
        }
        long token = Callbacks.keep(function);
        try {
            Handle made = child("watch", db -> begin.begin(db, token), pointer -> {
                free.accept(pointer);
                Callbacks.drop(token);
            });
            Watch watch = new Watch(this, made, function);
            watches.add(watch);
            return watch;
        } catch (RuntimeException | Error failure) {
            Callbacks.drop(token);
            throw failure;
        }
    }

    /**
     * The loop of a database that is callerDriven.
     *
     * @return its functions
     * @throws KedgeException.InvalidArgument when the database is not callerDriven
     */
    public Loop loop() {
        return new Loop(this);
    }
}
