/* The binding for Kotlin at its edges. In the package of Java, whose counters it reads. */
package io.kedge

import io.kedge.kotlin.Entry
import io.kedge.kotlin.KedgeDatabase
import io.kedge.kotlin.changes
import io.kedge.kotlin.clientMutator
import io.kedge.kotlin.entries
import io.kedge.kotlin.getAs
import io.kedge.kotlin.openKedge
import io.kedge.kotlin.putAs
import io.kedge.kotlin.rejections
import io.kedge.kotlin.results
import io.kedge.kotlin.statuses
import java.nio.file.Path
import java.util.concurrent.CountDownLatch
import java.util.concurrent.Semaphore
import java.util.concurrent.TimeUnit
import java.util.logging.Level
import java.util.logging.Logger
import kotlin.time.Duration
import kotlin.time.Duration.Companion.milliseconds
import kotlin.time.Duration.Companion.seconds
import kotlin.time.measureTime
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.cancel
import kotlinx.coroutines.cancelAndJoin
import kotlinx.coroutines.channels.Channel
import kotlinx.coroutines.flow.first
import kotlinx.coroutines.flow.take
import kotlinx.coroutines.flow.toList
import kotlinx.coroutines.joinAll
import kotlinx.coroutines.launch
import kotlinx.coroutines.runBlocking
import kotlinx.coroutines.withContext
import kotlinx.coroutines.withTimeout
import kotlinx.coroutines.withTimeoutOrNull
import kotlinx.serialization.Serializable
import kotlinx.serialization.SerializationException
import org.junit.jupiter.api.Assertions.assertEquals
import org.junit.jupiter.api.Assertions.assertInstanceOf
import org.junit.jupiter.api.Assertions.assertNotSame
import org.junit.jupiter.api.Assertions.assertNull
import org.junit.jupiter.api.Assertions.assertSame
import org.junit.jupiter.api.Assertions.assertThrows
import org.junit.jupiter.api.Assertions.assertTrue
import org.junit.jupiter.api.Test
import org.junit.jupiter.api.io.TempDir

@Serializable
data class Note(val text: String, val stars: Int = 0)

@Serializable
data class Star(val id: String)

class KotlinTest {
    @TempDir
    lateinit var folder: Path

    /** Runs a test with a database, which is closed. */
    private fun with(
        url: String? = null,
        test: suspend CoroutineScope.(KedgeDatabase) -> Unit,
    ) = runBlocking {
        Logger.getLogger("io.kedge").level = Level.OFF
        val db = openKedge("${folder.resolve("copy")}") {
            organization("acme").project("plan").url(url)
            clientMutator<Star>("note.star") { args ->
                val note = getAs<Note>("notes", args.id)
                check(note.stars < 2) { "too many stars" }
                putAs("notes", args.id, note.copy(stars = note.stars + 1))
            }
        }
        db.use { withTimeout(120.seconds) { test(it) } }
    }

    @Test
    fun `items and args are typed`() = with { db ->
        assertEquals(1, db.put("notes", "1", Note("hi")))
        db.mutate("note.star", Star("1"))
        assertEquals(Note("hi", 1), db.get<Note>("notes", "1"))
        assertNull(db.find<Note>("notes", "2"))
        assertThrows(KedgeException.NotFound::class.java) {
            runBlocking { db.get<Note>("notes", "2") }
        }
        assertEquals(listOf(Entry("1", Note("hi", 1))), db.scan<Note>("notes").toList())
        db.put("notes", "1", mapOf("text" to "x", "unknown" to "left out"))
        assertEquals(Note("x"), db.get<Note>("notes", "1"))
        db.put("notes", "2", 5)
        assertThrows(SerializationException::class.java) {
            runBlocking { db.get<Note>("notes", "2") }
        }
        db.delete("notes", "2")
        assertNull(db.find<Note>("notes", "2"))
    }

    @Test
    fun `a text is edited with the arguments in the order of all languages`() = with { db ->
        db.put("notes", "1", Note("milk"))
        db.editText("notes", "1", "/text", "milk", "milk and tea") // another copy edits, too
        db.editText("notes", "1", "/text", "milk", "oat milk")
        assertEquals(Note("oat milk and tea"), db.get<Note>("notes", "1"))
        db.editText("notes", "1", "/text", text = "nothing")
        assertEquals(Note("nothing"), db.get<Note>("notes", "1"))
    }

