// Reads of a database: items, collections, queries, indexes, counters.
import CKedge
import Foundation

extension Database {
    /// Reads an item; nil when there is none. As ``RawJSON`` it is the canonical JSON.
    public func get<Item: Decodable>(
        _ collection: String, _ id: String, as kind: Item.Type = Item.self
    ) throws -> Item? {
        try collection.terminated("collection") { name in
            try id.sized { key, size in
                try document(kind) { kedge_get($0, name, key, size, $1, $2) }
            }
        }
    }

    /// Reads the project record; nil when it was never set.
    public func getProject<Record: Decodable>(as kind: Record.Type = Record.self) throws -> Record?
    {
        try document(kind) { kedge_get_project($0, $1, $2) }
    }

    /// What is in the document that a function of C gives; nil when there is none. The handle is no
    /// longer in use when the app's type is decoded, which may close the database.
    private func document<Item: Decodable>(
        _ kind: Item.Type,
        _ function: (
            OpaquePointer, UnsafeMutablePointer<OpaquePointer?>, UnsafeMutablePointer<kedge_error>
        ) -> kedge_status
    ) throws -> Item? {
        let json: Data? = try handle.use { db in
            do {
                return takenDocument(try made { function(db, $0, $1) })
            } catch let failure as KedgeError where failure.status == .notFound {
                return nil
            }
        }
        return try json.map { try decoded(kind, $0) }
    }

    /// Opens a cursor over the items of a collection, by id in byte order. `after`: after this id.
    /// `prefix`: only ids that start with it. `limit` 0: all.
    public func scan<Item: Decodable>(
        _ collection: String, after: String? = nil, prefix: String? = nil, limit: Int64 = 0,
        descending: Bool = false,
        as kind: Item.Type = Item.self
    ) throws -> Scan<Item> {
        let cursor = try collection.terminated("collection") { name in
            try after.sized { after, afterSize in
                try prefix.sized { prefix, prefixSize in
                    var options = ckedge_scan_options()
                    (options.after, options.after_size) = (after, afterSize)
                    (options.prefix, options.prefix_size) = (prefix, prefixSize)
                    (options.limit, options.descending) = (limit, descending)
                    return try open("cursor", free: kedge_scan_close) {
                        kedge_scan_open($0, name, &options, $1, $2)
                    }
                }
            }
        }
        return Scan(self, cursor)
    }

    /// Opens a cursor over the rows of a read-only SELECT. Each collection is a view with the
    /// columns `id` and `value` (JSON text); `kedge_items` has all of them. `parameters` are bound
    /// to ?1, ?2…
    public func query(_ sql: String, _ parameters: [JSON] = []) throws -> Query {
        let cursor = try sql.sized { sql, sqlSize in
            try encoded(parameters, "parameters") { json, size in
                try open("cursor", free: kedge_query_close) {
                    kedge_query_open($0, sql, sqlSize, json, size, $1, $2)
                }
            }
        }
        return Query(self, cursor)
    }

    /// Declares an index over members of the items of a collection, and makes it: see
    /// kedge/index.h.
    public func declareIndex(_ name: String, _ collection: String, _ paths: [String]) throws {
        let texts = KeptTexts()
        let array = try paths.map { try texts.keep($0, "path") } + [nil]
        try name.terminated("name") { name in
            try collection.terminated("collection") { collection in
                try handle.use { db in
                    try call { kedge_index(db, name, collection, array, paths.count, $0) }
                }
            }
        }
    }

    /// Drops an index.
    public func dropIndex(_ name: String) throws {
        try name.terminated("name") { name in
            try handle.use { db in try call { kedge_index_drop(db, name, $0) } }
        }
    }

    /// Opens a cursor over the declared indexes.
    public func indexes() throws -> Indexes {
        Indexes(
            self,
            try open("cursor", free: kedge_index_list_close) { kedge_index_list_open($0, $1, $2) })
    }

    /// Counters and sizes, for monitoring.
    public func stats() throws -> Stats {
        var filled = ckedge_stats()
        try handle.use { db in try call { kedge_get_stats(db, &filled, $0) } }
        return Stats(filled)
    }
}

/// The JSON of a document, which is freed.
func takenDocument(_ document: OpaquePointer) -> Data {
    defer { kedge_document_free(document) }
    var size = 0
    let json = kedge_document_json(document, &size)
    return Data(bytes: json, count: size)
}
