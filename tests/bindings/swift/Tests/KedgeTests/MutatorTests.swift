// Mutators, batches and undo.
import Foundation
import XCTest

@testable import Kedge

/// What `tx.put` says of a tree, and then a call, which must say the same.
private func refusedAsByPut(_ tx: Transaction, _ tree: String, _ call: (RawJSON) throws -> Void)
    throws
{
    var told = "nothing"
    do { try tx.put("notes", "1", RawJSON(tree)) } catch { told = "\(error)" }
    do { try call(RawJSON(tree)) } catch {
        XCTAssertEqual("\(error)", told)
        throw error
    }
}

final class MutatorTests: Case {
    func testWhatAMutatorSeesAndDoes() throws {
        var options = options()
        options.user = "ann"
        let db = try Database(options)
        for id in ["1", "2", "3"] { try db.put("notes", id, Note(text: id)) }
        try db.mutate("good.count", ["after": "1"])
        let counted: JSON = ["number": 12, "by": "ann", "texts": ["ü"]]
        XCTAssertEqual(try db.get("counts", "notes"), counted)
        XCTAssertEqual(try db.scan("seen", as: Note.self).all().map(\.id), ["2", "3"])
        XCTAssertEqual(try db.getProject(as: [String: Int].self), ["counted": 1])
    }

    func testOneThatThrowsRejectsItsEdit() throws {
        let db = try open()
        let failure = refused(.rejected, "mutator-failed") { try db.mutate("bad.throw", 1) }
        XCTAssertTrue(failure?.cause is Mistake)
        XCTAssertTrue(failure?.message.hasPrefix("Mistake") ?? false)
        XCTAssertNil(try db.get("notes", "left", as: JSON.self))
        // The next failure does not name the mistake of the one before.
        XCTAssertNil(refused(.notFound, "mutator-unknown") { try db.mutate("none", 1) }?.cause)
        XCTAssertEqual(try db.put("notes", "1", 1), 1)
    }

    func testOneThatDoesNonsense() throws {
        let db = try open()
        try db.put("notes", "1", Note(text: "hi"))
        outside.change { $0 = db }
        defer { outside.change { $0 = nil } }
        for (name, sentence) in [
            ("bad.write", "json-invalid"), ("bad.name", "text-invalid"), ("bad.nul", "Rejection"),
            ("bad.type", "typeMismatch"), ("bad.outside", "called-back"),
        ] {
            let failure = refused(.rejected, "mutator-failed") { try db.mutate(name, 1) }
            XCTAssertTrue(
                failure?.message.contains(sentence) ?? false, "\(String(describing: failure))")
        }
        for name in ["bad.code", "bad.merge"] {
            XCTAssertThrowsError(try db.mutate(name, 1)) {
                XCTAssertEqual(($0 as? KedgeError)?.status, .rejected)
            }
        }
        refused(.rejected, "mutator-unknown") { try db.mutate("bad.call", 1) }
        let failure = refused(.rejected, "args-invalid") { try db.mutate("bad.throw", "a text") }
        XCTAssertNil(failure?.cause)
        XCTAssertNil(try db.get("notes", "left", as: JSON.self))
        XCTAssertEqual(try db.status().pending, 1)
    }

