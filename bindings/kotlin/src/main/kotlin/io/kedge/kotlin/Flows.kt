/* What a database tells, as flows. Each collector has a watch of its own, which begins on its
   thread and ends with it. A flow ends with its database, too. */
package io.kedge.kotlin

import io.kedge.Change
import io.kedge.KedgeException
import io.kedge.Mutation
import io.kedge.ResultChanges
import io.kedge.Row
import io.kedge.SyncStatus
import io.kedge.Watch
import java.util.ArrayDeque
import kotlinx.coroutines.channels.BufferOverflow
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.channels.ProducerScope
import kotlinx.coroutines.channels.awaitClose
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.buffer
import kotlinx.coroutines.flow.callbackFlow
import kotlinx.coroutines.flow.conflate
import kotlinx.coroutines.flow.distinctUntilChanged
import kotlinx.coroutines.flow.flow
import kotlinx.coroutines.flow.map
import kotlinx.coroutines.flow.transform

/** As many commits as Kedge keeps for a callback that is slow. */
private const val COMMITS_MAX = 64

/** As many edits as a push has at most. */
private const val REJECTIONS_MAX = 10_000

/** A flow of what a watch tells: the watch begins and ends with the collector. */
private fun <T> KedgeDatabase.told(start: ProducerScope<T>.() -> Watch): Flow<T> = callbackFlow {
    val watch = start()
    watch.onClose { close() } // with the database, also when Java closes that
    awaitClose { watch.close() }
}

/** Commits that wait for a slow collector. Too many become one empty list. */
private class Commits {
    private val waiting = ArrayDeque<List<Change>>()

    @Synchronized
    fun add(commit: List<Change>) {
        waiting.add(commit)
        if (waiting.size > COMMITS_MAX) {
            waiting.clear()
            waiting.add(emptyList())
        }
    }

    @Synchronized
    fun take(): List<List<Change>> = waiting.toList().also { waiting.clear() }
}

/**
 * The changes of each commit to a collection, or to any. An empty list means: read everything
 * again. A collector that is more than 64 commits behind gets one, too.
 */
public fun KedgeDatabase.changes(collection: String? = null): Flow<List<Change>> {
    val news = told<Commits> {
        val commits = Commits()
        java.watch(collection) {
            commits.add(it)
            trySend(commits)
        }
    }
    return flow {
        news.conflate().collect { commits -> commits.take().forEach { emit(it) } }
    }
}

/** The status of now, and later ones; of several that wait only the last. */
public fun KedgeDatabase.statuses(): Flow<SyncStatus> =
    told<SyncStatus> { java.watchStatus { trySend(it) } }.conflate()

/**
 * The whole result of a query, and again whenever it has changed; of several that wait only the
 * last. The first column is the key of a row. A result that cannot be read ends the flow with its
 * error.
 */
public fun KedgeDatabase.results(sql: String, vararg parameters: Any?): Flow<List<Row>> =
    told<List<Row>> {
        val rows = mutableListOf<Row>()
        java.watchQuery(sql, parameters.asList()) { changes: ResultChanges ->
            val error = changes.error()
            if (error == null) {
                changes.apply(rows)
                trySend(rows.toList())
            } else {
                close(error)
            }
        }
    }.conflate()

/**
 * A collection as typed items, by id, and again whenever it has changed; of several changes that
 * wait only the last.
 */
public inline fun <reified T> KedgeDatabase.entries(collection: String): Flow<List<Entry<T>>> =
    entriesJson(collection).map { items ->
        items.map { Entry(it.id, kedgeJson.decodeFromString<T>(it.value)) }
    }

/** No query: SQL does not tell the names of collections apart that differ in case alone. */
@PublishedApi
internal fun KedgeDatabase.entriesJson(collection: String): Flow<List<Entry<String>>> {
    val news = told<Unit> {
        java.watch(collection) { trySend(Unit) }.also { trySend(Unit) }
    }
    return news.conflate().transform { itemsOrNull(collection)?.let { emit(it) } }
        .distinctUntilChanged()
}

/** Null: the database was closed meanwhile, which ends the flow. */
private suspend fun KedgeDatabase.itemsOrNull(collection: String): List<Entry<String>>? =
    try {
        useScanJson(collection) { it.toList() }
    } catch (closed: KedgeException.Closed) {
        null
    }

/** Each edit of the inbox, and each that comes; of those that wait, the last 10,000. */
public fun KedgeDatabase.rejections(): Flow<Mutation> =
    told<Mutation> { java.watchRejected { trySend(it) } }
        .buffer(REJECTIONS_MAX, BufferOverflow.DROP_OLDEST)
