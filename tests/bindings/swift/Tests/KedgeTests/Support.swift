// What the tests of the edges share: a fresh folder each, the server, and what is expected to be
// refused.
import Foundation
import XCTest

@testable import Kedge

let patience: TimeInterval = 120  // for anything that must happen by itself

struct Note: Codable, Equatable, Sendable { var text: String }

class Case: XCTestCase {
    private(set) var folder = ""

    override func setUpWithError() throws {
        folder = NSTemporaryDirectory() + "/kedge-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: false)
    }

    override func tearDownWithError() throws {
        try FileManager.default.removeItem(atPath: folder)
    }

    /// The options of a copy without a server.
    func options(_ name: String = "copy") -> Options {
        var options = Options(path: "\(folder)/\(name)", organization: "acme", project: "plan")
        options.clientMutators = edgeMutators
        return options
    }

    func open(_ name: String = "copy") throws -> Database { try Database(options(name)) }

    /// The options of a copy with the server of the tests, in a project of this test's own.
    func online(_ name: String, project: String? = nil) throws -> Options {
        var options = options(name)
        options.url = try environment("KEDGE_URL")
        options.project = project ?? "p" + folder.suffix(36)
        return options
    }
}

func environment(_ name: String) throws -> String {
    try XCTUnwrap(ProcessInfo.processInfo.environment[name], "with_server.py sets \(name)")
}

/// The failure of `body`, which must have this status and this code.
@discardableResult
func refused(
    _ status: Status, _ code: String, line: UInt = #line, _ body: () throws -> Any
) -> KedgeError? {
    do {
        let given = try body()
        XCTFail("\(code) is not thrown; given was \(given)", line: line)
    } catch let failure as KedgeError {
        XCTAssertEqual(failure.status, status, line: line)
        XCTAssertEqual(failure.code, code, line: line)
        XCTAssertTrue(failure.message.contains(" "), "no sentence: \(failure.message)", line: line)
        return failure
    } catch {
        XCTFail("\(error)", line: line)
    }
    return nil
}

/// Something that other threads do, and that a test waits for.
final class Signal: @unchecked Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func send() { semaphore.signal() }
    func wait(line: UInt = #line) {
        XCTAssertEqual(semaphore.wait(timeout: .now() + patience), .success, line: line)
    }
}

/// A value that several threads change.
final class Shared<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var value: Value
    init(_ value: Value) { self.value = value }
    var now: Value { lock.withLock { value } }
    func change(_ body: (inout Value) -> Void) { lock.withLock { body(&value) } }
}

/// Waits until `condition` holds, which other threads bring about.
func until(_ what: String, line: UInt = #line, _ condition: () throws -> Bool) rethrows {
    let end = Date(timeIntervalSinceNow: patience)
    while try !condition() {
        guard Date() < end else { return XCTFail("never: \(what)", line: line) }
        sched_yield()
    }
}

struct Mistake: Error {}

/// What mutators reach for beyond their transaction.
let outside = Shared<Database?>(nil)
let forgotten = Shared<[any Sendable]>([])
nonisolated(unsafe) var keptTransaction: Transaction?  // of a test that runs alone

let edgeMutators: [Mutator] = [
    // Uses all of a transaction.
    Mutator("good.count") { (tx, args: [String: String]) in
        var number = 0
        try tx.forEach("notes", after: args["after"], as: JSON.self) { id, note in
            number += 1
            try tx.put("seen", id, note)
        }
        try tx.put("counts", "notes", ["number": .number(Double(number)), "texts": []] as JSON)
        try tx.merge("counts", "notes", ["by": try tx.caller.user])
        try tx.patch(
            "counts", "notes", [["op": "add", "path": "/texts/-", "value": "ü"]] as JSON)
        try tx.call(
            "kedge.increment",
            ["collection": "counts", "id": "notes", "add": ["number": 10]] as JSON)
        try tx.delete("counts", "none")
        let record = try tx.getProject(as: [String: Int].self) ?? [:]
        try tx.putProject(["counted": (record["counted"] ?? 0) + 1])
    },
    Mutator("bad.keep") { (tx, _: Int) in keptTransaction = tx },
    Mutator("bad.throw") { (tx, _: Int) in
        try tx.put("notes", "left", 1)
        throw Mistake()
    },
    Mutator("bad.write") { (tx, _: Int) in try tx.put("notes", "left", Double.nan) },
    Mutator("bad.merge") { (tx, _: Int) in try tx.merge("notes", "left", RawJSON("{} x")) },
    Mutator("bad.code") { (_, _: Int) in throw Rejection("No Code!", "a message") },
    Mutator("bad.nul") { (_, _: Int) in throw Rejection("a-code", "a mess\0age") },
    Mutator("bad.type") { (tx, _: Int) in _ = try tx.get("notes", "1", as: Int.self) },
    Mutator("bad.name") { (tx, _: Int) in try tx.put("no\0tes", "1", 1) },
    Mutator("bad.call") { (tx, _: Int) in try tx.call("kedge.none", 1) },
    Mutator("bad.outside") { (_, _: Int) in _ = try outside.now?.get("notes", "1", as: JSON.self) },
    Mutator("bad.close") { (_, _: Int) in try outside.now?.close() },
    Mutator("bad.end") { (_, _: Int) in forgotten.now.forEach { ($0 as? Owner)?.close() } },
    Mutator("bad.forget") { (_, _: Int) in forgotten.change { $0 = [] } },
    Mutator("storm.write") { (tx, number: Int) in
        try tx.put("items", "\(number)", number)
        if number % 7 == 0 { throw Mistake() }
    },
]
