/* The client as a pure step machine: events in, actions out. No I/O, no clock, no randomness, no
 * memory of its own but the struct: the same core runs under the worker thread, a loop driven by
 * the caller, and the simulator.
 *
 * The core decides what to ask the server next and when. What a request holds and what an answer
 * means for the data is the store's and the decoder's affair; the driver (sdk/runtime/driver.h)
 * carries events and actions between them and reports back how each action ended.
 *
 * At most one push and one pull are in flight. Everything that belongs to a pull (its pages,
 * outcomes and bodies) and to an identity change (retire, rotate) runs in the pull's place, one
 * request after the other. */
#ifndef KEDGE_SDK_CORE_CORE_H
#define KEDGE_SDK_CORE_CORE_H

#include <kedge/sync.h>

/* Tuned values, in one place. */
#define KEDGE_CORE_BACKOFF_MIN_MS      100 /* full jitter: a delay is random in 0..ceiling */
#define KEDGE_CORE_BACKOFF_MAX_MS      60000
#define KEDGE_CORE_REQUEST_DEADLINE_MS KEDGE_LIMIT_REQUEST_DEADLINE_MS
#define KEDGE_CORE_STALL_MS            10000 /* pending that was pushed but not covered: push again */
#define KEDGE_CORE_PULL_INTERVAL_MS    60000 /* without a stream */
#define KEDGE_CORE_STREAM_SILENCE_MS   40000 /* no ping for so long: the stream is dead */
#define KEDGE_CORE_PUSH_COUNT_MAX      1000
#define KEDGE_CORE_PUSH_BYTES_MAX      1048576

typedef enum kedge_request_kind {
    KEDGE_REQUEST_PUSH,
    KEDGE_REQUEST_PULL,
    KEDGE_REQUEST_PAGE,     /* the next page of a snapshot */
    KEDGE_REQUEST_OUTCOMES, /* the rest of a pull's or a retire's outcomes */
    KEDGE_REQUEST_BODY,     /* the next body that a pull or page names by hash */
    KEDGE_REQUEST_RETIRE
} kedge_request_kind;

/* How a request ended, as the transport and the decoder saw it. */
typedef enum kedge_answer_class {
    KEDGE_ANSWER_OK,           /* decoded and ready to be applied */
    KEDGE_ANSWER_NETWORK,      /* no answer: refused, reset, timed out */
    KEDGE_ANSWER_TRANSIENT,    /* 5xx, 429, an answer that is no Kedge (a captive portal) */
    KEDGE_ANSWER_UNAUTHORIZED, /* 401 */
    KEDGE_ANSWER_IDENTITY,     /* client-retired, mutation-mismatch, client-unknown */
    KEDGE_ANSWER_GAP,     /* mutation-gap: push from the lowest uncovered again, after a pull */
    KEDGE_ANSWER_GONE,    /* version-gone: drop the staged pages, pull anew */
    KEDGE_ANSWER_SHORTER, /* push-too-large: halve the batch */
    KEDGE_ANSWER_REFUSED  /* 403, 404, 400 and the like: stop until the app says so */
} kedge_answer_class;

/* What the driver reports after KEDGE_ACTION_APPLY and KEDGE_ACTION_ROTATE. */
typedef enum kedge_applied {
    KEDGE_APPLIED_DONE,
    KEDGE_APPLIED_AGAIN,  /* stale: pull again at once */
    KEDGE_APPLIED_PAGES,  /* more pages to fetch */
    KEDGE_APPLIED_ROTATE, /* the client id is spent: retire it, then rotate */
    KEDGE_APPLIED_LOST,   /* another lineage: pages, then rotate */
    KEDGE_APPLIED_FAILED  /* the disk failed; `error` says how; try again after a backoff */
} kedge_applied;

typedef enum kedge_event_kind {
    KEDGE_EVENT_START,    /* once, first; `position` */
    KEDGE_EVENT_MUTATION, /* a mutation was committed here or in another process; `position` */
    KEDGE_EVENT_TIMER,    /* the timer set last has passed */
    KEDGE_EVENT_ANSWER,   /* a request ended: `request`, `answer`, `retry_after_ms`, `more` */
    KEDGE_EVENT_APPLIED,  /* an apply or a rotate ended: `applied`, `position` */
    KEDGE_EVENT_POKE,     /* the stream told `version` */
    KEDGE_EVENT_PING,     /* the stream lives */
    KEDGE_EVENT_STREAM_UP,
    KEDGE_EVENT_STREAM_DOWN,
    KEDGE_EVENT_ONLINE, /* the app, or the system, says so */
    KEDGE_EVENT_OFFLINE,
    KEDGE_EVENT_TOKEN, /* a new token is there (`ok`), or the app had none */
    KEDGE_EVENT_SYNC,  /* the app waits: push and pull now, whatever the backoff */
    KEDGE_EVENT_SHUTDOWN
} kedge_event_kind;

