// swift-tools-version:6.0
// The package of hello.swift as an app has it, beside the folder of the source archive of Kedge.
import PackageDescription

let package = Package(
    name: "hello",
    dependencies: [.package(path: "../kedge")],
    targets: [
        .executableTarget(
            name: "hello", dependencies: [.product(name: "Kedge", package: "kedge")])
    ]
)
