/* The simulator: a small world of clients and one server, all in one thread, driven by one seed.
 *
 * Real: the client's store (SQLite over vfs.h), core and driver; the backend's core over memory
 * ports. Simulated: the network, time, randomness, disks that die, ports that fail, processors that
 * crash or sleep at a port call while the world goes on, folders that are copied and restored,
 * backends that are restored. The same seed gives the same trace, byte for byte.
 *
 * docs/explanation/simulator.md tells how it is built and what it cannot see. */
#ifndef KEDGE_TESTS_SIM_SIM_H
#define KEDGE_TESTS_SIM_SIM_H

#include "backend/api/api.h"
#include "backend/queued/queued.h"
#include "common/environment.h"
#include "sdk/driver/driver.h"
#include "tests/sim/checks.h"
#include "tests/sim/damage.h"
#include "tests/sim/dice.h"
#include "tests/sim/faults.h"
#include "tests/sim/oracle.h"
#include "tests/sim/vfs.h"

#include <stdio.h>

#define SIM_ORGANIZATION  "acme"
#define SIM_PROJECT       "plan"
#define SIM_CLIENTS_MAX   6
#define SIM_INSTANCES     3 /* processors over the same ports */
#define SIM_BACKUPS       3
#define SIM_REQUESTS_MAX  8 /* open ones of a client */
#define SIM_NESTING_MAX   2
#define SIM_VIOLATION_MAX 32
#define SIM_ROTATIONS_MAX 6 /* of a folder in a minute, without a restore of anything */

typedef struct sim_world sim_world;

/* ---- what a run is asked to do, and what came of it ---- */

/* How pushes are processed. */
typedef enum sim_mode {
    SIM_MODE_BY_SEED, /* every third seed or so is in queued mode */
    SIM_MODE_DIRECT,
    SIM_MODE_QUEUED
} sim_mode;

/* Of which kind the project is. */
typedef enum sim_kind {
    SIM_KIND_BY_SEED, /* every fourth seed or so has a log project */
    SIM_KIND_VERSIONS,
    SIM_KIND_LOG
} sim_kind;

typedef struct sim_options {
    uint64_t seed;
    uint64_t faults;  /* which kinds may happen: bits */
    uint32_t clients; /* living folders at the start */
    uint32_t edits;   /* of all clients together */
    sim_mode mode;
    sim_kind kind;
    bool large;       /* half of the values are so large that they are bodies of their own */
    FILE *trace;      /* NULL: only its hash */
    const char *root; /* a folder for the clients' folders */
} sim_options;

typedef struct sim_violation {
    sim_check check;
    char text[256];
} sim_violation;

/* Sums over seeds. */
typedef struct sim_report {
    uint64_t seeds;
    uint64_t steps;
    uint64_t mutations; /* acknowledged */
    uint64_t versions;
    uint64_t requests;
    uint64_t log_seeds;
    uint64_t snapshots; /* of log projects, made by the server */
    uint64_t segments;  /* … ended by the server */
    uint64_t queued_seeds;
    uint64_t queued; /* messages */
    uint64_t consumed;
    uint64_t reopened;
    uint64_t remade;  /* client-only edits, after a conflict */
    uint64_t renewed; /* the same, before they were sent */
    uint64_t rotations;
    uint64_t lineages_lost;
    uint64_t repaired; /* folders that could not be opened */
    uint64_t faults[SIM_FAULTS];
    uint64_t checks[SIM_CHECKS];
    uint64_t violations;
} sim_report;

/* What one seed gave. */
typedef struct sim_result {
    uint64_t trace_hash;
    uint32_t violation_count;
    sim_violation violations[SIM_VIOLATION_MAX];
} sim_result;

/* ---- events ---- */

