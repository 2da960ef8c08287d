/* The outcomes of mutations, in the responses of a pull, of a retire, and of GET
 * clients/{client}/mutations. */
#ifndef KEDGE_WIRE_OUTCOMES_H
#define KEDGE_WIRE_OUTCOMES_H

#include "common/hash.h"
#include "common/json.h"

typedef enum kedge_wire_decision {
    KEDGE_WIRE_APPLIED,
    KEDGE_WIRE_REJECTED,
    KEDGE_WIRE_DUPLICATE,         /* applied before, under its origin */
    KEDGE_WIRE_DUPLICATE_REJECTED /* rejected before, under its origin */
} kedge_wire_decision;

typedef struct kedge_wire_outcome {
    int64_t id;
    int64_t version;
    uint8_t digest[KEDGE_DIGEST_SIZE];
    kedge_wire_decision decision;
    char code[sizeof((kedge_error *)0)->code]; /* of a rejection */
    char message[sizeof((kedge_error *)0)->message];
} kedge_wire_outcome;

static inline bool kedge_wire_is_rejection(kedge_wire_decision decision)
{
    return decision == KEDGE_WIRE_REJECTED || decision == KEDGE_WIRE_DUPLICATE_REJECTED;
}

typedef struct kedge_wire_outcomes {
    kedge_wire_outcome *rows; /* in id order */
    size_t count;
    size_t capacity;
    int64_t next; /* the id from which the next request continues; 0: complete */
    const kedge_allocator *allocator;
} kedge_wire_outcomes;

kedge_wire_outcomes kedge_wire_outcomes_make(const kedge_allocator *allocator);
void kedge_wire_outcomes_free(kedge_wire_outcomes *outcomes);
/* KEDGE_NO_MEMORY. */
kedge_status kedge_wire_outcomes_add(kedge_wire_outcomes *outcomes,
                                     const kedge_wire_outcome *outcome, kedge_error *error);

/* "outcome", and "code" and "message" of a rejection. */
void kedge_wire_decision_write(kedge_json_writer *writer, kedge_wire_decision decision,
                               kedge_bytes code, kedge_bytes message);
/* "outcomes":[…],"outcomes_next":…: members of the object that is being written. */
void kedge_wire_outcomes_write(kedge_json_writer *writer, const kedge_wire_outcomes *outcomes);

/* Appends the path and query of GET clients/{client}/mutations, for the outcomes of the ids `from`
 * to `to` at a version. */
void kedge_wire_outcomes_request_write(const char *client_id, int64_t from, int64_t to,
                                       int64_t version, kedge_buffer *path);
/* The response to it. */
void kedge_wire_outcomes_response_write(const kedge_wire_outcomes *outcomes, kedge_buffer *out);
/* Appends to `outcomes`, and sets its `next`. Returns KEDGE_PROTOCOL, with `outcomes` unchanged,
 * when the body is not such a response. */
kedge_status kedge_wire_outcomes_response_read(kedge_bytes body, kedge_wire_outcomes *outcomes,
                                               kedge_error *error);

#endif
