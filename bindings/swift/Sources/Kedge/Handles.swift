// What the C library gives and takes back: used while it is open, by as many threads as it allows,
// freed once.
import CKedge
import Foundation

/// What this thread does just now.
final class Here {
    /// How deep it is in functions that Kedge calls, and in mutators.
    var callbacks = 0
    var mutators = 0
    /// What the mutator that failed last has thrown.
    var thrown: (any Error)?

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        #if canImport(Darwin)
            let failure = pthread_key_create(&key) { Unmanaged<Here>.fromOpaque($0).release() }
        #else
            let failure = pthread_key_create(&key) { Unmanaged<Here>.fromOpaque($0!).release() }
        #endif
        precondition(failure == 0, "no more keys of threads")
        return key
    }()

    static var now: Here {
        if let pointer = pthread_getspecific(key) {
            return Unmanaged<Here>.fromOpaque(pointer).takeUnretainedValue()
        }
        let made = Here()
        pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
        return made
    }

    /// Whether this thread is in a mutator. It is asked for each row of a scan.
    static var isInMutator: Bool {
        guard let pointer = pthread_getspecific(key) else { return false }
        return Unmanaged<Here>.fromOpaque(pointer)._withUnsafeGuaranteedRef { $0.mutators > 0 }
    }

    /// Runs a function of the app that Kedge calls.
    static func calledBack<Result>(_ body: () throws -> Result) rethrows -> Result {
        let here = now
        here.callbacks += 1
        defer { here.callbacks -= 1 }
        return try body()
    }
}

/// Closes what nobody holds any more. That may be found out in a function that Kedge calls, where a
/// close could wait for that function: then another thread does it.
func closeForgotten(_ close: @escaping @Sendable () -> Void) {
    if Here.now.callbacks > 0 || Here.now.mutators > 0 {
        DispatchQueue.global().async(execute: close)
    } else {
        close()
    }
}

/// A pointer of the C library. One that `isShared` may be used by several threads at once, any
/// other by one thread after the other.
final class Handle: @unchecked Sendable {
    private let what: String
    private let isShared: Bool
    private let free: (OpaquePointer) -> Void
    private let changed = NSCondition()
    // All of these under the condition.
    private var pointer: OpaquePointer?
    private var users = 0
    private var isFreed = false
    private var hasEnded = false
    private var family: Family?
    private var atEnd: (() -> Void)?

    init(
        _ pointer: OpaquePointer, _ what: String, isShared: Bool = false,
        free: @escaping (OpaquePointer) -> Void
    ) {
        self.pointer = pointer
        self.what = what
        self.isShared = isShared
        self.free = free
    }

    var isOpen: Bool { changed.withLock { pointer != nil } }

    /// A cursor that has given its last row. It is closed then, but its use is no failure.
    var isOver: Bool {
        get { changed.withLock { hasEnded } }
        set { changed.withLock { hasEnded = newValue } }
    }

    /// Calls `body` with the pointer. Throws when it is closed, or in a mutator, which sees nothing
    /// but its transaction.
    @discardableResult
    func use<Result>(_ body: (OpaquePointer) throws -> Result) throws -> Result {
        guard Here.now.mutators == 0 else {
            throw KedgeError.calledBack("a mutator may only use its transaction")
        }
        let used: OpaquePointer = try changed.withLock {
            while !isShared, users > 0, pointer != nil { changed.wait() }
            guard let pointer else { throw KedgeError.closed(what) }
            users += 1
            return pointer
        }
        defer {
            changed.withLock {
                users -= 1
                changed.broadcast()
            }
        }
        return try body(used)
    }

    /// From now on it is among the open handles of a database, which closes them.
    func join(_ family: Family) {
        changed.withLock { self.family = family }
        family.add(self)
    }

    /// Calls `end` once when it is closed; at once when it is closed already.
    func whenClosed(_ end: @escaping () -> Void) {
        let isClosed = changed.withLock {
            if !isFreed { atEnd = end }
            return isFreed
        }
        if isClosed { end() }
    }

    /// Frees what it holds. Nobody may begin to use it from then on; `stopped` is called; those who
    /// use it are waited for; `beforeFree` is called. Closing twice does nothing; with `waits` it
    /// waits for the thread that is closing it.
    func close(
        waits: Bool = false, stopped: (OpaquePointer) -> Void = { _ in },
        beforeFree: () -> Void = {}
    ) {
        let taken = changed.withLock {
            defer { pointer = nil }
            return pointer
        }
        if let taken {
            stopped(taken)
            changed.withLock {
                changed.broadcast()
                while users > 0 { changed.wait() }
            }
            beforeFree()
            // Without the lock: a watch waits here for its callback, which may close it, too.
            free(taken)
            end()
        } else if waits {
            changed.withLock { while !isFreed { changed.wait() } }
        }
    }

    private func end() {
        let (left, tell) = changed.withLock {
            defer {
                isFreed = true
                family = nil
                atEnd = nil
                changed.broadcast()
            }
            return (family, atEnd)
        }
        left?.remove(self)
        tell?()
    }
}

/// The open handles of a database, which are closed before it.
final class Family: @unchecked Sendable {
    private let lock = NSLock()
    private var members: [ObjectIdentifier: Handle] = [:]

    func add(_ handle: Handle) { lock.withLock { members[ObjectIdentifier(handle)] = handle } }
    func remove(_ handle: Handle) { lock.withLock { members[ObjectIdentifier(handle)] = nil } }
    var count: Int { lock.withLock { members.count } }

    func close() {
        for each in lock.withLock({ Array(members.values) }) { each.close(waits: true) }
    }
}

/// A public object that owns a handle. It is closed with its database at the latest, and at its own
/// end.
public class Owner: @unchecked Sendable {
    let db: Database  // which lives as long as what it gave
    let handle: Handle

    init(_ db: Database, _ handle: Handle) {
        self.db = db
        self.handle = handle
    }

    /// Ends it and frees what it holds. Closing twice does nothing. In a mutator another thread
    /// does it, after the call that runs the mutator.
    public final func close() {
        if Here.now.mutators > 0 {
            closeForgotten { [handle] in handle.close() }
        } else {
            handle.close()
        }
    }

    deinit {
        closeForgotten { [handle] in handle.close() }
    }
}
