/* A database for coroutines. */
package io.kedge.kotlin

import io.kedge.Batch
import io.kedge.Database
import io.kedge.DatabaseBuilder
import io.kedge.Index
import io.kedge.Item
import io.kedge.KedgeException
import io.kedge.Mutation
import io.kedge.Outcome
import io.kedge.ScanOptions
import io.kedge.Stats
import io.kedge.SyncStatus
import io.kedge.UndoResult
import io.kedge.UndoState
import kotlin.coroutines.ContinuationInterceptor
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.TimeSource
import kotlin.time.toJavaDuration
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.NonCancellable
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.currentCoroutineContext
import kotlinx.coroutines.ensureActive
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.flowOn
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.transform
import kotlinx.coroutines.withContext
import kotlinx.serialization.encodeToString

/* Characters of items that go from thread to thread at once; the last item may go beyond. */
private const val SCANNED_TOGETHER = 65536

private fun Iterator<Item>.some(most: Int): List<Entry<String>> = buildList {
    var size = 0
    while (size < most && hasNext()) {
        val entry = next().entry()
        size += entry.id.length + entry.value.length
        add(entry)
    }
}

private fun Item.entry() = Entry(id(), json())

/* A mapped sequence of the standard library takes more calls for each row. */
private class Entries(private val items: Iterator<Item>) : Iterator<Entry<String>> {
    override fun hasNext(): Boolean = items.hasNext()

    override fun next(): Entry<String> = items.next().entry()
}

/**
 * Opens or creates the database in the folder [path]; [options] are those of [DatabaseBuilder].
 * It waits as [DatabaseBuilder.open] does, and a cancelled caller waits for it.
 */
public suspend fun openKedge(
    path: String,
    dispatcher: CoroutineDispatcher = Dispatchers.IO,
    options: DatabaseBuilder.() -> Unit,
): KedgeDatabase {
    var opened: Database? = null
    try {
        withContext(dispatcher) { opened = Database.builder(path).apply(options).open() }
    } catch (failure: Throwable) { // of a caller who was cancelled meanwhile
        withContext(NonCancellable + dispatcher) { opened?.close() }
        throw failure
    }
    return KedgeDatabase(checkNotNull(opened), dispatcher)
}

/** A timeout as Java takes it: null for one without end. */
private fun Duration.orNull() = if (isInfinite()) null else toJavaDuration()

/**
 * An open database. Its functions suspend: the work is done on [dispatcher], by [java], which is
 * the same database as Java sees it. Failures are those of Java, [KedgeException] and its classes.
 * Flows.kt has what it tells.
 */
