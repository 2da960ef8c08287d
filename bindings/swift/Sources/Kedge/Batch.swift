// Several edits as one.
import CKedge

/// Edits that are made together, or not at all. They run when the batch is committed.
public final class Batch: Owner, @unchecked Sendable {
    /// Adds an edit.
    public func mutate<Args: Encodable>(_ name: String, _ args: Args) throws {
        try name.terminated("name") { name in
            try encoded(args, "args") { json, size in
                try handle.use { batch in
                    try call { kedge_batch_add(batch, name, json, size, $0) }
                }
            }
        }
    }

    /// Makes the edits, and returns their sequence. The batch is then empty, and may be filled
    /// again.
    @discardableResult
    public func commit() throws -> Int64 {
        var sequence: Int64 = 0
        try handle.use { batch in
            try edit { kedge_batch_commit(batch, &sequence, $0) }
        }
        return sequence
    }
}

/// Calls a function that makes an edit. It runs mutators on this thread: what one of them has
/// thrown by mistake is the cause of the rejection.
func edit(_ function: (UnsafeMutablePointer<kedge_error>) -> kedge_status) throws {
    let here = Here.now
    here.thrown = nil
    do {
        try call(function)
    } catch var failure as KedgeError {
        if failure.status == .rejected { failure.cause = here.thrown }
        here.thrown = nil
        throw failure
    }
}
