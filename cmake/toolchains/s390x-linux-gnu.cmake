# Linux on s390x: big-endian, 64 bits.
set(KEDGE_TRIPLE s390x-linux-gnu)
set(KEDGE_COMPILER s390x-linux-gnu-gcc)
set(CMAKE_SYSTEM_PROCESSOR s390x)
set(KEDGE_EMULATOR qemu-s390x)
include(${CMAKE_CURRENT_LIST_DIR}/debian.cmake)
