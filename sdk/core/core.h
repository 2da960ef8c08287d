/* The client as a pure step machine: events in, actions out. It does no I/O, reads no clock, draws
 * no random numbers and allocates no memory; its state is one struct. So the same core runs under
 * the worker thread, a loop driven by the caller, and the simulator.
 *
 * The core decides what to ask the server next and when. The store and the decoder handle the
 * contents of requests and responses; the driver (sdk/driver/driver.h) carries events and actions
 * between them and reports back how each action ended.
 *
 * Three channels run side by side: the push, the pull, and the event stream. At most one push and
 * one pull are in flight. Everything that belongs to a pull (its pages, outcomes and bodies) and to
 * an identity change (retire, rotate) runs in the pull's channel, one step after the other. An
 * event changes the state; then kedge_core_advance, the one place that decides what comes next,
 * starts in each channel what may start. docs/explanation/client-core.md has the details. */
#ifndef KEDGE_SDK_CORE_CORE_H
#define KEDGE_SDK_CORE_CORE_H

#include <kedge/sync.h>

/* Tuned values, in one place. */
#define KEDGE_CORE_BACKOFF_MIN_MS     100 /* full jitter: a delay is random in 0..ceiling, */
#define KEDGE_CORE_BACKOFF_FLOOR_MS   25  /* but at least this, so that no loop becomes hot */
#define KEDGE_CORE_BACKOFF_MAX_MS     60000
#define KEDGE_CORE_RETRY_AFTER_MAX_MS 600000 /* a longer Retry-After is cut to this */
/* a sync of the app may end a backoff early once in this time */
#define KEDGE_CORE_ASK_MS 1000
/* a server is out of reach when a channel has not reached it for so long */
#define KEDGE_CORE_OUTAGE_MS           1000
#define KEDGE_CORE_REQUEST_DEADLINE_MS KEDGE_LIMIT_REQUEST_DEADLINE_MS
#define KEDGE_CORE_UPLOAD_REQUESTS     3
/* the core cancels a request so long after its deadline, when the transport has not ended it; each
 * time that the transport extends a deadline, it tells the core so within half of this time */
#define KEDGE_CORE_GUARD_MS 1000
/* Mutations that are acknowledged and not covered are pushed again after STALL_MS, and then after
 * longer and longer times, up to STALL_MAX_MS, while nothing is covered. */
#define KEDGE_CORE_STALL_MS     10000
#define KEDGE_CORE_STALL_MAX_MS 320000
/* Without a stream, or with a queued push, a pull follows a push after this time, and after ever
 * longer times, up to PULL_INTERVAL. */
#define KEDGE_CORE_COVER_MS         1000
#define KEDGE_CORE_PULL_INTERVAL_MS 60000 /* without a stream */
/* After a pull whose work in the store took REST_WORK_MS or longer, no other begins for twice its
 * time, but at most REST_MAX_MS: edits waited for it. */
#define KEDGE_CORE_REST_WORK_MS      100
#define KEDGE_CORE_REST_MAX_MS       5000
#define KEDGE_CORE_STREAM_SILENCE_MS 40000 /* no event for so long: the stream is dead */
#define KEDGE_CORE_STREAM_STEADY_MS  10000 /* a stream that lived so long has not failed */
#define KEDGE_CORE_PUSH_COUNT_MAX    1000
#define KEDGE_CORE_PUSH_BYTES_MAX    1048576
#define KEDGE_CORE_PUSH_BYTES_MIN    1024
/* a push that was not taken in time is halved down to this */
#define KEDGE_CORE_PUSH_BYTES_SLOW 16384
/* after each so many failures in a row, a 401 that is not Kedge's asks for a token once more */
#define KEDGE_CORE_DOUBTS 16
/* so many refusals of the client id in a row, whose cause no pull finds, lead to a rotation */
#define KEDGE_CORE_IDENTITY_MAX 3
/* Two rotations may happen within MIN; each further one waits twice as long as the one before, up
 * to MAX. A time of CALM without a rotation resets this. */
#define KEDGE_CORE_ROTATE_MIN_MS  60000
#define KEDGE_CORE_ROTATE_MAX_MS  480000
#define KEDGE_CORE_ROTATE_CALM_MS 900000

