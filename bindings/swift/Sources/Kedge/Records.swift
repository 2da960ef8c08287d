// What Kedge tells, as plain values.
import CKedge
import Foundation

/// How a database stands to its server.
public enum Connection: Int, Sendable {
    /// By option, by ``Database/setOnline(_:)``, or without a url.
    case offline = 0
    /// Another process has the database open and does the syncing.
    case follower = 1
    /// No response yet, or waiting to retry.
    case connecting = 2
    case online = 3
    /// See `lastError`: the server refused, or the outbox is damaged.
    case stopped = 4
}

/// What became of an edit.
public enum Outcome: Int, Sendable {
    case pending = 0
    case applied = 1
    case rejected = 2
}

/// Where a change comes from.
public enum Source: Int, Sendable {
    case local = 1
    case pulled = 2
    case otherProcess = 3
}

/// How important a line of the log is.
public enum LogLevel: Int, Sendable {
    case error = 0
    case warning = 1
    case info = 2
    case debug = 3
}

/// The state of sync: `kedge_sync_status` of kedge/sync.h. `lastError` is nil when the last request
/// succeeded.
public struct SyncStatus: Sendable {
    public let connection: Connection
    public let resyncing: Bool
    public let version: Int64
    public let pending: Int64
    public let rejected: Int64
    public let withheld: Int64
    public let unrecovered: Int64
    public let client: String
    public let lastError: KedgeError?

    init(_ filled: kedge_sync_status) {
        connection = Connection(rawValue: Int(filled.connection.rawValue)) ?? .offline
        resyncing = filled.resyncing
        version = filled.version
        pending = filled.pending
        rejected = filled.rejected
        withheld = filled.withheld
        unrecovered = filled.unrecovered
        client = text(array: filled.client)
        let error = filled.last_error
        lastError = error.status == KEDGE_OK ? nil : KedgeError(error.status, error)
    }
}

/// A pending edit, or one in the inbox of rejected edits, with the code and message of the
/// rejection.
public struct Mutation: Sendable {
    public let sequence: Int64
    public let timestampMs: Int64
    public let sent: Bool
    public let withheld: Bool
    public let name: String
    /// The args as canonical JSON.
    public let args: RawJSON
    public let code: String
    public let message: String

    init(_ filled: kedge_mutation) {
        sequence = filled.sequence
        timestampMs = filled.timestamp_ms
        sent = filled.sent
        withheld = filled.withheld
        name = text(filled.name)
        args = RawJSON(text(filled.args, filled.args_size))
        code = text(filled.code)
        message = text(filled.message)
    }

    /// The args as a type of the app.
    public func args<Args: Decodable>(as kind: Args.Type) throws -> Args {
        try args.decoded(as: kind)
    }
}

/// One key that has another value. `collection` is "" for the project record. A value is nil where
/// there is no item.
public struct Change: Sendable {
    public let collection: String
    public let id: String
    public let old: RawJSON?
    public let new: RawJSON?
    public let source: Source

    /// A change for tests of an app.
    public init(
        collection: String, id: String, old: RawJSON? = nil, new: RawJSON? = nil,
        source: Source = .local
    ) {
        self.collection = collection
        self.id = id
        self.old = old
        self.new = new
        self.source = source
    }

    init(_ filled: kedge_change) {
        collection = text(filled.collection)
        id = text(filled.id, filled.id_size)
        old = filled.old_value.map { RawJSON(text($0, filled.old_size)) }
        new = filled.new_value.map { RawJSON(text($0, filled.new_size)) }
        source = Source(rawValue: Int(filled.source.rawValue)) ?? .local
    }
}

extension RawJSON {
    /// The JSON as a type of the app.
    public func decoded<Value: Decodable>(as kind: Value.Type) throws -> Value {
        try JSONDecoder().decode(kind, from: Data(text.utf8))
    }
}

/// A value of a row of SQL.
public enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    public var asText: String? {
        if case .text(let text) = self { text } else { nil }
    }

    public var asInteger: Int64? {
        if case .integer(let integer) = self { integer } else { nil }
    }

    /// The number, whole or not.
    public var asReal: Double? {
        switch self {
        case .real(let real): real
        case .integer(let integer): Double(integer)
        default: nil
        }
    }
}

/// A value in the JSON of a watched row, which has no blobs.
extension SQLValue: Decodable {
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let integer = try? value.decode(Int64.self) {
            self = .integer(integer)
        } else if let real = try? value.decode(Double.self) {
            self = .real(real)
        } else {
            self = .text(try value.decode(String.self))
        }
    }
}

/// What became of a row of a watched result.
public enum RowChangeKind: Int, Sendable {
    case added = 1
    case changed = 2
    case removed = 3
}

/// One row that differs: `kedge_row_change` of kedge/watch.h. A row is nil where there is none,
/// with the position -1.
public struct RowChange: Sendable {
    public let kind: RowChangeKind
    public let key: String
    public let old: [SQLValue]?
    public let oldPosition: Int
    public let new: [SQLValue]?
    public let newPosition: Int

