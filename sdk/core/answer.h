/* The server's answers, decoded: what the store applies and the core decides on.
 *
 * Decoding is strict: an answer that is not exactly what docs/reference/wire.md says is
 * KEDGE_PROTOCOL and has no effect. Everything is borrowed from the response body, which must
 * outlive the answer; values are canonical JSON after kedge_pull_answer_decode. */
#ifndef KEDGE_SDK_CORE_ANSWER_H
#define KEDGE_SDK_CORE_ANSWER_H

#include "common/hash.h"
#include "common/json.h"

#include <kedge/limits.h>

typedef enum kedge_decision {
    KEDGE_DECISION_APPLIED,
    KEDGE_DECISION_REJECTED, /* or a duplicate of one that was */
    KEDGE_DECISION_DUPLICATE /* applied before, under its origin */
} kedge_decision;

/* The outcome of one mutation. */
typedef struct kedge_outcome_row {
    int64_t id;
    int64_t version;
    uint8_t digest[KEDGE_DIGEST_SIZE];
    kedge_decision decision;
    char code[64];
    char message[256];
} kedge_outcome_row;

typedef struct kedge_outcome_list {
    kedge_outcome_row *rows; /* in id order */
    size_t count;
    size_t capacity;
    int64_t next; /* the id to go on from; 0: complete */
    const kedge_allocator *allocator;
} kedge_outcome_list;

typedef enum kedge_patch_kind {
    KEDGE_PATCH_CLEAR,
    KEDGE_PATCH_PUT,
    KEDGE_PATCH_PUT_HASH, /* the body is to be fetched: `hash`, `size` */
    KEDGE_PATCH_DELETE
} kedge_patch_kind;

/* One operation. `collection` and `id` are decoded; both empty: the project record. */
typedef struct kedge_patch_operation {
    kedge_patch_kind kind;
    kedge_bytes collection;
    kedge_bytes id;
    kedge_bytes value;
    uint8_t hash[KEDGE_SHA256_SIZE];
    int64_t size;
    char *owned; /* the value's memory when it was fetched by its hash */
} kedge_patch_operation;

typedef struct kedge_patch {
    kedge_patch_operation *operations;
    size_t count;
    size_t capacity;
    kedge_buffer text; /* decoded keys and normalized values that are not the body's own */
} kedge_patch;

/* What the server has lost and left out of an answer. */
typedef struct kedge_damaged_items {
    int64_t count;
    kedge_bytes keys; /* of the first ones: a JSON array of wire keys; borrowed from the body */
} kedge_damaged_items;

typedef struct kedge_pull_answer {
    int64_t from; /* the cookie's version that the patch starts from */
    int64_t version;
    char lineage[33];
    int64_t lmid;
    bool retired;
    bool known;
    bool lost;
    bool snapshot; /* page through `version` */
    kedge_outcome_list outcomes;
    kedge_patch patch;
    kedge_damaged_items damaged;
} kedge_pull_answer;

typedef struct kedge_page_answer {
    int64_t version;
    char lineage[33];
    kedge_patch items; /* KEDGE_PATCH_PUT and _PUT_HASH only */
    bool last;
    kedge_bytes next; /* wire key to go on behind, decoded; in next_text */
    kedge_buffer next_text;
    kedge_damaged_items damaged;
} kedge_page_answer;

/* An id of each of some clients. */
typedef struct kedge_client_mark {
    char client[33];
    int64_t id;
} kedge_client_mark;

typedef struct kedge_client_marks {
    size_t count;
    kedge_client_mark marks[KEDGE_LIMIT_EARLIER_CLIENTS];
} kedge_client_marks;

typedef struct kedge_retire_answer {
    int64_t version;
    char lineage[33];
    int64_t lmid;
    kedge_client_marks earlier; /* the lmids of the clients that the request named */
    kedge_outcome_list outcomes;
} kedge_retire_answer;

/* `out` comes in zeroed; free it also after a failure. */
kedge_status kedge_pull_answer_decode(const kedge_allocator *allocator, kedge_bytes body,
                                      kedge_pull_answer *out, kedge_error *error);
kedge_status kedge_page_answer_decode(const kedge_allocator *allocator, kedge_bytes body,
                                      kedge_page_answer *out, kedge_error *error);
kedge_status kedge_retire_answer_decode(const kedge_allocator *allocator, kedge_bytes body,
                                        kedge_retire_answer *out, kedge_error *error);
/* The answer of GET clients/{c}/mutations: appends to `outcomes` and sets its `next`. */
kedge_status kedge_outcomes_decode(kedge_bytes body, kedge_outcome_list *outcomes,
                                   kedge_error *error);
/* A body fetched by hash: checks the hash and puts the value into the operation. */
kedge_status kedge_patch_set_body(kedge_patch *patch, size_t operation, kedge_bytes body,
                                  kedge_error *error);
/* Takes an operation out: its body is lost. */
void kedge_patch_leave_out(kedge_patch *patch, size_t operation);
void kedge_pull_answer_free(kedge_pull_answer *answer);
void kedge_page_answer_free(kedge_page_answer *answer);
void kedge_retire_answer_free(kedge_retire_answer *answer);

#endif
