/* What the server has decided, noted version by version as it happens: what the checkers compare
 * with.
 *
 * Every version that was ever seen is kept for good. A restored backend goes on from an earlier
 * one, so versions form a tree; a version's lineage token names it. */
#ifndef KEDGE_TESTS_SIM_ORACLE_H
#define KEDGE_TESTS_SIM_ORACLE_H

#include "common/bytes.h"
#include "common/hash.h"
#include "mutate/overlay.h"

#define SIM_UID_SIZE 16

struct kedge_project;
struct kedge_version;
struct sim_world;

typedef struct sim_decided {
    char client[64];
    int64_t id;
    uint8_t uid[SIM_UID_SIZE];
    uint8_t digest[KEDGE_DIGEST_SIZE];
    bool rejected; /* or a duplicate of one that was */
    bool duplicate;
    bool noop;
    bool open; /* of a log project: not decided when it was appended */
} sim_decided;

/* One change of a version; `value` NULL: deleted. The project record is ("", ""). */
typedef struct sim_change {
    char *collection;
    char *id;
    size_t id_size;
    char *value;
    size_t value_size;
    uint8_t hash[KEDGE_SHA256_SIZE];
    bool in_blobs;
} sim_change;

typedef struct sim_version {
    int64_t number;
    char lineage[33];
    const struct sim_version *parent; /* NULL: the project's creation */
    uint64_t record_hash;             /* of the stored record */
    uint8_t state_hash[KEDGE_SHA256_SIZE];
    char retired[64];
    sim_decided *decided;
    size_t decided_count;
    sim_change *changes;
    size_t change_count;
    struct sim_version *all; /* the one noted before, on whatever branch */
} sim_version;

typedef struct sim_oracle {
    struct kedge_backend *reader; /* for decoding; its ports cannot write */
    char creation[33];            /* the lineage of version 0 */
    sim_version *newest;          /* noted last: the head of the list of all */
    const sim_version *head;      /* of the present branch; NULL: no version yet */
    kedge_overlay *state;         /* the fold at `head` */
    const sim_version *folded_at; /* `folded` is the fold there */
    kedge_overlay *folded;
} sim_oracle;

bool sim_oracle_open(struct sim_world *world);
void sim_oracle_close(struct sim_world *world);
/* Notes the versions that are new, and runs the checkers of versions on them. */
void sim_oracle_catch_up(struct sim_world *world);
/* The backend goes on from `head`. */
void sim_oracle_restore(struct sim_world *world, const sim_version *head);
/* How the oracle reads the project: by its kind. */
struct kedge_project sim_oracle_handle(struct sim_world *world);
#define SIM_ORACLE_FNV UINT64_C(14695981039346656037)
uint64_t sim_oracle_fnv(uint64_t hash, const char *bytes, size_t size);
/* Starts decoding afresh: what the reader remembers may be of another branch. */
bool sim_oracle_renew_reader(struct sim_world *world);

/* NULL: unknown. */
const sim_version *sim_oracle_find(const sim_oracle *oracle, const char *lineage, int64_t number);
/* The version `number` on the way to `version`; NULL: not there. */
const sim_version *sim_oracle_ancestor(const sim_version *version, int64_t number);
bool sim_oracle_descends(const sim_version *version, const sim_version *ancestor);
/* Where (client, id), or the mutation of this uid and digest (not as a duplicate), was decided on
 * the way to `version`: the last time. */
const sim_decided *sim_oracle_decided(const sim_version *version, const char *client, int64_t id,
                                      const sim_version **where);
const sim_decided *sim_oracle_decided_as(const sim_version *version, const uint8_t *uid,
                                         const uint8_t *digest, const sim_version **where);
int64_t sim_oracle_lmid(const sim_version *version, const char *client);
bool sim_oracle_retired(const sim_version *version, const char *client);
/* The state at `version` (NULL: empty), borrowed until the next call. */
const kedge_overlay *sim_oracle_state(sim_oracle *oracle, const sim_version *version);
/* What a mutator reads when a state is all that there is; borrows the state. */
kedge_state_reader sim_overlay_reader(const kedge_overlay *state);
/* {"collection/id": value, …} in key order, canonical. */
void sim_oracle_dump(const kedge_overlay *state, kedge_buffer *out);
/* The stored record of a version, hashed as it is. False: there is none. */
bool sim_oracle_record_hash(struct sim_world *world, int64_t number, uint64_t *hash);

/* oracle_log.c: of a log project, whose versions are the entries of its log. */
/* The same as above of an entry, without its metadata, which may change. */
bool sim_oracle_entry_hash(struct sim_world *world, int64_t number, uint64_t *hash);
/* Decides what the entry left open, by a replay on the head's state, and notes what changes. */
void sim_oracle_replay(struct sim_world *world, const struct kedge_version *version,
                       sim_version *noted);

#endif
