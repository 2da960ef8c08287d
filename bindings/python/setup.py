"""The wheel: the package, the extension, and the library beside it."""
import pathlib
import shutil
import subprocess
import sys

import setuptools
from setuptools.command.build_ext import build_ext

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import native_build


class BuildWithLibrary(build_ext):
    def run(self):
        super().run()
        library = pathlib.Path(self.build_lib, "kedge", "libkedge.so.0")
        shutil.copy(native_build.library_file(), library)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", library], check=True)  # names for a debugger: most of the file


# One wheel does for all versions of Python from 3.9 on: the extension uses the stable ABI.
setuptools.setup(
    cffi_modules=["native_build.py:ffi"],
    cmdclass={"build_ext": BuildWithLibrary},
    options={"bdist_wheel": {"py_limited_api": "cp39"}})
