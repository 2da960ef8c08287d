/* A shopping list that works offline: shopping FOLDER list|add|take|inbox|sync [WHAT]. */
package shopping

import io.kedge.KedgeException
import io.kedge.kotlin.KedgeDatabase
import io.kedge.kotlin.clientMutator
import io.kedge.kotlin.getAs
import io.kedge.kotlin.openKedge
import io.kedge.kotlin.putAs
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable

@Serializable
data class Take(val id: String)

suspend fun run(db: KedgeDatabase, command: String, what: String) {
    when (command) {
        "list" -> db.scan<String>("things").collect { println("${it.id}: \"${it.value}\"") }
        "inbox" -> db.rejected().forEach { println("${it.args()} ${it.message()}") }
        "sync" -> {
            db.setOnline(true)
            db.sync()
        }
        "take" -> db.mutate("list.take", Take(what))
        else -> db.put("things", what, "wanted")
    }
}

fun main(words: Array<String>) = runBlocking {
    val opened = openKedge(words[0]) {
        url(System.getenv("SHOPPING_URL")).organization("demo").project("shopping").offline(true)
        clientMutator<Take>("list.take") { args -> // the server needs no code
            if (getAs<String>("things", args.id) != "wanted") {
                throw reject("taken", "somebody has taken it")
            }
            putAs("things", args.id, "taken")
        }
    }
    opened.use { db ->
        try {
            run(db, words[1], words.getOrElse(2) { "" })
        } catch (failure: KedgeException) {
            println(failure.message)
        }
    }
}
