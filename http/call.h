/* One running request. Shared by http.c, call.c, deadline.c and response.c. */
#ifndef KEDGE_HTTP_CALL_H
#define KEDGE_HTTP_CALL_H

#include "http/descriptor.h"
#include "http/http.h"

#include <curl/curl.h>

struct kedge_http {
    const kedge_environment *environment;
    CURLM *multi;
    kedge_http_descriptor_set set; /* used when its `epoll` is one */
    char *ca_file;                 /* NULL: the system's authorities */
    kedge_http_call *calls;        /* all that were sent and have not ended */
    int64_t left_ms;               /* when libcurl had its last turn, by the monotonic clock */
};

struct kedge_http_call {
    kedge_http *http;
    kedge_http_call *next;
    kedge_http_call *previous;
    CURL *easy;
    struct curl_slist *headers;
    kedge_http_done_function done;
    kedge_http_moved_function moved;
    kedge_http_stream_function stream;
    void *context;
    kedge_buffer request_body;
    int64_t deadline_ms; /* 0: none */
    int64_t due_ms;      /* then it has passed: a moment of the monotonic clock */
    int64_t told_ms;     /* `due_ms` when `moved` was called last */
    int64_t moved_bytes; /* that have put it off */
    bool paced;
    int64_t connect_ms; /* for the connection: since the request was sent, with the time away */
    bool sent_before;   /* of a request that is sent only once */
    kedge_buffer response_headers;
    kedge_buffer response_body;
    size_t response_bytes_max;
    bool too_large;
    bool headers_complete;
    bool announced; /* the stream function was called for the headers */
    char curl_error[CURL_ERROR_SIZE];
};

/* Makes the handle with all its options, not yet started. */
kedge_status kedge_http_call_new(kedge_http *http, const kedge_http_request *request,
                                 kedge_http_call **call, kedge_error *error);
void kedge_http_call_free(kedge_http_call *call);

/* True when the response's bytes go to the stream function. */
bool kedge_http_call_streams(const kedge_http_call *call);
/* Fills status, headers and body from what has come so far. */
void kedge_http_call_response(const kedge_http_call *call, kedge_http_response *response);
/* Fills `error` from how libcurl ended; the status of a response that failed becomes 0. */
void kedge_http_classify(const kedge_http_call *call, CURLcode code, kedge_http_response *response);

/* ---- deadline.c ---- */

/* Once, when the request is sent. */
void kedge_http_deadline_begin(kedge_http_call *call, const kedge_http_request *request);
/* The thread that polls was away. */
void kedge_http_deadline_add(kedge_http_call *call, int64_t away_ms);
/* Puts the deadlines of all paced calls off by what has moved, and tells of it. The functions that
 * it calls may cancel. */
void kedge_http_deadlines_look(kedge_http *http, int64_t now_ms);
/* A paced call whose deadline has passed; NULL: none. */
kedge_http_call *kedge_http_late_call(const kedge_http *http, int64_t now_ms);
/* In how many milliseconds the first deadline of a paced call passes; -1: there is none. */
int64_t kedge_http_late_in_ms(const kedge_http *http);

/* Milliseconds from a Retry-After value, `now_ms` being the wall clock; 0 when it says nothing. */
int64_t kedge_http_retry_after(kedge_bytes value, int64_t now_ms);

#endif
