// Mutators: functions that make changes, and the transaction that they see.
import CKedge
import Foundation

/// A function as a mutator, with its name and its version:
///
///     struct Take: Codable { var id: String; var count: Int }
///
///     let take = Mutator("stock.take") { (tx, args: Take) in
///         guard var shelf = try tx.get("shelves", args.id, as: Shelf.self) else {
///             throw Rejection("item-not-found", "there is no such shelf")
///         }
///         guard shelf.count >= args.count else {
///             throw Rejection("not-enough", "there are not that many pieces")
///         }
///         shelf.count -= args.count
///         try tx.put("shelves", args.id, shelf)
///     }
///
/// It may run any number of times, on any thread, and must do the same each time: its only inputs
/// are the transaction, the args and the caller. What it throws rejects the edit: a ``Rejection``
/// with its own code, a ``KedgeError`` of a call on `tx` with that of the call, and anything else
/// with the code "mutator-failed". Args that are not of its type are rejected with "args-invalid".
/// A trap, such as an index out of range, ends the process.
public struct Mutator: Sendable {
    public let name: String
    public let version: UInt32
    let run: @Sendable (Transaction, UnsafePointer<CChar>, Int) throws -> Void

    /// `version` is at least 1; increase it when the mutator's behaviour changes.
    public init<Args: Decodable>(
        _ name: String, version: UInt32 = 1,
        _ function: @escaping @Sendable (Transaction, Args) throws -> Void
    ) {
        self.name = name
        self.version = version
        run = { tx, args, size in
            let given: Args
            do {
                given = try decoded(Args.self, args, size)
            } catch let failure as DecodingError {
                throw Rejection(
                    "args-invalid", "the args are not those of \(name): \(failure.sentence)")
            }
            try function(tx, given)
        }
    }
}

extension DecodingError {
    /// What is wrong, and where.
    var sentence: String {
        switch self {
        case .typeMismatch(_, let context), .valueNotFound(_, let context),
            .keyNotFound(_, let context),
            .dataCorrupted(let context):
            let path = context.codingPath.map(\.stringValue).joined(separator: ".")
            return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
        @unknown default:
            return "\(self)"
        }
    }
}

/// The state of one project as a mutator sees it, until the mutator returns.
public final class Transaction {
    private var pointer: OpaquePointer?
    /// The call that failed last, which passes through the mutator to Kedge.
    private var failure: (error: KedgeError, filled: kedge_error)?

    init(_ pointer: OpaquePointer) { self.pointer = pointer }

    private func open() throws -> OpaquePointer {
        guard let pointer else { throw KedgeError.closed("transaction") }
        return pointer
    }

    /// Calls a function of C. False: there are no more rows, or, with `orNothing`, there is no such
    /// item.
    private func call(
        orNothing: Bool = false,
        _ function: (OpaquePointer, UnsafeMutablePointer<kedge_error>) -> kedge_status
    ) throws -> Bool {
        var filled = kedge_error()
        let status = function(try open(), &filled)
        if status == KEDGE_OK { return true }
        if status == KEDGE_DONE || (orNothing && status == KEDGE_NOT_FOUND) { return false }
        filled.status = status
        let error = KedgeError(status, filled)
        failure = (error, filled)
        throw error
    }

    /// Who makes the mutation, and when.
    public var caller: Caller {
        get throws { Caller(kedge_tx_caller(try open()).pointee) }
    }

    /// Reads an item; nil when there is none.
    public func get<Value: Decodable>(
        _ collection: String, _ id: String, as kind: Value.Type = Value.self
    ) throws -> Value? {
        try collection.terminated("collection") { name in
            try id.sized { key, keySize in
                try read(kind) { kedge_tx_get($0, name, key, keySize, $1, $2, $3) }
            }
        }
    }

    /// Reads the project record; nil when it was never set.
    public func getProject<Value: Decodable>(as kind: Value.Type = Value.self) throws -> Value? {
        try read(kind) { kedge_tx_get_project($0, $1, $2, $3) }
    }

    private func read<Value: Decodable>(
        _ kind: Value.Type,
        _ function: (
            OpaquePointer, UnsafeMutablePointer<UnsafePointer<CChar>?>, UnsafeMutablePointer<Int>,
            UnsafeMutablePointer<kedge_error>
        ) -> kedge_status
    ) throws -> Value? {
        var value: UnsafePointer<CChar>?
        var size = 0
        guard try call(orNothing: true, { function($0, &value, &size, $1) }), let value else {
            return nil
        }
        return try decoded(kind, value, size)
    }

    /// The items of a collection, by id in byte order; those after `after`. `body` may write
    /// meanwhile.
    public func forEach<Value: Decodable>(
        _ collection: String, after: String? = nil, as kind: Value.Type = Value.self,
        _ body: (String, Value) throws -> Void
    ) throws {
        var last = after
        while let (id, value) = try next(collection, after: last, as: kind) {
            try body(id, value)
            last = id
        }
    }

