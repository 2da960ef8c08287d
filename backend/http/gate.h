/* What stands between a peer's bytes and the HTTP library: a check of how requests are framed.
 *
 * The library is lenient: it takes a bare line feed as the end of a line, and answers what it does
 * not take with pages of HTML. The gate passes on only what has one meaning (RFC 9112), so that no
 * request can hide in another one from a proxy in front of the server. It holds a head back until
 * it is complete. In place of a head that is refused the library gets one with the target
 * KEDGE_GATE_REFUSED, which no peer can send, and the server answers it with the gate's problem. A
 * chunked body that is broken ends where it breaks, with the trailer KEDGE_GATE_BROKEN_BODY; no
 * other trailer passes.
 *
 * Cookies are left out: nothing here reads them, and the library would parse them into memory that
 * it may not have. The bounds below are such that the library always has room for what passes. */
#ifndef KEDGE_BACKEND_HTTP_GATE_H
#define KEDGE_BACKEND_HTTP_GATE_H

#include "common/bytes.h"

#define KEDGE_GATE_HEAD_BYTES      16384 /* of a request line and all headers */
#define KEDGE_GATE_TARGET_BYTES    8192
#define KEDGE_GATE_METHOD_BYTES    32
#define KEDGE_GATE_HEADERS         64
#define KEDGE_GATE_PARAMETERS      32  /* of a query */
#define KEDGE_GATE_EXTENSION_BYTES 256 /* after the size of a chunk */
#define KEDGE_GATE_CHUNK_DIGITS    8   /* of its size */
#define KEDGE_GATE_LENGTH_DIGITS   15  /* of Content-Length */

#define KEDGE_GATE_REFUSED     "\x01"
#define KEDGE_GATE_BROKEN_BODY "Kedge-Broken"

typedef enum kedge_gate_state {
    KEDGE_GATE_HEAD,
    KEDGE_GATE_BODY, /* of a known length */
    KEDGE_GATE_CHUNK_SIZE,
    KEDGE_GATE_CHUNK_EXTENSION,
    KEDGE_GATE_CHUNK_SIZE_END, /* the line feed */
    KEDGE_GATE_CHUNK_DATA,
    KEDGE_GATE_CHUNK_END, /* the carriage return after the data */
    KEDGE_GATE_CHUNK_END_END,
    KEDGE_GATE_LAST_END, /* that of the empty line after the last chunk */
    KEDGE_GATE_LAST_END_END,
    KEDGE_GATE_DROPS, /* something was refused: what comes is read and dropped */
    KEDGE_GATE_BROKEN /* without memory: nothing is read any more */
} kedge_gate_state;

typedef struct kedge_gate {
    kedge_gate_state state;
    bool encrypted;      /* the gate stands behind the decryption */
    uint64_t left;       /* bytes of the body or chunk; of an extension: that it may have */
    uint32_t digits;     /* of a chunk's size */
    kedge_buffer head;   /* as far as it has come */
    kedge_buffer output; /* for the library, from `given` on */
    size_t given;
    int status;          /* of the refusal; 0: none */
    const char *problem; /* in static storage */
} kedge_gate;

void kedge_gate_open(kedge_gate *gate, const kedge_allocator *allocator, bool encrypted);
void kedge_gate_close(kedge_gate *gate);
/* Takes what the peer has sent, and appends what the library may have to `output`. */
void kedge_gate_feed(kedge_gate *gate, const char *bytes, size_t size);
/* Moves output to `out`; returns how much. */
size_t kedge_gate_take(kedge_gate *gate, char *out, size_t size);
/* So many bytes may pass without a look, because they are a body's; they count as fed. */
uint64_t kedge_gate_passes(const kedge_gate *gate);
void kedge_gate_passed(kedge_gate *gate, size_t size);
/* Whether a part of a head has come that the library does not know of. */
bool kedge_gate_holds_a_head(const kedge_gate *gate);

#endif
