// Cursors: items of a collection, rows of a query, edits of a list, indexes. Each is on one
// snapshot. `next()` gives nil after the last row and closes the cursor. Several threads may use
// one, one after the other.
import CKedge

/// What all cursors have: `next()` of a class below, and all that is left as an array.
public class Cursor<Element>: Owner, @unchecked Sendable {
    /// The next row, or nil after the last. Throws when the cursor was closed before its end.
    public func next() throws -> Element? { try step(read) }

    /// What `read` gives of the next row, or nil after the last, where the cursor is closed.
    final func step<Row>(_ read: (OpaquePointer) throws -> Row?) throws -> Row? {
        do {
            if let row = try handle.use(read) { return row }
        } catch  where handle.isOver {
            return nil
        }
        handle.isOver = true
        close()
        return nil
    }

    /// Calls `body` with each row that is left.
    public func forEach(_ body: (Element) throws -> Void) throws {
        while let row = try next() { try body(row) }
    }

    /// All rows that are left.
    public func all() throws -> [Element] {
        var rows: [Element] = []
        try forEach { rows.append($0) }
        return rows
    }

    func read(_ pointer: OpaquePointer) throws -> Element? { nil }
}

/// The items of a collection, by id in byte order. They are read some at a time.
public final class Scan<Item: Decodable>: Cursor<(id: String, value: Item)>, @unchecked Sendable {
    @usableFromInline let rows = ScanRows()

    override init(_ db: Database, _ handle: Handle) {
        super.init(db, handle)
        handle.whenClosed { [rows] in rows.close() }
    }

    /// The next item, or nil after the last. Throws when the scan was closed before its end.
    @inlinable
    public override func next() throws -> (id: String, value: Item)? {
        rows.lock()
        defer { rows.unlock() }
        return try row()?.item(Item.self)
    }

    /// Calls `body` with each item that is left. This is faster than `next()`: the scan is locked
    /// for some items at a time. `body` may use it; other threads that do so wait.
    @inlinable
    public override func forEach(_ body: ((id: String, value: Item)) throws -> Void) throws {
        while try forSome({ row in try body(row.item(Item.self)) }) {}
    }

    /// Calls `body` with the bytes of each item that is left, which are UTF-8: its id, and its
    /// value as canonical JSON. Nothing is copied or decoded. Both end when `body` returns, or when
    /// it reads on in the scan, which is locked as in ``forEach(_:)``.
    @inlinable
    public func forEachBytes(
        _ body: (_ id: UnsafeRawBufferPointer, _ json: UnsafeRawBufferPointer) throws -> Void
    ) throws {
        while try forSome({ row in try body(row.idBytes, row.jsonBytes) }) {}
    }

    /// All items that are left.
    @inlinable
    public override func all() throws -> [(id: String, value: Item)] {
        var items: [(id: String, value: Item)] = []
        try forEach { items.append($0) }
        return items
    }

    /// Calls `body` with those of the rows that are read together. False: there are none.
    @inlinable
    func forSome(_ body: (BorrowedRow) throws -> Void) throws -> Bool {
        rows.lock()
        defer { rows.unlock() }
        guard let first = try row() else { return false }
        try body(first)
        while let row = rows.takeAnother() { try body(row) }
        return true
    }

    /// The next row, under the lock. The handle is no longer in use when this returns: the app's
    /// type, which is decoded from the row, may read on in the scan, and close it.
    @inlinable
    func row() throws -> BorrowedRow? { try rows.take() ?? readRow() }

    @usableFromInline
    func readRow() throws -> BorrowedRow? { try step { try rows.read($0) } }
}

/// The rows of a query.
public final class Query: Cursor<[SQLValue]>, @unchecked Sendable {
    /// The names of the columns.
    public let columns: [String]

    override init(_ db: Database, _ handle: Handle) {
        let names = try? handle.use { query in
            (0..<kedge_query_column_count(query)).map { text(kedge_query_column_name(query, $0)) }
        }
        columns = names ?? []
        super.init(db, handle)
    }

    override func read(_ pointer: OpaquePointer) throws -> [SQLValue]? {
        guard try call({ kedge_query_next(pointer, $0) }) else { return nil }
        return (0..<Int32(columns.count)).map { value(pointer, $0) }
    }

    private func value(_ query: OpaquePointer, _ column: Int32) -> SQLValue {
        let kind = kedge_query_column_type(query, column)
        if kind == KEDGE_COLUMN_NULL { return .null }
        if kind == KEDGE_COLUMN_INTEGER { return .integer(kedge_query_integer(query, column)) }
        if kind == KEDGE_COLUMN_REAL { return .real(kedge_query_real(query, column)) }
        var size = 0
        let found = kedge_query_text(query, column, &size)
        let bytes = UnsafeRawBufferPointer(start: found, count: found == nil ? 0 : size)
        return kind == KEDGE_COLUMN_BLOB
            ? .blob(Array(bytes)) : .text(String(decoding: bytes, as: UTF8.self))
    }
}

/// Pending or rejected edits, in order of sequence.
public final class Mutations: Cursor<Mutation>, @unchecked Sendable {
    override func read(_ pointer: OpaquePointer) throws -> Mutation? {
        var filled = ckedge_mutation()
        return try call { kedge_mutation_list_next(pointer, &filled, $0) } ? Mutation(filled) : nil
    }
}

/// The declared indexes, in order of declaration.
public final class Indexes: Cursor<Index>, @unchecked Sendable {
    override func read(_ pointer: OpaquePointer) throws -> Index? {
        var name: UnsafePointer<CChar>?
        var collection: UnsafePointer<CChar>?
        var paths: UnsafePointer<CChar>?
        guard try call({ kedge_index_list_next(pointer, &name, &collection, &paths, $0) }),
            let name, let collection,
            let paths
        else { return nil }
        let list = try RawJSON(text(paths)).decoded(as: [String].self)
        return Index(name: text(name), collection: text(collection), paths: list)
    }
}
