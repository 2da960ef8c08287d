/* The call that is being handled: refusing and finishing it, its query and its body. Private to
 * this folder, as are all headers here but api.h and push.h. */
#ifndef KEDGE_BACKEND_API_CALL_H
#define KEDGE_BACKEND_API_CALL_H

#include "backend/api/api.h"
#include "backend/base/project.h"
#include "wire/address.h"
#include "wire/request.h"

#define KEDGE_API_BODY_BY_HASH_BYTES 65536 /* a native patch or page names larger ones by hash */
/* a larger first pull is sent as a snapshot in pages */
#define KEDGE_API_INLINE_PULL_BYTES  262144
#define KEDGE_API_DELTA_BYTES_MAX    8388608   /* a native delta over this becomes a snapshot */
#define KEDGE_API_RESPONSE_BYTES_MAX 134217728 /* the largest response: 128 MiB */
/* What a pull response may have besides its patch: 1,000 outcomes with their messages, escaped. */
#define KEDGE_API_PULL_AROUND_BYTES 2097152
#define KEDGE_API_PAGE_BYTES        1048576 /* of a snapshot, when the request does not say */
#define KEDGE_API_PAGE_BYTES_MAX    4194304
#define KEDGE_API_LIST_MAX          100  /* versions or projects in one response */
#define KEDGE_API_ITEMS_MAX         1000 /* items of a collection in one response */
#define KEDGE_API_DAMAGED_MAX       100  /* lost items that a response names, or a page has */
#define KEDGE_API_ARGUMENTS_MAX     5    /* variable segments of a path */

/* What the access list of a project says of a user. */
typedef struct kedge_api_admission {
    bool listed; /* there is a list, and it gives the role */
    char role[KEDGE_USER_BYTES_MAX + 1];
} kedge_api_admission;

/* One request and its response. A function that fails fills `error`. */
typedef struct kedge_api_call {
    kedge_project project;
    const kedge_api_request *request;
    kedge_api_response *response;
    const kedge_allocator *allocator;
    kedge_bytes argument[KEDGE_API_ARGUMENTS_MAX]; /* decoded and checked, without ref's */
    size_t argument_count;
    char path_text[KEDGE_WIRE_PATH_BYTES_MAX]; /* what `argument` points into */
    size_t path_text_size;
    kedge_error error;
    /* When the project has an access list: the request with the role that the list gives. */
    kedge_api_admission admission;
    kedge_identity admitted;
    kedge_api_request admitted_request;
} kedge_api_call;

/* ---- refusing and finishing ---- */

/* Discards what was written and responds with a problem. */
void kedge_api_refuse(kedge_api_call *call, int status, const char *code, const char *format, ...)
    KEDGE_PRINTF(4, 5);
/* Responds with the problem for call->error: transient (503) or internal (500). */
void kedge_api_fail(kedge_api_call *call, kedge_status status);
/* Finishes a response: 200 unless memory ran out while it was written. */
void kedge_api_finish(kedge_api_call *call);
/* KEDGE_UNAVAILABLE with the code no-room: the front end has no room for the response as it is
 * now. */
kedge_status kedge_api_check_room(kedge_api_call *call);
/* The same for the response and `size` bytes beside it. */
kedge_status kedge_api_check_room_beside(kedge_api_call *call, size_t size);
/* Returns whether the response is larger than KEDGE_API_RESPONSE_BYTES_MAX. */
bool kedge_api_too_large(const kedge_api_call *call);
void kedge_api_refuse_too_large(kedge_api_call *call);

/* The smaller one of `limit` and `most`, the bytes that the front end can carry. `most` 0: the
 * front end has no limit. */
static inline size_t kedge_api_at_most(size_t limit, size_t most)
{
    return most > 0 && most < limit ? most : limit;
}

/* ---- the query ---- */

/* Read parameters of the query. Each returns false after it refused the call with `query-invalid`.
 * The output is not changed when the parameter is absent. */
bool kedge_api_query_integer(kedge_api_call *call, const char *name, int64_t least, int64_t most,
                             int64_t *value);
bool kedge_api_query_text(kedge_api_call *call, const char *name, kedge_buffer *text,
                          bool *present);
/* Reads the parameter "after" of a list by name: it is empty, or a valid name of a `what`. */
bool kedge_api_query_after(kedge_api_call *call, const char *what, kedge_buffer *after);

/* ---- reading a request's body ---- */

kedge_wire_request kedge_api_body(const kedge_api_call *call);
/* Takes the status of a function that has read the body, with call->error. Unless it is KEDGE_OK,
 * refuses the call and returns false. */
bool kedge_api_body_is_read(kedge_api_call *call, kedge_status status);
/* Checks the body as JSON of an object; refuses the call and returns false otherwise. */
bool kedge_api_body_object(kedge_api_call *call, kedge_bytes *object);
/* Members of a checked object. Each refuses the call with `body-invalid`, naming `path`, when the
 * member is absent or wrong, and returns false. `chars` holds KEDGE_LIMIT_CLIENT_ID_BYTES + 1. */
bool kedge_api_body_client_id(kedge_api_call *call, kedge_bytes object, const char *name,
                              const char *path, char *chars);
bool kedge_api_body_integer(kedge_api_call *call, kedge_bytes object, const char *name,
                            const char *path, int64_t least, int64_t *value);
/* `chars` holds KEDGE_LIMIT_NAME_BYTES + 1. */
bool kedge_api_body_project(kedge_api_call *call, kedge_bytes object, const char *name,
                            char *chars);

#endif
