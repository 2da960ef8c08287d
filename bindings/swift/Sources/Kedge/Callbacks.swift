// Functions that Kedge calls, and how they reach the app's.
import CKedge
import Foundation

/// A function of the app that gets what Kedge tells. C has it as its userdata, until it calls
/// `freeUserdata`.
final class Callback<Event>: Sendable {
    let tell: @Sendable (Event) -> Void

    init(_ tell: @escaping @Sendable (Event) -> Void) { self.tell = tell }

    static func tell(_ userdata: UnsafeMutableRawPointer?, _ event: Event) {
        let callback = Unmanaged<Callback<Event>>.fromOpaque(userdata!).takeUnretainedValue()
        Here.calledBack { callback.tell(event) }
    }
}

/// What ends with the object must not be closed in here: see `closeForgotten`.
func freeUserdata(_ userdata: UnsafeMutableRawPointer?) {
    Here.calledBack { Unmanaged<AnyObject>.fromOpaque(userdata!).release() }
}

func tellChanges(
    _ userdata: UnsafeMutableRawPointer?, _ changes: UnsafePointer<kedge_change>, _ count: Int
) {
    Callback.tell(userdata, UnsafeBufferPointer(start: changes, count: count).map(Change.init))
}

func tellStatus(_ userdata: UnsafeMutableRawPointer?, _ status: UnsafePointer<kedge_sync_status>) {
    Callback.tell(userdata, SyncStatus(status.pointee))
}

func tellRejected(_ userdata: UnsafeMutableRawPointer?, _ mutation: UnsafePointer<kedge_mutation>) {
    Callback.tell(userdata, Mutation(mutation.pointee))
}

func tellResult(_ userdata: UnsafeMutableRawPointer?, _ changes: UnsafePointer<kedge_query_changes>)
{
    Callback.tell(userdata, ResultChanges(changes.pointee))
}

func runMutator(
    _ tx: OpaquePointer, _ args: UnsafePointer<CChar>, _ size: Int,
    _ userdata: UnsafeMutableRawPointer?,
    _ error: UnsafeMutablePointer<kedge_error>?
) -> kedge_status {
    let kept = Unmanaged<KeptMutator>.fromOpaque(userdata!).takeUnretainedValue()
    return Transaction(tx).run(kept.mutator, args, size, error)
}

/// A mutator as userdata of C.
final class KeptMutator: Sendable {
    let mutator: Mutator
    init(_ mutator: Mutator) { self.mutator = mutator }
}

/// The functions of the app that are given to kedge_open.
final class Functions: Sendable {
    let token: (@Sendable () throws -> String)?
    let dispatch: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
    let log: (@Sendable (LogLevel, String, String) -> Void)?

    init(_ options: Options) {
        token = options.token
        dispatch = options.dispatch
        log = options.log
    }

    static func of(_ userdata: UnsafeMutableRawPointer?) -> Functions {
        Unmanaged<Functions>.fromOpaque(userdata!).takeUnretainedValue()
    }
}

func giveToken(
    _ userdata: UnsafeMutableRawPointer?, _ buffer: UnsafeMutablePointer<CChar>, _ size: Int
) -> kedge_status {
    let functions = Functions.of(userdata)
    do {
        let token = try Here.calledBack { try functions.token!() }
        return try token.terminated("token") { pointer in
            let length = token.utf8.count
            guard length < size else {
                throw KedgeError(
                    .limitExceeded, "token-too-long", "a token has at most \(size - 1) bytes")
            }
            buffer.update(from: pointer, count: length + 1)
            return KEDGE_OK
        }
    } catch {
        Here.calledBack { functions.log?(.error, "token-failed", "no token: \(error)") }
        let why = "error: \(error)".utf8.prefix(while: { $0 != 0 }).prefix(size - 1)
        for (at, byte) in why.enumerated() { buffer[at] = CChar(bitPattern: byte) }
        buffer[why.count] = 0
        return KEDGE_UNAUTHORIZED
    }
}

func writeLog(
    _ userdata: UnsafeMutableRawPointer?, _ level: kedge_log_level, _ event: UnsafePointer<CChar>,
    _ message: UnsafePointer<CChar>
) {
    let line = (LogLevel(rawValue: Int(level.rawValue)) ?? .error, text(event), text(message))
    Here.calledBack { Functions.of(userdata).log!(line.0, line.1, line.2) }
}

/// Work that must run exactly once: when the dispatcher drops it without a call, it runs as it is
/// freed.
private final class Work: @unchecked Sendable {
    private let lock = NSLock()
    private var isDone = false
    private let work: () -> Void

    init(_ work: @escaping () -> Void) { self.work = work }

    func run() {
        let isFirst = lock.withLock {
            defer { isDone = true }
            return !isDone
        }
        if isFirst { work() }
    }

    deinit { run() }
}

func dispatchWork(
    _ userdata: UnsafeMutableRawPointer?,
    _ function: @escaping @convention(c) (UnsafeMutableRawPointer) -> Void,
    _ argument: UnsafeMutableRawPointer
) {
    let work = Work { function(argument) }
    Here.calledBack { Functions.of(userdata).dispatch!({ work.run() }) }
}
