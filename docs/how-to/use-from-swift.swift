// A shopping list that works offline: shopping FOLDER list|add|take|inbox|sync [WHAT].
import Foundation
import Kedge

struct Thing: Codable { var id: String }

/// Takes a thing, unless somebody else has taken it.
let take = Mutator("list.take") { (tx, args: Thing) in
    guard let state = try tx.get("things", args.id, as: String.self) else {
        throw Rejection("item-not-found", "there is no item things/\(args.id)")
    }
    guard state == "wanted" else { throw Rejection("taken", "somebody has taken it") }
    try tx.put("things", args.id, "taken")
}

func run(_ db: Database, _ command: String, _ what: String) async throws {
    switch command {
    case "list":
        for thing in try db.scan("things", as: RawJSON.self).all() {
            print("\(thing.id): \(thing.value.text)")
        }
    case "inbox":
        for edit in try db.rejected().all() { print(edit.args.text, edit.message) }
    case "sync":
        try db.setOnline(true)
        try await db.sync(timeout: .seconds(10))
    case "take":
        try db.mutate("list.take", Thing(id: what))
    default:
        try db.put("things", what, "wanted")
    }
}

let words = CommandLine.arguments + ["list", "list", ""]
var options = Options(path: words[1], organization: "demo", project: "shopping")
options.url = ProcessInfo.processInfo.environment["SHOPPING_URL"]
options.offline = true
options.clientMutators = [take]  // the server needs no code
let db = try Database(options)
do {
    try await run(db, words[2], words[3])
} catch let failure as KedgeError {
    print(failure)
}
try db.close()
