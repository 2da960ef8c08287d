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
import kotlinx.coroutines.Dispatchers
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

suspend fun put(db: KedgeDatabase, id: String, n: Int, text: String): Int {
    val args = args(id, n, text)
    db.mutateJson("kedge.put", args)
    return args.length
}

suspend fun get(db: KedgeDatabase, id: String) = db.getJson("notes", id).length

fun Database.getSome(numbers: IntRange) = numbers.sumOf { get("notes", id(it)).length }

suspend fun work(db: KedgeDatabase, name: String, number: Int): Int = when (name) {
    "mutate" -> put(db, id(number), number, note)
    "get", "hop", "hop-default" -> get(db, id(number))
    "scan", "scan-texts", "hop-scan" -> scan(db)
    "scan-kept" -> scanKept(db)
    "flow" -> flow(db)
    "put-large" -> put(db, "large", number, text)
    "get-large" -> get(db, "large")
    else -> throw IllegalArgumentException(name)
}

suspend fun all(db: KedgeDatabase, name: String, calls: Int): Long {
    var bytes = 0L
    repeat(calls) { bytes += work(db, name, it) }
    return bytes
}

suspend fun inBlocks(db: KedgeDatabase, calls: Int): Long {
    var bytes = 0L
    for (from in 0 until calls step BLOCK) {
        bytes += db.blocking { getSome(from until minOf(from + BLOCK, calls)) }
    }
    return bytes
}

/* Where it is asked: bindings.py says so for what is asked elsewhere than on the dispatcher. */
suspend fun ask(db: KedgeDatabase, name: String, calls: Int): Long = when (name) {
    "hop", "hop-scan", "flow" -> all(db, name, calls)
    "hop-default" -> withContext(Dispatchers.Default) { all(db, name, calls) }
    "block" -> inBlocks(db, calls)
    else -> withContext(db.dispatcher) { all(db, name, calls) }
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
            val bytes = ask(db, name, calls)
            val tookNs = System.nanoTime() - started
            println("${tookNs / 1000} 0 $bytes ${heap() - heapBefore}")
        }
    }
}
