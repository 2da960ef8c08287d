/* One running request. Shared by http.c, call.c and response.c. */
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
    kedge_http_stream_function stream;
    void *context;
    kedge_buffer request_body;
    int64_t deadline_ms; /* since the request was sent, with the time away; 0: none */
    int64_t connect_ms;  /* the same for the connection alone */
    bool sent_before;    /* of a request that is sent only once */
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

/* Tells libcurl the times by which the call must have ended. */
void kedge_http_call_set_times(const kedge_http_call *call);

/* True when the response's bytes go to the stream function. */
bool kedge_http_call_streams(const kedge_http_call *call);
/* Fills status, headers and body from what has come so far. */
void kedge_http_call_response(const kedge_http_call *call, kedge_http_response *response);
/* Fills `error` from how libcurl ended; the status of a response that failed becomes 0. */
void kedge_http_classify(const kedge_http_call *call, CURLcode code, kedge_http_response *response);

/* Milliseconds from a Retry-After value, `now_ms` being the wall clock; 0 when it says nothing. */
int64_t kedge_http_retry_after(kedge_bytes value, int64_t now_ms);

#endif
