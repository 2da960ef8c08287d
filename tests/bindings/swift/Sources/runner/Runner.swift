// One scenario that runs, step by step.
import Foundation
import Kedge

let wait = Duration.seconds(120)  // for anything that must happen by itself

/// What a watch has told and nobody has asked for.
final class Told: @unchecked Sendable {
    private let changed = NSCondition()
    private var events: [JSON] = []
    private var status: JSON?

    func add(_ more: [JSON]) {
        changed.withLock {
            events += more
            changed.broadcast()
        }
    }

    func set(_ now: JSON) {
        changed.withLock {
            status = now
            changed.broadcast()
        }
    }

    func wait(_ wanted: JSON) -> JSON {
        let name = ["changes", "mutations", "results"].first { wanted[$0] != nil }
        let count = name.map { wanted.list($0).count } ?? 0
        let until = Date(timeIntervalSinceNow: 120)
        return changed.withLock {
            while !(name == nil
                ? status.map { matches(wanted, $0) } ?? false : events.count >= count)
            {
                guard changed.wait(until: until) else { break }
            }
            var given: [String: JSON] = [:]
            if case .object(let members)? = status { given = members }
            if let name { given[name] = .array(Array(events.prefix(count))) }
            events.removeFirst(min(count, events.count))
            return .object(given)
        }
    }
}

final class Runner {
    let url, organization, folder, project: String
    var copies: [String: Database] = [:]
    var watches: [String: (watch: Watch, told: Told)] = [:]

    init(url: String, organization: String, folder: String, project: String) {
        self.url = url
        self.organization = organization
        self.folder = folder
        self.project = project
    }

    func db(_ step: JSON) -> Database {
        let name = step.words("copy")
        guard let db = copies[name] else { fail("the copy \(name) is not open") }
        return db
    }

    func path(_ copy: String) -> String { "\(folder)/\(copy)" }

    /// Nil when it went as it should; else what was wanted and what came.
    func run(_ step: JSON) throws -> (JSON, String)? {
        let fails = step["fails"] ?? ["status": "ok"]
        var given: JSON = [:]
        var failure: KedgeError?
        var status = Status.ok
        do {
            given = try carryOut(step)
        } catch let error as KedgeError {
            failure = error
            status = error.status
        } catch is Absent {
            status = .notFound
        }
        if status.word != fails["status"]?.text {
            return (fails, failure?.description ?? "\(status.word) \(given)")
        }
        if let failure, let code = fails["code"]?.text, code != failure.code {
            return (fails, failure.description)
        }
        let wanted = step["gives"] ?? [:]
        return matches(wanted, given) ? nil : (wanted, "\(given)")
    }

    private func carryOut(_ step: JSON) throws -> JSON {
        switch step.words("do") {
        case "open", "close", "repair": try doCopy(step)
        case "mutate", "text", "batch", "cancel": try doEdit(step)
        case "undo_begin", "undo_end", "undo", "redo", "undo_state": try doUndo(step)
        case "get", "project", "scan", "query": try doRead(step)
        case "index", "index_drop", "indexes", "order", "stats": try doOther(step)
        case "online", "offline", "sync", "wait", "status", "loop": try doSync(step)
        case "pending", "rejected", "dismiss", "dismiss_through", "resubmit", "history":
            try doList(step)
        case "watch", "watch_status", "watch_rejected", "watch_query", "told", "unwatch":
            try doWatch(step)
        case let name: fail("no such step: \(name)")
        }
    }

    // MARK: Copies and edits

    private func named(_ names: [JSON]) -> [Mutator] {
        names.compactMap { mutators[$0.text ?? ""] }
    }

    private func doCopy(_ step: JSON) throws -> JSON {
        let copy = step.words("copy")
        switch step.words("do") {
        case "open":
            var options = Options(
                path: path(copy), organization: organization,
                project: step["project"]?.text ?? project)
            options.url = step["url"] == false ? nil : url
            options.user = step["user"]?.text
            options.role = step["role"]?.text
            options.schemaVersion = step["schema_version"]?.text
            options.offline = step.flag("offline")
            options.callerDriven = step.flag("caller_driven")
            options.createProject = step.flag("create_project")
            options.mutators = named(step.list("mutators"))
            options.clientMutators = named(step.list("client_mutators"))
            copies[copy] = try Database(options)
            return [:]
        case "close":
            try db(step).close()
            copies[copy] = nil
            return [:]
        default:
            let report = try repair(path(copy), into: path(step.words("into")))
            return [
                "pending": JSON(report.pending), "rejected": JSON(report.rejected),
                "confirmed": JSON(report.confirmed),
                "damaged": JSON(report.damaged), "missing": JSON(report.missing),
            ]
        }
    }