typedef enum kedge_request_kind {
    KEDGE_REQUEST_PUSH,
    KEDGE_REQUEST_PULL,
    KEDGE_REQUEST_PAGE,     /* the next page of a snapshot */
    KEDGE_REQUEST_OUTCOMES, /* the rest of a pull's or a retire's outcomes */
    KEDGE_REQUEST_BODY,     /* the next body that a pull or page names by hash */
    KEDGE_REQUEST_RETIRE
} kedge_request_kind;

/* How a request ended, according to the transport and the decoder. */
typedef enum kedge_response_class {
    KEDGE_RESPONSE_OK, /* decoded and ready to be applied */
    /* The server is out of reach. No response: refused, reset, timed out; or a gateway's 5xx. */
    KEDGE_RESPONSE_NETWORK,
    KEDGE_RESPONSE_TRANSIENT,    /* Kedge's 5xx, 429, a response that is not Kedge's */
    KEDGE_RESPONSE_UNAUTHORIZED, /* 401 */
    KEDGE_RESPONSE_DOUBTED,      /* 401 that is not Kedge's (a proxy that wants a login) */
    KEDGE_RESPONSE_FOREIGN,      /* client-not-found: the client id is another user's */
    KEDGE_RESPONSE_IDENTITY,     /* client-retired, mutation-mismatch, client-unknown */
    KEDGE_RESPONSE_GAP,     /* mutation-gap: push from the lowest uncovered again, after a pull */
    KEDGE_RESPONSE_GONE,    /* version-gone, body-not-found: start over with a pull */
    KEDGE_RESPONSE_SHORTER, /* push-too-large: halve the batch; a single mutation is uploaded */
    KEDGE_RESPONSE_LATER,   /* project-not-found: this may change, so go on asking */
    KEDGE_RESPONSE_HELD,    /* server-too-old: the same, of a push; all else goes on */
    KEDGE_RESPONSE_REFUSED  /* 403, 400 and the like: stop until the app says so */
} kedge_response_class;

typedef struct kedge_request_result {
    kedge_response_class response;
    int64_t retry_after_ms; /* 0: none given */
    kedge_error error;      /* what to show in the status */
} kedge_request_result;

/* What the driver reports after KEDGE_ACTION_APPLY,
 * KEDGE_ACTION_ROTATE and KEDGE_ACTION_UNSTAGE. */
typedef enum kedge_applied {
    KEDGE_APPLIED_DONE,
    KEDGE_APPLIED_AGAIN,  /* stale, or (`error`) refused by the store: pull again */
    KEDGE_APPLIED_PAGES,  /* more pages to fetch */
    KEDGE_APPLIED_ROTATE, /* the client id can no longer be used: retire it, then rotate */
    KEDGE_APPLIED_LOST,   /* another lineage, whose state is staged whole: retire, rotate lost */
    KEDGE_APPLIED_FAILED, /* the disk failed; `error` says how; try again after a backoff */
    /* of a log project: */
    KEDGE_APPLIED_MORE,     /* applied, and the server has more: pull again at once */
    KEDGE_APPLIED_DIVERGED, /* the cache was set aside, as `error` says: pull it anew */
    KEDGE_APPLIED_BLOCKED   /* no pull goes on before the app is another one; `error` says why */
} kedge_applied;

typedef enum kedge_event_kind {
    KEDGE_EVENT_START,      /* once, first; with the position */
    KEDGE_EVENT_MUTATION,   /* one was committed here or in another process; with the position */
    KEDGE_EVENT_TIMER,      /* the timer that was set last has expired */
    KEDGE_EVENT_PUSH_ENDED, /* a push ended: `push_ended` */
    KEDGE_EVENT_PUSH_MOVED, /* the transport has put the deadline of the running push off */
    KEDGE_EVENT_PULL_STEP_MOVED, /* the same of the request of the pull's channel */
    KEDGE_EVENT_PULL_STEP_ENDED, /* a request of the pull's channel ended: `pull_step_ended` */
    KEDGE_EVENT_APPLIED,         /* the store's work ended: `applied`; with the position */
    KEDGE_EVENT_POKE,            /* a poke came on the stream: `poke` */
    KEDGE_EVENT_PING,            /* a ping came on the stream */
    KEDGE_EVENT_STREAM_UP,       /* its response began */
    KEDGE_EVENT_STREAM_DOWN,     /* it ended, or could not be opened: `stream_down` */
    KEDGE_EVENT_ONLINE,          /* from the app or the system */
    KEDGE_EVENT_OFFLINE,
    KEDGE_EVENT_TOKEN, /* the app was asked for a token: `token` */
    KEDGE_EVENT_SYNC,  /* the app waits: push and pull now, whatever the backoff */
    KEDGE_EVENT_HURRY, /* it asks again during that wait, which does not start over */
    KEDGE_EVENT_SHUTDOWN
} kedge_event_kind;