typedef enum sim_event_kind {
    SIM_EVENT_TIMER,    /* a client's */
    SIM_EVENT_WAKE,     /* a client whose cache was set aside */
    SIM_EVENT_EDIT,     /* a client's app does something */
    SIM_EVENT_REOPEN,   /* a client that died */
    SIM_EVENT_REQUEST,  /* arrives at the server */
    SIM_EVENT_RESPONSE, /* arrives at the client */
    SIM_EVENT_DEADLINE, /* the client's transport gives up */
    SIM_EVENT_STREAM_OPEN,
    SIM_EVENT_STREAM_POKE,
    SIM_EVENT_STREAM_PING,
    SIM_EVENT_STREAM_END,
    SIM_EVENT_CONSUME, /* a processor looks into the queue */
    SIM_EVENT_MESSAGE, /* comes into the queue late */
    SIM_EVENT_TROUBLE  /* something may happen to the world as a whole */
} sim_event_kind;

/* A request on its way, and then its response. */
typedef struct sim_message {
    uint32_t client;
    uint64_t life;   /* of the client that sent it */
    uint64_t number; /* the driver's */
    uint64_t order;  /* of sending, for the client */
    char *method;
    char *path;
    char *body;
    size_t body_size;
    char user[16];
    char range[64];  /* "": all is asked for */
    bool unanswered; /* a duplicate: nobody waits */
    int status;
    char content_type[64];
    char content_range[64];
    bool gzip; /* of a part */
    int64_t retry_after_ms;
    char *response;
    size_t response_size;
} sim_message;

typedef struct sim_event {
    int64_t at_ms;
    uint64_t order; /* breaks ties */
    sim_event_kind kind;
    uint32_t client;
    uint64_t life;   /* an event of a former life is dropped */
    uint64_t number; /* of a timer, a request, a stream */
    int64_t value;   /* a version */
    sim_message *message;
} sim_event;

typedef struct sim_events {
    sim_event *heap;
    size_t count;
    size_t capacity;
    uint64_t order;
} sim_events;

/* ---- clients ---- */

/* A mutation that a folder's app was told of: its obligations outlive every crash. */
typedef struct sim_entry {
    int64_t sequence;
    uint8_t uid[SIM_UID_SIZE]; /* of the newest attempt, and its digest */
    uint8_t digest[KEDGE_DIGEST_SIZE];
    uint8_t first_uid[SIM_UID_SIZE]; /* of the first one, which an older outbox may have again */
    uint8_t first_digest[KEDGE_DIGEST_SIZE];
    bool cancelled;           /* taken back before it was sent */
    bool released;            /* dismissed or resubmitted from the inbox: no longer owed */
    bool answered;            /* the app was told that it is out of the inbox */
    bool in_inbox;            /* when it was looked for last */
    bool unproved;            /* nobody knows whether the tail of a repaired folder still has it */
    bool copied;              /* a copy of the folder, or its life since the backup, has it too */
    bool damaged;             /* a value of its row was changed */
    bool moved;               /* … its sequence */
    int64_t damaged_sequence; /* what that was changed to, or what the inbox has it under since */
    uint8_t content[KEDGE_SHA256_SIZE];
    const sim_version *found;
} sim_entry;

typedef struct sim_ledger {
    sim_entry *entries;
    size_t count;
    size_t capacity;
} sim_ledger;

/* Where a client was seen last, for I8 and I12. */
typedef struct sim_seen {
    char client[KEDGE_CLIENT_ID_SIZE];
    char at_version[KEDGE_CLIENT_ID_SIZE]; /* whose client id it was when it was at `version` */
    char lineage[33];
    int64_t version;
    int64_t lmid;
    int64_t last_sequence;
    int64_t highest_id;
    /* The cache waited to follow the outbox, or was empty: whose lineage it is was open. */
    bool stale;
} sim_seen;

