// Errors: what the C library returns as a status, a code and a message is one error of Swift.
import CKedge

/// What kind of failure an error is: `kedge_status` of the C library.
public enum Status: Int, Sendable, CaseIterable {
    case ok = 0
    case done = 1
    /// No such item, mutation, version or project.
    case notFound = 2
    /// A mutator refused; the error's code is the mutator's own.
    case rejected = 3
    /// A parameter is outside of what the function allows.
    case invalidArgument = 4
    /// Text that is not I-JSON (RFC 7493).
    case invalidJSON = 5
    /// Over one of ``Limit``.
    case limitExceeded = 6
    case noMemory = 7
    /// The disk failed.
    case io = 8
    case diskFull = 9
    /// Another process or thread holds what is needed; try again.
    case busy = 10
    /// A file's contents are damaged: see ``repair(_:into:)``.
    case corrupt = 11
    /// The folder or file is something else.
    case notADatabase = 12
    /// Written by a newer Kedge than this one.
    case newerDatabase = 13
    /// Another process opened the database with other mutators.
    case registryMismatch = 14
    /// The server could not be reached, the connection broke, or the database is offline.
    case network = 15
    /// A deadline passed.
    case timeout = 16
    /// The token is missing, expired or not accepted.
    case unauthorized = 17
    /// The token does not give this right.
    case forbidden = 18
    /// The response is not one of Kedge's protocol.
    case protocolFailed = 19
    /// A condition did not hold: another writer was first.
    case conflict = 20
    /// A transient fault, or an unknown outcome; try again.
    case unavailable = 21
    /// This build or this server cannot do it.
    case unsupported = 22
    /// Ended by the caller or by closing.
    case cancelled = 23
    /// An invariant of Kedge itself did not hold: a bug.
    case `internal` = 24

    /// A status of a later library than this binding is `internal`.
    init(_ status: kedge_status) {
        self = Status(rawValue: Int(status.rawValue)) ?? .internal
    }

    /// The status as a word, for example "disk-full".
    public var word: String { text(kedge_status_name(kedge_status(numericCast(rawValue)))) }
}

/// A failure that Kedge tells. `code` is stable and for programs, `message` is a sentence for
/// people.
public struct KedgeError: Error, Sendable, CustomStringConvertible {
    public let status: Status
    public let code: String
    public let message: String
    /// What the mutator of a rejected edit has thrown, when its code is "mutator-failed".
    public internal(set) var cause: (any Error)?

    init(_ status: Status, _ code: String, _ message: String) {
        self.status = status
        self.code = code
        self.message = message
    }

    init(_ status: kedge_status, _ filled: kedge_error) {
        let kind = Status(status)
        let code = text(array: filled.code)
        self.init(kind, code.isEmpty ? kind.word : code, text(array: filled.message))
    }

    public var description: String { "\(code): \(message)" }

    /// What a use of something closed throws.
    static func closed(_ what: String) -> KedgeError {
        KedgeError(.invalidArgument, "closed", "the \(what) is closed")
    }

    /// What may not be called in a function that Kedge calls.
    static func calledBack(_ message: String) -> KedgeError {
        KedgeError(.invalidArgument, "called-back", message)
    }

    func isSame(as other: KedgeError) -> Bool {
        status == other.status && code == other.code && message == other.message
    }
}

/// A mutator throws it to refuse its mutation: `throw Rejection("not-enough", "there are not that
/// many pieces")`. `code` matches `[a-z0-9-]{1,63}` and is for programs, `message` is for people.
public struct Rejection: Error, Sendable {
    public let code: String
    public let message: String

    public init(_ code: String, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// Calls a function that takes its error last. False: an iteration has no more rows.
@discardableResult
func call(_ function: (UnsafeMutablePointer<kedge_error>) -> kedge_status) throws -> Bool {
    var filled = kedge_error()
    let status = function(&filled)
    if status == KEDGE_OK { return true }
    if status == KEDGE_DONE { return false }
    throw KedgeError(status, filled)
}
