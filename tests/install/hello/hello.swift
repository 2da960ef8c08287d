// As hello.c, in Swift: the note "swift".
import Foundation
import Kedge

struct Note: Codable { var text: String }

let words = CommandLine.arguments
var options = Options(path: words[1], organization: "acme", project: "todo", url: words[2])
options.token = { ProcessInfo.processInfo.environment["KEDGE_TOKEN"] ?? "" }
let db = try Database(options)
try db.put("notes", "swift", Note(text: "hi"))
try await db.sync()
if let note = try db.get("notes", "swift", as: RawJSON.self) { print(note.text) }
try db.close()
