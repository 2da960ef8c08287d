// Closing: what is closed is refused, what is forgotten is closed, and close() waits for nobody for
// ever.
import Foundation
import XCTest

@testable import Kedge

/// A type of an app that closes the database as it is decoded.
private struct Closing: Decodable {
    init(from decoder: any Decoder) throws { try outside.now?.close() }
}

final class ClosingTests: Case {
    func testWhatIsClosedIsRefused() throws {
        let db = try open()
        try db.put("notes", "1", Note(text: "hi"))
        let scan = try db.scan("notes", as: Note.self)
        let ended = try db.query("SELECT 1")
        let (pending, indexes, batch) = (try db.pending(), try db.indexes(), try db.batch())
        let watch = try db.watch { _ in }
        ended.close()
        refused(.invalidArgument, "closed") { try ended.next() as Any }
        watch.close()
        watch.close()
        try db.close()
        try db.close()
        let closed: [() throws -> Any] = [
            { try scan.next() as Any }, { try pending.all() }, { try indexes.next() as Any },
            { try batch.mutate("kedge.put", 1) }, { try batch.commit() },
            { try db.get("notes", "1", as: Note.self) as Any },
            { try db.getProject(as: JSON.self) as Any }, { try db.put("notes", "1", 1) },
            { try db.delete("notes", "1") }, { try db.batch() }, { try db.cancel(1) },
            { try db.editText("notes", "1", text: "a") }, { try db.undoGroup { 1 } },
            { try db.undo() }, { try db.redo() }, { try db.undoState() },
            { try db.scan("notes", as: Note.self) }, { try db.query("SELECT 1") },
            { try db.declareIndex("i", "notes", ["text"]) }, { try db.dropIndex("i") },
            { try db.indexes() }, { try db.stats() }, { try db.status() },
            { try db.setOnline(true) }, { try db.pending() }, { try db.rejected() },
            { try db.dismiss(1) }, { try db.dismissThrough(1) }, { try db.resubmit(1) },
            { try db.runLoop() }, { try db.loopDescriptor() }, { try db.watch { _ in } },
            { try db.watchStatus { _ in } }, { try db.watchRejected { _ in } },
            { try db.watchQuery("SELECT 1") { _ in } }, { try db.changes() },
            { try db.statuses() }, { try db.rejections() }, { try db.results("SELECT 1") },
        ]
        for each in closed { refused(.invalidArgument, "closed", each) }
    }

    func testWhatWaitsOnAClosedDatabaseIsRefused() async throws {
        let db = try open()
        try db.close()
        for wait: () async throws -> Void in [
            { try await db.sync() }, { _ = try await db.wait(1) }, { _ = try await db.history() },
        ] {
            do {
                try await wait()
                XCTFail("it is closed")
            } catch let failure as KedgeError {
                XCTAssertEqual(failure.code, "closed")
            }
        }
    }

    func testRowsThatWereReadAreRefusedOnceTheScanIsClosed() throws {
        let db = try open()
        for id in ["1", "2", "3"] { try db.put("notes", id, Note(text: "hi")) }
        let scan = try db.scan("notes", as: Note.self)
        XCTAssertEqual(try scan.next()?.id, "1")
        scan.close()
        refused(.invalidArgument, "closed") { try scan.next() as Any }
    }

    func testACursorThatHasEndedStaysSo() throws {
        let db = try open()
        try db.put("notes", "1", Note(text: "hi"))
        let scan = try db.scan("notes", as: Note.self)
        XCTAssertEqual(try scan.all().map(\.value), [Note(text: "hi")])
        XCTAssertNil(try scan.next())
        XCTAssertEqual(db.family.count, 0)
        try db.close()
        XCTAssertNil(try scan.next())
    }

    func testADatabaseThatNobodyHoldsIsClosed() throws {
        var db: Database? = try open()
        try db!.put("notes", "1", Note(text: "hi"))
        var scan: Scan<Note>? = try db!.scan("notes")
        refused(.busy, "folder-open") { try repair("\(folder)/copy", into: "\(folder)/other") }
        db = nil
        XCTAssertEqual(try scan!.next()?.value, Note(text: "hi"))  // what it gave keeps it
        scan = nil
        try repair("\(folder)/copy", into: "\(folder)/other")
    }

