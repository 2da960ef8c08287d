// What reads and edits cost in Swift, for bindings.py, which says what is asked: crossing FOLDER.
import Foundation
import Kedge

let items = 1000
let text = String(repeating: "x", count: 1_000_000)
let note = String(text.prefix(100))

func put(_ db: Database, _ id: String, _ n: Int, _ text: String) throws -> Int {
    let value = "{\"n\":\(n),\"text\":\"\(text)\"}"
    let args = "{\"collection\":\"notes\",\"id\":\"\(id)\",\"value\":\(value)}"
    _ = try db.mutate("kedge.put", RawJSON(args))
    return args.utf8.count
}

func get(_ db: Database, _ id: String) throws -> Int {
    guard let found = try db.get("notes", id, as: RawJSON.self) else { return 0 }
    return found.text.utf8.count
}

func scan(_ db: Database) throws -> Int {
    var bytes = 0
    let rows = try db.scan("notes", prefix: "i", as: RawJSON.self)
    try rows.forEachBytes { id, json in bytes += id.count + json.count }
    return bytes
}

func scanTexts(_ db: Database) throws -> Int {
    var bytes = 0
    let rows = try db.scan("notes", prefix: "i", as: RawJSON.self)
    try rows.forEach { row in bytes += row.id.utf8.count + row.value.text.utf8.count }
    return bytes
}

func scanKept(_ db: Database) throws -> Int {
    let rows = try db.scan("notes", prefix: "i", as: RawJSON.self).all()
    return rows.reduce(0) { $0 + $1.id.utf8.count + $1.value.text.utf8.count }
}

func id(_ number: Int) -> String {
    let digits = String(number % items)
    return "i" + String(repeating: "0", count: 3 - digits.count) + digits
}

func work(_ db: Database, _ name: String, _ number: Int) throws -> Int {
    switch name {
    case "mutate": return try put(db, id(number), number, note)
    case "get": return try get(db, id(number))
    case "scan": return try scan(db)
    case "scan-texts": return try scanTexts(db)
    case "scan-kept": return try scanKept(db)
    case "put-large": return try put(db, "large", number, text)
    case "get-large": return try get(db, "large")
    default: fatalError(name)
    }
}

func clockMicroseconds(_ clock: clockid_t) -> Int {
    var now = timespec()
    clock_gettime(clock, &now)
    return now.tv_sec * 1_000_000 + now.tv_nsec / 1000
}

let db = try Database(
    Options(path: CommandLine.arguments[1], organization: "demo", project: "bench"))
while let line = readLine() {
    let words = line.split(separator: " ")
    let started = clockMicroseconds(CLOCK_MONOTONIC)
    let cpu = clockMicroseconds(CLOCK_PROCESS_CPUTIME_ID)
    var bytes = 0
    for number in 0..<Int(words[1])! { bytes += try work(db, String(words[0]), number) }
    let cpuTook = clockMicroseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu
    print(clockMicroseconds(CLOCK_MONOTONIC) - started, cpuTook, bytes, 0)
    fflush(nil)
}
try db.close()
