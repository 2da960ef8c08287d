/* The messages between the server and its mutator children.
 *
 * A frame is the size of its payload (4 bytes), its type (1 byte) and the payload: a sequence of
 * integers (8 bytes) and byte strings (their size in 4 bytes, then they). All little-endian.
 * Neither side trusts the other's sizes. */
#ifndef KEDGE_BACKEND_PLUGIN_FRAME_H
#define KEDGE_BACKEND_PLUGIN_FRAME_H

#include "common/bytes.h"

#include <kedge/limits.h>

#define KEDGE_FRAME_HEADER_BYTES 5
/* One item or the args, and the other parts of the payload. */
#define KEDGE_FRAME_PAYLOAD_MAX                                                                    \
    ((KEDGE_LIMIT_ITEM_BYTES > KEDGE_LIMIT_ARGS_BYTES ? KEDGE_LIMIT_ITEM_BYTES                     \
                                                      : KEDGE_LIMIT_ARGS_BYTES) +                  \
     1048576)

/* `run` is the number of the mutation within one child; a frame with an earlier one is invalid. */
typedef enum kedge_frame_type {
    KEDGE_FRAME_HELLO = 1,   /* child: for each mutator: name, version */
    KEDGE_FRAME_LOAD_FAILED, /* child: message */
    KEDGE_FRAME_RUN,         /* server: run, name, args, user, role, client, now_ms */
    KEDGE_FRAME_GET,         /* child: run, collection, id */
    KEDGE_FRAME_NEXT,        /* child: run, collection, from_start, after */
    KEDGE_FRAME_FOUND,       /* server: status, id, value */
    KEDGE_FRAME_CHANGE, /* child, after the mutator's end: run, collection, id, deleted, value */
    KEDGE_FRAME_DONE    /* child: run, status, code, message */
} kedge_frame_type;

void kedge_frame_begin(kedge_buffer *frame, kedge_frame_type type); /* empties the buffer */
void kedge_frame_add_bytes(kedge_buffer *frame, kedge_bytes bytes);
void kedge_frame_add_text(kedge_buffer *frame, const char *text);
void kedge_frame_add_integer(kedge_buffer *frame, int64_t integer);
/* KEDGE_NO_MEMORY when an append failed, KEDGE_LIMIT_EXCEEDED when the payload is too large. */
kedge_status kedge_frame_end(kedge_buffer *frame, kedge_error *error);

/* Reads the type and the payload's size; false when the size is over the limit or the type is
 * unknown. */
bool kedge_frame_header(const char header[KEDGE_FRAME_HEADER_BYTES], kedge_frame_type *type,
                        size_t *size);

/* Reads a payload part by part. After a take that failed, all later ones return nothing. */
typedef struct kedge_frame_reader {
    kedge_bytes rest;
    bool failed;
} kedge_frame_reader;

kedge_bytes kedge_frame_take_bytes(kedge_frame_reader *reader);
int64_t kedge_frame_take_integer(kedge_frame_reader *reader);
bool kedge_frame_is_complete(const kedge_frame_reader *reader); /* all taken, nothing failed */

#endif
