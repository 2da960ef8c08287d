/* The driver: carries events to the core and its actions to the store and the transport.
 *
 * It is single-threaded: one thread, or the simulator, calls it. What differs between a real client
 * and a simulated one is behind two small vtables: the transport (libcurl or the simulated network)
 * and the host (timers, status, changes). */
#ifndef KEDGE_SDK_DRIVER_DRIVER_H
#define KEDGE_SDK_DRIVER_DRIVER_H

#include "sdk/core/core.h"
#include "sdk/net/transport.h"
#include "sdk/store/store.h"

typedef struct kedge_driver kedge_driver;

/* Callbacks to the driver's owner; not called after kedge_driver_free. */
typedef struct kedge_driver_host {
    void *context;
    void (*set_timer)(void *context, int64_t at_ms); /* monotonic; replaces the one before */
    /* The host must then call kedge_driver_token. `doubted`: the server itself has not refused the
     * present one, which is given once more when the app has no other. */
    void (*ask_token)(void *context, bool doubted);
    void (*changed)(void *context, const kedge_change_set *changes);
    void (*report)(void *context, kedge_connection connection, const kedge_error *error);
    void (*synced)(void *context, bool ok, const kedge_error *error);
} kedge_driver_host;

kedge_status kedge_driver_new(const kedge_environment *environment, kedge_store *store,
                              const kedge_transport *transport, const kedge_driver_host *host,
                              bool online, kedge_driver **driver, kedge_error *error);
void kedge_driver_free(kedge_driver *driver);
/* Before the start: what requests name as the app's; at most KEDGE_LIMIT_SCHEMA_VERSION_BYTES. */
void kedge_driver_set_schema_version(kedge_driver *driver, const char *schema_version);

/* Events. `start` comes first. */
void kedge_driver_start(kedge_driver *driver);
void kedge_driver_mutated(kedge_driver *driver); /* something was committed to the outbox */
void kedge_driver_timer(kedge_driver *driver);
/* Bytes of a request or its response moved: the transport has put its deadline off. */
void kedge_driver_request_moved(kedge_driver *driver, uint64_t number);
void kedge_driver_response_arrived(kedge_driver *driver, const kedge_driver_response *response);
void kedge_driver_stream_up(kedge_driver *driver);
void kedge_driver_stream_down(kedge_driver *driver, const kedge_error *error,
                              int64_t retry_after_ms);
void kedge_driver_stream_event(kedge_driver *driver, kedge_bytes event, kedge_bytes data);
void kedge_driver_set_online(kedge_driver *driver, bool online);
void kedge_driver_token(kedge_driver *driver, const char *token); /* NULL: there is none */
void kedge_driver_sync(kedge_driver *driver);
void kedge_driver_hurry(kedge_driver *driver); /* the app asks again while a sync runs */
/* returns whether a sync runs whose end was not reported yet */
bool kedge_driver_syncs(const kedge_driver *driver);
void kedge_driver_shutdown(kedge_driver *driver);

#endif
