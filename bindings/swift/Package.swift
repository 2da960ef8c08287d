// swift-tools-version:6.0
// The Swift package of Kedge. On Linux the C library is the installed one, which pkg-config names.
// On Apple's systems it is a binary target, CKedge.xcframework beside this file, whose making
// README.md describes.
import PackageDescription

#if os(Linux)
    let native: Target = .systemLibrary(name: "CKedge", path: "Sources/CKedge", pkgConfig: "kedge")
#else
    let native: Target = .binaryTarget(name: "CKedge", path: "CKedge.xcframework")
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
