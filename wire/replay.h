/* The entries of a log project in the response of a pull: `kedge.log`.
 *
 * A client of a log project decides the mutations itself: it replays them, in order, with its own
 * mutators. The server keeps the same JSON of a mutation in the body of the log's entry. */
#ifndef KEDGE_WIRE_REPLAY_H
#define KEDGE_WIRE_REPLAY_H

#include "common/arena.h"
#include "common/hash.h"
#include "common/json.h"

#define KEDGE_WIRE_REPLAY_ENTRIES_MAX   1000    /* in one response */
#define KEDGE_WIRE_REPLAY_MUTATIONS_MAX 100000  /* in one response */
#define KEDGE_WIRE_REPLAY_BYTES         4194304 /* of the entries, unless the first one is larger */

/* What the server knew when it appended the mutation. */
typedef enum kedge_wire_replay_decision {
    KEDGE_WIRE_REPLAY_OPEN,              /* each replay decides */
    KEDGE_WIRE_REPLAY_REJECTED,          /* invalid, or its mutator is unknown */
    KEDGE_WIRE_REPLAY_DUPLICATE,         /* appended before, under its origin */
    KEDGE_WIRE_REPLAY_DUPLICATE_REJECTED /* the same, and rejected there */
} kedge_wire_replay_decision;

/* Texts that were read belong to the arena and end with a NUL, but for `name` and `args`. */
typedef struct kedge_wire_replay_mutation {
    kedge_bytes client;
    int64_t id;
    kedge_bytes name;
    int64_t mutator;  /* the version of the mutator that the pushing client had; from 1 on */
    kedge_bytes args; /* canonical JSON after it was read */
    int64_t timestamp_ms;
    kedge_bytes user;
    kedge_bytes role;
    uint8_t digest[KEDGE_DIGEST_SIZE];
    kedge_bytes uid;           /* only in the log: hexadecimal digits, or empty */
    kedge_bytes origin_client; /* empty: there is no origin */
    int64_t origin_id;
    kedge_wire_replay_decision decision;
    kedge_bytes code; /* of a rejection */
    kedge_bytes message;
} kedge_wire_replay_mutation;

typedef struct kedge_wire_replay_entry {
    int64_t version; /* the entry's number in the log */
    const kedge_wire_replay_mutation *mutations;
    size_t count;
} kedge_wire_replay_entry;

typedef struct kedge_wire_replay {
    bool present; /* it is a log project */
    const kedge_wire_replay_entry *entries;
    size_t count;
    bool more; /* there are later entries: pull again */
    bool hashed;
    uint8_t hash[KEDGE_SHA256_SIZE]; /* of the state at the response's version */
    kedge_arena arena;               /* what a reader took; unused by the writer */
} kedge_wire_replay;

/* `stored`: for the body of an entry, which has the uid as well, and args that nest too deep for
 * one as a string, `args_text`. */
void kedge_wire_replay_mutation_write(kedge_json_writer *writer,
                                      const kedge_wire_replay_mutation *mutation, bool stored);
/* Reads one mutation; `object` may be unchecked text. Borrows from it and from the arena.
 * KEDGE_PROTOCOL "response-invalid"; KEDGE_NO_MEMORY. */
kedge_status kedge_wire_replay_mutation_read(kedge_bytes object, size_t index, kedge_arena *arena,
                                             kedge_wire_replay_mutation *out, kedge_error *error);

/* "log":{…}, or nothing when it is not present. */
void kedge_wire_replay_write(kedge_json_writer *writer, const kedge_wire_replay *log);
void kedge_wire_replay_free(kedge_wire_replay *log);

#endif
