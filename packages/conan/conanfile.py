"""libkedge for Conan 2: `conan create packages/conan` at the top of the repository. The libraries that it is made of come
from Conan, or, with -o "kedge/*:system_libraries=True", from the machine, by pkg-config."""
import os
import re

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load
from conan.tools.gnu import PkgConfigDeps

required_conan_version = ">=2.0"


class Kedge(ConanFile):
    name = "kedge"
    description = "Local-first sync of a shared project"
    license = "MIT"
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "system_libraries": [True, False]}
    default_options = {"shared": False, "fPIC": True, "system_libraries": False}
    languages = "C"
    implements = ["auto_shared_fpic"]

    def set_version(self):
        top = load(self, os.path.join(self.recipe_folder, "..", "..", "CMakeLists.txt"))
        self.version = re.search(r"project\(kedge VERSION ([0-9.]+)", top)[1]

    def export_sources(self):
        top = os.path.join(self.recipe_folder, "..", "..")
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "common/*", "http/*", "mutate/*", "wire/*",
                        "sdk/*", "tools/*", "examples/*", "bench/*"):
            copy(self, pattern, top, self.export_sources_folder)

    def requirements(self):
        if not self.options.system_libraries:
            self.requires("sqlite3/[>=3.38 <4]")
            self.requires("libcurl/[>=7.80 <9]")
            self.requires("cjson/[>=1.7 <2]")
            self.requires("openssl/[>=1.1.1 <4]")
            self.requires("zlib/[>=1.2.11 <2]")

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["KEDGE_SERVER"] = False
        toolchain.cache_variables["KEDGE_TESTS"] = False
        toolchain.generate()
        PkgConfigDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build(target="kedge" if self.options.shared else "kedge_static")

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        copy(self, "*", os.path.join(self.source_folder, "include"), os.path.join(self.package_folder, "include"))
        # One of the two, as Conan wants it.
        pattern = "libkedge.so*" if self.options.shared else "libkedge.a"
        copy(self, pattern, os.path.join(self.build_folder, "lib"), os.path.join(self.package_folder, "lib"))

    def package_info(self):
        self.cpp_info.libs = ["kedge"]
        self.cpp_info.set_property("pkg_config_name", "kedge")
        self.cpp_info.set_property("cmake_target_name", "kedge::kedge")
        if not self.options.shared:
            self.cpp_info.system_libs = ["pthread", "m"]
            if self.options.system_libraries:
                self.cpp_info.system_libs += ["sqlite3", "curl", "cjson", "crypto", "z"]
