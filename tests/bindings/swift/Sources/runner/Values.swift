// The JSON of scenarios: members of steps, what Kedge tells as JSON, and comparing.
import Foundation
import Kedge

/// A scenario that went another way.
struct Failed: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension JSON {
    func list(_ member: String) -> [JSON] {
        if case .array(let elements)? = self[member] { elements } else { [] }
    }

    func flag(_ member: String) -> Bool { self[member] == true }

    /// A text that must be there.
    func words(_ member: String) -> String {
        guard let text = self[member]?.text else { fail("a step lacks the text \(member)") }
        return text
    }

    func number(_ member: String, _ otherwise: Int = 0) -> Int {
        self[member]?.integer ?? otherwise
    }

    init(_ count: Int64) { self = .number(Double(count)) }

    init(_ raw: RawJSON?) throws { self = try raw?.decoded(as: JSON.self) ?? .null }

    init(_ value: SQLValue) {
        switch value {
        case .null: self = .null
        case .integer(let integer): self = .number(Double(integer))
        case .real(let real): self = .number(real)
        case .text(let text): self = .string(text)
        case .blob(let bytes):
            self = ["hex": .string(bytes.map { String(format: "%02x", $0) }.joined())]
        }
    }

    init(_ row: [SQLValue]?) { self = row.map { .array($0.map { JSON($0) }) } ?? .null }

    init(_ status: SyncStatus) {
        self = [
            "connection": .string("\(status.connection)"), "resyncing": .boolean(status.resyncing),
            "version": JSON(status.version), "pending": JSON(status.pending),
            "rejected": JSON(status.rejected),
            "withheld": JSON(status.withheld), "unrecovered": JSON(status.unrecovered),
            "last_error": .string((status.lastError?.status ?? .ok).word),
        ]
    }

    init(_ mutation: Mutation) throws {
        self = [
            "sequence": JSON(mutation.sequence), "sent": .boolean(mutation.sent),
            "withheld": .boolean(mutation.withheld),
            "name": .string(mutation.name), "args": try JSON(mutation.args),
            "code": .string(mutation.code),
        ]
    }

    init(_ change: Change) throws {
        self = [
            "collection": .string(change.collection), "id": .string(change.id),
            "old": try JSON(change.old),
            "new": try JSON(change.new),
            "source": change.source == .otherProcess
                ? "other-process" : .string("\(change.source)"),
        ]
    }

    init(_ changes: ResultChanges) {
        let rows = changes.rows.map { row -> JSON in
            [
                "kind": .string("\(row.kind)"), "key": .string(row.key), "old": JSON(row.old),
                "new": JSON(row.new),
                "old_position": JSON(Int64(row.oldPosition)),
                "new_position": JSON(Int64(row.newPosition)),
            ]
        }
        self = [
            "rows": .array(rows), "row_count": JSON(Int64(changes.rowCount)),
            "first": .boolean(changes.first),
            "local": .boolean(changes.local), "pulled": .boolean(changes.pulled),
            "code": .string(changes.error?.code ?? ""),
        ]
    }
}

/// True when `given` has what `wanted` names: see "The file" in the README.
func matches(_ wanted: JSON, _ given: JSON) -> Bool {
    guard case .object(let members) = wanted else { return false }
    return members.allSatisfy { name, value in
        guard let found = given[name] else { return false }
        guard ["mutations", "changes", "results", "versions"].contains(name) else {
            return value == found
        }
        let (one, other) = (wanted.list(name), given.list(name))
        return one.count == other.count && zip(one, other).allSatisfy(matches)
    }
}

/// What Swift gives as nil, and the scenarios call not-found.
struct Absent: Error {}

private final class Box<Result: Sendable>: @unchecked Sendable {
    var result: Swift.Result<Result, any Error>?  // set before the semaphore is signalled
}

/// Waits for what only tasks can wait for.
func blocking<Result: Sendable>(_ work: @escaping @Sendable () async throws -> Result) throws
    -> Result
{
    let box = Box<Result>()
    let done = DispatchSemaphore(value: 0)
    Task {
        do { box.result = .success(try await work()) } catch { box.result = .failure(error) }
        done.signal()
    }
    done.wait()
    return try box.result!.get()
}
