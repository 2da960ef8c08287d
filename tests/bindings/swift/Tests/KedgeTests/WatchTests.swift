// Watches with callbacks, streams in tasks, and the functions of the options.
import Foundation
import XCTest

@testable import Kedge

final class WatchTests: Case {
    func testACallbackMayCloseItsWatchAndUseTheDatabase() throws {
        let db = try open()
        let (held, seen, called) = (Shared<Watch?>(nil), Shared<[Note?]>([]), Signal())
        let watch = try db.watch("notes") { changes in
            let found = try? db.get("notes", changes[0].id, as: Note.self)
            seen.change { $0.append(found) }
            held.now?.close()
            called.send()
        }
        held.change { $0 = watch }
        try db.put("notes", "1", Note(text: "hi"))
        called.wait()
        try db.put("notes", "1", Note(text: "again"))
        let (other, told) = (Signal(), try db.watch { _ in })
        let last = try db.watch { _ in other.send() }
        try db.put("notes", "2", Note(text: "later"))
        other.wait()
        XCTAssertEqual(seen.now, [Note(text: "hi")])
        held.change { $0 = nil }
        told.close()
        last.close()
        XCTAssertEqual(db.family.count, 0)
    }

    func testAWatchThatNobodyHoldsEnds() throws {
        let db = try open()
        let (calls, other) = (Shared(0), Signal())
        weak var token: Token?
        do {
            let made = Token()
            token = made
            _ = try db.watch { _ in
                made.touch()
                calls.change { $0 += 1 }
            }
        }
        XCTAssertNil(token)
        let watch = try db.watch { _ in other.send() }
        try db.put("notes", "1", 1)
        other.wait()
        watch.close()
        XCTAssertEqual(calls.now, 0)
    }

    func testAWatchThatCannotBeginLeavesNothing() throws {
        let db = try open()
        weak var token: Token?
        do {
            let made = Token()
            token = made
            XCTAssertThrowsError(try db.watchQuery("SELECT nonsense") { _ in made.touch() })
            XCTAssertThrowsError(try db.watch("no name!") { _ in made.touch() })
        }
        XCTAssertNil(token)
        XCTAssertEqual(db.family.count, 0)
    }

    func testCallbacksRunWhereTheDispatcherSays() throws {
        let queue = DispatchQueue(label: "app")
        let (onQueue, found, called) = (Shared(false), Shared<[Bool]>([]), Signal())
        var options = options()
        options.dispatch = { work in
            queue.async {
                onQueue.change { $0 = true }
                work()
                onQueue.change { $0 = false }
            }
        }
        let db = try Database(options)
        let watch = try db.watch { _ in
            found.change { $0.append(onQueue.now) }
            called.send()
        }
        try db.put("notes", "1", 1)
        called.wait()
        watch.close()
        XCTAssertEqual(found.now, [true])
        try db.close()
    }

    func testADispatcherThatForgetsOrRepeatsItsWork() throws {
        for repeats in [0, 2] {
            var options = options("copy\(repeats)")
            options.dispatch = { work in for _ in 0..<repeats { work() } }
            let db = try Database(options)
            let (calls, called) = (Shared(0), Signal())
            let watch = try db.watch("notes") { _ in
                calls.change { $0 += 1 }
                called.send()
            }
            for number in 1...3 {
                try db.put("notes", "1", number)
                called.wait()
            }
            watch.close()
            try db.close()
            XCTAssertEqual(calls.now, 3)
        }
    }

    func testTokensThatAreNone() throws {
        let tokens: [@Sendable () throws -> String] = [
            { throw Mistake() }, { String(repeating: "x", count: 20_000) }, { "a\0b" },
        ]
        let reasons = ["Mistake()", "a token has at most 16383 bytes", "token"]
        for (number, token) in tokens.enumerated() {
            let (lines, unauthorized) = (Shared<[String]>([]), Signal())
            var options = options("copy\(number)")
            options.url = "http://127.0.0.1:9"
            options.token = token
            options.log = { _, event, _ in lines.change { $0.append(event) } }
            options.logLevel = .debug
            let db = try Database(options)
            let watch = try db.watchStatus { status in
                guard let error = status.lastError, error.status == .unauthorized else { return }
                if error.message.contains(reasons[number]) { unauthorized.send() }
            }
            unauthorized.wait()
            watch.close()
            try db.close()
            XCTAssertTrue(lines.now.contains("token-failed"), "\(lines.now)")
            XCTAssertTrue(lines.now.contains("started"), "\(lines.now)")
        }
    }

    func testAStreamOfChanges() async throws {
        let db = try open()
        var changes = try db.changes("notes").makeAsyncIterator()
        try db.put("notes", "1", Note(text: "hi"))
        let first = try await changes.next()
        XCTAssertEqual(first?.count, 1)
        XCTAssertNil(first?[0].old)
        XCTAssertEqual(try first?[0].new?.decoded(as: Note.self), Note(text: "hi"))
        XCTAssertEqual(first?[0].source, .local)
        try db.delete("notes", "1")
        let second = try await changes.next()
        XCTAssertNil(second?[0].new)
    }

