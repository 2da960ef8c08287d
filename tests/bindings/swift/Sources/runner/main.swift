// Runs the scenarios of bindings/conformance in Swift. See bindings/conformance/README.md.
//
// usage: runner SCENARIOS URL ORGANIZATION FOLDER
import Foundation
import Kedge

func fail(_ text: String) -> Never {
    FileHandle.standardError.write(Data((text + "\n").utf8))
    exit(1)
}

func run(_ scenario: JSON, _ number: Int, _ arguments: [String]) throws {
    let folder = "\(arguments[4])/\(number)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let runner = Runner(
        url: arguments[2], organization: arguments[3], folder: folder, project: "scenario\(number)")
    defer { runner.close() }
    let steps = scenario.list("steps")
    for (count, step) in steps.enumerated() {
        guard let (wanted, given) = try runner.run(step) else { continue }
        throw Failed("step \(count + 1) (\(step.words("do"))): wanted \(wanted), got \(given)")
    }
    let state = try runner.checkEnd(scenario["end"] ?? nil)
    try state.write(to: URL(fileURLWithPath: "\(arguments[4])/\(number).state"))
    print("ok \(steps.count) steps: \(scenario.words("name"))")
}

let arguments = CommandLine.arguments
guard arguments.count == 5 else { fail("usage: runner SCENARIOS URL ORGANIZATION FOLDER") }
let file = try JSONDecoder().decode(
    JSON.self, from: Data(contentsOf: URL(fileURLWithPath: arguments[1])))
guard file["format"]?.integer == 1 else { fail("another format than 1") }
let scenarios = file.list("scenarios")
for (index, scenario) in scenarios.enumerated() {
    do {
        try run(scenario, index + 1, arguments)
    } catch {
        fail("scenario \"\(scenario.words("name"))\", \(error)")
    }
}
print("\(scenarios.count) scenarios passed")
