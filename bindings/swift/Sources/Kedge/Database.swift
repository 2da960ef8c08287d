// A database: one folder with one project. This file opens, edits and closes it.
import CKedge
import Foundation

/// An open database. Any thread and any task may use it. ``close()`` ends its cursors, batches and
/// watches, too, and waits for the calls of others. Who forgets to close it has it closed with its
/// last reference.
///
///     let db = try Database(Options(
///         path: "notes", organization: "demo", project: "notes", url: "http://127.0.0.1:7420"))
///     try db.put("notes", "1", Note(text: "hello"))
///     for note in try db.scan("notes", as: Note.self).all() { print(note.id, note.value.text) }
///     try await db.sync()
public final class Database: Sendable {
    let handle: Handle
    let family = Family()

    /// Opens or creates the database in the folder `options.path`.
    public init(_ options: Options) throws {
        let kept = Kept()
        let pointer = try kept.fill(options) { filled in
            try made { kedge_open(filled, $0, $1) }
        }
        handle = Handle(pointer, "database", isShared: true) { db in
            _ = withExtendedLifetime(kept) { kedge_close(db) }
        }
    }

    /// Closes the database; pending edits stay on the disk. Closing twice does nothing. Throws in a
    /// function that Kedge calls, which would wait for itself: close on a thread of the app.
    public func close() throws {
        guard Here.now.callbacks == 0, Here.now.mutators == 0 else {
            throw KedgeError.calledBack("close() may not be called in a function that Kedge calls")
        }
        closeDatabase(handle, family)
    }

    deinit {
        closeForgotten { [handle, family] in closeDatabase(handle, family) }
    }

    /// What a function of C gives in its last output, as a handle that ends with the database at
    /// the latest.
    func open(
        _ what: String, free: @escaping (OpaquePointer) -> Void,
        _ function: (
            OpaquePointer, UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<kedge_error>
        )
            -> kedge_status
    ) throws -> Handle {
        try handle.use { db in
            let made = Handle(try made { function(db, $0, $1) }, what, free: free)
            made.join(family)
            return made
        }
    }

    // MARK: Edits

    /// Makes an edit: runs the mutator, and keeps the mutation until the server has decided it.
    /// Returns its sequence: 1, 2, 3… When it returns, the edit is on the disk and every read shows
    /// it. `args`: any value that is JSON.
    @discardableResult
    public func mutate<Args: Encodable>(_ name: String, _ args: Args) throws -> Int64 {
        var sequence: Int64 = 0
        try name.terminated("name") { name in
            try encoded(args, "args") { json, size in
                try handle.use { db in
                    try edit { kedge_mutate(db, name, json, size, &sequence, $0) }
                }
            }
        }
        return sequence
    }

    /// Writes an item, with the built-in mutator kedge.put. Returns the sequence.
    @discardableResult
    public func put<Item: Encodable>(_ collection: String, _ id: String, _ item: Item) throws
        -> Int64
    {
        try mutate("kedge.put", Put(collection: collection, id: id, value: item))
    }

    /// Deletes an item, with the built-in mutator kedge.delete. Returns the sequence.
    @discardableResult
    public func delete(_ collection: String, _ id: String) throws -> Int64 {
        try mutate("kedge.delete", ["collection": collection, "id": id])
    }

    /// Several edits as one.
    public func batch() throws -> Batch {
        Batch(self, try open("batch", free: kedge_batch_free) { kedge_batch_begin($0, $1, $2) })
    }

    /// Makes the text at `path` (a JSON Pointer) of an item become `text`; edits of others since
    /// `base` are merged with it. `base` nil: what is there now. Returns the sequence, 0 when
    /// nothing changed.
    @discardableResult
    public func editText(
        _ collection: String, _ id: String, path: String = "", base: String? = nil, text: String
    ) throws -> Int64 {
        var sequence: Int64 = 0
        try collection.terminated("collection") { collection in
            try path.terminated("path") { path in
                try base.terminated("base") { base in
                    try text.terminated("text") { text in
                        try id.sized { id, size in
                            try handle.use { db in
                                try edit {
                                    kedge_text_edit(
                                        db, collection, id, size, path, base, text, &sequence, $0)
                                }
                            }
                        }
                    }
                }
            }
        }
        return sequence
    }

    /// Takes back an edit that was not sent.
    public func cancel(_ sequence: Int64) throws {
        try handle.use { db in try edit { kedge_cancel(db, sequence, $0) } }
    }