    func testAStringThatPutRefusesIsRefusedByMergePatchAndCall() throws {
        let texts = [
            #""a\u0000b""#, #""\\\u0000""#, #""\"\u0000""#, "\"a\u{1}b\"", "\"a\0b\"",
        ]
        var options = options()
        options.clientMutators = [
            Mutator("value") { (tx, at: Int) in
                try refusedAsByPut(tx, #"{"text":\#(texts[at])}"#) {
                    try tx.merge("notes", "1", $0)
                }
            },
            Mutator("key") { (tx, at: Int) in
                try refusedAsByPut(tx, "{\(texts[at]):1}") { try tx.merge("notes", "1", $0) }
            },
            Mutator("patch") { (tx, at: Int) in
                try refusedAsByPut(tx, #"[{"op":"add","path":"/text","value":\#(texts[at])}]"#) {
                    try tx.patch("notes", "1", $0)
                }
            },
            Mutator("call") { (tx, at: Int) in
                try refusedAsByPut(tx, #"{"collection":"notes","id":"1","value":\#(texts[at])}"#) {
                    try tx.call("kedge.put", $0)
                }
            },
            Mutator("encoded") { (tx, _: Int) in try tx.merge("notes", "1", ["text": "a\0b"]) },
            Mutator("escaped") { (tx, _: Int) in
                try tx.merge("notes", "1", RawJSON("{\t\"text\":\"\\\\u0000\\\"\"}"))
            },
        ]
        let db = try Database(options)
        try db.put("notes", "1", Note(text: "hi"))
        for at in texts.indices {
            for name in ["value", "key", "patch", "call"] {
                refused(.rejected, at < 3 ? "json-nul" : "json-syntax") { try db.mutate(name, at) }
                XCTAssertEqual(try db.get("notes", "1"), Note(text: "hi"))
            }
        }
        refused(.rejected, "json-nul") { try db.mutate("encoded", 1) }
        try db.mutate("escaped", 1)  // a text about an escape
        XCTAssertEqual(try db.get("notes", "1"), Note(text: #"\u0000""#))
    }

    func testATransactionEndsWithItsMutator() throws {
        try open().mutate("bad.keep", 1)
        let tx = try XCTUnwrap(keptTransaction)
        keptTransaction = nil
        refused(.invalidArgument, "closed") { try tx.put("notes", "1", 1) }
        refused(.invalidArgument, "closed") { try tx.caller }
        refused(.invalidArgument, "closed") { try tx.next("notes", as: JSON.self) as Any }
    }

    func testBatches() throws {
        let db = try open()
        let batch = try db.batch()
        refused(.invalidArgument, "batch-empty") { try batch.commit() }
        try batch.mutate("kedge.put", ["collection": "notes", "id": "1", "value": "a"])
        XCTAssertEqual(try batch.commit(), 1)
        try batch.mutate("bad.throw", 1)
        let failure = refused(.rejected, "mutator-failed") { try batch.commit() }
        XCTAssertTrue(failure?.cause is Mistake)
        batch.close()
        XCTAssertEqual(try db.scan("notes", as: JSON.self).all().count, 1)
    }

    func testAnUndoGroupEndsWhenItsBodyThrows() throws {
        let db = try open()
        XCTAssertThrowsError(
            try db.undoGroup("add") {
                try db.put("notes", "1", 1)
                throw Mistake()
            })
        XCTAssertEqual(try db.undoState().undoLabel, "add")
        XCTAssertFalse(try db.undoState().isOpen)
        XCTAssertEqual(try db.undo().restored, 1)
        XCTAssertNil(try db.get("notes", "1", as: JSON.self))
        XCTAssertEqual(try db.redo().restored, 1)
        XCTAssertEqual(try db.get("notes", "1", as: Int.self), 1)
    }

    func testWhatTheBodyOfAnUndoGroupThrowsGoesBeforeWhatItsEndThrows() throws {
        let db = try open()
        XCTAssertThrowsError(
            try db.undoGroup("add") {
                try db.endUndo()
                throw Mistake()
            }
        ) { XCTAssertTrue($0 is Mistake, "\($0)") }
        refused(.conflict, "undo-not-open") { try db.undoGroup("add") { try db.endUndo() } }
    }

    func testAnUndoGroupIsOneOfItsThread() throws {
        let db = try open()
        try db.beginUndo("mine")
        let code = Shared("")
        let ended = Signal()
        Thread {
            do { try db.endUndo() } catch let failure as KedgeError {
                code.change { $0 = failure.code }
            } catch {}
            _ = try? db.put("notes", "other", 1)
            ended.send()
        }.start()
        ended.wait()
        XCTAssertEqual(code.now, "undo-not-open")
        try db.put("notes", "mine", 1)
        try db.endUndo()
        try db.undo()
        XCTAssertEqual(try db.scan("notes", as: Int.self).all().map(\.id), ["other"])
    }

    func testEditsOfTextsAndCancelling() throws {
        let db = try open()
        try db.put("notes", "1", Note(text: "one two"))
        XCTAssertEqual(try db.editText("notes", "1", path: "/text", text: "one two"), 0)
        let sequence = try db.editText("notes", "1", path: "/text", base: "one two", text: "one")
        XCTAssertEqual(try db.get("notes", "1"), Note(text: "one"))
        try db.cancel(sequence)
        XCTAssertEqual(try db.get("notes", "1"), Note(text: "one two"))
        XCTAssertThrowsError(try db.cancel(77)) {
            XCTAssertEqual(($0 as? KedgeError)?.status, .notFound)
        }
    }
}
