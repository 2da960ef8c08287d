/* Shared by the files of the driver. */
#ifndef KEDGE_SDK_DRIVER_DRIVER_INTERNAL_H
#define KEDGE_SDK_DRIVER_DRIVER_INTERNAL_H

#include "common/hash.h"
#include "sdk/driver/damage.h"
#include "sdk/driver/driver.h"

/* Events that wait while another one is carried out: one an action, and what the host says from
 * inside a callback. */
#define KEDGE_DRIVER_EVENTS_MAX 64

/* Bodies fetched by their hash that are held at once; more than one of the largest. */
#define KEDGE_DRIVER_BODIES_MAX (8 * KEDGE_LIMIT_ITEM_BYTES)

/* A body is fetched in parts of this size, which every front end can carry: Lambda's responses end
 * at 4,700,000 bytes. */
#define KEDGE_DRIVER_PART_BYTES 4194304
/* A body as it is sent. What cannot be compressed becomes a little larger by it. */
#define KEDGE_DRIVER_STORED_BYTES_MAX (KEDGE_LIMIT_ITEM_BYTES + 16384)

/* The decoded responses that wait for the store, with the bodies that they borrow from. */
typedef struct kedge_driver_held {
    bool pull_there;
    kedge_wire_pull_response pull;
    kedge_buffer pull_body;
    bool page_there;
    kedge_wire_page_response page;
    kedge_buffer page_body;
    bool retire_there;
    kedge_wire_retire_response retire;
    kedge_request_kind source; /* which of the three is held */
    size_t next_body;          /* operation from which to look for a body to fetch */
    kedge_buffer parts;        /* the received part of the next body, from its first byte on */
    int64_t parts_size;        /* of all its parts, when one has come */
    bool parts_gzip;
    kedge_driver_damage damage; /* what the response that is held lacks */
} kedge_driver_held;

/* A push that goes through the server's blobs, and the request of it that runs. */
typedef enum kedge_driver_upload_step {
    KEDGE_UPLOAD_NONE,
    KEDGE_UPLOAD_ASKED,  /* POST push/upload: where to */
    KEDGE_UPLOAD_PUT,    /* PUT of the body, to the store of the blobs */
    KEDGE_UPLOAD_PUSHED, /* POST push: that it is there */
} kedge_driver_upload_step;

typedef struct kedge_driver_upload {
    kedge_driver_upload_step step;
    kedge_buffer packed; /* the push as gzip */
    uint8_t sha256[KEDGE_SHA256_SIZE];
    int64_t deadline_ms; /* of each request */
} kedge_driver_upload;

#define KEDGE_DRIVER_NEVER INT64_MAX

struct kedge_driver {
    const kedge_environment *environment;
    const kedge_allocator *allocator;
    kedge_store *store;
    kedge_transport transport;
    kedge_driver_host host;
    kedge_core core;
    char schema_version[KEDGE_LIMIT_SCHEMA_VERSION_BYTES + 1]; /* of the app; "": none */
    const char *token;                                         /* in `token_text`; NULL: none */
    /* inside the struct, so that storing a token needs no memory */
    char token_text[KEDGE_TOKEN_BYTES];
    bool running; /* an event is being carried out: others wait */
    bool position_due;
    size_t event_first;
    size_t event_count;
    kedge_core_event events[KEDGE_DRIVER_EVENTS_MAX];
    /* How long the store has worked so far. The core's clock stands still meanwhile: responses may
     * have come that nobody could read. */
    int64_t worked_ms;
    int64_t core_timer_ms;  /* monotonic; KEDGE_DRIVER_NEVER: none */
    int64_t check_timer_ms; /* the next slice of the background check */
    uint64_t last_number;
    uint64_t push_number; /* of the running request; 0: none */
    uint64_t pull_number;
    kedge_request_kind pull_kind;
    int64_t push_last_id;
    uint32_t push_held;
    kedge_driver_upload upload;
    kedge_driver_held held;
    bool log;                   /* the last pull was of a log project */
    kedge_driver_damage damage; /* what the cache lacks, as far as this opening was told */
};

