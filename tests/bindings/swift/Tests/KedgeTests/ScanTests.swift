// What a function of the app may do while a scan gives it the items, which are locked meanwhile.
import Foundation
import XCTest

@testable import Kedge

final class ScanTests: Case {
    /// So many that they come in several pieces.
    private let ids = (1000..<1300).map(String.init)
    private let text = String(repeating: "x", count: 500)

    private func filled() throws -> Database {
        let db = try open()
        let batch = try db.batch()
        for id in ids {
            try batch.mutate(
                "kedge.put",
                ["collection": "notes", "id": .string(id), "value": ["text": .string(id + text)]]
                    as JSON)
        }
        try batch.commit()
        return db
    }

    func testABodyMayReadOn() throws {
        let db = try filled()
        let scan = try db.scan("notes", as: Note.self)
        var found: [String] = []
        try scan.forEach { item in
            found.append(item.id)
            if let next = try scan.next() { found.append(next.id) }
        }
        XCTAssertEqual(found, ids)
    }

    /// Other items stand by then where the one that is decoded was. The first is read from C for
    /// it, as some others are.
    func testATypeMayReadOnWhileItIsDecoded() throws {
        let db = try filled()
        for number in [0, 1, 100] {
            let scan = try db.scan("notes", as: ReadsOn.self)
            for id in ids[..<number] { XCTAssertEqual(try scan.next()?.id, id) }
            readsOn.change { $0 = scan }
            let item = try scan.next()
            XCTAssertEqual(item?.id, ids[number])
            XCTAssertEqual(item?.value.text, ids[number] + text)
            XCTAssertEqual(item?.value.after, ids.count - number - 1)
        }
    }

    func testBytesAreThoseOfTheTexts() throws {
        let db = try filled()
        // Larger than what is read together.
        for (id, size) in [("1007", 40_000), ("1100", 300_000), ("2", 1_000_000)] {
            try db.put("notes", id, ["text": String(repeating: "ü", count: size)])
        }
        let items = try db.scan("notes", as: RawJSON.self).all()
        XCTAssertEqual(items.count, ids.count + 1)
        for descending in [false, true] {
            var found: [(id: String, value: RawJSON)] = []
            try db.scan("notes", descending: descending, as: RawJSON.self)
                .forEachBytes { id, json in
                    found.append(
                        (
                            String(decoding: id, as: UTF8.self),
                            RawJSON(String(decoding: json, as: UTF8.self))
                        ))
                }
            let expected = descending ? items.reversed() : items
            XCTAssertEqual(found.map(\.id), expected.map(\.id))
            XCTAssertEqual(found.map(\.value), expected.map(\.value))
        }
    }

    func testWhatABodyThrowsLeavesTheRest() throws {
        let db = try filled()
        let scan = try db.scan("notes", as: RawJSON.self)
        var count = 0
        XCTAssertThrowsError(
            try scan.forEach { item in
                count += 1
                if item.id == ids[150] { throw Rejection("enough", "") }
            }
        ) { XCTAssertEqual(($0 as? Rejection)?.code, "enough") }
        XCTAssertEqual(count, 151)
        XCTAssertEqual(try scan.all().map(\.id), Array(ids[151...]))
    }

    func testABodyMayCloseWhatItReads() throws {
        for closesAll in [false, true] {
            let db = try filled()
            let scan = try db.scan("notes", as: Note.self)
            var count = 0
            refused(.invalidArgument, "closed") {
                try scan.forEach { _ in
                    count += 1
                    guard count == 3 else { return }
                    if closesAll { try db.close() } else { scan.close() }
                }
            }
            XCTAssertEqual(count, 3)
            try db.close()
        }
    }

