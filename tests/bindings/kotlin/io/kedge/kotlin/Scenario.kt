/* One scenario that runs: its copies, its watches, and what each step does. */
package io.kedge.kotlin

import io.kedge.DatabaseBuilder
import io.kedge.Kedge
import io.kedge.KedgeException
import io.kedge.ScanOptions
import io.kedge.UndoGroup
import io.kedge.UndoResult
import java.nio.file.Path
import java.time.Duration as JavaDuration
import java.util.concurrent.LinkedBlockingQueue
import java.util.concurrent.TimeUnit
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlinx.coroutines.CoroutineDispatcher
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.Job
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.cancel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.flow.Flow
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable
import kotlinx.serialization.encodeToString
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.JsonElement
import kotlinx.serialization.json.JsonObject
import kotlinx.serialization.json.JsonPrimitive
import kotlinx.serialization.json.boolean
import kotlinx.serialization.json.int
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.json.long

private val WAIT = 120.seconds // for anything that must happen by itself

@Serializable
private data class Take(val id: String, val count: Long)

@Serializable
private data class Line(val text: String)

@Serializable
private data class Signed(val by: String, val signed: Long)

private fun addMutator(builder: DatabaseBuilder, name: String, clientOnly: Boolean) {
    when {
        name == "stock.take" && !clientOnly -> builder.mutator<Take>(name, 1) { args ->
            val shelf = getAs<JsonObject>("shelves", args.id)
            val count = shelf.getValue("count").jsonPrimitive.long
            if (args.count < 1 || args.count > count) {
                throw reject("not-enough", "there are not that many pieces")
            }
            val left = "count" to JsonPrimitive(count - args.count)
            putAs("shelves", args.id, JsonObject(shelf + left))
        }
        name == "lines.append" && clientOnly -> builder.clientMutator<Line>(name) { args ->
            val last = items("lines").lastOrNull()?.id() ?: "0"
            putAs("lines", "%04d".format(last.toInt() + 1), args.text)
        }
        name == "log.sign" && clientOnly -> builder.clientMutator<JsonObject>(name) {
            val before = findProject().map { kedgeJson.decodeFromString<Signed>(it) }
                .orElse(Signed("", 0))
            val by = "${caller().user()}/${caller().role()}"
            putProject(kedgeJson.encodeToString(Signed(by, before.signed + 1)))
            delete("log", "last")
        }
        name == "log.fail" && clientOnly -> builder.clientMutator<JsonObject>(name) {
            putAs("log", "failed", true)
            error("by mistake")
        }
        else -> error("there is no mutator $name")
    }
}

private fun JsonObject.text(name: String): String? = (this[name] as? JsonPrimitive)?.content

private fun JsonObject.word(name: String): String = getValue(name).jsonPrimitive.content

private fun JsonObject.flag(name: String): Boolean = this[name]?.jsonPrimitive?.boolean ?: false

private fun JsonObject.number(name: String, otherwise: Long = 0): Long =
    this[name]?.jsonPrimitive?.long ?: otherwise

private fun JsonObject.texts(name: String): List<String> =
    this[name]?.jsonArray?.map { it.jsonPrimitive.content } ?: emptyList()

private fun JsonObject.parameters(): Array<Any?> =
    (this["parameters"] as? JsonArray).orEmpty().map { io.kedge.Json.of("$it") }.toTypedArray()

private fun JsonObject.args(): String = text("args_text") ?: "${getValue("args")}"

private fun JsonObject.timeout(): Duration =
    if ("timeout_ms" in this) number("timeout_ms").milliseconds else WAIT

/** What a watch has told and nobody has asked for. Statuses are kept until one matches. */
private class Told(
    val job: Job,
    val ofStatus: Boolean,
    val events: LinkedBlockingQueue<JsonObject>,
) {
    fun wait(wanted: JsonObject): JsonObject {
        if (ofStatus) {
            var status = JsonObject(emptyMap())
            while (!matches(wanted, status)) status = next() ?: break
            return status
        }
        val name = listOf("changes", "mutations", "results").first { it in wanted }
        return json(name to wanted.getValue(name).jsonArray.mapNotNull { next() })
    }

    private fun next(): JsonObject? = events.poll(WAIT.inWholeSeconds, TimeUnit.SECONDS)
}

