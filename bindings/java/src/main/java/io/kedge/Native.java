/* The functions of the C library: see bindings/java/native. */
package io.kedge;

/**
 * What the native library registers. Texts are UTF-8, handles are pointers, a struct is numbers and
 * texts in the order that the C file gives. A failure is thrown as a {@link KedgeException}.
 */
final class Native {
    private Native() {}

    static native long open(byte[][] texts, long[] numbers, long token, byte[][] mutatorNames,
            long[] mutatorNumbers);

    static native int close(long db);

    static native byte[] libraryVersion();

    static native byte[] statusName(int status);

    static native long[] repair(byte[] path, byte[] newPath);

    static native byte[] orderBetween(byte[] before, byte[] after, int random);

    static native byte[] argsText(byte[] object, byte[] member);

    static native long argsInteger(byte[] object, byte[] member);

    static native long mutate(long db, byte[] name, byte[] args);

    static native void cancel(long db, long sequence);

    static native long editText(long db, byte[] collection, byte[] id, byte[] path, byte[] base,
            byte[] text);

    static native long batchBegin(long db);

    static native void batchAdd(long batch, byte[] name, byte[] args);

    static native long batchCommit(long batch);

    static native void batchFree(long batch);

    static native void undoBegin(long db, byte[] label);

    static native void undoEnd(long db);

    static native long[] takeBack(long db, boolean redo);

    static native void undoState(long db, long[] numbers, byte[][] labels);

    static native Object get(long db, byte[] collection, byte[] id, boolean orNull);

    static native byte[] getBytes(long db, byte[] collection, byte[] id);

    static native byte[] getProject(long db, boolean orNull);

    static native long scanOpen(long db, byte[] collection, byte[] after, byte[] prefix, long limit,
            boolean descending);

    static native byte[] scanNext(long scan, byte[] rows, int room);

    static native void scanClose(long scan);

    static native long queryOpen(long db, byte[] sql, byte[] parameters);

    static native boolean queryNext(long query);

    static native byte[][] queryColumns(long query);

    static native int queryType(long query, int column);

    static native byte[] queryText(long query, int column);

    static native long queryInteger(long query, int column);

    static native double queryReal(long query, int column);

    static native void queryClose(long query);

    static native void declareIndex(long db, byte[] name, byte[] collection, byte[][] paths);

    static native void dropIndex(long db, byte[] name);

    static native long indexListOpen(long db);

    static native byte[][] indexListNext(long list);

    static native void indexListClose(long list);

    static native long[] stats(long db);

    static native void syncStatus(long db, long[] numbers, byte[][] texts);

    static native void setOnline(long db, boolean online);

    static native void sync(long db, int timeoutMs);

    static native int waitFor(long db, long sequence, int timeoutMs);

    static native long listOpen(long db, boolean rejected);

    static native boolean listNext(long list, long[] numbers, byte[][] texts);

    static native void listClose(long list);

    static native void dismiss(long db, long sequence);

    static native long dismissThrough(long db, long sequence);

    static native long resubmit(long db, long sequence);

    static native byte[] history(long db, long before, int limit, int timeoutMs);

    static native int loopRun(long db);

    static native int loopDescriptor(long db);

    static native boolean loopAwait(long db, int timeoutMs);

    static native long watch(long db, byte[] collection, long token);

    static native void watchFree(long watch);

    static native long watchQuery(long db, byte[] sql, byte[] parameters, long token);

    static native void queryWatchFree(long watch);

    static native long watchStatus(long db, long token);

    static native long watchRejected(long db, long token);

    static native void syncWatchFree(long watch);

    static native void runWork(long work, long argument);

    static native long txCaller(long tx, byte[][] texts);

    static native byte[] txGet(long tx, byte[] collection, byte[] id, boolean orNull);

    static native byte[][] txNext(long tx, byte[] collection, byte[] after);

    static native void txPut(long tx, byte[] collection, byte[] id, byte[] value);

    static native void txDelete(long tx, byte[] collection, byte[] id);

    static native byte[] txGetProject(long tx, boolean orNull);

    static native void txPutProject(long tx, byte[] value);

    static native void txWithTree(long tx, int kind, byte[] first, byte[] id, byte[] json);

    static native void txReject(long tx, byte[] code, byte[] message);

    static native int refuse(long error, int status, byte[] code, byte[] message);
}
