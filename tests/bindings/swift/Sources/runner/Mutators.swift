// The mutators of the scenarios: see bindings/conformance/README.md.
import Kedge

struct Take: Codable {
    var id: String
    var count: Int
}

struct Line: Codable { var text: JSON }
struct Nothing: Codable {}
struct Mistake: Error {}

let mutators: [String: Mutator] = [
    "stock.take": Mutator("stock.take") { (tx, args: Take) in
        guard case .object(var shelf)? = try tx.get("shelves", args.id, as: JSON.self) else {
            throw Rejection("item-not-found", "there is no item shelves/\(args.id)")
        }
        guard let left = shelf["count"]?.integer else {
            throw Rejection("args-invalid", "the shelf has no count")
        }
        guard args.count >= 1, args.count <= left else {
            throw Rejection("not-enough", "there are not that many pieces")
        }
        shelf["count"] = .number(Double(left - args.count))
        try tx.put("shelves", args.id, shelf)
    },
    "lines.append": Mutator("lines.append") { (tx, args: Line) in
        var last = "0"
        try tx.forEach("lines", as: JSON.self) { id, _ in last = id }
        let next = String((Int(last) ?? 0) + 1)
        try tx.put("lines", String(repeating: "0", count: max(0, 4 - next.count)) + next, args.text)
    },
    "log.sign": Mutator("log.sign") { (tx, _: Nothing) in
        let caller = try tx.caller
        let signed = try tx.getProject(as: JSON.self)?["signed"]?.integer ?? 0
        try tx.putProject(
            ["by": "\(caller.user)/\(caller.role)", "signed": .number(Double(signed + 1))] as JSON)
        try tx.delete("log", "last")
    },
    "log.fail": Mutator("log.fail") { (tx, _: Nothing) in
        try tx.put("log", "failed", true)
        throw Mistake()
    },
]
