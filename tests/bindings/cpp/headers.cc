/* The C++ headers alone, compiled without a warning: as C++17, as C++20, and without exceptions. */
#include <kedge/cjson.hpp>