typedef struct kedge_core_event {
    kedge_event_kind kind;
    int64_t now_ms;  /* monotonic */
    uint64_t random; /* fresh in each event */
    kedge_request_kind request;
    kedge_answer_class answer;
    int64_t retry_after_ms; /* 0: none given */
    bool more_outcomes;     /* of an OK pull or retire: outcomes are still to be fetched */
    bool more_bodies;       /* of an OK pull or page: bodies are still to be fetched */
    kedge_applied applied;
    int64_t version; /* of a poke */
    bool ok;
    kedge_error error; /* what to show in the status */
    /* From the store, where the event says so. */
    int64_t position_version;
    int64_t position_lowest_pending;
    int64_t position_highest_id;
    bool position_staging;
} kedge_core_event;

typedef enum kedge_action_kind {
    KEDGE_ACTION_SEND,   /* `request`, `deadline_ms`; for a push `count_max`, `bytes_max` */
    KEDGE_ACTION_CANCEL, /* forget the running request of kind `request` */
    KEDGE_ACTION_APPLY,  /* hand the decoded answer of `request` to the store */
    KEDGE_ACTION_ROTATE, /* with the retire answer, or (`lost`) with the staged pages */
    KEDGE_ACTION_UNSTAGE,
    KEDGE_ACTION_TIMER, /* one timer, at `at_ms`; replaces the one before */
    KEDGE_ACTION_OPEN_STREAM,
    KEDGE_ACTION_CLOSE_STREAM,
    KEDGE_ACTION_ASK_TOKEN,
    KEDGE_ACTION_REPORT, /* `connection` and `error` changed */
    KEDGE_ACTION_SYNCED  /* all waits of KEDGE_EVENT_SYNC are over: `ok`, or `error` */
} kedge_action_kind;

typedef struct kedge_core_action {
    kedge_action_kind kind;
    kedge_request_kind request;
    int64_t deadline_ms; /* a duration */
    uint32_t count_max;
    size_t bytes_max;
    int64_t at_ms;
    bool lost;
    bool ok;
    kedge_connection connection;
    kedge_error error;
} kedge_core_action;

#define KEDGE_CORE_ACTIONS_MAX 8

typedef struct kedge_core_actions {
    kedge_core_action list[KEDGE_CORE_ACTIONS_MAX];
    size_t count;
} kedge_core_actions;

/* The machine's whole state; initialize with kedge_core_init. Copyable: plain data. The members are
 * private to sdk/core. */
typedef struct kedge_core {
    bool started;
    bool online;
    bool stopped;
    bool shut_down;
    bool stream_wanted;
    bool stream_up;
    bool token_wanted;
    bool push_running;
    bool pull_running; /* a pull, or what belongs to it */
    kedge_request_kind pull_step;
    bool apply_running;
    bool lost;
    bool rotating;
    bool pull_due;
    bool push_due;
    bool sync_wanted;
    bool sync_pulled;
    int64_t sync_through; /* the id that a wait needs covered */
    int64_t version;
    int64_t poke_version;
    int64_t lowest_pending;
    int64_t highest_id;
    int64_t pushed_through;
    int64_t push_stall_at_ms;
    uint32_t push_count_max;
    size_t push_bytes_max;
    uint32_t push_failures;
    uint32_t pull_failures;
    uint32_t stream_failures;
    int64_t push_at_ms; /* not before; 0: at once */
    int64_t pull_at_ms;
    int64_t stream_at_ms;
    int64_t stream_heard_ms;
    int64_t next_pull_ms;
    int64_t timer_at_ms;
    uint32_t unauthorized;
    kedge_connection connection;
    kedge_error error;
} kedge_core;

void kedge_core_init(kedge_core *core, bool online);

/* Takes one event; fills `actions`, in the order in which they are to be carried out. */
void kedge_core_step(kedge_core *core, const kedge_core_event *event, kedge_core_actions *actions);

#endif