    private func doEdit(_ step: JSON) throws -> JSON {
        let db = db(step)
        switch step.words("do") {
        case "mutate":
            if let raw = step["args_text"]?.text {
                return ["sequence": JSON(try db.mutate(step.words("name"), RawJSON(raw)))]
            }
            return ["sequence": JSON(try db.mutate(step.words("name"), step["args"] ?? .null))]
        case "text":
            return [
                "sequence": JSON(
                    try db.editText(
                        step.words("collection"), step.words("id"), path: step.words("path"),
                        base: step["base"]?.text,
                        text: step.words("text")))
            ]
        case "batch":
            let batch = try db.batch()
            defer { batch.close() }
            for edit in step.list("edits") {
                if let raw = edit["args_text"]?.text {
                    try batch.mutate(edit.words("name"), RawJSON(raw))
                } else {
                    try batch.mutate(edit.words("name"), edit["args"] ?? .null)
                }
            }
            return ["sequence": JSON(try batch.commit())]
        default:
            try db.cancel(Int64(step.number("sequence")))
            return [:]
        }
    }

    private func doUndo(_ step: JSON) throws -> JSON {
        let db = db(step)
        switch step.words("do") {
        case "undo_begin":
            try db.beginUndo(step["label"]?.text ?? "")
            return [:]
        case "undo_end":
            try db.endUndo()
            return [:]
        case "undo_state":
            let state = try db.undoState()
            return [
                "undo_count": JSON(Int64(state.undoCount)),
                "redo_count": JSON(Int64(state.redoCount)),
                "open": .boolean(state.isOpen), "undo_label": .string(state.undoLabel),
                "redo_label": .string(state.redoLabel),
            ]
        case let which:
            let result = try which == "undo" ? db.undo() : db.redo()
            return [
                "sequence": JSON(result.sequence), "restored": JSON(result.restored),
                "kept": JSON(result.kept),
            ]
        }
    }

    // MARK: Reads

    /// What Swift gives as nil is a failure in the scenarios.
    private func found(_ value: JSON?) throws -> JSON {
        guard let value else { throw Absent() }
        return value
    }

    private func doRead(_ step: JSON) throws -> JSON {
        let db = db(step)
        switch step.words("do") {
        case "get":
            let id = step.words("id")
            return ["id": .string(id), "value": try found(db.get(step.words("collection"), id))]
        case "project":
            return ["value": try found(db.getProject())]
        case "scan":
            let scan = try db.scan(
                step.words("collection"), after: step["after"]?.text, prefix: step["prefix"]?.text,
                limit: Int64(step.number("limit")), descending: step.flag("descending"),
                as: JSON.self)
            return ["items": .array(try scan.all().map { [.string($0.id), $0.value] })]
        default:
            let query = try db.query(step.words("sql"), step.list("parameters"))
            let rows = try query.all().map { JSON($0) }
            return ["columns": .array(query.columns.map { .string($0) }), "rows": .array(rows)]
        }
    }

    private func doOther(_ step: JSON) throws -> JSON {
        switch step.words("do") {
        case "index":
            try db(step).declareIndex(
                step.words("name"), step.words("collection"), step.list("paths").compactMap(\.text))
            return [:]
        case "index_drop":
            try db(step).dropIndex(step.words("name"))
            return [:]
        case "indexes":
            let indexes = try db(step).indexes().all().map { index -> JSON in
                [
                    "name": .string(index.name), "collection": .string(index.collection),
                    "paths": .array(index.paths.map { .string($0) }),
                ]
            }
            return ["indexes": .array(indexes)]
        case "order":
            let random = UInt32(truncatingIfNeeded: step.number("random"))
            return [
                "key": .string(
                    try orderBetween(step["before"]?.text, step["after"]?.text, random: random))
            ]
        default:
            let stats = try db(step).stats()
            return [
                "edits": JSON(stats.edits), "edits_refused": JSON(stats.editsRefused),
                "requests": JSON(stats.requests),
                "pulls": JSON(stats.pulls),
            ]
        }
    }

    // MARK: Sync

    private func timeout(_ step: JSON) -> Duration {
        step["timeout_ms"]?.integer.map { .milliseconds($0) } ?? wait
    }

    private func doSync(_ step: JSON) throws -> JSON {
        let (db, limit) = (db(step), timeout(step))
        switch step.words("do") {
        case "online": try db.setOnline(true)
        case "offline": try db.setOnline(false)
        case "sync": try blocking { try await db.sync(timeout: limit) }
        case "wait":
            let sequence = Int64(step.number("sequence"))
            return [
                "outcome": .string(
                    "\(try blocking { try await db.wait(sequence, timeout: limit) })")
            ]
        case "status": return JSON(try db.status())
        default: return try loop(db, step["until"] ?? [:])
        }
        return [:]
    }