    @Test
    fun `a scan is a sequence in a block, which closes it`() = with { db ->
        for (id in listOf("1", "2", "3")) db.put("notes", id, Note("hi", 2))
        assertEquals(6, db.useScan<Note, _>("notes") { notes -> notes.sumOf { it.value.stars } })
        val first = db.useScanJson("notes", ScanOptions().descending()) { it.first() }
        assertEquals(Entry("3", """{"stars":2,"text":"hi"}"""), first)
        assertEquals(0, db.java.openCount())
    }

    @Test
    fun `a block runs on the dispatcher, on the thread of a caller who is there`() = with { db ->
        val here = Thread.currentThread()
        assertNotSame(here, db.blocking { Thread.currentThread() })
        withContext(db.dispatcher) {
            assertSame(Thread.currentThread(), db.blocking { Thread.currentThread() })
        }
    }

    @Test
    fun `a call of who was cancelled does nothing`() = with { db ->
        for (caller in listOf(db.dispatcher, Dispatchers.Default)) {
            val call = launch(caller) {
                cancel()
                db.put("notes", "1", Note("never"))
            }
            call.join()
            assertTrue(call.isCancelled)
            assertNull(db.find<Note>("notes", "1"))
        }
    }

    @Test
    fun `a mutator that throws or gets other args rejects with the cause`() = with { db ->
        db.put("notes", "1", Note("hi", 2))
        val failure = assertThrows(KedgeException.Rejected::class.java) {
            runBlocking { db.mutate("note.star", Star("1")) }
        }
        assertEquals("mutator-failed", failure.code())
        assertEquals("too many stars", failure.cause!!.message)
        val other = assertThrows(KedgeException.Rejected::class.java) {
            runBlocking { db.mutate("note.star", 5) }
        }
        assertInstanceOf(SerializationException::class.java, other.cause)
    }

    @Test
    fun `edits are made as one, and undone as one`() = with { db ->
        val sequence = db.batch {
            mutate("kedge.put", Json.`object`("collection", "notes", "id", "1", "value", 1))
            mutate("kedge.put", Json.`object`("collection", "notes", "id", "2", "value", 2))
        }
        assertEquals(1, sequence)
        db.undoGroup("clear") {
            mutate("kedge.delete", Json.`object`("collection", "notes", "id", "1"))
            mutate("kedge.delete", Json.`object`("collection", "notes", "id", "2"))
        }
        assertEquals("clear", db.undoState().undoLabel())
        assertEquals(2, db.undo().restored())
        assertEquals(2, db.get<Int>("notes", "2"))
    }

    @Test
    fun `a collector that is cancelled frees its watch`() = with { db ->
        val kept = Callbacks.keptCount()
        val told = Semaphore(0)
        val jobs = listOf(
            launch(Dispatchers.Default) { db.changes("notes").collect { told.release() } },
            launch(Dispatchers.Default) { db.statuses().collect { told.release() } },
            launch(Dispatchers.Default) {
                db.results("SELECT id FROM notes").collect { told.release() }
            },
            launch(Dispatchers.Default) { db.rejections().collect { } },
        )
        while (db.java.openCount() < 4) kotlinx.coroutines.yield()
        db.put("notes", "1", Note("hi"))
        assertTrue(told.tryAcquire(3, 120, TimeUnit.SECONDS))
        jobs.forEach { it.cancelAndJoin() }
        assertEquals(0, db.java.openCount())
        assertEquals(kept, Callbacks.keptCount())
    }

    @Test
    fun `a flow ends with what its collector takes or throws`() = with { db ->
        db.put("notes", "1", Note("hi"))
        assertEquals(listOf(Entry("1", Note("hi"))), db.entries<Note>("notes").take(1).first())
        assertEquals(1, db.statuses().first().pending())
        assertThrows(IllegalStateException::class.java) {
            runBlocking { db.statuses().collect { error("the collector fails") } }
        }
        val failure = assertThrows(KedgeException::class.java) {
            runBlocking { db.results("SELECT NULL").collect { } }
        }
        assertEquals("watch-key-null", failure.code())
        assertEquals(0, db.java.openCount())
    }

