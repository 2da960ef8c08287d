/* The mutators of the scenarios in C++: see bindings/conformance/README.md. */
#ifndef KEDGE_TESTS_BINDINGS_CPP_MUTATORS_HPP
#define KEDGE_TESTS_BINDINGS_CPP_MUTATORS_HPP

#include <kedge/kedge.hpp>

/* By its name; one that is not there ends the program. */
kedge::mutator mutator_of(std::string_view name);

#endif
