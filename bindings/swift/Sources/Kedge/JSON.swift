// JSON: any value as Swift's own, text that is JSON already, and what encodes and decodes items.
import CKedge
import Foundation

/// Any JSON value, for items and args without a type of their own. Numbers are those of I-JSON:
/// whole ones are exact up to 2^53 - 1.
public enum JSON: Sendable, Hashable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    /// The member of an object, or nil.
    public subscript(_ member: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[member]
    }

    /// The element of an array, or nil.
    public subscript(_ index: Int) -> JSON? {
        guard case .array(let elements) = self, elements.indices.contains(index) else { return nil }
        return elements[index]
    }

    /// The text, or nil when it is something else.
    public var text: String? {
        guard case .string(let text) = self else { return nil }
        return text
    }

    /// The number as a whole one, or nil when it is none.
    public var integer: Int? {
        guard case .number(let number) = self else { return nil }
        return Int(exactly: number)
    }
}

extension JSON: Codable {
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let boolean = try? value.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([JSON].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: JSON].self))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var value = encoder.singleValueContainer()
        switch self {
        case .null: try value.encodeNil()
        case .boolean(let boolean): try value.encode(boolean)
        case .number(let number): try value.encode(number)
        case .string(let string): try value.encode(string)
        case .array(let array): try value.encode(array)
        case .object(let object): try value.encode(object)
        }
    }
}

extension JSON: ExpressibleByNilLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByStringInterpolation, ExpressibleByArrayLiteral,
    ExpressibleByDictionaryLiteral
{
    public init(nilLiteral: ()) { self = .null }
    public init(booleanLiteral value: Bool) { self = .boolean(value) }
    public init(integerLiteral value: Int) { self = .number(Double(value)) }
    public init(floatLiteral value: Double) { self = .number(value) }
    public init(stringLiteral value: String) { self = .string(value) }
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements) { $1 })
    }
}

/// Text that is JSON already. Given to Kedge it goes as it is; read from Kedge it is the canonical
/// JSON (RFC 8785). As a member of another value it is the same text for the same value, with the
/// members of objects in order, but numbers may be written in another way.
public struct RawJSON: Sendable, Hashable, Codable {
    public let text: String

    @inlinable
    public init(_ text: String) { self.text = text }

    /// Inside of another value it is that value.
    public init(from decoder: any Decoder) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        self.text = String(decoding: try encoder.encode(JSON(from: decoder)), as: UTF8.self)
    }

    public func encode(to encoder: any Encoder) throws {
        try JSONDecoder().decode(JSON.self, from: Data(text.utf8)).encode(to: encoder)
    }
}

/// Calls `body` with a value as JSON.
@discardableResult
func encoded<Value: Encodable, Result>(
    _ value: Value, _ what: String, _ body: (UnsafePointer<CChar>, Int) throws -> Result
) throws -> Result {
    if let raw = value as? RawJSON { return try raw.text.sized(body) }
    let data: Data
    do {
        data = try JSONEncoder().encode(value)
    } catch {
        throw KedgeError(
            .invalidJSON, "json-invalid", "the \(what) cannot be written as JSON: \(error)")
    }
    return try data.withUnsafeBytes { bytes in
        guard let start = bytes.bindMemory(to: CChar.self).baseAddress else {
            throw KedgeError(.invalidJSON, "json-invalid", "the \(what) cannot be written as JSON")
        }
        return try body(start, bytes.count)
    }
}

/// A value of what C gives. Its text is copied, unless it `stays` where it is until the app's type
/// is decoded.
@inlinable
func decoded<Value: Decodable>(
    _ kind: Value.Type, _ pointer: UnsafePointer<CChar>, _ size: Int, stays: Bool = true
) throws -> Value {
    // The types are the same. A cast with `as` would look for that once more, which takes longer
    // than all the rest of a row.
    if kind == RawJSON.self { return unsafeBitCast(RawJSON(text(pointer, size)), to: Value.self) }
    let bytes = UnsafeMutableRawPointer(mutating: UnsafeRawPointer(pointer))
    let data =
        stays
        ? Data(bytesNoCopy: bytes, count: size, deallocator: .none)
        : Data(bytes: bytes, count: size)
    return try JSONDecoder().decode(kind, from: data)
}

/// A value of JSON that is not empty.
func decoded<Value: Decodable>(_ kind: Value.Type, _ json: Data) throws -> Value {
    try json.withUnsafeBytes { bytes in
        try decoded(kind, bytes.bindMemory(to: CChar.self).baseAddress!, bytes.count)
    }
}
