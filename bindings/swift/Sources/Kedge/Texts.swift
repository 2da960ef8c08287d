// Texts on their way into the C library and back. Swift's texts are UTF-8 inside, so that they go
// in without a copy.
import CKedge
import Foundation

extension String {
    /// The text for a parameter that ends with a NUL. One inside would cut it without a word.
    @discardableResult
    func terminated<Result>(
        _ what: String, _ body: (UnsafePointer<CChar>) throws -> Result
    ) throws -> Result {
        guard !utf8.contains(0) else {
            throw KedgeError(.invalidArgument, "text-invalid", "the \(what) has a NUL inside")
        }
        return try withCString(body)
    }

    /// The text for a pair of parameters, the bytes and their count. It may have NULs inside.
    @discardableResult
    func sized<Result>(_ body: (UnsafePointer<CChar>, Int) throws -> Result) rethrows -> Result {
        let count = utf8.count
        return try withCString { try body($0, count) }
    }
}

extension Optional where Wrapped == String {
    @discardableResult
    func terminated<Result>(
        _ what: String, _ body: (UnsafePointer<CChar>?) throws -> Result
    ) throws -> Result {
        guard let text = self else { return try body(nil) }
        return try text.terminated(what) { try body($0) }
    }

    @discardableResult
    func sized<Result>(_ body: (UnsafePointer<CChar>?, Int) throws -> Result) rethrows -> Result {
        guard let text = self else { return try body(nil, 0) }
        return try text.sized { try body($0, $1) }
    }
}

/// The text at a NUL-terminated pointer, copied once.
func text(_ pointer: UnsafePointer<CChar>) -> String { String(cString: pointer) }

/// The text of `size` bytes, copied once.
@inlinable
func text(_ pointer: UnsafePointer<CChar>, _ size: Int) -> String {
    String(decoding: UnsafeRawBufferPointer(start: pointer, count: size), as: UTF8.self)
}

/// The text in an array of characters of a struct, which Swift sees as a tuple.
func text<Tuple>(array: Tuple) -> String {
    withUnsafeBytes(of: array) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
}

/// Copies of texts for C, which live as long as this object.
final class KeptTexts: @unchecked Sendable {
    private var pointers: [UnsafeMutablePointer<CChar>] = []

    func keep(_ kept: String?, _ what: String) throws -> UnsafePointer<CChar>? {
        try kept.terminated(what) { pointer in
            guard let pointer else { return nil }
            guard let copy = strdup(pointer) else {
                throw KedgeError(.noMemory, "out-of-memory", "there is no memory for the \(what)")
            }
            pointers.append(copy)
            return UnsafePointer(copy)
        }
    }

    deinit { pointers.forEach { free($0) } }
}