/* Where the store stands. */
typedef struct kedge_core_position {
    int64_t version;
    int64_t lowest_pending_id; /* the next id when nothing is pending */
    int64_t highest_id;
    bool staging; /* pages of a snapshot are being fetched */
} kedge_core_position;

typedef struct kedge_core_event {
    kedge_event_kind kind;
    int64_t now_ms;    /* monotonic; may stand still or jump */
    uint64_t random;   /* fresh in each event */
    bool has_position; /* may be true in any event */
    kedge_core_position position;
    union { /* the member named as the kind is, if there is one */
        struct {
            kedge_request_result result;
            uint32_t count;  /* how many mutations it held; 0: not told */
            int64_t last_id; /* when OK: the last id that it held; 0: it held none */
            int64_t version; /* when OK: the version that covers it; 0: not told */
            bool queued;     /* when OK: the server holds it, and will decide it later */
            bool pull_first; /* when OK: nothing was sent, since a pull must come first */
        } push_ended;
        struct {
            kedge_request_kind request; /* any but a push */
            kedge_request_result result;
            bool more_outcomes; /* when OK: outcomes are still to be fetched */
            bool more_bodies;   /* when OK: bodies are still to be fetched */
        } pull_step_ended;
        struct {
            kedge_applied result;
            int64_t took_ms;   /* by the store, while the core's clock stood still */
            kedge_error error; /* what to show in the status */
            bool has_damage;   /* of a pull or page: `damage` is what the server has lost by then */
            kedge_error damage;
            bool agrees; /* the state has the hash that the server told */
        } applied;
        struct {
            int64_t version;
        } poke;
        struct {
            kedge_error error;
            int64_t retry_after_ms; /* 0: none given */
        } stream_down;
        struct {
            bool given; /* false: the app had none */
        } token;
    };
} kedge_core_event;

typedef enum kedge_action_kind {
    KEDGE_ACTION_PUSH,      /* send a push: `push` */
    KEDGE_ACTION_PULL_STEP, /* send a request of the pull's channel: `pull_step` */
    KEDGE_ACTION_CANCEL,    /* forget a running request: `cancel` */
    KEDGE_ACTION_APPLY,     /* hand the decoded response of a pull or page to the store: `apply` */
    KEDGE_ACTION_ROTATE,    /* with the retire response: `rotate` */
    KEDGE_ACTION_UNSTAGE,   /* drop the staged pages and the decoded responses */
    KEDGE_ACTION_TIMER,     /* one timer, which replaces the one before: `timer` */
    KEDGE_ACTION_OPEN_STREAM,
    KEDGE_ACTION_CLOSE_STREAM,
    KEDGE_ACTION_ASK_TOKEN, /* `ask_token` */
    KEDGE_ACTION_REPORT,    /* the connection or its error changed: `report` */
    KEDGE_ACTION_SYNCED     /* all waits of KEDGE_EVENT_SYNC are over: `synced` */
} kedge_action_kind;

typedef struct kedge_core_action {
    kedge_action_kind kind;
    union { /* the member named as the kind is, if there is one */
        struct {
            int64_t deadline_ms; /* a duration, which bytes that move put off */
            int64_t after_id;    /* what is acknowledged; 0: from the lowest uncovered id on */
            uint32_t count_max;
            size_t size_max_bytes;
            bool upload; /* through the server's blobs: three requests, each with the deadline */
            bool fresh;  /* the store has pulled what the pushes before this one have led to */
        } push;
        struct {
            kedge_request_kind request; /* any but a push */
            int64_t deadline_ms;        /* a duration */
        } pull_step;
        struct {
            kedge_request_kind request;
        } cancel;
        struct {
            kedge_request_kind request; /* pull or page */
        } apply;
        struct {
            bool lost; /* to another lineage: with the staged pages, too */
        } rotate;
        struct {
            bool doubted; /* somebody else than the server refused the present one */
        } ask_token;
        struct {
            int64_t at_ms;
        } timer;
        struct {
            kedge_connection connection;
            kedge_error error;
        } report;
        struct {
            bool ok;
            kedge_error error; /* when not ok */
        } synced;
    };
} kedge_core_action;

