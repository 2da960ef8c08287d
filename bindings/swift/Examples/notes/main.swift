// Notes in a terminal, which work offline.
import Foundation
import Kedge

let usage = """
    usage: notes FOLDER [--url URL] [--project NAME] COMMAND

        list                    all notes
        add TEXT                a new note; prints its id
        edit ID TEXT            what others write in the same note is merged with it
        delete ID
        pending                 edits that the server has not decided
        inbox                   edits that it has rejected, with the reason
        dismiss SEQUENCE        forgets one of them
        sync                    sends and fetches, and says what came of it
        live                    syncs, and shows each change as it comes, until a note "bye"

    Every command but `sync` and `live` works without a network.
    """

struct Note: Codable { var text: String }
struct Named: Codable { var id: String }

func fail(_ message: String) -> Never {
    FileHandle.standardError.write(Data((message + "\n").utf8))
    exit(1)
}

/// Prints at once, also into a pipe.
func say(_ line: String) { FileHandle.standardOutput.write(Data((line + "\n").utf8)) }

func showList(_ db: Database) throws {
    let sql = "SELECT id, value ->> 'text' FROM notes ORDER BY value ->> 'text'"
    for row in try db.query(sql).all() { say("\(row[0].asText ?? "")  \(row[1].asText ?? "")") }
}

func add(_ db: Database, _ text: String) throws {
    let id = UUID().uuidString.prefix(8).lowercased()
    try db.put("notes", id, Note(text: text))
    say(id)
}

func showPending(_ db: Database) throws {
    // kedge.noop is what a cancelled edit has become.
    for edit in try db.pending().all() where edit.name != "kedge.noop" {
        say("\(edit.sequence) \(edit.name) \(try edit.args(as: Named.self).id)")
    }
}

func showInbox(_ db: Database) throws {
    for edit in try db.rejected().all() {
        say("\(edit.sequence) \(edit.name) \(edit.code): \(edit.message)")
    }
}

func dismiss(_ db: Database, _ word: String) throws {
    guard let sequence = Int64(word) else { fail("a sequence is a number, not \"\(word)\"") }
    try db.dismiss(sequence)
}

func sync(_ db: Database) async throws {
    try db.setOnline(true)
    try await db.sync(timeout: .seconds(10))
    let status = try db.status()
    say("version \(status.version), \(status.pending) pending, \(status.rejected) rejected")
}

func showLive(_ db: Database) async throws {
    try db.setOnline(true)
    let commits = try db.changes("notes")
    try await db.sync(timeout: .seconds(10))
    say("live")
    for try await changes in commits {
        // Without a change there are more than is listed: read everything again.
        if changes.isEmpty { try showList(db) }
        for change in changes {
            let text = try change.new?.decoded(as: Note.self).text ?? "(deleted)"
            say("\(change.source) \(change.id) \(text)")
            if text == "bye" { return }
        }
    }
}

func run(_ db: Database, _ words: [String]) async throws {
    switch (words.first, words.count) {
    case ("list", 1): try showList(db)
    case ("add", 2): try add(db, words[1])
    case ("edit", 3): try db.editText("notes", words[1], path: "/text", text: words[2])
    case ("delete", 2): try db.delete("notes", words[1])
    case ("pending", 1): try showPending(db)
    case ("inbox", 1): try showInbox(db)
    case ("dismiss", 2): try dismiss(db, words[1])
    case ("sync", 1): try await sync(db)
    case ("live", 1): try await showLive(db)
    default: fail(usage)
    }
}

/// The words of the command line without the option, whose value it returns.
func takeOption(_ name: String, from words: inout [String]) -> String? {
    guard let place = words.firstIndex(of: name) else { return nil }
    guard place + 1 < words.count else { fail(usage) }
    let value = words[place + 1]
    words.removeSubrange(place...place + 1)
    return value
}

var words = Array(CommandLine.arguments.dropFirst())
let url = takeOption("--url", from: &words)
let project = takeOption("--project", from: &words) ?? "notes"
guard let folder = words.first else { fail(usage) }
var options = Options(path: folder, organization: "demo", project: project, url: url)
options.offline = true
do {
    let db = try Database(options)
    try await run(db, Array(words.dropFirst()))
    try db.close()
} catch {
    fail("\(error)")
}