class Scenario(
    private val url: String,
    private val organization: String,
    private val folder: Path,
    private val project: String,
    private val dispatcher: CoroutineDispatcher,
) : AutoCloseable {
    private val copies = mutableMapOf<String, KedgeDatabase>()
    private val told = mutableMapOf<String, Told>()
    private val watches = mutableMapOf<String, AutoCloseable>()
    private val groups = mutableMapOf<String, UndoGroup>()
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.Default)

    private fun db(step: JsonObject): KedgeDatabase = copies.getValue(step.word("copy"))

    private fun path(copy: String): String = "${folder.resolve(copy)}"

    private suspend fun open(step: JsonObject) {
        copies[step.word("copy")] = openKedge(path(step.word("copy")), dispatcher) {
            url(if ("url" in step) step.text("url").takeIf { it != "false" } else url)
            organization(organization).project(step.text("project") ?: project)
            user(step.text("user")).role(step.text("role"))
            schemaVersion(step.text("schema_version"))
            offline(step.flag("offline")).callerDriven(step.flag("caller_driven"))
            createProject(step.flag("create_project"))
            step.texts("mutators").forEach { addMutator(this, it, false) }
            step.texts("client_mutators").forEach { addMutator(this, it, true) }
        }
    }

    private suspend fun edit(step: JsonObject, db: KedgeDatabase): Any? = when (step.word("do")) {
        "mutate" -> json("sequence" to db.mutateJson(step.word("name"), step.args()))
        "text" -> json(
            "sequence" to db.editText(
                step.word("collection"), step.word("id"), step.word("path"), step.text("base"),
                step.word("text"),
            ),
        )
        "batch" -> json(
            "sequence" to db.batch {
                step.getValue("edits").jsonArray.map { it.jsonObject }
                    .forEach { mutate(it.word("name"), it.args()) }
            },
        )
        "cancel" -> db.cancel(step.number("sequence"))
        "undo_begin" ->
            groups[step.word("copy")] = db.blocking { undoGroup(step.text("label") ?: "") }
        "undo_end" -> db.blocking { groups.getValue(step.word("copy")).end() }
        "undo" -> resultOf(db.undo())
        "redo" -> resultOf(db.redo())
        "undo_state" -> db.undoState().let {
            json(
                "undo_count" to it.undoCount(), "redo_count" to it.redoCount(), "open" to it.open(),
                "undo_label" to it.undoLabel(), "redo_label" to it.redoLabel(),
            )
        }
        else -> read(step, db)
    }

    private fun resultOf(of: UndoResult) =
        json("sequence" to of.sequence(), "restored" to of.restored(), "kept" to of.kept())

    private suspend fun scan(step: JsonObject, db: KedgeDatabase): JsonObject {
        val options = ScanOptions().limit(step.number("limit"))
        step.text("after")?.let(options::after)
        step.text("prefix")?.let(options::prefix)
        if (step.flag("descending")) options.descending()
        val items = db.scan<JsonElement>(step.word("collection"), options)
        return json("items" to items.toList().map { listOf(it.id, it.value) })
    }

    private suspend fun read(step: JsonObject, db: KedgeDatabase): Any? = when (step.word("do")) {
        "get" -> json(
            "id" to step.word("id"),
            "value" to parsed(db.getJson(step.word("collection"), step.word("id"))),
        )
        "project" -> json("value" to parsed(db.getProject()))
        "scan" -> scan(step, db)
        "query" -> db.query(step.word("sql"), *step.parameters()).let {
            json("columns" to it.columns, "rows" to it.rows.map(::row))
        }
        "index" -> db.declareIndex(step.word("name"), step.word("collection"), step.texts("paths"))
        "index_drop" -> db.dropIndex(step.word("name"))
        "indexes" -> json(
            "indexes" to db.indexes().map {
                json("name" to it.name(), "collection" to it.collection(), "paths" to it.paths())
            },
        )
        "stats" -> db.stats().let {
            json(
                "edits" to it.edits(), "edits_refused" to it.editsRefused(),
                "requests" to it.requests(), "pulls" to it.pulls(),
            )
        }
        else -> sync(step, db)
    }

    private suspend fun sync(step: JsonObject, db: KedgeDatabase): Any? = when (step.word("do")) {
        "online" -> db.setOnline(true)
        "offline" -> db.setOnline(false)
        "sync" -> db.sync(step.timeout())
        "wait" -> json("outcome" to db.await(step.number("sequence"), step.timeout()))
        "status" -> statusObject(db.status())
        "pending" -> json("mutations" to db.pending().map(::mutationObject))
        "rejected" -> json("mutations" to db.rejected().map(::mutationObject))
        "dismiss" -> db.dismiss(step.number("sequence"))
        "dismiss_through" -> json("dismissed" to db.dismissThrough(step.number("sequence")))
        "resubmit" -> json("sequence" to db.resubmit(step.number("sequence")))
        "history" -> json(
            "versions" to parsed(
                db.history(step.number("before"), step["limit"]?.jsonPrimitive?.int ?: 10, WAIT),
            ),
        )
        "loop" -> loop(step, db)
        else -> watch(step, db)
    }

    private suspend fun loop(step: JsonObject, db: KedgeDatabase): JsonObject = db.blocking {
        val loop = loop()
        val end = System.nanoTime() + WAIT.inWholeNanoseconds
        while (true) {
            val wait = loop.run()
            val given = statusObject(status())
            if (matches(step.getValue("until").jsonObject, given)) return@blocking given
            check(System.nanoTime() < end) { "the status did not come" }
            loop.await(minOf(wait, JavaDuration.ofSeconds(1)))
        }
        @Suppress("UNREACHABLE_CODE")
        error("never")
    }

    /** Collects a flow until the watch ends. */
    private fun <T> collect(
        step: JsonObject,
        flow: Flow<T>,
        ofStatus: Boolean,
        tell: (T) -> List<JsonObject>,
    ) {
        val events = LinkedBlockingQueue<JsonObject>()
        val job = scope.launch { flow.collect { events.addAll(tell(it)) } }
        told[step.word("watch")] = Told(job, ofStatus, events)
    }

    private suspend fun watch(step: JsonObject, db: KedgeDatabase): Any? = when (step.word("do")) {
        "watch_status" -> collect(step, db.statuses(), true) { listOf(statusObject(it)) }
        "watch_rejected" -> collect(step, db.rejections(), false) { listOf(mutationObject(it)) }
        // These must begin, or fail, in this step: a flow begins when its collector runs.
        "watch" -> listen(step) { events ->
            db.java.watch(step.text("collection")) { events.addAll(it.map(::changeObject)) }
        }
        "watch_query" -> listen(step) { events ->
            db.java.watchQuery(step.word("sql"), step.parameters().asList()) {
                events.add(resultObject(it))
            }
        }
        "told" -> told.getValue(step.word("watch")).wait(step.getValue("gives").jsonObject)
        "unwatch" -> {
            told.getValue(step.word("watch")).job.cancelAndJoin()
            watches.remove(step.word("watch"))?.close()
        }
        else -> error("there is no step ${step["do"]}")
    }

    private fun listen(
        step: JsonObject,
        start: (LinkedBlockingQueue<JsonObject>) -> AutoCloseable,
    ) {
        val events = LinkedBlockingQueue<JsonObject>()
        watches[step.word("watch")] = start(events)
        told[step.word("watch")] = Told(Job(), false, events)
    }

    private suspend fun step(step: JsonObject): Any? = when (step.word("do")) {
        "open" -> open(step)
        "close" -> copies.remove(step.word("copy"))!!.close()
        "repair" -> Kedge.repair(path(step.word("copy")), path(step.word("into"))).let {
            json(
                "pending" to it.pending(), "rejected" to it.rejected(),
                "confirmed" to it.confirmed(), "damaged" to it.damaged(), "missing" to it.missing(),
            )
        }
        "order" -> json(
            "key" to Kedge.orderBetween(
                step.text("before"), step.text("after"), step.number("random").toInt(),
            ),
        )
        else -> if ("copy" in step) edit(step, db(step)) else watch(step, copies.values.first())
    }

    /** Null when the step went as it should; else what was wanted and what came. */
    suspend fun run(step: JsonObject): String? {
        val fails = step["fails"]?.jsonObject
        val given = try {
            step(step) as? JsonObject ?: json()
        } catch (failure: KedgeException) {
            val expected = fails != null && fails.word("status") == failure.status().word() &&
                (fails.text("code") ?: failure.code()) == failure.code()
            return if (expected) null else "wanted $fails, got $failure"
        }
        val gives = step["gives"]?.jsonObject ?: json()
        return when {
            fails != null -> "wanted $fails, got $given"
            matches(gives, given) -> null
            else -> "wanted $gives, got $given"
        }
    }

    /** Syncs the copies, and compares them. Returns the bytes that all of them have. */
    suspend fun end(end: JsonObject): ByteArray {
        val all = end.texts("copies").map(copies::getValue)
        repeat(2) { // the second round brings what others have pushed in the first
            all.forEach { it.setOnline(true); it.sync(WAIT) }
        }
        val states = all.map { state(it) }
        for ((state, items) in states) {
            val wanted = end.getValue("items")
            if (!same(wanted, items)) throw Failed("the end: wanted $wanted, got $items")
            if (state != states[0].first) throw Failed("the copies end with different bytes")
        }
        return states.firstOrNull()?.first?.toByteArray() ?: ByteArray(0)
    }

    private suspend fun state(db: KedgeDatabase): Pair<String, JsonObject> {
        val sql = "SELECT collection, id, value FROM kedge_items ORDER BY collection, id"
        val rows = db.query(sql).rows
        val lines = rows.joinToString("") { it.values().joinToString("\t", postfix = "\n") }
        val items = rows.groupBy { it.text(0) }.mapValues { (_, of) ->
            JsonObject(of.associate { it.text(1) to parsed(it.text(2)) })
        }
        return lines + (db.findProject()?.let { "$it\n" } ?: "") to JsonObject(items)
    }

    override fun close() {
        runBlocking { told.values.forEach { it.job.cancelAndJoin() } }
        scope.cancel()
        watches.values.forEach(AutoCloseable::close)
        copies.values.forEach(KedgeDatabase::close)
    }
}
