/* What reads and edits cost in Kotlin, for bindings.py: crossing FOLDER. See there for what it is asked. */
package crossing

import com.sun.management.OperatingSystemMXBean
import com.sun.management.ThreadMXBean
import io.kedge.ScanOptions
import io.kedge.kotlin.KedgeDatabase
import io.kedge.kotlin.openKedge
import java.lang.management.ManagementFactory
import java.util.Scanner
import kotlinx.coroutines.runBlocking

const val ITEMS = 1000
const val LARGE_BYTES = 1000000
val text = "x".repeat(LARGE_BYTES)
val note = text.substring(0, 100)

suspend fun put(db: KedgeDatabase, id: String, n: Int, text: String): Int {
    val args = """{"collection":"notes","id":"$id","value":{"n":$n,"text":"$text"}}"""
    db.mutateJson("kedge.put", args)
    return args.length
}

suspend fun scan(db: KedgeDatabase): Int {
    var bytes = 0
    db.scanJson("notes", ScanOptions().prefix("i")).collect { bytes += it.id.length + it.value.length }
    return bytes
}

fun id(number: Int) = "i" + (number % ITEMS).toString().padStart(3, '0')

suspend fun work(db: KedgeDatabase, name: String, number: Int): Int = when (name) {
    "mutate" -> put(db, id(number), number, note)
    "get" -> db.getJson("notes", id(number)).length
    "scan" -> scan(db)
    "put-large" -> put(db, "large", number, text)
    "get-large" -> db.getJson("notes", "large").length
    else -> throw IllegalArgumentException(name)
}

val process = ManagementFactory.getOperatingSystemMXBean() as OperatingSystemMXBean
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
            val cpu = process.processCpuTime
            var bytes = 0L
            for (i in 0 until calls) bytes += work(db, name, i)
            val cpuNs = process.processCpuTime - cpu
            val tookNs = System.nanoTime() - started
            println("${tookNs / 1000} ${cpuNs / 1000} $bytes ${heap() - heapBefore}")
        }
    }
}
