// The rows of a scan on their way from C. They are read some at a time, under one use of the
// handle. What a row takes is inlinable: in the app the compiler knows the type of the items.
import CKedge
import Foundation

/// A row in the memory of ScanRows, until that reads others.
@usableFromInline
struct BorrowedRow {
    @usableFromInline let id: UnsafePointer<CChar>
    @usableFromInline let idSize: Int
    @usableFromInline let value: UnsafePointer<CChar>
    @usableFromInline let valueSize: Int

    @inlinable
    var idBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: id, count: idSize) }

    @inlinable
    var jsonBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: value, count: valueSize) }

    /// The row as the app gets it. Its type may read on in the scan while it is decoded, and the
    /// next rows would be where this one was.
    @inlinable
    func item<Item: Decodable>(_ kind: Item.Type) throws -> (id: String, value: Item) {
        (text(id, idSize), try decoded(kind, value, valueSize, stays: false))
    }
}

/// Rows that were read, under a lock of their own. Functions of the app run under it, which may use
/// the scan: the thread that has the lock may take it once more.
@usableFromInline
final class ScanRows: @unchecked Sendable {
    private static let firstBytes = 512  // who looks at one row does not wait for many
    private static let mostBytes = 32768

    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let rows = UnsafeMutablePointer<ckedge_rows>.allocate(capacity: 1)
    private var readBytes = 0  // of the rows that are read together

    init() {
        var recursive = pthread_mutexattr_t()
        pthread_mutexattr_init(&recursive)
        pthread_mutexattr_settype(&recursive, Int32(PTHREAD_MUTEX_RECURSIVE))
        pthread_mutex_init(mutex, &recursive)
        pthread_mutexattr_destroy(&recursive)
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
    func take() -> BorrowedRow? { Here.isInMutator ? nil : takeAnother() }

    /// The same for a thread that was not in a mutator when it took the row before.
    @usableFromInline
    func takeAnother() -> BorrowedRow? {
        var row = ckedge_row()
        return ckedge_rows_take(rows, &row) ? BorrowedRow(row) : nil
    }

    /// Reads more rows, and gives the first; nil: there is none. A row that is too large to stand
    /// among others is read alone.
    func read(_ scan: OpaquePointer) throws -> BorrowedRow? {
        readBytes = readBytes == 0 ? Self.firstBytes : min(4 * readBytes, Self.mostBytes)
        makeRoom(readBytes)
        try call { ckedge_rows_read(rows, scan, readBytes, $0) }
        if rows.pointee.used == 0 && rows.pointee.waits {
            makeRoom(ckedge_rows_needed(rows))
            ckedge_rows_add(rows, rows.pointee.room)
        }
        return takeAnother()
    }

    /// Makes room for rows of `size` bytes, while there are none.
    private func makeRoom(_ size: Int) {
        guard rows.pointee.room < size else { return }
        rows.pointee.bytes?.deallocate()
        rows.pointee.bytes = .allocate(capacity: size)
        rows.pointee.room = size
    }
}

extension BorrowedRow {
    fileprivate init(_ row: ckedge_row) {
        self.init(id: row.id, idSize: row.id_size, value: row.value, valueSize: row.value_size)
    }
}
