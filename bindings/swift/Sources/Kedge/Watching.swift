// Watches: callbacks, and streams for tasks.
import CKedge
import Foundation

/// A watch with a callback, which runs until ``Owner/close()`` or the end of this object.
public final class Watch: Owner, @unchecked Sendable {}

extension Database {
    /// Calls `tell` with the changes of each commit to a collection; nil: to any. An empty array
    /// means: read everything again. It runs on Kedge's thread, or through `Options.dispatch`,
    /// never inside of a call of the app.
    public func watch(_ collection: String? = nil, _ tell: @escaping @Sendable ([Change]) -> Void)
        throws -> Watch
    {
        try collection.terminated("collection") { name in
            try watch(Callback(tell), kedge_watch_free) {
                kedge_watch($0, name, tellChanges, $1, freeUserdata, $2, $3)
            }
        }
    }

    /// Calls `tell` with the whole result of a query, and then with the rows that differ. The first
    /// column is the key of a row: it is not NULL, and another one in each row. See
    /// kedge_watch_query of kedge/watch.h.
    public func watchQuery(
        _ sql: String, _ parameters: [JSON] = [],
        _ tell: @escaping @Sendable (ResultChanges) -> Void
    ) throws -> Watch {
        try sql.sized { sql, sqlSize in
            try encoded(parameters, "parameters") { json, size in
                try watch(Callback(tell), kedge_query_watch_free) {
                    kedge_watch_query(
                        $0, sql, sqlSize, json, size, tellResult, $1, freeUserdata, $2, $3)
                }
            }
        }
    }

    /// Calls `tell` with the status of now, and whenever it has changed.
    public func watchStatus(_ tell: @escaping @Sendable (SyncStatus) -> Void) throws -> Watch {
        try watch(Callback(tell), kedge_sync_watch_free) {
            kedge_watch_sync_status($0, tellStatus, $1, freeUserdata, $2, $3)
        }
    }

    /// Calls `tell` with each edit in the inbox, and each that comes.
    public func watchRejected(_ tell: @escaping @Sendable (Mutation) -> Void) throws -> Watch {
        try watch(Callback(tell), kedge_sync_watch_free) {
            kedge_watch_rejected($0, tellRejected, $1, freeUserdata, $2, $3)
        }
    }

    private func watch<Event>(
        _ callback: Callback<Event>, _ free: @escaping (OpaquePointer) -> Void,
        _ function: (
            OpaquePointer, UnsafeMutableRawPointer, UnsafeMutablePointer<OpaquePointer?>,
            UnsafeMutablePointer<kedge_error>
        ) -> kedge_status
    ) throws -> Watch {
        let userdata = Unmanaged.passRetained(callback)
        do {
            return Watch(
                self, try open("watch", free: free) { function($0, userdata.toOpaque(), $1, $2) })
        } catch {
            userdata.release()
            throw error
        }
    }

    // MARK: Streams. The watch ends when the task that reads is cancelled, or when nobody holds the
    // stream any more. At most one element waits, but for rejections.

    /// The changes of each commit. While an element waits to be taken, the changes of further
    /// commits are added to it. When it would have more than 10,000 changes or 16 MiB, it becomes
    /// empty: read everything again.
    public func changes(_ collection: String? = nil) throws -> Changes {
        let waiting = WaitingChanges()
        let news: AsyncThrowingStream<Void, any Error> = try stream { news in
            try watch(collection) { changes in
                waiting.add(changes)
                news.yield()
            }
        }
        return Changes(news: news, waiting: waiting)
    }

    /// The whole result of a query, and again whenever it has changed; only the last one waits.
    /// What ``watchQuery(_:_:_:)`` tells as an error is thrown, and ends the stream.
    public func results(_ sql: String, _ parameters: [JSON] = []) throws -> AsyncThrowingStream<
        [[SQLValue]], any Error
    > {
        try stream { news in
            let rows = Rows()
            return try watchQuery(sql, parameters) { changes in
                if let failure = changes.error {
                    news.finish(throwing: failure)
                } else {
                    news.yield(rows.apply(changes))
                }
            }
        }
    }

    /// The status of now and each later one; only the last one waits.
    public func statuses() throws -> AsyncThrowingStream<SyncStatus, any Error> {
        try stream { news in try watchStatus { news.yield($0) } }
    }

    /// Each edit of the inbox. Of more than 10,000 that wait the first are left out; they stay in
    /// the inbox.
    public func rejections() throws -> AsyncThrowingStream<Mutation, any Error> {
        try stream(.bufferingNewest(Limit.pushMutations)) { news in
            try watchRejected { news.yield($0) }
        }
    }

    private func stream<Element: Sendable>(
        _ policy: AsyncThrowingStream<Element, any Error>.Continuation.BufferingPolicy =
            .bufferingNewest(1),
        _ start: (AsyncThrowingStream<Element, any Error>.Continuation) throws -> Watch
    ) throws -> AsyncThrowingStream<Element, any Error> {
        let (stream, news) = AsyncThrowingStream<Element, any Error>.makeStream(
            bufferingPolicy: policy)
        let watch = try start(news)
        // A task that is cancelled calls this under a lock of its own, for which a callback that
        // yields waits. To close the watch is to wait for that callback: another thread does it.
        news.onTermination = { _ in DispatchQueue.global().async { watch.close() } }
        watch.handle.whenClosed { news.finish() }
        return stream
    }
}

/// What ``Database/changes(_:)`` gives: for each step of the iteration the changes since the last
/// one.
public struct Changes: AsyncSequence, Sendable {
    public typealias Element = [Change]
    let news: AsyncThrowingStream<Void, any Error>
    let waiting: WaitingChanges

    public struct AsyncIterator: AsyncIteratorProtocol {
        var news: AsyncThrowingStream<Void, any Error>.AsyncIterator
        let waiting: WaitingChanges

        public mutating func next() async throws -> [Change]? {
            while try await news.next() != nil {
                if let taken = waiting.take() { return taken }
            }
            return nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(news: news.makeAsyncIterator(), waiting: waiting)
    }
}

/// The changes that nobody has taken.
final class WaitingChanges: @unchecked Sendable {
    private let lock = NSLock()
    private var changes: [Change]?
    private var bytes = 0

    /// An array without changes says that all must be read again: it stays so, whatever follows.
    func add(_ more: [Change]) {
        lock.withLock {
            guard let waiting = changes else {
                changes = more
                bytes = more.reduce(0) { $0 + $1.bytes }
                return
            }
            bytes += more.reduce(0) { $0 + $1.bytes }
            let isListed =
                !waiting.isEmpty && !more.isEmpty
                && waiting.count + more.count <= Limit.mutationChanges && bytes <= Limit.watchBytes
            changes = isListed ? waiting + more : []
        }
    }

    func take() -> [Change]? {
        lock.withLock {
            defer { changes = nil }
            return changes
        }
    }
}

extension Change {
    fileprivate var bytes: Int {
        collection.utf8.count + id.utf8.count + (old?.text.utf8.count ?? 0)
            + (new?.text.utf8.count ?? 0)
    }
}

/// The rows of a watched result, in the order in which it is told.
private final class Rows: @unchecked Sendable {
    private let lock = NSLock()
    private var rows: [[SQLValue]] = []

    func apply(_ changes: ResultChanges) -> [[SQLValue]] {
        lock.withLock {
            changes.apply(to: &rows)
            return rows
        }
    }
}
