// Texts, values and options at their edges.
import Foundation
import XCTest

@testable import Kedge

final class ValueTests: Case {
    func testTheStatusesAreThoseOfTheHeader() throws {
        let path = try environment("KEDGE_SOURCE") + "/include/kedge/error.h"
        let header = try String(contentsOfFile: path, encoding: .utf8)
        let numbers = header.matches(of: /\n    KEDGE_[A-Z_]+ = (\d+)/).compactMap {
            Int($0.output.1)
        }
        XCTAssertEqual(numbers, Status.allCases.map(\.rawValue))
        XCTAssertEqual(Status.diskFull.word, "disk-full")
        XCTAssertEqual(Set(Status.allCases.map(\.word)).count, Status.allCases.count)
        XCTAssertEqual(Limit.itemIdBytes, 512)
        XCTAssertEqual(Limit.confirmedTailMs, 2_592_000_000)
        XCTAssertNotNil(libraryVersion().wholeMatch(of: /\d+\.\d+\.\d+/))
    }

    func testATextWithANulWhereNoneMayBe() throws {
        let db = try open()
        let text = "no\0tes"
        let uses: [() throws -> Any] = [
            { try db.get(text, "1", as: JSON.self) as Any }, { try db.mutate(text, 1) },
            { try db.scan(text, as: JSON.self) }, { try db.undoGroup(text) { 1 } },
            { try db.editText("notes", "1", text: text) },
            { try db.editText("notes", "1", base: text, text: "a") },
            { try db.declareIndex("i", "notes", [text]) }, { try db.dropIndex(text) },
            { try db.watch(text) { _ in } }, { try orderBetween(text, nil) },
            { try repair(text, into: "x") }, { try db.batch().mutate(text, 1) },
            {
                var options = self.options("other")
                options.user = text
                return try Database(options)
            },
        ]
        for each in uses { refused(.invalidArgument, "text-invalid", each) }
        XCTAssertEqual(db.family.count, 0)
    }

    func testTextsThatAreNotAscii() throws {
        let db = try open()
        for text in ["", "é", "👩‍👩‍👧 and 漢字", "e\u{301}", "\u{FEFF}x", "tab\tquote\"back\\"] {
            try db.put("notes", text, Note(text: text))
            XCTAssertEqual(try db.get("notes", text, as: Note.self), Note(text: text))
            let found = try db.query("SELECT id FROM notes WHERE id = ?1", [.string(text)]).all()
            XCTAssertEqual(found, [[.text(text)]])
        }
        // Swift compares texts by what they mean, Kedge by their bytes.
        try db.put("notes", "\u{E9}", Note(text: "other"))
        XCTAssertEqual(try db.scan("notes", as: Note.self).all().count, 6)
        // A text that Foundation made has no UTF-8 of its own.
        let bridged = NSString(string: "ünïcode").substring(from: 1)
        try db.put("notes", bridged, Note(text: bridged))
        XCTAssertEqual(try db.get("notes", "nïcode", as: Note.self)?.text, "nïcode")
    }

    /// Rows come in pieces of 32 KiB: values that just fit, just do not, and are far larger.
    func testAScanGivesRowsOfAllSizesAsTheyAre() throws {
        let db = try open()
        let sizes = [0, 1, 400, 470, 475, 480, 485, 490, 2000, 8000, 32700, 32730, 40000, 70000]
        var put: [String: String] = [:]
        for number in 0..<120 {
            let id = String(1000 + number) + String(repeating: "é", count: number % 7)
            let size = sizes[number * 5 % sizes.count] / 2
            put[id] = String(repeating: number % 2 == 0 ? "x" : "漢", count: size)
            try db.put("notes", id, Note(text: put[id]!))
        }
        for limit in [120, 50, 1] {
            let found = try db.scan("notes", limit: Int64(limit), as: Note.self).all()
            XCTAssertEqual(found.map(\.id), Array(put.keys.sorted().prefix(limit)))
            for item in found { XCTAssertEqual(item.value.text, put[item.id]) }
            var each: [String] = []
            try db.scan("notes", limit: Int64(limit), as: Note.self).forEach { item in
                each.append(item.id)
                XCTAssertEqual(item.value.text, put[item.id])
            }
            XCTAssertEqual(each, found.map(\.id))
        }
    }

