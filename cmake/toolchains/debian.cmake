# Shared by the toolchain files of Linux: Debian's cross compiler, and the libraries of a root of that architecture, which
# KEDGE_SYSROOT names. scripts/cross unpacks such roots. Programs run under KEDGE_EMULATOR, by its name, or where that is
# empty by the loader of the root.
# A file that includes it has set: KEDGE_TRIPLE, CMAKE_SYSTEM_PROCESSOR, KEDGE_EMULATOR, KEDGE_LOADER.
set(CMAKE_SYSTEM_NAME Linux)
set(KEDGE_SYSROOT "" CACHE PATH "A folder with the libraries of the target: the root of a Debian")
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES KEDGE_SYSROOT)
if(NOT EXISTS ${KEDGE_SYSROOT}/usr/include)
  message(FATAL_ERROR "KEDGE_SYSROOT names no root: \"${KEDGE_SYSROOT}\"; scripts/cross unpacks one")
endif()
set(CMAKE_SYSROOT ${KEDGE_SYSROOT})
set(CMAKE_C_COMPILER ${KEDGE_COMPILER})
set(CMAKE_LIBRARY_ARCHITECTURE ${KEDGE_TRIPLE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${KEDGE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR} ${KEDGE_SYSROOT}/usr/lib/${KEDGE_TRIPLE}/pkgconfig:${KEDGE_SYSROOT}/usr/share/pkgconfig)
set(ENV{PKG_CONFIG_PATH})
if(KEDGE_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR "${KEDGE_EMULATOR};-L;${KEDGE_SYSROOT}")
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR
      "${KEDGE_SYSROOT}/lib/${KEDGE_LOADER};--library-path;${KEDGE_SYSROOT}/lib/${KEDGE_TRIPLE}")
endif()