/* in_flight.c: gives the transport `request`, which comes with all but its number. */
kedge_status kedge_driver_hand_over(kedge_driver *driver, kedge_request_kind kind,
                                    kedge_driver_request *request, kedge_error *error);
/* Cancels the push, or the step of a pull, if one is in flight. */
void kedge_driver_give_up(kedge_driver *driver, kedge_request_kind kind);
/* The request with this number has ended, and `kind` tells which it was. Returns false when it was
 * given up. */
bool kedge_driver_take_back(kedge_driver *driver, uint64_t number, kedge_request_kind *kind);

/* request.c: carries out KEDGE_ACTION_PUSH and _PULL_STEP. False: there was nothing to send, or it
 * failed, and `ended` says so. */
bool kedge_driver_send(kedge_driver *driver, const kedge_core_action *action,
                       kedge_core_event *ended);

/* upload.c: makes of the push `body` the request that asks where to upload it. */
kedge_status kedge_driver_upload_begin(kedge_driver *driver, kedge_buffer *path, kedge_buffer *body,
                                       kedge_error *error);
/* True: the next request of the upload is on its way, and there is nothing to tell. Otherwise the
 * push has ended, and `event` says how. */
bool kedge_driver_upload_goes_on(kedge_driver *driver, const kedge_driver_response *response,
                                 kedge_core_event *event);
void kedge_driver_upload_end(kedge_driver *driver);

/* response.c: the event that tells the end of a request, and what it has of every request. */
kedge_core_event kedge_driver_request_ended(kedge_request_kind request);
kedge_request_result *kedge_driver_result(kedge_core_event *event);

/* Fills `event` from what came back: its class, and what is still to be fetched.
 * What it decoded is held. */
void kedge_driver_read_response(kedge_driver *driver, kedge_request_kind kind,
                                const kedge_driver_response *response, kedge_core_event *event);

/* body.c: the Range header for the next part of the body that is being fetched, and the response to
 * it. */
kedge_status kedge_driver_build_body_range(const kedge_driver_held *held, kedge_buffer *range,
                                           kedge_error *error);
kedge_status kedge_driver_read_body(kedge_driver *driver, const kedge_driver_response *response,
                                    kedge_error *error);
/* The next bodies, up to the first that is not shown under its key, are not fetched. */
void kedge_driver_take_shown_bodies(kedge_driver *driver);
/* The server has lost the body: continues without the item. KEDGE_NO_MEMORY. */
kedge_status kedge_driver_leave_body_out(kedge_driver *driver, kedge_error *error);

/* apply.c: carries out KEDGE_ACTION_APPLY, _ROTATE and _UNSTAGE, and notifies the readers; returns
 * the event that tells the core how it ended. */
kedge_core_event kedge_driver_work(kedge_driver *driver, const kedge_core_action *action);

/* in_flight.c: the responses that are held */
void kedge_driver_held_init(kedge_driver_held *held, const kedge_allocator *allocator);
void kedge_driver_held_free_pull(kedge_driver_held *held);
void kedge_driver_held_free_page(kedge_driver_held *held);
void kedge_driver_held_free_retire(kedge_driver_held *held);
void kedge_driver_held_free(kedge_driver_held *held);
void kedge_driver_held_free_parts(kedge_driver_held *held);
/* The patch whose bodies are being fetched, and the next operation that lacks one. NULL: none. */
kedge_wire_patch *kedge_driver_held_patch(kedge_driver_held *held);
kedge_wire_patch_operation *kedge_driver_held_next_body(kedge_driver_held *held);
kedge_wire_outcomes *kedge_driver_held_outcomes(kedge_driver_held *held);
/* Hold the bodies of a response to KEDGE_DRIVER_BODIES_MAX: a pull with larger ones becomes a
 * snapshot, which is fetched in pages, and a page ends before the first body that goes beyond. */
void kedge_driver_bound_pull(kedge_wire_pull_response *pull);
kedge_status kedge_driver_bound_page(kedge_wire_page_response *page, kedge_error *error);
/* Outcomes of ids that this copy has not used yet, and will not use soon, are ignored: a list that
 * continues with such ids counts as complete, since otherwise a server could extend it for ever. */
void kedge_driver_bound_outcomes(const kedge_driver *driver, kedge_wire_outcomes *outcomes);

#endif