typedef struct sim_client {
    sim_world *world;
    uint32_t index;
    char user[16];
    sim_disk disk;
    sim_dice dice;
    sim_dice random; /* what the client itself draws */
    kedge_environment environment;
    kedge_allocator allocator;
    int64_t wall_offset_ms;
    bool exists;        /* its folder does */
    uint64_t life;      /* rises with each opening */
    kedge_store *store; /* NULL: not running */
    kedge_driver *driver;
    bool reopening;
    uint64_t timer_number;
    bool waking; /* its driver is to be woken */
    uint64_t request_order;
    uint64_t arrived_order;
    char *old_response; /* to a pull, as it came once */
    size_t old_response_size;
    char old_response_client[KEDGE_CLIENT_ID_SIZE]; /* the client id that asked for it */
    uint64_t open_requests[SIM_REQUESTS_MAX];       /* numbers; 0: free */
    uint64_t stream;                                /* number of the open one; 0: none */
    uint64_t last_stream;
    bool stream_up;
    bool stream_silent;
    bool partitioned;
    bool one_way;
    bool online;
    bool stopped;          /* the server refused for good: told to go online again */
    uint32_t memory_fails; /* per 100,000 allocations */
    char phase[32];        /* dies there; "": nowhere */
    int64_t unrecovered;   /* of those that the store has counted, how many were found missing */
    bool lacks_items;      /* the server has left some out, whose bodies it has lost */
    sim_damage damage;
    int64_t rotated_ms[SIM_ROTATIONS_MAX]; /* the last ones, the newest first; 0: none */
    int64_t aside_ms[SIM_ROTATIONS_MAX];   /* … when its cache was set aside, of a log project */
    sim_ledger ledger;
    sim_seen seen;
    sim_folder backup;
    sim_ledger backup_ledger;
    sim_seen backup_seen;
    sim_damage backup_damage;
    bool has_backup;
} sim_client;

/* ---- server ---- */

/* What a consumer's round has shown so far: which id of each client came next when its next message
 * was looked at, at least. */
typedef struct sim_round {
    const sim_version *head; /* when the messages were received */
    struct {
        char client[64];
        int64_t next;
    } clients[32];
    size_t count;
} sim_round;

typedef struct sim_instance {
    sim_world *world;
    uint32_t index;
    kedge_backend *backend; /* NULL: to be started */
    kedge_queued *queued;   /* NULL: direct mode */
    kedge_consumer *consumer;
    sim_round round;
    bool busy;
    bool crashed; /* every port call fails until the request has unwound */
    bool raced;   /* others committed while it was paused */
} sim_instance;

typedef struct sim_backup {
    kedge_records records;
    kedge_blobs blobs;
    const sim_version *head;
    bool there;
} sim_backup;

typedef struct sim_server {
    kedge_environment environment;
    sim_dice random;
    sim_dice dice;
    kedge_records records; /* the truth */
    kedge_blobs blobs;
    kedge_records replica; /* what an eventually consistent read may see */
    bool replica_behind;
    kedge_queue queue;
    sim_dice queue_dice;
    sim_dice log_dice;
    uint64_t messages;     /* put by the simulator itself */
    bool consuming_soon;   /* an event is under way */
    sim_instance *at_work; /* whose code runs */
    kedge_registry *registry;
    sim_instance instances[SIM_INSTANCES];
    sim_backup backups[SIM_BACKUPS];
    int64_t wall_offset_ms;
    uint32_t nesting;
} sim_server;

/* ---- the world ---- */

struct sim_world {
    sim_options options;
    sim_report *report;
    sim_result *result;
    sim_dice dice;
    int64_t now_ms;
    uint64_t steps;
    uint64_t trace_hash;
    uint64_t faults; /* that may happen now: none while healing */
    uint32_t rates[SIM_FAULTS];
    sim_events events;
    sim_server server;
    sim_oracle oracle;
    kedge_registry *registry; /* the clients' */
    sim_client clients[SIM_CLIENTS_MAX];
    uint32_t client_count;
    uint32_t edits_left;
    bool restored;       /* the backend, at least once */
    int64_t restored_ms; /* when last */
    sim_made_list made;
    bool healing;
    bool queued;
    bool logged; /* the project is a log project */
};

/* sim.c */
void sim_run(const sim_options *options, sim_report *report, sim_result *result);
void sim_step(sim_world *world);
void sim_trace(sim_world *world, const char *format, ...) KEDGE_PRINTF(2, 3);
void sim_violate(sim_world *world, sim_check check, const char *format, ...) KEDGE_PRINTF(3, 4);
/* Whether this fault happens now; the caller reports it with sim_took_effect when it really did. */
bool sim_strikes(sim_world *world, sim_dice *dice, sim_fault fault);
void sim_took_effect(sim_world *world, sim_fault fault);

