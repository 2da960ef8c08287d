// swift-tools-version:6.0
// The Swift package of Kedge. On Apple's systems the C library is a binary target, which
// make_xcframework.py makes. Elsewhere it is the installed one, which pkg-config names.
import PackageDescription

#if os(macOS)
    let native: Target = .binaryTarget(name: "CKedge", path: "CKedge.xcframework")
#else
    let native: Target = .systemLibrary(name: "CKedge", path: "Sources/CKedge", pkgConfig: "kedge")
#endif

let package = Package(
    name: "kedge",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [.library(name: "Kedge", targets: ["Kedge"])],
    targets: [
        native,
        .target(
            name: "Kedge", dependencies: ["CKedge"],
            linkerSettings: [.linkedLibrary("z", .when(platforms: [.macOS, .iOS]))]),
        .executableTarget(name: "notes", dependencies: ["Kedge"], path: "Examples/notes"),
    ],
    swiftLanguageModes: [.v6]
)
