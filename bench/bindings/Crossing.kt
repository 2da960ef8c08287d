/* What reads and edits cost in Kotlin, for bindings.py, which says what is asked: FOLDER. */
package crossing

import com.sun.management.ThreadMXBean
import io.kedge.Database
import io.kedge.ScanOptions
import io.kedge.kotlin.Entry
import io.kedge.kotlin.KedgeDatabase
import io.kedge.kotlin.openKedge
import java.lang.management.ManagementFactory
import java.util.Scanner
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext

const val ITEMS = 1000
const val BLOCK = 100
const val LARGE_BYTES = 1000000
val text = "x".repeat(LARGE_BYTES)
val note = text.substring(0, 100)

fun args(id: String, n: Int, text: String) =
    """{"collection":"notes","id":"$id","value":{"n":$n,"text":"$text"}}"""

fun bytes(rows: Sequence<Entry<String>>) = rows.sumOf { it.id.length + it.value.length }

suspend fun scan(db: KedgeDatabase) =
    db.useScanJson("notes", ScanOptions().prefix("i")) { bytes(it) }

suspend fun scanKept(db: KedgeDatabase) =
    bytes(db.useScanJson("notes", ScanOptions().prefix("i")) { it.toList() }.asSequence())

suspend fun flow(db: KedgeDatabase): Int {
    var bytes = 0
    db.scanJson("notes", ScanOptions().prefix("i")).collect {
        bytes += it.id.length + it.value.length
    }
    return bytes
}

fun id(number: Int) = "i" + (number % ITEMS).toString().padStart(3, '0')

fun put(db: Database, id: String, n: Int, text: String): Int {
    val args = args(id, n, text)
    db.mutate("kedge.put", args)
    return args.length
}

/* One call inside of a block. */
fun Database.work(name: String, number: Int): Int = when (name) {
    "mutate" -> put(this, id(number), number, note)
    "get" -> get("notes", id(number)).length
    "put-large" -> put(this, "large", number, text)
    "get-large" -> get("notes", "large").length
    else -> throw IllegalArgumentException(name)
}

/* Many calls share a block, and scans are asked on the dispatcher, where all of them run. "hop" and
 * "hop-scan": each call goes there and back. */
suspend fun work(db: KedgeDatabase, name: String, calls: Int): Long {
    var bytes = 0L
    when (name) {
        "scan" -> withContext(db.dispatcher) { repeat(calls) { bytes += scan(db) } }
        "scan-kept" -> withContext(db.dispatcher) { repeat(calls) { bytes += scanKept(db) } }
        "hop-scan" -> repeat(calls) { bytes += scan(db) }
        "flow" -> repeat(calls) { bytes += flow(db) }
        "hop" -> for (i in 0 until calls) bytes += db.getJson("notes", id(i)).length
        else -> for (from in 0 until calls step BLOCK) {
            bytes += db.blocking {
                (from until minOf(from + BLOCK, calls)).sumOf { work(name, it).toLong() }
            }
        }
    }
    return bytes
}

val threads = ManagementFactory.getThreadMXBean() as ThreadMXBean

fun heap() = threads.getThreadAllocatedBytes(threads.allThreadIds).filter { it > 0 }.sum()

fun main(words: Array<String>) = runBlocking {
    val asked = Scanner(System.`in`)
    openKedge(words[0]) { organization("demo").project("bench") }.use { db ->
        while (asked.hasNext()) {
            val name = asked.next()
            val calls = asked.nextInt()
            val heapBefore = heap()
            val started = System.nanoTime()
            val bytes = work(db, name, calls)
            val tookNs = System.nanoTime() - started
            println("${tookNs / 1000} 0 $bytes ${heap() - heapBefore}")
        }
    }
}