/* events.c */
void sim_schedule(sim_world *world, const sim_event *event);
bool sim_next_event(sim_world *world, sim_event *event);
void sim_events_free(sim_world *world);
sim_message *sim_message_copy(const sim_message *message);
void sim_message_free(sim_message *message);

/* network.c */
kedge_transport sim_network(sim_client *client);
void sim_network_request(sim_world *world, const sim_event *event);
void sim_network_respond(sim_world *world, const sim_event *event);
void sim_network_deadline(sim_world *world, const sim_event *event);
void sim_network_stream(sim_world *world, const sim_event *event);
void sim_network_poke_all(sim_world *world, int64_t version);
void sim_network_cut_streams(sim_world *world);

/* server.c, ports.c, chaos.c */
bool sim_server_open(sim_world *world);
void sim_server_close(sim_world *world);
/* Fills in the message's response. False when the processor died: there is none. */
bool sim_server_handle(sim_world *world, sim_message *message);
/* One round of a consumer: how many messages it received. */
size_t sim_server_consume(sim_world *world);
bool sim_server_is_free(const sim_world *world);
int64_t sim_server_version(sim_world *world);
/* Background work on a log project: a snapshot, or the end of a segment. */
void sim_server_maintain_log(sim_world *world);
void sim_server_backup(sim_world *world);
bool sim_server_restore(sim_world *world, sim_fault how);
/* What may happen at any port call: false when the call does not happen, and `*status` is what it
 * gives; and after a call that took effect. */
bool sim_port_enter(sim_instance *instance, kedge_status *status, kedge_error *error);
void sim_port_leave(sim_instance *instance, kedge_status *status, kedge_error *error);
kedge_records sim_ports_records(sim_instance *instance);
kedge_blobs sim_ports_blobs(sim_instance *instance);
void sim_trouble(sim_world *world);
void sim_heal(sim_world *world);

/* client.c, folders.c */
void sim_client_make(sim_world *world, uint32_t index);
void sim_client_open(sim_client *client);
void sim_client_close(sim_client *client); /* as an app would */
/* After anything that called into the client: finds out whether it died in there. */
void sim_client_settle(sim_client *client);
void sim_client_free(sim_client *client);
void sim_client_reopen(sim_world *world, const sim_event *event);
void sim_client_timer(sim_world *world, const sim_event *event);
void sim_client_wake(sim_world *world, const sim_event *event);
bool sim_client_runs(const sim_client *client);
void sim_client_back_up(sim_client *client);
bool sim_client_restore(sim_client *client);
/* Of a closed client, with a backup: its folder and its ledger are what they were. */
void sim_client_put_backup(sim_client *client);
bool sim_client_copy(sim_client *client);
void sim_ledger_copy(const sim_ledger *from, sim_ledger *to);
sim_entry *sim_ledger_add(sim_ledger *ledger);
/* Whether a row with this sequence is the entry's, which may be told under a changed one. */
bool sim_entry_is(const sim_entry *entry, int64_t sequence);

/* workload.c, mutators.c */
void sim_edit(sim_world *world, const sim_event *event);
/* One edit of a client, the same as any other client's. */
void sim_same_edit(sim_client *client);
/* Writes over items whose bodies were lost with the blobs, and over those that some client goes
 * without, as an operator would. */
void sim_replace_lost_bodies(sim_world *world);
extern const kedge_mutator sim_client_mutators[]; /* client-only */
extern const size_t sim_client_mutator_count;
extern const kedge_mutator sim_mutators[];
extern const size_t sim_mutator_count;        /* that clients know */
extern const size_t sim_mutator_count_server; /* … and the server */
/* Ends the processor that runs it; `userdata` is the world. */
kedge_status sim_die(kedge_tx *tx, const char *args, size_t size, void *userdata,
                     kedge_error *error);

#endif
