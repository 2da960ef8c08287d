# Shared by the toolchain files of macOS, for builds elsewhere: zig has a compiler, the headers of the system and a linker.
# A file that includes it has set CMAKE_SYSTEM_PROCESSOR, which is also the first word of zig's target.
# KEDGE_ZIG is the program zig. KEDGE_SYSROOT is a folder with the headers of libkedge's libraries and what is linked with:
# scripts/cross makes one.
set(CMAKE_SYSTEM_NAME Darwin)
set(KEDGE_ZIG zig CACHE FILEPATH "The program zig")
set(KEDGE_SYSROOT "" CACHE PATH "A folder with lib/pkgconfig of the target's libraries")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KEDGE_ZIG KEDGE_SYSROOT)
set(CMAKE_C_COMPILER ${KEDGE_ZIG} cc -target ${CMAKE_SYSTEM_PROCESSOR}-macos)
set(CMAKE_AR ${KEDGE_ZIG})
set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> ar --format=darwin qcs <TARGET> <OBJECTS>")
set(CMAKE_C_ARCHIVE_APPEND "<CMAKE_AR> ar --format=darwin qs <TARGET> <OBJECTS>")
set(CMAKE_C_ARCHIVE_FINISH "")
set(CMAKE_INSTALL_NAME_TOOL true)
set(CMAKE_OSX_SYSROOT "")
set(CMAKE_FIND_ROOT_PATH ${KEDGE_SYSROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} ${KEDGE_SYSROOT}/lib/pkgconfig)
set(ENV{PKG_CONFIG_PATH})
set(ENV{PKG_CONFIG_SYSROOT_DIR})
