// What a database is opened with.
import CKedge

/// The options of ``Database/init(_:)``. Only the path, the organization and the project are
/// required.
public struct Options: Sendable {
    /// The folder; made when absent (its parent must exist).
    public var path: String
    /// The tenant, and the project that is synced. Both cannot change after the folder's first
    /// open.
    public var organization: String
    public var project: String
    /// The server, for example "https://sync.example.com". Nil: a database that never syncs until
    /// reopened with one.
    public var url: String?
    /// A file of certificates (PEM): the server's must be signed by one of them.
    public var caFile: String?
    /// The app's mutators that the server has, too.
    public var mutators: [Mutator] = []
    /// Those that the app alone has: what such a mutator has read and written is sent.
    public var clientMutators: [Mutator] = []
    /// The user and role that mutators see when they run locally.
    public var user: String?
    public var role: String?
    /// Do not sync until ``Database/setOnline(_:)``.
    public var offline = false
    /// A database that has never synced asks the server to create the project first.
    public var createProject = false
    /// How long an edit waits for a server that lacks its mutator, in milliseconds. 0: until the
    /// server is newer; -1: not.
    public var serverWaitMs: Int64 = 0
    /// Gives the token for the header `Authorization: Bearer`, on Kedge's thread. When it throws,
    /// the database stays offline until ``Database/setOnline(_:)`` or the next edit, and
    /// ``SyncStatus/lastError`` tells what it threw.
    public var token: (@Sendable () throws -> String)?
    /// Runs each callback of a watch where the app wants it, for example on the main queue:
    /// `{ work in DispatchQueue.main.async(execute: work) }`. Nil: on Kedge's thread.
    public var dispatch: (@Sendable (@escaping @Sendable () -> Void) -> Void)?
    /// Gets a line for each event: its level, its stable name and a text for people. See
    /// kedge/log.h.
    public var log: (@Sendable (LogLevel, String, String) -> Void)?
    public var logLevel = LogLevel.error
    /// Kedge starts no thread, and the app calls ``Database/runLoop()``.
    public var callerDriven = false
    /// The version of what this release of the app writes into items and args, such as "3" or
    /// "2.1".
    public var schemaVersion: String?

    public init(path: String, organization: String, project: String, url: String? = nil) {
        self.path = path
        self.organization = organization
        self.project = project
        self.url = url
    }
}

/// What C refers to as long as a database is open.
final class Kept: @unchecked Sendable {
    private let texts = KeptTexts()
    private var mutators: [KeptMutator] = []

    /// Calls `body` with the options for C, which end with it. When `body` succeeds, the database
    /// owns their userdata, the functions of the app; when it throws, they are released here.
    func fill(_ options: Options, _ body: (UnsafePointer<kedge_options>) throws -> OpaquePointer)
        throws -> OpaquePointer
    {
        let both = try [options.mutators, options.clientMutators].map { try $0.map(row) }
        var filled = ckedge_options()
        filled.path = try texts.keep(options.path, "path")
        filled.url = try texts.keep(options.url, "url")
        filled.ca_file = try texts.keep(options.caFile, "ca file")
        filled.organization = try texts.keep(options.organization, "organization")
        filled.project = try texts.keep(options.project, "project")
        filled.user = try texts.keep(options.user, "user")
        filled.role = try texts.keep(options.role, "role")
        filled.schema_version = try texts.keep(options.schemaVersion, "schema version")
        filled.offline = options.offline
        filled.create_project = options.createProject
        filled.server_wait_ms = options.serverWaitMs
        filled.caller_driven = options.callerDriven
        filled.log_level = kedge_log_level(numericCast(options.logLevel.rawValue))
        filled.token = options.token == nil ? nil : giveToken
        filled.dispatch = options.dispatch == nil ? nil : dispatchWork
        filled.log = options.log == nil ? nil : writeLog
        return try both[0].withUnsafeBufferPointer { mutators in
            try both[1].withUnsafeBufferPointer { clientMutators in
                filled.mutators = mutators.baseAddress
                filled.mutator_count = mutators.count
                filled.client_mutators = clientMutators.baseAddress
                filled.client_mutator_count = clientMutators.count
                let functions = Unmanaged.passRetained(Functions(options))
                filled.userdata = functions.toOpaque()
                filled.userdata_free = freeUserdata
                do { return try body(&filled) } catch {
                    functions.release()
                    throw error
                }
            }
        }
    }

    private func row(_ mutator: Mutator) throws -> kedge_mutator {
        let kept = KeptMutator(mutator)
        mutators.append(kept)
        return kedge_mutator(
            name: try texts.keep(mutator.name, "mutator's name")!, version: mutator.version,
            function: runMutator,
            userdata: Unmanaged.passUnretained(kept).toOpaque())
    }
}
