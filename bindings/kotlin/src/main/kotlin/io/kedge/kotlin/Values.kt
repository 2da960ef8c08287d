/* Typed values: items, args and rows through kotlinx.serialization. */
package io.kedge.kotlin

import io.kedge.DatabaseBuilder
import io.kedge.Mutator
import io.kedge.Row
import io.kedge.Transaction
import kotlinx.serialization.encodeToString
import kotlinx.serialization.json.Json

/**
 * How values are written and read. Members that a class does not have are ignored: an item that is
 * read as the class and written again has lost them. Members that have their default value are not
 * written, unless they have the annotation EncodeDefault.
 */
public val kedgeJson: Json = Json { ignoreUnknownKeys = true }

/** An item with its value as [T]. */
public data class Entry<T>(val id: String, val value: T)

/** The rows of a query, and the names of their columns. */
public data class Rows(val columns: List<String>, val rows: List<Row>)

/** Args of the built-in mutator kedge.put. */
@PublishedApi
internal fun putArgs(collection: String, id: String, json: String): String =
    io.kedge.Json.`object`("collection", collection, "id", id, "value", io.kedge.Json.of(json))
        .toString()

/** Reads an item as [T]. NotFound is thrown when there is none. */
public inline fun <reified T> Transaction.getAs(collection: String, id: String): T =
    kedgeJson.decodeFromString(get(collection, id))

/** Reads an item as [T], or null when there is none. */
public inline fun <reified T : Any> Transaction.findAs(collection: String, id: String): T? =
    find(collection, id).orElse(null)?.let { kedgeJson.decodeFromString<T>(it) }

/** Writes an item. */
public inline fun <reified T> Transaction.putAs(collection: String, id: String, value: T): Unit =
    put(collection, id, kedgeJson.encodeToString(value))

/** A mutator that the server has, too. Its args are an [A]. */
public inline fun <reified A> DatabaseBuilder.mutator(
    name: String,
    version: Int,
    crossinline function: Transaction.(A) -> Unit,
): DatabaseBuilder =
    mutator(name, version, Mutator { tx, args -> tx.function(kedgeJson.decodeFromString(args)) })

/** A mutator that the app alone has. Its args are an [A]. */
public inline fun <reified A> DatabaseBuilder.clientMutator(
    name: String,
    crossinline function: Transaction.(A) -> Unit,
): DatabaseBuilder =
    clientMutator(name, Mutator { tx, args -> tx.function(kedgeJson.decodeFromString(args)) })
