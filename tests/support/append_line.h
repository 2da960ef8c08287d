/* The mutator lines.append {"text"}: reads all items of the collection "lines", and puts the text
 * after the last one. The ids are 0001, 0002, … Meant as a client-only mutator. */
#ifndef KEDGE_TESTS_SUPPORT_APPEND_LINE_H
#define KEDGE_TESTS_SUPPORT_APPEND_LINE_H

#include <kedge/mutator.h>

extern const kedge_mutator append_line_mutator;

#endif