    /// What nobody has taken becomes one element: nothing is lost, and no more than one waits.
    func testChangesThatComeTooFastBecomeOne() async throws {
        let db = try open()
        let (told, number) = (Signal(), 70)
        let changes = try db.changes()
        let watch = try db.watch { _ in told.send() }
        for value in 0..<number {
            try db.put("notes", "1", value)
            told.wait()
        }
        watch.close()
        // The last commit may be told to this watch after the other one.
        var (values, elements) = ([Int?](), 0)
        for try await taken in changes {
            values += try taken.map { try $0.new?.decoded(as: Int.self) }
            elements += 1
            if values.count == number { break }
        }
        XCTAssertEqual(values, Array(0..<number))
        XCTAssertLessThanOrEqual(elements, 2)
    }

    func testMoreChangesThanAreListedSayThatAllMustBeReadAgain() {
        let waiting = WaitingChanges()
        let change = Change(collection: "notes", id: "1")
        waiting.add(Array(repeating: change, count: Limit.mutationChanges))
        waiting.add([change])
        waiting.add([change])
        XCTAssertEqual(waiting.take()?.count, 0)
        XCTAssertNil(waiting.take())
        waiting.add([change])
        XCTAssertEqual(waiting.take()?.count, 1)
        let half = RawJSON(String(repeating: "1", count: Limit.watchBytes / 2))
        let large = Change(collection: "notes", id: "1", new: half)
        waiting.add([large])
        waiting.add([large])
        XCTAssertEqual(waiting.take()?.count, 0)
        waiting.add([large])
        waiting.add([change])
        XCTAssertEqual(waiting.take()?.count, 2)
    }

    func testStreamsOfStatusesAndResults() async throws {
        let db = try open()
        let sql = "SELECT id, value ->> 'text' FROM notes ORDER BY 2"
        var results = try db.results(sql).makeAsyncIterator()
        let empty = try await results.next()
        XCTAssertEqual(empty, [])
        for (id, text) in [("1", "m"), ("2", "a"), ("3", "z"), ("1", "y")] {
            try db.put("notes", id, Note(text: text))
        }
        let wanted: [[SQLValue]] = [
            [.text("2"), .text("a")], [.text("1"), .text("y")], [.text("3"), .text("z")],
        ]
        while let rows = try await results.next(), rows != wanted {}
        for try await status in try db.statuses() where status.pending == 4 { break }
        until("the stream of statuses is closed") { db.family.count == 1 }
        withExtendedLifetime(results) {}
    }

    func testAResultThatCannotBeReadEndsItsStream() async throws {
        let db = try open()
        try db.put("notes", "1", 1)
        try db.put("notes", "2", 2)
        do {
            for try await _ in try db.results("SELECT 1 FROM notes") { XCTFail("no key") }
            XCTFail("nothing is thrown")
        } catch let failure as KedgeError {
            XCTAssertEqual(failure.code, "watch-key-twice")
        }
        until("the stream is closed") { db.family.count == 0 }
    }

    func testAStreamEndsWithItsDatabase() async throws {
        let db = try open()
        let streams = (try db.changes(), try db.rejections())
        let waiting = Task {
            for try await _ in streams.0 {}
            for try await _ in streams.1 {}
        }
        await Task.yield()
        try db.close()
        try await waiting.value
    }

    func testAStreamThatNobodyHoldsEnds() throws {
        let db = try open()
        _ = try db.changes()
        _ = try db.statuses()
        _ = try db.results("SELECT 1")
        _ = try db.rejections()
        until("the watches are closed") { db.family.count == 0 }
    }

    func testCancellingATaskEndsItsWatch() async throws {
        let db = try open()
        weak var token: Token?
        let tasks = try (0..<4).map { number in
            let made = Token()
            token = made
            let (changes, statuses) = (try db.changes(), try db.statuses())
            let results = try db.results("SELECT id FROM notes")
            let rejections = try db.rejections()
            return Task {
                defer { made.touch() }
                switch number {
                case 0: for try await _ in changes {}
                case 1: for try await _ in statuses {}
                case 2: for try await _ in results {}
                default: for try await _ in rejections {}
                }
            }
        }
        XCTAssertEqual(db.family.count, 16)
        try db.put("notes", "1", 1)
        for task in tasks {
            task.cancel()
            try await task.value
        }
        until("the watches are closed") { db.family.count == 0 && token == nil }
        try db.close()
    }

    func testATaskIsCancelledWhileItsStreamIsTold() async throws {
        let db = try open()
        let (done, ended) = (Shared(false), Signal())
        Thread {
            while !done.now { _ = try? db.put("notes", "1", 1) }
            ended.send()
        }.start()
        for _ in 0..<200 {
            let statuses = try db.statuses()
            let task = Task { for try await _ in statuses {} }
            await Task.yield()
            task.cancel()
            try await task.value
        }
        done.change { $0 = true }
        ended.wait()
        try db.close()
    }

    func testACancelledTaskWaitsNoLonger() async throws {
        var options = options()
        options.url = "http://127.0.0.1:9"
        let db = try Database(options)
        let sequence = try db.put("notes", "1", 1)
        for wait: @Sendable () async throws -> Void in [
            { _ = try await db.wait(sequence, timeout: nil) }, { try await db.sync(timeout: nil) },
        ] {
            let task = Task { try await wait() }
            await Task.yield()
            task.cancel()
            do {
                try await task.value
                XCTFail("there is no server")
            } catch is CancellationError {}
            do {
                try await Task {
                    withUnsafeCurrentTask { $0?.cancel() }
                    try await wait()
                }.value
                XCTFail("it was cancelled before")
            } catch is CancellationError {}
        }
        XCTAssertEqual(try db.status().pending, 1)  // no edit is lost
        try db.close()
    }
}

/// Something that is there as long as somebody holds it.
final class Token: Sendable { func touch() {} }
