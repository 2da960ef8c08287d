// Sync: the state, what waits for the server, pending and rejected edits.
import CKedge
import Foundation

extension Database {
    /// The state of sync, without using the network.
    public func status() throws -> SyncStatus {
        var filled = ckedge_sync_status()
        try handle.use { db in try call { kedge_get_sync_status(db, &filled, $0) } }
        return SyncStatus(filled)
    }

    /// Switches offline or online, without waiting for a connection. Once offline, no edit is sent
    /// that was made after the call, and no response is taken in that comes after it.
    public func setOnline(_ online: Bool) throws {
        try handle.use { db in try call { kedge_set_online(db, online, $0) } }
    }

    /// Pushes what is pending, and pulls. When it returns, the server has decided every edit made
    /// before the call. `timeout` nil: no limit. After a failure no edit is lost, and sync goes on
    /// in the background. A cancelled task gets `CancellationError` at once.
    public func sync(timeout: Duration? = .seconds(30)) async throws {
        let limit = try milliseconds(timeout)
        try await background { [handle] _ in
            try handle.use { db in try call { kedge_sync(db, limit, $0) } }
            return ()
        }
    }

    /// Waits until the edit is decided and pulled. `timeout` nil: no limit.
    public func wait(_ sequence: Int64, timeout: Duration? = .seconds(30)) async throws -> Outcome {
        _ = try milliseconds(timeout)
        let until = timeout.map { ContinuousClock.now.advanced(by: $0) }
        return try await background { [handle] isCancelled in
            try waitInSlices(handle, sequence, until, isCancelled)
        }
    }

    /// Opens a cursor over the edits that the server has not decided.
    public func pending() throws -> Mutations {
        Mutations(
            self,
            try open("cursor", free: kedge_mutation_list_close) { kedge_pending_open($0, $1, $2) })
    }

    /// Opens a cursor over the inbox of rejected edits.
    public func rejected() throws -> Mutations {
        Mutations(
            self,
            try open("cursor", free: kedge_mutation_list_close) { kedge_rejected_open($0, $1, $2) })
    }

    /// Removes a rejected edit from the inbox.
    public func dismiss(_ sequence: Int64) throws {
        try handle.use { db in try call { kedge_rejected_dismiss(db, sequence, $0) } }
    }

    /// Removes the rejected edits up to this one of `rejected()` from the inbox. Returns how many.
    @discardableResult
    public func dismissThrough(_ sequence: Int64) throws -> Int {
        var dismissed = 0
        try handle.use { db in
            try call { kedge_rejected_dismiss_through(db, sequence, &dismissed, $0) }
        }
        return dismissed
    }

    /// Makes a rejected edit again, and removes it from the inbox. Returns the new sequence.
    @discardableResult
    public func resubmit(_ sequence: Int64) throws -> Int64 {
        var made: Int64 = 0
        try handle.use { db in try edit { kedge_rejected_resubmit(db, sequence, &made, $0) } }
        return made
    }

    /// Asks the server for versions of the project, newest first; below `before`, at most `limit`.
    public func history(
        before: Int64 = 0, limit: Int32 = 100, timeout: Duration? = .seconds(30)
    ) async throws -> [JSON] {
        let timeoutMs = try milliseconds(timeout)
        return try await background { [handle] _ in
            let versions = try handle.use { db in
                takenDocument(try made { kedge_history(db, before, limit, timeoutMs, $0, $1) })
            }
            return try decoded([JSON].self, versions)
        }
    }
}

/// How long one wait in C lasts: a database that is closed, or a task that is cancelled, ends the
/// waits after it.
private let waitSliceMs: Int32 = 500

private func waitInSlices(
    _ handle: Handle, _ sequence: Int64, _ until: ContinuousClock.Instant?,
    _ isCancelled: () -> Bool
) throws -> Outcome {
    while true {
        let leftMs =
            until.map { ContinuousClock.now.duration(to: $0).wholeMilliseconds }
            ?? Int64(waitSliceMs)
        let slice = Int32(max(0, min(leftMs, Int64(waitSliceMs))))
        var outcome = KEDGE_OUTCOME_PENDING
        do {
            try handle.use { db in try call { kedge_wait(db, sequence, slice, &outcome, $0) } }
            return Outcome(rawValue: Int(outcome.rawValue)) ?? .pending
        } catch let failure as KedgeError where failure.status == .timeout {
            if leftMs < waitSliceMs { throw failure }
            if isCancelled() { throw CancellationError() }
            if !handle.isOpen { throw KedgeError(.cancelled, "closing", "the database was closed") }
        }
    }
}

extension Duration {
    var wholeMilliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

private func milliseconds(_ timeout: Duration?) throws -> Int32 {
    guard let timeout else { return -1 }
    guard timeout >= .zero, timeout < .seconds(2_147_483) else {
        throw KedgeError(
            .invalidArgument, "timeout-invalid",
            "a timeout is nil, or at least 0 and less than 2,147,483 seconds")
    }
    return Int32(timeout.wholeMilliseconds)
}

/// What a task waits for: work on another thread, or its own cancellation, whichever comes first.
private final class Pending<Result: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var continuation: CheckedContinuation<Result, any Error>?
    private var isOver = false

    var isCancelled: Bool { lock.withLock { isOver } }

    /// False: the task was cancelled already.
    func begin(_ continuation: CheckedContinuation<Result, any Error>) -> Bool {
        let begun = lock.withLock {
            if !isOver { self.continuation = continuation }
            return !isOver
        }
        if !begun { continuation.resume(throwing: CancellationError()) }
        return begun
    }

    func end(_ result: Swift.Result<Result, any Error>) {
        let waiting = lock.withLock {
            defer {
                isOver = true
                continuation = nil
            }
            return continuation
        }
        waiting?.resume(with: result)
    }
}

private let queue = DispatchQueue(label: "kedge", attributes: .concurrent)

/// Runs what blocks on a thread of its own, since the threads of tasks must not wait. `work` gets a
/// function that says whether the task is cancelled.
private func background<Result: Sendable>(
    _ work: @escaping @Sendable (_ isCancelled: () -> Bool) throws -> Result
) async throws -> Result {
    let pending = Pending<Result>()
    return try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
            guard pending.begin(continuation) else { return }
            queue.async {
                pending.end(Swift.Result { try work { pending.isCancelled } })
            }
        }
    } onCancel: {
        pending.end(.failure(CancellationError()))
    }
}
