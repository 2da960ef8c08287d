/* The processor: turns a push into a version.
 *
 * It loads the head first, and only then drops duplicates by lmid (the client's last mutation id)
 * and digest. It runs the mutators in order, each in a savepoint of its own, writes large bodies,
 * puts version head+1 if absent, and then index rows. A cached head may only be used when a commit
 * follows; any other result needs a consistent read of the head. After a lost race, a timeout or an
 * unknown outcome it starts again from the load, after a random pause. It needs no lock and no
 * queue to be correct: these are the steps of the article that docs/explanation/backend.md names,
 * for a batch. */
#ifndef KEDGE_BACKEND_COMMIT_PROCESSOR_H
#define KEDGE_BACKEND_COMMIT_PROCESSOR_H

#include "backend/base/project.h"
#include "backend/versioned/index/clients.h"
#include "backend/versioned/state/state.h"

/* The client group and user of the mutations of one request. Several senders may have the same
 * group and user, so that an error in one request does not affect another one. Borrowed. */
typedef struct kedge_push_sender {
    kedge_bytes group;
    const kedge_identity *identity;
} kedge_push_sender;

/* A mutation as it was pushed. Everything borrows from the request's body. */
typedef struct kedge_push_mutation {
    size_t sender; /* index into the push's senders */
    kedge_bytes client;
    int64_t id;
    kedge_bytes name;        /* decoded */
    kedge_bytes args;        /* as pushed; normalized by the transaction */
    bool args_are_canonical; /* known to be: they need not be looked at for it again */
    int64_t timestamp_ms;
    kedge_bytes uid;           /* hexadecimal, or empty */
    kedge_bytes origin_client; /* empty: none */
    int64_t origin_id;
    int64_t mutator; /* the version of the mutator that the client has */
    bool waits;      /* for a backend that has this version */
    uint8_t digest[KEDGE_DIGEST_SIZE];
    /* Set when the mutation is not I-JSON or a member is wrong: it is decided as rejected with
     * these. */
    const char *invalid_code; /* static storage; NULL: valid */
    char invalid_message[256];
} kedge_push_mutation;

/* The most clients of origins in one push; further mutations are left to the next push. */
#define KEDGE_PUSH_ORIGINS_MAX 64

/* A request has one sender. A push that a consumer merged may have several. */
typedef struct kedge_push {
    const kedge_push_sender *senders;
    size_t sender_count;
    kedge_push_mutation *mutations;
    size_t count;
    /* A push of the backend's own (projects/rebase.h): its one client has a reserved id, and
     * mutations of several users. Its caller has retired the clients of the origins. */
    bool replays;
} kedge_push;

typedef enum kedge_push_problem {
    KEDGE_PUSH_FINE,
    KEDGE_PUSH_GAP,
    KEDGE_PUSH_MISMATCH,
    KEDGE_PUSH_RETIRED,
    KEDGE_PUSH_CLIENT_UNKNOWN,
    KEDGE_PUSH_SERVER_OLD,     /* this backend lacks the mutator, or has an older version */
    KEDGE_PUSH_CLIENT_FOREIGN, /* of another group or user: reported as if it did not exist */
    KEDGE_PUSH_PROBLEMS
} kedge_push_problem;

typedef struct kedge_push_result {
    int64_t version; /* a version that covers all that was decided */
    size_t taken;    /* how many of the push's mutations were processed, from the first on */
    bool cut;        /* by the thread's deadline: the others are to be pushed again */
    /* the first problem; mutations of other clients were committed nevertheless */
    kedge_push_problem problem;
    char detail[256];
    /* Of KEDGE_PUSH_SERVER_OLD: the mutator that is waited for, and its version. */
    char mutator[KEDGE_LIMIT_NAME_BYTES + 1];
    int64_t mutator_version;
    size_t refused[KEDGE_PUSH_PROBLEMS]; /* how many mutations, by problem */
} kedge_push_result;

/* Returns KEDGE_OK with `result`; KEDGE_NOT_FOUND when there is no such project; KEDGE_UNAVAILABLE
 * or another transient failure, after which the caller may push again, since no mutation is applied
 * in part. */
kedge_status kedge_processor_push(const kedge_project *project, const kedge_push *push,
                                  kedge_push_result *result, kedge_error *error);

/* Plans a push at the newest version, by a consistent read, without changing anything. Fills
 * `version`, `problem`, `detail` and `refused`; `*undecided`: how many mutations are new there, or
 * may be by the time that what they wait for is decided (after a gap, of a client that is not
 * known yet). KEDGE_NOT_FOUND: no such project. */
kedge_status kedge_processor_examine(const kedge_project *project, const kedge_push *push,
                                     kedge_push_result *result, size_t *undecided,
                                     kedge_error *error);

/* Retires a client: a version with an empty run and `retired`, idempotent. `*at` is a version in
 * which it is retired; release it. KEDGE_NOT_FOUND when the client is of another group or user. A
 * client that was never seen is retired as well, and stays so. */
kedge_status kedge_processor_retire(const kedge_project *project, const kedge_identity *identity,
                                    kedge_bytes group, kedge_bytes client, const kedge_version **at,
                                    kedge_error *error);

/* Completes the index rows of all versions, and the checkpoints that are due. Called by the
 * processor as the layout requires; by tools and tests at will. */
kedge_status kedge_processor_index(const kedge_project *project, kedge_error *error);

#endif
