/* The JSON of scenarios, and what Kedge gives as JSON. */
package io.kedge.kotlin

import io.kedge.Change
import io.kedge.Mutation
import io.kedge.ResultChanges
import io.kedge.Row
import io.kedge.Status
import io.kedge.SyncStatus
import java.math.BigDecimal
import kotlinx.serialization.json.Json
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonNull
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.booleanOrNull

private val LISTS = setOf("mutations", "changes", "results", "versions")

private fun number(value: JsonElement): BigDecimal? =
    (value as? JsonPrimitive)?.takeIf { !it.isString && it != JsonNull && it.booleanOrNull == null }
        ?.content?.toBigDecimal()

/** As JSON: 1 equals 1.0, but not true. */
fun same(wanted: JsonElement, given: JsonElement): Boolean {
    val one = number(wanted)
    val other = number(given)
    return when {
        one != null && other != null -> one.compareTo(other) == 0
        wanted is JsonArray && given is JsonArray ->
            wanted.size == given.size && wanted.indices.all { same(wanted[it], given[it]) }
        wanted is JsonObject && given is JsonObject ->
            wanted.keys == given.keys && wanted.all { same(it.value, given.getValue(it.key)) }
        else -> one == null && other == null && wanted == given
    }
}

private fun listsMatch(wanted: JsonArray, given: JsonArray): Boolean =
    wanted.size == given.size &&
        wanted.indices.all { matches(wanted[it] as JsonObject, given[it] as JsonObject) }

/** Only members that are named are compared. */
fun matches(wanted: JsonObject, given: JsonObject): Boolean = wanted.all { (name, value) ->
    val of = given[name]
    when {
        of == null -> false
        name in LISTS -> listsMatch(value as JsonArray, of as JsonArray)
        else -> same(value, of)
    }
}

fun value(of: Any?): JsonElement = when (of) {
    null -> JsonNull
    is JsonElement -> of
    is Number -> JsonPrimitive(of)
    is Boolean -> JsonPrimitive(of)
    is Enum<*> -> JsonPrimitive(of.name.lowercase().replace('_', '-'))
    is ByteArray -> json("hex" to of.joinToString("") { "%02x".format(it) })
    is List<*> -> JsonArray(of.map(::value))
    else -> JsonPrimitive(of as String)
}

fun json(vararg members: Pair<String, Any?>): JsonObject =
    JsonObject(members.associate { (name, of) -> name to value(of) })

fun parsed(text: String?): JsonElement = text?.let(Json::parseToJsonElement) ?: JsonNull

fun row(of: Row?): JsonElement = value(of?.values())

fun statusObject(of: SyncStatus): JsonObject = json(
    "connection" to of.connection(), "resyncing" to of.resyncing(), "version" to of.version(),
    "pending" to of.pending(), "rejected" to of.rejected(), "withheld" to of.withheld(),
    "unrecovered" to of.unrecovered(),
    "last_error" to (of.lastError()?.status() ?: Status.OK).word(),
)

fun mutationObject(of: Mutation): JsonObject = json(
    "sequence" to of.sequence(), "sent" to of.sent(), "withheld" to of.withheld(),
    "name" to of.name(), "args" to parsed(of.args()), "code" to of.code(),
)

fun changeObject(of: Change): JsonObject = json(
    "collection" to of.collection(), "id" to of.id(), "old" to parsed(of.oldJson()),
    "new" to parsed(of.newJson()), "source" to of.source(),
)

fun resultObject(of: ResultChanges): JsonObject = json(
    "rows" to of.rows().map {
        json(
            "kind" to it.kind(), "key" to it.key(), "old" to row(it.oldRow()),
            "old_position" to it.oldPosition(), "new" to row(it.newRow()),
            "new_position" to it.newPosition(),
        )
    },
    "row_count" to of.rowCount(), "first" to of.first(), "local" to of.local(),
    "pulled" to of.pulled(), "code" to (of.error()?.code() ?: ""),
)
