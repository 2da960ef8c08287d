/* The gate's place: kedge-server has functions of its own with the names `recv` and
 * `gnutls_record_recv`, by which the HTTP library reads. The library has no other hook in front of
 * its parser. They do what the system's do, but for sockets that have a gate. */
#ifndef KEDGE_BACKEND_HTTP_RECEIVE_H
#define KEDGE_BACKEND_HTTP_RECEIVE_H

#include "backend/http/gate.h"

/* Sockets with a higher number cannot have a gate. */
#define KEDGE_RECEIVE_SOCKETS 16384

/* What is read from the socket passes the gate from now on; NULL: nothing does. A gate stays the
 * caller's, and is used on the thread that reads. False when the number is too high. */
bool kedge_receive_through(int socket, kedge_gate *gate);

#endif
