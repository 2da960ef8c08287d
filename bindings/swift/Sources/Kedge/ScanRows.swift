// The rows of a scan on their way from C. They are read some at a time, under one use of the
// handle. What a row takes is inlinable: in the app the compiler knows the type of the items.
import CKedge
import Foundation

/// A row that is still in memory of C or of ScanRows.
@usableFromInline
struct BorrowedRow {
    @usableFromInline let id: UnsafePointer<CChar>
    @usableFromInline let idSize: Int
    @usableFromInline let value: UnsafePointer<CChar>
    @usableFromInline let valueSize: Int

    /// The row as the app gets it.
    @inlinable
    func item<Item: Decodable>(_ kind: Item.Type) throws -> (id: String, value: Item) {
        (text(id, idSize), try decoded(kind, value, valueSize))
    }
}

/// Rows that were read, under a lock of their own.
@usableFromInline
final class ScanRows: @unchecked Sendable {
    private static let firstBytes = 512  // who looks at one row does not wait for many
    private static let mostBytes = 32768

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let rows = UnsafeMutablePointer<ckedge_rows>.allocate(capacity: 1)

    init() {
        pthread_mutex_init(mutex, nil)
        rows.initialize(to: ckedge_rows())
    }

    deinit {
        pthread_mutex_destroy(mutex)
        mutex.deallocate()
        rows.pointee.bytes?.deallocate()
        rows.deallocate()
    }

    @usableFromInline
    func lock() { pthread_mutex_lock(mutex) }

    @usableFromInline
    func unlock() { pthread_mutex_unlock(mutex) }

    /// The scan is closed: what was read is not given any more.
    func close() { ckedge_rows_close(rows) }

    /// The next of the rows that were read, until others are; nil: there is none, or this may not
    /// give it.
    @usableFromInline
    func take() -> BorrowedRow? {
        var row = ckedge_row()
        guard !Here.isInMutator, ckedge_rows_take(rows, &row) else { return nil }
        return BorrowedRow(row)
    }

    /// Reads more rows, and gives the first; nil: there is none. A row that is too large to stand
    /// among others is borrowed from the scan.
    func read(_ scan: OpaquePointer) throws -> BorrowedRow? {
        if rows.pointee.room < Self.mostBytes {
            let room = rows.pointee.room
            rows.pointee.bytes?.deallocate()
            rows.pointee.room = room == 0 ? Self.firstBytes : min(4 * room, Self.mostBytes)
            rows.pointee.bytes = .allocate(capacity: rows.pointee.room)
        }
        var row = ckedge_row()
        return try call { ckedge_rows_read(rows, scan, &row, $0) } ? BorrowedRow(row) : nil
    }
}

extension BorrowedRow {
    fileprivate init(_ row: ckedge_row) {
        self.init(id: row.id, idSize: row.id_size, value: row.value, valueSize: row.value_size)
    }
}