    @Test
    fun `entries tell each change of the collection with this name alone`() = with { db ->
        val seen = Channel<List<Entry<Note>>>(Channel.UNLIMITED)
        val job = launch(Dispatchers.Default) { db.entries<Note>("Notes").collect(seen::send) }
        db.put("notes", "1", Note("of another collection"))
        assertEquals(emptyList<Entry<Note>>(), seen.receive())
        db.put("Notes", "2", Note("b"))
        assertEquals(listOf(Entry("2", Note("b"))), seen.receive())
        db.put("notes", "2", Note("of another collection"))
        db.put("Notes", "1", Note("a"))
        assertEquals(listOf(Entry("1", Note("a")), Entry("2", Note("b"))), seen.receive())
        db.delete("Notes", "2")
        assertEquals(listOf(Entry("1", Note("a"))), seen.receive())
        job.cancelAndJoin()
        assertEquals(0, db.java.openCount())
    }

    @Test
    fun `commits that come too fast become one`() = with { db ->
        val goesOn = CountDownLatch(1)
        val first = CountDownLatch(1)
        val seen = mutableListOf<List<Change>>()
        val job = launch(Dispatchers.IO) {
            db.changes("notes").take(2).collect {
                seen += it
                first.countDown()
                goesOn.await() // a slow collector
            }
        }
        while (db.java.openCount() < 1) kotlinx.coroutines.yield()
        val told = Semaphore(0)
        db.java.watch("notes") { told.release() }.use {
            for (number in 0..70) { // each is told before the next is made
                db.put("notes", "1", number)
                assertTrue(told.tryAcquire(120, TimeUnit.SECONDS))
                if (number == 0) assertTrue(first.await(120, TimeUnit.SECONDS))
            }
        }
        goesOn.countDown()
        job.join()
        assertEquals(1, seen[0].size)
        assertEquals(emptyList<Change>(), seen[1])
    }

    @Test
    fun `who is cancelled does not wait for the server`() = with("http://127.0.0.1:9") { db ->
        val sequence = db.put("notes", "1", Note("hi"))
        val took = measureTime {
            assertNull(withTimeoutOrNull(100.milliseconds) { db.sync(60.seconds) })
            assertNull(withTimeoutOrNull(100.milliseconds) { db.await(sequence, 60.seconds) })
        }
        assertTrue(took < 20.seconds, "$took")
    }

    @Test
    fun `what is closed is refused`() = runBlocking<Unit> {
        val db = openKedge("${folder.resolve("closed")}") { organization("acme").project("plan") }
        db.close()
        db.close()
        val uses = listOf<suspend () -> Any>(
            { db.status() }, { db.sync() }, { db.history() }, { db.await(1) },
            { db.changes().collect { } }, { db.statuses().collect { } },
        )
        for (use in uses) {
            assertThrows(KedgeException.Closed::class.java) { runBlocking { use() } }
        }
    }

    @Test
    fun `what collects ends with the database, also with that of Java`() = runBlocking<Unit> {
        for (close in listOf(KedgeDatabase::close, { db -> db.java.close() })) {
            val db = openKedge("${folder.resolve("closed")}") {
                organization("acme").project("plan")
            }
            val flows = listOf(
                db.changes(), db.statuses(), db.rejections(), db.results("SELECT id FROM notes"),
                db.entries<Note>("notes"),
            )
            // One after the other, and that of entries() last: it has a scan beside its watch.
            val jobs = flows.mapIndexed { index, flow ->
                launch(Dispatchers.Default) { flow.collect { } }.also {
                    while (db.java.openCount() <= index) kotlinx.coroutines.yield()
                }
            }
            close(db)
            withTimeout(120.seconds) { jobs.joinAll() }
            assertTrue(jobs.none { it.isCancelled })
        }
    }

    @Test
    fun `a database that is opened for who was cancelled is closed`() = runBlocking<Unit> {
        val opening = launch(Dispatchers.Default) {
            openKedge("${folder.resolve("copy")}") {
                organization("acme").project("plan")
                this@launch.cancel()
            }
        }
        opening.join()
        assertTrue(opening.isCancelled)
        // Which is refused as long as it is open.
        Kedge.repair("${folder.resolve("copy")}", "${folder.resolve("repaired")}")
    }

    @Test
    fun `a timeout may be without end`() = with { db -> // which has no server, and says so
        assertThrows(KedgeException.NetworkFailed::class.java) {
            runBlocking { db.sync(Duration.INFINITE) }
        }
        assertThrows(KedgeException.NetworkFailed::class.java) {
            runBlocking { db.history(timeout = Duration.INFINITE) }
        }
    }
}
