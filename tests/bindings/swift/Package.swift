// swift-tools-version:6.0
// The tests of bindings/swift: the runner of the scenarios, the edges, and the programs of pages.
// with_swift.sh puts this package beside the binding.
import PackageDescription

let kedge: [Target.Dependency] = [.product(name: "Kedge", package: "kedge")]

let package = Package(
    name: "kedge-tests",
    platforms: [.macOS(.v13)],
    dependencies: [.package(path: "../kedge")],
    targets: [
        .executableTarget(name: "runner", dependencies: kedge),
        .executableTarget(name: "notes", dependencies: kedge, path: "Examples/notes"),
        .executableTarget(
            name: "use-from-swift", dependencies: kedge, path: "docs/use-from-swift"),
        .executableTarget(name: "crossing", dependencies: kedge, path: "docs/crossing"),
        .testTarget(name: "KedgeTests", dependencies: kedge),
    ],
    swiftLanguageModes: [.v6]
)
