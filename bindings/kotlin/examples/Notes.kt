/* Notes in a terminal, which work offline, with coroutines and typed notes. The commands are those
   of bindings/java/examples/Notes.java. */
package notes

import io.kedge.Json
import io.kedge.KedgeException
import io.kedge.kotlin.KedgeDatabase
import io.kedge.kotlin.changes
import io.kedge.kotlin.kedgeJson
import io.kedge.kotlin.openKedge
import java.util.UUID
import kotlin.system.exitProcess
import kotlinx.coroutines.CoroutineStart
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable

private const val COLLECTION = "notes"

@Serializable
data class Note(val text: String)

private suspend fun list(db: KedgeDatabase) =
    db.scan<Note>(COLLECTION).toList().sortedBy { it.value.text }
        .forEach { println("${it.id}  ${it.value.text}") }

private suspend fun add(db: KedgeDatabase, text: String) {
    val id = UUID.randomUUID().toString().take(8)
    db.put(COLLECTION, id, Note(text))
    println(id)
}

private suspend fun pending(db: KedgeDatabase) =
    db.pending().filter { it.name() != "kedge.noop" } // what a cancelled edit has become
        .forEach { println("${it.sequence()} ${it.name()} ${Json.text(it.args(), "id")}") }

private suspend fun inbox(db: KedgeDatabase) =
    db.rejected().forEach { println("${it.sequence()} ${it.name()} ${it.code()}: ${it.message()}") }

private suspend fun sync(db: KedgeDatabase) {
    db.setOnline(true)
    db.sync()
    val now = db.status()
    println("version ${now.version()}, ${now.pending()} pending, ${now.rejected()} rejected")
}

/** Shows changes until a note says bye. */
private suspend fun live(db: KedgeDatabase) = coroutineScope {
    db.setOnline(true)
    db.sync()
    val shown = launch(Dispatchers.Unconfined, CoroutineStart.UNDISPATCHED) {
        db.changes(COLLECTION).first { commit ->
            if (commit.isEmpty()) list(db) // more than is listed: read everything again
            commit.any { change ->
                val text = change.newJson()?.let { kedgeJson.decodeFromString<Note>(it).text }
                println("${change.source().name.lowercase()} ${change.id()} ${text ?: "(deleted)"}")
                text == "bye"
            }
        }
    }
    println("live")
    shown.join()
}

private suspend fun run(db: KedgeDatabase, command: String, words: List<String>) {
    when (command) {
        "list" -> list(db)
        "add" -> add(db, words[0])
        "edit" -> db.editText(COLLECTION, words[0], "/text", text = words[1])
        "delete" -> db.delete(COLLECTION, words[0])
        "pending" -> pending(db)
        "inbox" -> inbox(db)
        "dismiss" -> db.dismiss(words[0].toLong())
        "sync" -> sync(db)
        "live" -> live(db)
        else -> throw IllegalArgumentException("there is no command $command")
    }
}

/** Takes an option and its value out of the words. */
private fun option(words: MutableList<String>, name: String, otherwise: String?): String? {
    val at = words.indexOf(name)
    if (at < 0) return otherwise
    words.removeAt(at)
    return words.removeAt(at)
}

fun main(arguments: Array<String>) = runBlocking {
    val words = arguments.toMutableList()
    try {
        val url = option(words, "--url", null)
        val project = option(words, "--project", "notes")
        val (folder, command) = words
        openKedge(folder) { organization("demo").project(project).url(url).offline(true) }
            .use { run(it, command, words.drop(2)) }
    } catch (failure: KedgeException) {
        System.err.println(failure.message)
        exitProcess(1)
    } catch (failure: IndexOutOfBoundsException) {
        System.err.println("usage: notes FOLDER [--url URL] [--project NAME] COMMAND [WORD…]")
        exitProcess(2)
    }
}
