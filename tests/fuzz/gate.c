/* Fuzz target: the gate in front of the HTTP library. However the bytes are cut, what passes is the
 * same. And it has one meaning: lines end with "\r\n"; the target of a refusal comes from the gate
 * alone, and no cookie passes. The first byte of the input says in portions of how many bytes it
 * comes. */
#include "backend/http/gate.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void take_all(kedge_gate *gate, kedge_buffer *passed)
{
    char piece[7];
    size_t size;
    while ((size = kedge_gate_take(gate, piece, sizeof piece)) > 0)
        kedge_buffer_append(passed, piece, size);
}

/* As receive.c does: what is a body's may pass without the gate. */
static void feed(kedge_gate *gate, kedge_bytes bytes, size_t portion, kedge_buffer *passed)
{
    kedge_gate_open(gate, &kedge_allocator_default, false);
    for (size_t at = 0; at < bytes.size;) {
        size_t now = bytes.size - at < portion ? bytes.size - at : portion;
        uint64_t passes = kedge_gate_passes(gate);
        if (passes > 0 && portion % 2 == 1) {
            now = now < passes ? now : (size_t)passes;
            kedge_buffer_append(passed, bytes.data + at, now);
            kedge_gate_passed(gate, now);
        } else {
            kedge_gate_feed(gate, bytes.data + at, now);
        }
        take_all(gate, passed);
        FUZZ_CHECK(gate->head.size <= KEDGE_GATE_HEAD_BYTES);
        at += now;
    }
}

/* The first head that has passed. */
static void check_head(const kedge_gate *gate, kedge_bytes passed)
{
    for (size_t i = 0; i + 3 < passed.size; i++) {
        char c = passed.data[i];
        bool end = memcmp(passed.data + i, "\r\n\r\n", 4) == 0;
        FUZZ_CHECK(c != '\0' && (c != '\n' || (i > 0 && passed.data[i - 1] == '\r')));
        FUZZ_CHECK(c != '\r' || passed.data[i + 1] == '\n');
        FUZZ_CHECK(c != '\r' || i == 0 || !strchr(" \t", passed.data[i - 1]));
        FUZZ_CHECK(c != '\x01' || gate->status != 0);
        FUZZ_CHECK(i + 8 > passed.size || memcmp(passed.data + i, "\nCookie:", 8) != 0);
        if (end) return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    kedge_bytes bytes = {(const char *)data + 1, size - 1};
    kedge_buffer whole = kedge_buffer_make(&kedge_allocator_default);
    kedge_buffer pieces = kedge_buffer_make(&kedge_allocator_default);
    kedge_gate one;
    kedge_gate two;
    feed(&one, bytes, 2 * bytes.size, &whole);
    feed(&two, bytes, data[0] % 16u + 1, &pieces);
    FUZZ_CHECK(kedge_bytes_equal(kedge_buffer_bytes(&whole), kedge_buffer_bytes(&pieces)));
    FUZZ_CHECK(one.state == two.state && one.status == two.status && one.left == two.left);
    FUZZ_CHECK((one.status == 0) == (one.problem == NULL));
    if (whole.size > 0) check_head(&one, kedge_buffer_bytes(&whole));
    kedge_gate_close(&one);
    kedge_gate_close(&two);
    kedge_buffer_free(&whole);
    kedge_buffer_free(&pieces);
    return 0;
}