    /// Runs the loop of a caller-driven copy until its status has the members of `until`.
    private func loop(_ db: Database, _ until: JSON) throws -> JSON {
        let end = ContinuousClock.now.advanced(by: wait)
        while true {
            let next = try db.runLoop()
            let given = JSON(try db.status())
            if matches(until, given) { return given }
            if ContinuousClock.now > end { throw Failed("the status did not come") }
            var set = pollfd(fd: try db.loopDescriptor(), events: Int16(POLLIN), revents: 0)
            let milliseconds =
                next.components.seconds * 1000 + next.components.attoseconds / 1_000_000_000_000_000
            poll(&set, 1, Int32(min(milliseconds, 1000)))
        }
    }

    private func doList(_ step: JSON) throws -> JSON {
        let db = db(step)
        switch step.words("do") {
        case "pending": return ["mutations": .array(try db.pending().all().map { try JSON($0) })]
        case "rejected": return ["mutations": .array(try db.rejected().all().map { try JSON($0) })]
        case "dismiss":
            try db.dismiss(Int64(step.number("sequence")))
            return [:]
        case "dismiss_through":
            let dismissed = try db.dismissThrough(Int64(step.number("sequence")))
            return ["dismissed": JSON(Int64(dismissed))]
        case "resubmit": return ["sequence": JSON(try db.resubmit(Int64(step.number("sequence"))))]
        default:
            let (before, limit) = (Int64(step.number("before")), Int32(step.number("limit", 10)))
            return [
                "versions": .array(
                    try blocking {
                        try await db.history(before: before, limit: limit, timeout: wait)
                    })
            ]
        }
    }

    // MARK: Watches

    private func doWatch(_ step: JSON) throws -> JSON {
        let (name, told) = (step.words("watch"), Told())
        switch step.words("do") {
        case "watch":
            let watch = try db(step).watch(step["collection"]?.text) { changes in
                told.add(changes.compactMap { try? JSON($0) })
            }
            watches[name] = (watch, told)
        case "watch_status":
            watches[name] = (try db(step).watchStatus { told.set(JSON($0)) }, told)
        case "watch_rejected":
            let watch = try db(step).watchRejected { mutation in
                told.add([try? JSON(mutation)].compactMap { $0 })
            }
            watches[name] = (watch, told)
        case "watch_query":
            let watch = try db(step).watchQuery(step.words("sql"), step.list("parameters")) {
                told.add([JSON($0)])
            }
            watches[name] = (watch, told)
        case "told":
            guard let watch = watches[name] else { fail("no such watch: \(name)") }
            return watch.told.wait(step["gives"] ?? [:])
        default:
            watches.removeValue(forKey: name)?.watch.close()
        }
        return [:]
    }

    // MARK: The end

    /// The bytes that all copies of the end have.
    func checkEnd(_ end: JSON) throws -> Data {
        let names = end.list("copies").compactMap(\.text)
        let ends = names.map { name -> Database in
            guard let db = copies[name] else { fail("a copy of the end is not open: \(name)") }
            return db
        }
        for _ in 0..<2 {  // the second round brings what others pushed in the first
            for db in ends {
                try db.setOnline(true)
                try blocking { try await db.sync(timeout: wait) }
            }
        }
        let states = try ends.map(state)
        for (bytes, items) in states {
            guard items == end["items"] else { throw Failed("the end: got \(items)") }
            guard bytes == states[0].bytes else {
                throw Failed("the copies end with different bytes")
            }
        }
        return states.first?.bytes ?? Data()
    }

    private func state(_ db: Database) throws -> (bytes: Data, items: JSON) {
        var lines = ""
        var items: [String: [String: JSON]] = [:]
        let query = try db.query(
            "SELECT collection, id, value FROM kedge_items ORDER BY collection, id")
        while let row = try query.next() {
            let texts = row.compactMap(\.asText)
            lines += texts.joined(separator: "\t") + "\n"
            items[texts[0], default: [:]][texts[1]] = try RawJSON(texts[2]).decoded(as: JSON.self)
        }
        if let project = try db.getProject(as: RawJSON.self) { lines += project.text + "\n" }
        return (Data(lines.utf8), .object(items.mapValues { .object($0) }))
    }

    func close() {
        for (watch, _) in watches.values { watch.close() }
        for db in copies.values { try? db.close() }
    }
}
