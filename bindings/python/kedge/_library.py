"""The C library, through the extension that cffi made."""

__all__ = ["LibraryMissing", "ffi", "lib"]


class LibraryMissing(ImportError):
    """The native library, or one that it needs, cannot be loaded."""


try:
    from kedge._native import ffi, lib
except ImportError as failure:
    raise LibraryMissing(
        "kedge cannot load its native library. The wheel has it as kedge/_native.abi3.so and kedge/libkedge.so.0, which"
        f" need the system's libsqlite3, libcurl, libcjson, libcrypto and zlib: {failure}") from failure