    /// The first item of a collection whose id follows `after` in byte order; nil when there is
    /// none.
    public func next<Value: Decodable>(
        _ collection: String, after: String? = nil, as kind: Value.Type = Value.self
    ) throws -> (id: String, value: Value)? {
        var id: UnsafePointer<CChar>?
        var value: UnsafePointer<CChar>?
        var (idSize, valueSize) = (0, 0)
        let found = try collection.terminated("collection") { name in
            try after.sized { last, lastSize in
                try call {
                    kedge_tx_next($0, name, last, lastSize, &id, &idSize, &value, &valueSize, $1)
                }
            }
        }
        guard found, let id, let value else { return nil }
        return (text(id, idSize), try decoded(kind, value, valueSize))
    }

    /// Writes an item: any value that is JSON.
    public func put<Value: Encodable>(_ collection: String, _ id: String, _ value: Value) throws {
        try encoded(value, "value") { json, size in
            try collection.terminated("collection") { name in
                try id.sized { key, keySize in
                    _ = try call { kedge_tx_put($0, name, key, keySize, json, size, $1) }
                }
            }
        }
    }

    /// Deletes an item. One that is absent stays absent.
    public func delete(_ collection: String, _ id: String) throws {
        try collection.terminated("collection") { name in
            try id.sized { key, size in _ = try call { kedge_tx_delete($0, name, key, size, $1) } }
        }
    }

    /// Replaces the project record, a JSON object of at most 1,536 bytes.
    public func putProject<Value: Encodable>(_ value: Value) throws {
        try encoded(value, "value") { json, size in
            _ = try call { kedge_tx_put_project($0, json, size, $1) }
        }
    }

    /// Merges a JSON Merge Patch (RFC 7396) into an item, as the built-in kedge.merge.
    public func merge<Patch: Encodable>(_ collection: String, _ id: String, _ patch: Patch) throws {
        try withTree(patch, "patch", collection, id) { tx, name, key, tree, error in
            kedge_tx_merge_json(tx, name, key, tree, error)
        }
    }

    /// Applies a JSON Patch (RFC 6902) to an item, as the built-in kedge.patch.
    public func patch<Patch: Encodable>(_ collection: String, _ id: String, _ patch: Patch) throws {
        try withTree(patch, "patch", collection, id) { tx, name, key, tree, error in
            kedge_tx_patch_json(tx, name, key, tree, error)
        }
    }

    /// Calls a built-in mutator, for example "kedge.increment", inside of this one.
    public func call<Args: Encodable>(_ name: String, _ args: Args) throws {
        try withTree(args, "args", name, "") { tx, name, _, tree, error in
            kedge_tx_call_json(tx, name, tree, error)
        }
    }

    /// What is no JSON becomes no tree, which Kedge refuses with a sentence.
    private func withTree<Value: Encodable>(
        _ value: Value, _ what: String, _ name: String, _ id: String,
        _ function: (
            OpaquePointer, UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutablePointer<cJSON>?,
            UnsafeMutablePointer<kedge_error>
        ) -> kedge_status
    ) throws {
        let tree = try encoded(value, what) { json, size in
            _ = try call { ckedge_check_strings(json, size, $1) }
            return ckedge_parse(json, size)
        }
        defer { cJSON_Delete(tree) }
        try name.terminated("name") { name in
            try id.terminated("id") { key in
                _ = try call { function($0, name, key, tree, $1) }
            }
        }
    }

    /// Runs a mutator, and says what became of it as C does.
    func run(
        _ mutator: Mutator, _ args: UnsafePointer<CChar>, _ size: Int,
        _ error: UnsafeMutablePointer<kedge_error>?
    ) -> kedge_status {
        let here = Here.now
        here.mutators += 1
        defer {
            here.mutators -= 1
            pointer = nil
        }
        do {
            try mutator.run(self, args, size)
            return KEDGE_OK
        } catch let thrown {
            here.thrown = thrown
            return refuse(thrown, error)
        }
    }

    private func refuse(_ thrown: any Error, _ error: UnsafeMutablePointer<kedge_error>?)
        -> kedge_status
    {
        if let own = thrown as? KedgeError, let failure, own.isSame(as: failure.error) {
            error?.pointee = failure.filled
            return failure.filled.status
        }
        if let rejection = thrown as? Rejection {
            Here.now.thrown = nil  // a refusal is no mistake that the error would name as its cause
            let status = try? rejection.code.terminated("code") { code in
                try rejection.message.terminated("message") {
                    kedge_tx_reject(pointer!, code, $0, error)
                }
            }
            if let status { return status }
        }
        let message = "\(type(of: thrown)): \(thrown)".replacingOccurrences(of: "\0", with: " ")
        return message.withCString { kedge_tx_reject(pointer!, "mutator-failed", $0, error) }
    }
}