/* Each kind at most once in a step, but for a cancel of each channel. */
#define KEDGE_CORE_ACTIONS_MAX 16

typedef struct kedge_core_actions {
    kedge_core_action list[KEDGE_CORE_ACTIONS_MAX];
    size_t count;
} kedge_core_actions;

/* A channel: at most one request of it runs at a time, and it is tried again after a failure.
 * Moments are monotonic milliseconds; INT64_MIN: at once, INT64_MAX: never. */
typedef struct kedge_core_channel {
    bool running;
    bool woken;        /* the next attempt is made because of a wake, before the backoff is over */
    bool wake_spent;   /* no other wake until an attempt was made on schedule */
    bool asked;        /* the app wants the next attempt at once */
    bool lost;         /* the server was out of reach, and the channel has not reached it since */
    uint32_t failures; /* in a row */
    int64_t at_ms;     /* the next attempt: not before */
    int64_t floor_ms;  /* Retry-After: a wake does not lead to an attempt before */
    int64_t ask_ms;    /* an ask of the app does not lead to an attempt before */
    int64_t guard_ms;  /* when to give up the running request */
    int64_t lost_ms;   /* when the first attempt began that did not reach the server */
    uint64_t token;    /* number of the token that the request was sent with */
} kedge_core_channel;

/* Where the pull's channel stands; what it does next, or is doing. */
typedef enum kedge_pull_step {
    KEDGE_STEP_IDLE,
    KEDGE_STEP_PULL,
    KEDGE_STEP_PAGE,
    KEDGE_STEP_OUTCOMES,
    KEDGE_STEP_BODY,
    KEDGE_STEP_RETIRE,
    KEDGE_STEP_APPLY, /* from here on: work of the store */
    KEDGE_STEP_ROTATE,
    KEDGE_STEP_UNSTAGE
} kedge_pull_step;

/* Why the app is asked for another token; each cause weighs more than those before it. */
typedef enum kedge_core_token_cause {
    KEDGE_CORE_TOKEN_FINE,    /* it is not asked */
    KEDGE_CORE_TOKEN_DOUBTED, /* somebody else than Kedge's server has refused the present one */
    KEDGE_CORE_TOKEN_REFUSED  /* the server has */
} kedge_core_token_cause;

/* The machine's whole state; initialize with kedge_core_init. It has no pointers, and may be
 * copied. The members are private to sdk/core. */