public class KedgeDatabase(
    public val java: Database,
    public val dispatcher: CoroutineDispatcher = Dispatchers.IO,
) : AutoCloseable {
    // It is never cancelled: who calls a closed database gets its failure, and is not cancelled.
    private val scope = CoroutineScope(SupervisorJob() + dispatcher)

    /**
     * Closes the database on the calling thread, and waits as [Database.close] does: not on that of
     * a user interface, nor in a function that Kedge calls. Its flows end.
     */
    override fun close(): Unit = java.close()

    /**
     * Calls functions of the Java API on the dispatcher. All of them run on one thread: that of the
     * caller, if it is on the dispatcher already.
     */
    public suspend fun <T> blocking(function: Database.() -> T): T {
        val context = currentCoroutineContext()
        if (context[ContinuationInterceptor] !== dispatcher) {
            return withContext(dispatcher) { java.function() }
        }
        context.ensureActive()
        return java.function()
    }

    /** A call that waits for the server. A cancelled caller ends at once, and the call goes on. */
    private suspend fun <T> waiting(function: Database.() -> T): T =
        scope.async { java.function() }.await()

    // Edits.

    /** Makes an edit, as [Database.mutate] does, and returns its sequence. [args] is JSON. */
    public suspend fun mutateJson(name: String, args: String): Long =
        blocking { mutate(name, args) }

    /** Makes an edit, and returns its sequence. */
    public suspend inline fun <reified A> mutate(name: String, args: A): Long =
        mutateJson(name, kedgeJson.encodeToString(args))

    /** Writes an item by the built-in mutator kedge.put, and returns the sequence. */
    public suspend inline fun <reified T> put(collection: String, id: String, value: T): Long =
        mutateJson("kedge.put", putArgs(collection, id, kedgeJson.encodeToString(value)))

    /** Deletes an item by the built-in mutator kedge.delete, and returns the sequence. */
    public suspend fun delete(collection: String, id: String): Long =
        mutateJson(
            "kedge.delete", io.kedge.Json.`object`("collection", collection, "id", id).toString(),
        )

    /** Makes the edits that [edits] adds as one, and returns the sequence. */
    public suspend fun batch(edits: Batch.() -> Unit): Long = blocking {
        batch().use { it.edits(); it.commit() }
    }

    /**
     * Makes a text of an item become another one; edits of others since [base] are merged.
     *
     * @param path a JSON Pointer
     * @param base what the user saw when the editing began; null: what is there now
     * @param text the new text
     * @return the sequence of the edit; 0: nothing was changed
     */
    public suspend fun editText(
        collection: String,
        id: String,
        path: String,
        base: String? = null,
        text: String,
    ): Long = blocking { editText(collection, id, path, base, text) }

    /** Takes back an edit that was not sent, as [Database.cancel] does. */
    public suspend fun cancel(sequence: Long): Unit = blocking { cancel(sequence) }

    /** What [edits] makes is undone together. It runs on one thread, and so cannot suspend. */
    public suspend fun <T> undoGroup(label: String, edits: Database.() -> T): T = blocking {
        undoGroup(label).use { edits() }
    }

    /** Takes back the newest group. */
    public suspend fun undo(): UndoResult = blocking { undo() }

    /** Takes back the newest undo. */
    public suspend fun redo(): UndoResult = blocking { redo() }

    /** What can be undone and redone. It waits as [Database.undoState] does. */
    public suspend fun undoState(): UndoState = blocking { undoState() }

    // Reads.

    /** Reads an item as canonical JSON. */
    public suspend fun getJson(collection: String, id: String): String =
        blocking { get(collection, id) }

    /** Reads an item as canonical JSON, or null when there is none. */
    public suspend fun findJson(collection: String, id: String): String? =
        blocking { find(collection, id).orElse(null) }

    /** Reads an item. NotFound is thrown when there is none. */
    public suspend inline fun <reified T> get(collection: String, id: String): T =
        kedgeJson.decodeFromString(getJson(collection, id))

    /** Reads an item, or null when there is none. */
    public suspend inline fun <reified T : Any> find(collection: String, id: String): T? =
        findJson(collection, id)?.let { kedgeJson.decodeFromString<T>(it) }

    /** Reads the project record as JSON, or null when it was never set. */
    public suspend fun findProject(): String? = blocking { findProject().orElse(null) }

    /** Reads the project record as JSON. NotFound is thrown when it was never set. */
    public suspend fun getProject(): String = blocking { getProject() }

    /** The items of a collection as JSON, on one snapshot for each collector. */
    public fun scanJson(
        collection: String,
        options: ScanOptions = ScanOptions(),
    ): Flow<Entry<String>> = flow {
        java.scan(collection, options).use { scan ->
            val items = scan.iterator()
            var most = 1 // who looks at one item does not wait for many
            while (items.hasNext()) {
                emit(items.some(most))
                most = minOf(4 * most, SCANNED_TOGETHER)
            }
        }
    }.buffer(1).flowOn(dispatcher).transform { items -> items.forEach { emit(it) } }

    /** The items of a collection, on one snapshot for each collector. */
    public inline fun <reified T> scan(
        collection: String,
        options: ScanOptions = ScanOptions(),
    ): Flow<Entry<T>> {
        return scanJson(collection, options)
            .map { Entry(it.id, kedgeJson.decodeFromString<T>(it.value)) }
    }

    /**
     * Calls [function] on the dispatcher with the items of a collection as JSON. For many items it
     * is faster than a flow. It runs on one thread, and so cannot suspend. The sequence can be read
     * once, and only in it.
     */
    public suspend fun <R> useScanJson(
        collection: String,
        options: ScanOptions = ScanOptions(),
        function: (Sequence<Entry<String>>) -> R,
    ): R = blocking {
        scan(collection, options).use { scan ->
            function(Entries(scan.iterator()).asSequence())
        }
    }

    /** Calls [function] on the dispatcher with the items of a collection; see [useScanJson]. */
    public suspend inline fun <reified T, R> useScan(
        collection: String,
        options: ScanOptions = ScanOptions(),
        crossinline function: (Sequence<Entry<T>>) -> R,
    ): R = useScanJson(collection, options) { items ->
        function(items.map { Entry(it.id, kedgeJson.decodeFromString<T>(it.value)) })
    }

    /** The rows of a read-only SELECT. */
    public suspend fun query(sql: String, vararg parameters: Any?): Rows = blocking {
        query(sql, *parameters).use { Rows(it.columns(), it.toList()) }
    }

    /** Declares an index over members of the items of a collection. */
    public suspend fun declareIndex(name: String, collection: String, paths: List<String>): Unit =
        blocking { declareIndex(name, collection, paths) }

    /** Drops an index. */
    public suspend fun dropIndex(name: String): Unit = blocking { dropIndex(name) }

    /** The declared indexes. */
    public suspend fun indexes(): List<Index> = blocking { indexes().use { it.toList() } }

    /** Counters and sizes, for monitoring. */
    public suspend fun stats(): Stats = blocking { stats() }

    // Sync.

    /** The state of sync. It may wait for a writer; [statuses] tells each change of it. */
    public suspend fun status(): SyncStatus = blocking { status() }

    /** Switches offline or online, as [Database.setOnline] says. */
    public suspend fun setOnline(online: Boolean): Unit = blocking { setOnline(online) }

    /**
     * Pushes what is pending, and pulls, as [Database.sync] does; with its exceptions. A cancelled
     * caller ends at once, and the sync goes on.
     */
    public suspend fun sync(timeout: Duration = 30.seconds): Unit =
        waiting { sync(timeout.orNull()) }

    /** Waits until an edit is decided and pulled. It can be cancelled. */
    public suspend fun await(sequence: Long, timeout: Duration = 30.seconds): Outcome {
        val end = TimeSource.Monotonic.markNow() + timeout
        while (true) {
            val left = -end.elapsedNow()
            val slice = left.coerceIn(Duration.ZERO, SLICE)
            try {
                return blocking { await(sequence, slice.toJavaDuration()) }
            } catch (timedOut: KedgeException.Timeout) {
                if (left < SLICE) throw timedOut
            }
        }
    }

    /** The edits that the server has not decided. */
    public suspend fun pending(): List<Mutation> = blocking { pending().use { it.toList() } }

    /** The inbox of rejected edits. */
    public suspend fun rejected(): List<Mutation> =
        blocking { rejected().use { it.toList() } }

    /** Removes a rejected edit from the inbox. */
    public suspend fun dismiss(sequence: Long): Unit = blocking { dismiss(sequence) }

    /** Removes the rejected edits up to this one of [rejected] from the inbox; how many. */
    public suspend fun dismissThrough(sequence: Long): Long = blocking { dismissThrough(sequence) }

    /** Makes a rejected edit again, removes it from the inbox, and returns the new sequence. */
    public suspend fun resubmit(sequence: Long): Long = blocking { resubmit(sequence) }

    /** Asks the server for versions of the project: a JSON array, newest first. */
    public suspend fun history(
        before: Long = 0,
        limit: Int = 100,
        timeout: Duration = 30.seconds,
    ): String = waiting { history(before, limit, timeout.orNull()) }

    private companion object {
        /** How long one wait in C lasts: a cancelled coroutine waits for its end. */
        val SLICE: Duration = 200.milliseconds
    }
}
