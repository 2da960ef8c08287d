/* As hello.c, in Kotlin: the note "kt". */
import io.kedge.kotlin.openKedge
import kotlinx.coroutines.runBlocking
import kotlinx.serialization.Serializable

@Serializable
data class Note(val text: String)

fun main(words: Array<String>) = runBlocking {
    val opened = openKedge(words[0]) {
        url(words[1]).organization("acme").project("todo").token { System.getenv("KEDGE_TOKEN") }
    }
    opened.use { db ->
        db.put("notes", "kt", Note("hi"))
        db.sync()
        println(db.getJson("notes", "kt"))
    }
}