    /// What is read stays where it is, and the next item is refused.
    func testAnotherThreadMayCloseWhatABodyLooksAt() throws {
        let db = try filled()
        let scan = try db.scan("notes", as: Note.self)
        var count = 0
        refused(.invalidArgument, "closed") {
            try scan.forEachBytes { id, json in
                count += 1
                guard count == 10 else { return }
                let closed = Signal()
                Thread {
                    scan.close()
                    closed.send()
                }.start()
                closed.wait()
                XCTAssertEqual(String(decoding: id, as: UTF8.self), ids[9])
                XCTAssertTrue(String(decoding: json, as: UTF8.self).contains(ids[9] + text))
            }
        }
        XCTAssertEqual(count, 10)
    }

    /// Another thread cannot take an item from behind a body that runs, and can between two calls.
    func testABodyHasTheScanToItself() throws {
        let db = try filled()
        let scan = try db.scan("notes", as: RawJSON.self)
        XCTAssertEqual(try scan.next()?.id, ids[0])
        XCTAssertFalse(isLocked(scan))
        var count = 0
        let look = {
            count += 1
            if count % 50 == 1 { XCTAssertTrue(self.isLocked(scan), "at \(count)") }
            if count % 100 == 0 { throw Mistake() }
        }
        XCTAssertThrowsError(try scan.forEach { _ in try look() })
        XCTAssertFalse(isLocked(scan))
        XCTAssertThrowsError(try scan.forEachBytes { _, _ in try look() })
        XCTAssertFalse(isLocked(scan))
        XCTAssertEqual(count, 200)
    }

    /// Whether another thread would wait for the scan.
    private func isLocked(_ scan: Scan<RawJSON>) -> Bool {
        let code = Shared<Int32>(-1)
        let tried = Signal()
        Thread {
            code.change { $0 = pthread_mutex_trylock(scan.rows.mutex) }
            if code.now == 0 { scan.rows.unlock() }
            tried.send()
        }.start()
        tried.wait()
        XCTAssertTrue([0, EBUSY].contains(code.now))
        return code.now == EBUSY
    }

    /// Each item goes to one of them, whole, and each of them sees its items in their order.
    func testThreadsShareTheItemsOfAScan() throws {
        let db = try filled()
        for _ in 0..<20 { try shareTheItems(of: try db.scan("notes", as: RawJSON.self)) }
    }

    private func shareTheItems(of scan: Scan<RawJSON>) throws {
        let found = Shared<[[String]]>([])
        let waiting = Shared(0)
        let group = DispatchGroup()
        for number in 0..<4 {
            group.enter()
            Thread {
                defer { group.leave() }
                waiting.change { $0 += 1 }
                while waiting.now < 4 { sched_yield() }  // they begin together
                let mine = (try? items(scan, number)) ?? []
                found.change { $0.append(mine) }
            }.start()
        }
        XCTAssertEqual(group.wait(timeout: .now() + patience), .success)
        XCTAssertEqual(found.now.flatMap { $0 }.sorted(), ids)
        for mine in found.now { XCTAssertEqual(mine, mine.sorted()) }
    }
}

/// What one of several threads gets, in one of the ways.
private func items(_ scan: Scan<RawJSON>, _ number: Int) throws -> [String] {
    var mine: [String] = []
    if number == 0 {
        while let item = try scan.next() { mine.append(item.id) }
    } else if number == 1 {
        try scan.forEachBytes { id, _ in mine.append(String(decoding: id, as: UTF8.self)) }
    } else {
        try scan.forEach { mine.append($0.id) }
    }
    return mine
}

/// The scan that the next of the values reads to its end.
private let readsOn = Shared<Scan<ReadsOn>?>(nil)

private struct ReadsOn: Decodable, Sendable {
    let text: String
    var after = 0

    init(from decoder: any Decoder) throws {
        let note = try decoder.container(keyedBy: Key.self)
        var scan: Scan<ReadsOn>?
        readsOn.change { (scan, $0) = ($0, nil) }
        while try scan?.next() != nil { after += 1 }
        text = try note.decode(String.self, forKey: .text)
    }

    enum Key: String, CodingKey { case text }
}