    func testWhatIsNoJSON() throws {
        let db = try open()
        for value in [Double.nan, .infinity, -.infinity] {
            refused(.invalidJSON, "json-invalid") { try db.put("notes", "1", value) }
            refused(.invalidJSON, "json-invalid") { try db.query("SELECT ?1", [.number(value)]) }
        }
        for text in ["{", "{\"a\":1,\"a\":2}", "[1] 2"] {
            XCTAssertThrowsError(try db.mutate("kedge.put", RawJSON(text))) {
                XCTAssertEqual(($0 as? KedgeError)?.status, .invalidJSON, "\(text): \($0)")
            }
        }
        XCTAssertThrowsError(try db.put("notes", "1", "a\0b")) {
            XCTAssertEqual(($0 as? KedgeError)?.status, .invalidJSON)
        }
        XCTAssertThrowsError(try db.put("no\0tes", "1", 1))
        XCTAssertEqual(try db.status().pending, 0)
    }

    func testValues() throws {
        let db = try open()
        let value: JSON = [
            "null": nil, "yes": true, "one": 1, "half": 0.5, "text": "é", "list": [1, [], [:]],
            "large": .number(9_007_199_254_740_991),
        ]
        try db.put("values", "1", value)
        XCTAssertEqual(try db.get("values", "1"), value)
        XCTAssertEqual(value["list"]?[0]?.integer, 1)
        XCTAssertNil(value["list"]?[3])
        XCTAssertNil(value["text"]?["x"])
        let raw = try db.get("values", "1", as: RawJSON.self)
        XCTAssertEqual(
            raw?.text,
            #"{"half":0.5,"large":9007199254740991,"list":[1,[],{}],"null":null,"one":1,"#
                + #""text":"é","yes":true}"#)
        try db.put("values", "2", ["inside": RawJSON("[1, 2]")])
        XCTAssertEqual(try db.get("values", "2", as: [String: [Int]].self), ["inside": [1, 2]])
        // A text inside of another value is always the same for the same value.
        let inside = #"{"a":[0.5,{"c":"é/","d":null}],"b":true}"#
        try db.put("values", "4", ["inside": RawJSON(inside)])
        XCTAssertEqual(
            try db.get("values", "4", as: [String: RawJSON].self), ["inside": RawJSON(inside)])
        XCTAssertNil(try db.get("values", "3", as: JSON.self))
        XCTAssertNil(try db.getProject(as: JSON.self))
        // An item of another type than is asked for.
        XCTAssertThrowsError(try db.get("values", "1", as: [Int].self) as Any) {
            XCTAssertTrue($0 is DecodingError)
        }
        let row = try db.query("SELECT 1, 0.5, 'é', NULL, x'00ff', ?1, ?2", [true, "a"]).all()
        XCTAssertEqual(
            row,
            [
                [
                    .integer(1), .real(0.5), .text("é"), .null, .blob([0, 255]), .integer(1),
                    .text("a"),
                ]
            ])
    }

    func testArgumentsOutsideOfWhatIsAllowed() async throws {
        let db = try open()
        for timeout in [Duration.seconds(-1), .seconds(3_000_000)] {
            do {
                try await db.sync(timeout: timeout)
                XCTFail("\(timeout)")
            } catch let failure as KedgeError {
                XCTAssertEqual(failure.code, "timeout-invalid")
            }
        }
        refused(.invalidArgument, "not-caller-driven") { try db.loopDescriptor() }
        refused(.invalidArgument, "not-caller-driven") { try db.runLoop() }
        var other = options("other")
        other.clientMutators = [Mutator("kedge.mine") { (_, _: Int) in }]
        XCTAssertThrowsError(try Database(other)) {
            XCTAssertEqual(($0 as? KedgeError)?.status, .invalidArgument)
        }
        XCTAssertFalse(FileManager.default.fileExists(atPath: "\(folder)/other"))
    }

    func testIndexesAndOrderKeys() throws {
        let db = try open()
        try db.declareIndex("by_text", "notes", ["text", "$.a.b"])
        XCTAssertEqual(
            try db.indexes().all(),
            [Index(name: "by_text", collection: "notes", paths: ["text", "$.a.b"])])
        try db.dropIndex("by_text")
        refused(.invalidArgument, "paths-missing") { try db.declareIndex("none", "notes", []) }
        let (one, two) = (try orderBetween(nil, nil), try orderBetween(nil, nil, random: 7))
        XCTAssertLessThan(one, two)
        XCTAssertLessThan(try orderBetween(one, two), two)
    }
}
