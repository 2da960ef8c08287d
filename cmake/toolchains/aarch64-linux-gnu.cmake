# Linux on 64-bit ARM.
set(KEDGE_TRIPLE aarch64-linux-gnu)
set(KEDGE_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(KEDGE_EMULATOR qemu-aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