    /// It is closed, but on another thread, since a close waits for callbacks.
    func testADatabaseThatACallbackOrAMutatorWasTheLastToHoldIsClosed() throws {
        for forget in ["callback", "mutator"] {
            let db = try open("outer \(forget)")
            let path = "\(folder)/inner \(forget)"
            var inner: Database? = try open("inner \(forget)")
            try inner!.put("notes", "1", 1)
            forgotten.change { $0 = [inner!, try! inner!.watch { _ in }, try! inner!.batch()] }
            inner = nil
            if forget == "mutator" {
                try db.mutate("bad.forget", 1)
            } else {
                let called = Signal()
                let watch = try db.watch { _ in
                    forgotten.change { $0 = [] }
                    called.send()
                }
                try db.put("notes", "1", 1)
                called.wait()
                watch.close()
            }
            var saved = 0
            until("the database is closed") {
                saved += 1
                return (try? repair(path, into: "\(path) saved \(saved)")) != nil
            }
        }
    }

    func testCloseIsRefusedInWhatKedgeCalls() throws {
        let db = try open()
        let codes = Shared<[String]>([])
        let called = Signal()
        let watch = try db.watch { _ in
            do { try db.close() } catch let failure as KedgeError {
                codes.change { $0.append(failure.code) }
            } catch {}
            called.send()
        }
        try db.put("notes", "1", 1)
        called.wait()
        XCTAssertEqual(codes.now, ["called-back"])
        watch.close()
        outside.change { $0 = db }
        defer { outside.change { $0 = nil } }
        let failure = refused(.rejected, "mutator-failed") { try db.mutate("bad.close", 1) }
        XCTAssertEqual((failure?.cause as? KedgeError)?.code, "called-back")
        XCTAssertNotNil(try db.get("notes", "1", as: Int.self))
    }

    func testATypeMayCloseTheDatabaseAsItIsDecoded() throws {
        for record in [false, true] {
            let db = try open("record \(record)")
            try db.put("notes", "1", 1)
            try db.mutate("good.count", [String: String]())  // which sets the project record
            outside.change { $0 = db }
            defer { outside.change { $0 = nil } }
            let seen =
                record ? try db.getProject(as: Closing.self) : try db.get("notes", "1")
            XCTAssertNotNil(seen)
            refused(.invalidArgument, "closed") { try db.status() }
        }
    }

    func testABatchThatAMutatorClosesIsClosedBehindItsCommit() throws {
        let db = try open()
        let batch = try db.batch()
        forgotten.change { $0 = [batch] }
        defer { forgotten.change { $0 = [] } }
        try batch.mutate("bad.end", 1)
        try batch.mutate("kedge.put", ["collection": "notes", "id": "1", "value": "a"])
        XCTAssertEqual(try batch.commit(), 1)
        until("the batch is closed") { db.family.count == 0 }
        XCTAssertEqual(try db.get("notes", "1"), "a")
    }

    func testCloseEndsWhatTasksWaitFor() async throws {
        let waits: [String: @Sendable (Database) async throws -> Void] = [
            "wait": { db in _ = try await db.wait(1, timeout: nil) },
            "sync": { db in try await db.sync(timeout: nil) },
        ]
        for (name, wait) in waits {
            var options = options(name)
            options.url = "http://127.0.0.1:9"
            let db = try Database(options)
            try db.put("notes", "1", 1)
            let waiting = Task { try await wait(db) }
            await Task.yield()
            try db.close()
            do {
                try await waiting.value
                XCTFail("there is no server")
            } catch let failure as KedgeError {
                XCTAssertTrue(
                    [.cancelled, .network, .invalidArgument].contains(failure.status), "\(failure)")
            }
        }
    }

    func testThreadsThatUseADatabaseWhileItIsClosedAreRefused() throws {
        let db = try open()
        try db.put("notes", "1", 1)
        let scan = try db.scan("notes", as: JSON.self)
        let ends = Shared<[String]>([])
        let group = DispatchGroup()
        for number in 0..<6 {
            let thread = Thread {
                defer { group.leave() }
                do {
                    while true {
                        try db.put("notes", "\(number)", number)
                        _ = try db.scan("notes", as: JSON.self).all()
                        _ = try scan.next()
                    }
                } catch {
                    ends.change { $0.append((error as? KedgeError)?.code ?? "\(error)") }
                }
            }
            group.enter()
            thread.start()
        }
        try until("edits are made") { try db.status().pending > 50 }
        try db.close()
        XCTAssertEqual(group.wait(timeout: .now() + patience), .success)
        XCTAssertEqual(ends.now, Array(repeating: "closed", count: 6))
    }
}