typedef struct kedge_core {
    int64_t now_ms;
    uint64_t random;

    /* Whether requests may be sent. */
    bool started;
    bool online;
    bool stopped;
    bool shut_down;
    kedge_core_token_cause token_wanted; /* requested, not received yet */
    kedge_core_token_cause token_asked; /* the present token came for that, and is not proved yet */
    uint64_t token_count;               /* tokens given so far: names the present one */
    /* number of the token that was asked for because the one before was another user's */
    uint64_t foreign_token;

    kedge_core_position position;

    kedge_core_channel push;
    /* The server has acknowledged the mutations of this client id up to here: it has decided them,
     * or has them in its queue. The next push begins after it. 0: none.
     *
     * To send a mutation once more is never wrong, since the server knows it by id and digest. To
     * skip one would be wrong if the server did not have it any more. So what is skipped is proved
     * by something else, or is set back to 0, whereupon all that is pending is sent again:
     *   - A pull covers it. This is the rule, and needs nothing more.
     *   - The server is without it, and a later mutation is pushed: that one leaves a gap, or is of
     *     an unknown client. Both refusals set back, and so does that of another user.
     *   - The server is without it, and takes what is pushed after it (it is lost in the queue), or
     *     nothing is pushed. Pulls that begin later do not cover it: the stall sets back, however
     *     many pushes succeed in the meantime.
     *   - The id means another mutation: after a rotation, or when the store's position goes back.
     *     Both set back; the latter also rules out the push that runs.
     *   - The client was offline, stopped or blocked, and goes online: much may have happened.
     * When this is set back during a push that begins above, the push does not set it again. */
    int64_t acknowledged_id;
    bool queued;             /* the last push is in the server's queue, with no version yet */
    int64_t push_after_id;   /* the last push began after it; NEVER: it does not count */
    int64_t push_highest_id; /* highest id when the running push was sent */
    bool push_cut;           /* the last push ended at a cap */
    int64_t push_cut_at_id;  /* after a cap: the next push needs a higher lowest id */
    int64_t stall_ms;        /* what is acknowledged and uncovered then is pushed again */
    uint64_t stall_push;     /* … once a pull has ended that can tell of so many pushes */
    int64_t stall_id;        /* the lowest id that waits for it */
    uint32_t stalls;         /* stalls in a row, without anything covered */
    uint64_t push_count;     /* pushes that ended well */
    uint64_t push_pulled;    /* the push_count that the last pull could tell of */
    uint32_t push_count_max;
    size_t push_size_max_bytes;
    bool push_upload;   /* the next push holds one mutation, and is uploaded */
    bool pull_first;    /* the next push must wait for a pull */
    kedge_error held;   /* of the last push, when a newer server is to take it; else KEDGE_OK */
    uint32_t identity;  /* identity refusals in a row */
    bool identity_held; /* no push until a pull begun after one has ended */

    uint32_t rotations; /* in a row, without a calm in between */
    int64_t spell_ms;   /* when the first of these rotations ended */
    int64_t rotated_ms; /* when the last of them ended */
    int64_t rotate_ms;  /* no other before */
    /* the id can no longer be used; pulls continue until a new one may be taken */
    bool rotation_held;

    kedge_core_channel pull;
    kedge_pull_step step;
    kedge_request_kind source; /* whose response the step is about: pull, page or retire */
    bool working;              /* the store is at work on the step */
    bool lost;                 /* the rotation is that of another lineage */
    bool source_bodies;        /* the source still lacks bodies */
    bool pull_due;
    bool pulled;       /* one pull has ended well */
    bool pulled_since; /* one has, since the client started or went online */
    uint32_t agains;   /* rounds without progress */
    bool pull_blocked; /* no pull until ONLINE; `blocked_error` says why */
    kedge_error blocked_error;
    int64_t want_version;  /* the server is known to have it */
    int64_t pull_wanted;   /* want_version when the running pull began */
    int64_t heard_version; /* the highest that was told since then; 0: none */
    uint64_t pull_push;    /* push_count when it began */
    int64_t next_pull_ms;
    int64_t rest_ms;      /* no pull begins before */
    uint32_t looks;       /* pulls in a row that covered nothing of what was pushed */
    int64_t looked_at_id; /* the lowest id at the last */

    kedge_core_channel stream;
    bool stream_up;
    bool stream_poked;
    int64_t stream_up_ms;
    int64_t stream_heard_ms;

    bool sync_wanted;
    bool sync_begun;         /* a pull begun after the wait is running */
    bool sync_pulled;        /* a pull begun after the wait has ended */
    bool sync_later;         /* since the wait began, a response said to ask later */
    int64_t sync_through_id; /* the id that the wait needs covered */

    int64_t timer_ms;
    bool answered; /* something since going online */
    bool reported;
    kedge_connection connection;
    kedge_error error;
    kedge_error damage;   /* shown when there is no other error */
    kedge_error diverged; /* likewise, until a hash agrees */
    kedge_error error_reported;
} kedge_core;

void kedge_core_init(kedge_core *core, bool online);

/* Takes one event; fills `actions`, in the order in which they are to be carried out. */
void kedge_core_step(kedge_core *core, const kedge_core_event *event, kedge_core_actions *actions);

/* Returns whether a wait of KEDGE_EVENT_SYNC has begun that KEDGE_ACTION_SYNCED has not ended
 * yet. */
static inline bool kedge_core_syncs(const kedge_core *core)
{
    return core->sync_wanted;
}

#endif