    // MARK: Undo

    /// The edits that this thread makes in `body` are undone together. They stand when `body`
    /// throws. What `body` throws goes before what the end of the group does.
    public func undoGroup<Result>(_ label: String = "", _ body: () throws -> Result) throws
        -> Result
    {
        try beginUndo(label)
        let result: Result
        do { result = try body() } catch {
            try? endUndo()
            throw error
        }
        try endUndo()
        return result
    }

    /// Begins a group by hand, for one that spans several events of a user interface. The same
    /// thread must end it.
    @available(*, noasync, message: "a task may go on on another thread: use undoGroup")
    public func beginUndo(_ label: String = "") throws {
        try label.terminated("label") { label in
            try handle.use { db in try call { kedge_undo_begin(db, label, $0) } }
        }
    }

    /// Ends the group that this thread has begun.
    @available(*, noasync, message: "a task may go on on another thread: use undoGroup")
    public func endUndo() throws {
        try handle.use { db in try call { kedge_undo_end(db, $0) } }
    }

    /// Takes back the newest group.
    @discardableResult
    public func undo() throws -> UndoResult {
        var result = ckedge_undo_result()
        try handle.use { db in try edit { kedge_undo(db, &result, $0) } }
        return UndoResult(result)
    }

    /// Takes back the newest undo.
    @discardableResult
    public func redo() throws -> UndoResult {
        var result = ckedge_undo_result()
        try handle.use { db in try edit { kedge_redo(db, &result, $0) } }
        return UndoResult(result)
    }

    /// What can be undone and redone.
    public func undoState() throws -> UndoState {
        var state = ckedge_undo_state()
        try handle.use { db in try call { kedge_get_undo_state(db, &state, $0) } }
        return UndoState(state)
    }

    // MARK: The caller-driven mode

    /// Of a database that was opened with `callerDriven`: does what is due, and returns after what
    /// time to call it again at the latest, also when the descriptor could not be read.
    public func runLoop() throws -> Duration {
        var waitMs: Int32 = 0
        try handle.use { db in try call { kedge_loop_run(db, &waitMs, $0) } }
        return .milliseconds(waitMs)
    }

    /// The descriptor that can be read when ``runLoop()`` has something to do.
    public func loopDescriptor() throws -> Int32 {
        let descriptor = try handle.use { kedge_loop_descriptor($0) }
        guard descriptor >= 0 else {
            throw KedgeError(
                .invalidArgument, "not-caller-driven",
                "the database was not opened with callerDriven")
        }
        return descriptor
    }
}

/// The args of kedge.put.
private struct Put<Item: Encodable>: Encodable {
    let collection: String
    let id: String
    let value: Item
}

private func closeDatabase(_ handle: Handle, _ family: Family) {
    handle.close(
        waits: true,
        stopped: { _ = kedge_set_online($0, false, nil) },  // ends the syncs of other threads
        beforeFree: { family.close() })
}

/// The pointer that a function of C gives in its last output before the error.
func made(
    _ function: (UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<kedge_error>) ->
        kedge_status
) throws -> OpaquePointer {
    var pointer: OpaquePointer?
    try call { function(&pointer, $0) }
    guard let pointer else { throw KedgeError(.internal, "internal", "the library gave nothing") }
    return pointer
}

/// Saves what can be read of a damaged folder into a new one: see kedge/repair.h.
@discardableResult
public func repair(_ path: String, into newPath: String) throws -> RepairReport {
    var report = ckedge_repair_report()
    try path.terminated("path") { path in
        try newPath.terminated("path") { newPath in
            try call { kedge_repair(path, newPath, &report, $0) }
        }
    }
    return RepairReport(report)
}

/// An order key between `before` and `after`; nil is no bound. `random`: bits, so that
/// two copies do not make the same key; 0 in a mutator.
public func orderBetween(_ before: String?, _ after: String?, random: UInt32 = 0) throws -> String {
    var key = [CChar](repeating: 0, count: Int(KEDGE_ORDER_KEY_SIZE))
    try before.terminated("key") { before in
        try after.terminated("key") { after in
            try call { kedge_order_between(before, after, random, &key, $0) }
        }
    }
    return key.withUnsafeBufferPointer { text($0.baseAddress!) }
}

/// The version of the C library that runs.
public func libraryVersion() -> String { text(kedge_library_version()) }
