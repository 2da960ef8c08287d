// What needs a server: outcomes, the inbox, the history, and a project whose copies decide by
// themselves.
import Foundation
import XCTest

@testable import Kedge

private struct Take: Codable { var id: String }

private let take = Mutator("things.take") { (tx, args: Take) in
    guard try tx.get("things", args.id, as: String.self) == "wanted" else {
        throw Rejection("taken", "somebody has taken it")
    }
    try tx.put("things", args.id, "taken by \(try tx.caller.user)")
}

final class ServerTests: Case {
    func testRejectionsAndOutcomes() async throws {
        let (a, b) = (try Database(online("a")), try Database(online("b")))
        try a.put("notes", "1", Note(text: "hi"))
        try await a.sync()
        try await b.sync()
        XCTAssertEqual(try b.get("notes", "1"), Note(text: "hi"))
        try b.setOnline(false)
        try a.delete("notes", "1")
        try await a.sync()
        let sequence = try b.editText("notes", "1", path: "/text", text: "late")
        var rejections = try b.rejections().makeAsyncIterator()
        try b.setOnline(true)
        let edit = try await rejections.next()
        XCTAssertEqual(edit?.sequence, sequence)
        XCTAssertEqual(edit?.code, "item-not-found")
        XCTAssertEqual(try edit?.args(as: [String: String].self)["id"], "1")
        let outcome = try await b.wait(sequence)
        XCTAssertEqual(outcome, .rejected)
        let versions = try await a.history(limit: 1)
        XCTAssertEqual(versions.first?["version"]?.integer, 3)
        XCTAssertEqual(try b.rejected().all().count, 1)
        try b.dismiss(sequence)
        XCTAssertEqual(try b.rejected().all().count, 0)
        do {
            _ = try await a.wait(1, timeout: .zero)
            _ = try await a.wait(99, timeout: .zero)
            XCTFail("there is no edit 99")
        } catch let failure as KedgeError {
            XCTAssertEqual(failure.status, .notFound)
        }
        try a.close()
        try b.close()
    }

    /// A client-only mutator, which the server does not have, in a project of versions; and one of
    /// the app in a project on a log, where each copy runs the mutators of all.
    func testMutatorsThatTheServerDoesNotHave() async throws {
        for project in [nil, try environment("KEDGE_LOG_PROJECT")] {
            let copies = try ["ann", "bob"].map { user in
                var options = try online(user + (project ?? ""), project: project)
                options.user = user
                options.clientMutators = project == nil ? [take] : []
                options.mutators = project == nil ? [] : [take]
                return try Database(options)
            }
            let (ann, bob) = (copies[0], copies[1])
            try ann.put("things", "milk", "wanted")
            try await ann.sync()
            try await bob.sync()
            try ann.setOnline(false)
            try ann.mutate("things.take", Take(id: "milk"))
            try bob.mutate("things.take", Take(id: "milk"))
            try await bob.sync()
            try ann.setOnline(true)
            try await ann.sync()
            let outcome = try await ann.wait(2)
            XCTAssertEqual(outcome, .rejected)
            XCTAssertEqual(try ann.rejected().all().map(\.code), ["taken"])
            for db in copies {
                try await db.sync()
                XCTAssertEqual(try db.get("things", "milk", as: String.self), "taken by bob")
                try db.close()
            }
        }
    }

    func testACallerDrivenDatabase() throws {
        var options = try online("copy")
        options.callerDriven = true
        let db = try Database(options)
        try db.put("notes", "1", 1)
        let descriptor = try db.loopDescriptor()
        let changed = Shared(0)
        let watch = try db.watchStatus { _ in changed.change { $0 += 1 } }
        try until("the edit is decided") {
            let wait = try db.runLoop()
            var set = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            poll(&set, 1, Int32(min(wait.wholeMilliseconds, 1000)))
            return try db.status().pending == 0 && db.status().version > 0
        }
        XCTAssertGreaterThan(changed.now, 0)
        XCTAssertGreaterThan(try db.stats().requests, 0)
        watch.close()
        try db.close()
    }
}
