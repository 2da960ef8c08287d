# Linux on 32-bit x86. An x86-64 runs its programs without an emulator.
set(KEDGE_TRIPLE i386-linux-gnu)
set(KEDGE_COMPILER i686-linux-gnu-gcc)
set(CMAKE_SYSTEM_PROCESSOR i686)
set(KEDGE_LOADER ld-linux.so.2)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