    init(_ filled: kedge_row_change) {
        kind = RowChangeKind(rawValue: Int(filled.kind.rawValue)) ?? .changed
        key = text(filled.key, filled.key_size)
        old = filled.old_row.flatMap { try? decoded([SQLValue].self, $0, filled.old_size) }
        oldPosition = Int(filled.old_position)
        new = filled.new_row.flatMap { try? decoded([SQLValue].self, $0, filled.new_size) }
        newPosition = Int(filled.new_position)
    }
}

/// How the result of a watched query differs: `kedge_query_changes` of kedge/watch.h. With an
/// `error` the result could not be read; Kedge tries again.
public struct ResultChanges: Sendable {
    public let rows: [RowChange]
    public let rowCount: Int
    public let first: Bool
    public let local: Bool
    public let pulled: Bool
    public let otherProcess: Bool
    public let error: KedgeError?

    init(_ filled: kedge_query_changes) {
        rows = UnsafeBufferPointer(start: filled.rows, count: filled.count).map(RowChange.init)
        rowCount = filled.row_count
        first = filled.first
        local = filled.local
        pulled = filled.pulled
        otherProcess = filled.other_process
        error = filled.error.map { KedgeError($0.pointee.status, $0.pointee) }
    }

    /// Brings `list` up to date, the rows of the result before these changes, in their order.
    public func apply(to list: inout [[SQLValue]]) {
        for change in rows.sorted(by: { $0.oldPosition > $1.oldPosition }) where change.old != nil {
            list.remove(at: change.oldPosition)
        }
        for change in rows.sorted(by: { $0.newPosition < $1.newPosition }) {
            if let new = change.new { list.insert(new, at: change.newPosition) }
        }
    }
}

/// Who makes a mutation; `nowMs` is the mutation's own timestamp, in milliseconds since 1970.
public struct Caller: Sendable {
    public let user: String
    public let role: String
    public let client: String
    public let nowMs: Int64

    init(_ filled: kedge_caller) {
        user = text(filled.user)
        role = text(filled.role)
        client = text(filled.client)
        nowMs = filled.now_ms
    }
}

/// A declared index.
public struct Index: Sendable, Hashable {
    public let name: String
    public let collection: String
    public let paths: [String]
}

/// What an undo or redo did.
public struct UndoResult: Sendable, Hashable {
    /// Of the edit that the undo is.
    public let sequence: Int64
    /// Places that have their old value again.
    public let restored: Int64
    /// Places that somebody had changed since, and that stay.
    public let kept: Int64

    init(_ filled: kedge_undo_result) {
        sequence = filled.sequence
        restored = filled.restored
        kept = filled.kept
    }
}

/// What can be undone and redone, for an app's menu. A label is "" when there is none.
public struct UndoState: Sendable, Hashable {
    public let undoCount: Int
    public let redoCount: Int
    public let isOpen: Bool
    public let undoLabel: String
    public let redoLabel: String

    init(_ filled: kedge_undo_state) {
        undoCount = Int(filled.undo_count)
        redoCount = Int(filled.redo_count)
        isOpen = filled.open
        undoLabel = text(array: filled.undo_label)
        redoLabel = text(array: filled.redo_label)
    }
}

/// How many edits a repair found: `kedge_repair_report` of kedge/repair.h.
public struct RepairReport: Sendable, Hashable {
    public let pending: Int64
    public let rejected: Int64
    public let confirmed: Int64
    public let damaged: Int64
    /// -1: cannot be known.
    public let missing: Int64

    init(_ filled: kedge_repair_report) {
        pending = filled.pending
        rejected = filled.rejected
        confirmed = filled.confirmed
        damaged = filled.damaged
        missing = filled.missing
    }
}

/// Counters since the database was opened, and sizes of its files in bytes: see kedge/stats.h.
public struct Stats: Sendable, Hashable {
    public let edits: Int64
    public let editsRefused: Int64
    public let requests: Int64
    public let requestBytes: Int64
    public let responses: Int64
    public let responseBytes: Int64
    public let failures: Int64
    public let pokes: Int64
    public let pulls: Int64
    public let outboxBytes: Int64
    public let outboxWalBytes: Int64
    public let cacheBytes: Int64
    public let cacheWalBytes: Int64

    init(_ filled: kedge_stats) {
        edits = filled.edits
        editsRefused = filled.edits_refused
        requests = filled.requests
        requestBytes = filled.request_bytes
        responses = filled.responses
        responseBytes = filled.response_bytes
        failures = filled.failures
        pokes = filled.pokes
        pulls = filled.pulls
        outboxBytes = filled.outbox_bytes
        outboxWalBytes = filled.outbox_wal_bytes
        cacheBytes = filled.cache_bytes
        cacheWalBytes = filled.cache_wal_bytes
    }
}
