/* Random members of messages, the same for the same seed. */
#ifndef KEDGE_TESTS_WIRE_DRAW_H
#define KEDGE_TESTS_WIRE_DRAW_H

#include "common/json.h"

#define DRAW_MESSAGES 500 /* of each kind, in a test */

typedef struct draw {
    uint64_t state;    /* splitmix64 */
    kedge_buffer text; /* what the strings that were drawn point into; never grows */
} draw;

/* Free with draw_end. */
draw draw_begin(uint64_t seed);
void draw_end(draw *from);

uint64_t draw_bits(draw *from);
bool draw_boolean(draw *from);
/* From `least` to `most`; the ends, and what is near them, come often. */
int64_t draw_integer(draw *from, int64_t least, int64_t most);
size_t draw_count(draw *from, size_t most); /* 0 to most */
/* UTF-8 of at most `most` bytes, with quotes, control characters and the like. */
kedge_bytes draw_text(draw *from, size_t most);
void draw_chars(draw *from, char *out, size_t out_size);
kedge_bytes draw_client_id(draw *from);
kedge_bytes draw_name(draw *from);
kedge_bytes draw_hex(draw *from, size_t digits);
void draw_bytes(draw *from, uint8_t *out, size_t size);
/* A JSON value in its canonical form. */
kedge_bytes draw_value(draw *from);

#endif
