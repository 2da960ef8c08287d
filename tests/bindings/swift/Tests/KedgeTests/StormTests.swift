// Databases, watches, streams and cursors that come and go in many tasks: the process goes on, and
// nothing is left.
import Foundation
import XCTest

@testable import Kedge

final class StormTests: Case {
    func testAStorm() async throws {
        let tokens = Tokens()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<2 {
                let options = options("copy\(number)")
                group.addTask {
                    for round in 0..<8 { try await storm(options, round, tokens) }
                }
            }
            try await group.waitForAll()
        }
        until("what the callbacks held is gone") { tokens.alive == 0 }
        XCTAssertGreaterThan(tokens.made, 500)
    }
}

/// One database with edits on two threads, and watches of all kinds.
private func storm(_ options: Options, _ round: Int, _ tokens: Tokens) async throws {
    let db = try Database(options)
    let ends = Shared(false)
    let threads = DispatchGroup()
    for _ in 0..<2 {
        threads.enter()
        Thread {
            defer { threads.leave() }
            edit(db, ends)
        }.start()
    }
    try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<4 {
            group.addTask { try await look(db, tokens) }
        }
        try await group.waitForAll()
    }
    if round % 2 == 0 { try db.close() }  // while the threads are in it
    ends.change { $0 = true }
    await withCheckedContinuation { done in threads.notify(queue: .global()) { done.resume() } }
}

private func edit(_ db: Database, _ ends: Shared<Bool>) {
    var number = 0
    while !ends.now {
        number += 1
        do {
            try db.mutate("storm.write", number)
            _ = try db.scan("items", as: Int.self).next()  // a cursor that is not read to its end
        } catch let failure as KedgeError where failure.code == "mutator-failed" {
            continue
        } catch {
            return
        }
    }
}

private func look(_ db: Database, _ tokens: Tokens) async throws {
    for number in 0..<12 {
        let token = tokens.make()
        let one = try db.watch { _ in
            token.touch()
            _ = try? db.get("items", "1", as: Int.self)
        }
        _ = try db.watchStatus { _ in token.touch() }
        let query = try db.watchQuery("SELECT id FROM items LIMIT 3") { _ in token.touch() }
        let changes = try db.changes("items")
        let task = Task {
            for try await _ in changes { token.touch() }
        }
        if number % 3 == 0 { query.close() }
        if number % 4 == 0 { await Task.yield() }
        task.cancel()
        try await task.value
        one.close()
    }
}

/// How many objects were made, and how many are held.
private final class Tokens: @unchecked Sendable {
    private let lock = NSLock()
    private var all: [() -> Token?] = []

    func make() -> Token {
        let made = Token()
        lock.withLock { all.append { [weak made] in made } }
        return made
    }

    var made: Int { lock.withLock { all.count } }
    var alive: Int { lock.withLock { all.filter { $0() != nil }.count } }
}
