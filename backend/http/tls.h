/* The certificate of kedge-server, which may be replaced while it serves.
 *
 * The daemon asks for it at each handshake, by a callback that is told of no context. So there is
 * one certificate in a process. Each handshake gets a copy, which GnuTLS frees after use; a
 * connection keeps the certificate that it began with. */
#ifndef KEDGE_BACKEND_HTTP_TLS_H
#define KEDGE_BACKEND_HTTP_TLS_H

#include "common/bytes.h"

#include <gnutls/abstract.h>

#define KEDGE_TLS_CHAIN_MAX 16

/* Takes another certificate, with its chain after it, and its key, both PEM. With an error the one
 * of before stays: KEDGE_INVALID_ARGUMENT "certificate-invalid" when one of them cannot be read, or
 * when the key is of another certificate. Any thread. */
kedge_status kedge_tls_load(const char *certificate, const char *key, kedge_error *error);
/* When the certificate expires, in seconds since 1970; -1: there is none. Any thread. */
int64_t kedge_tls_expires_s(void);
/* After the daemon has stopped. */
void kedge_tls_unload(void);
/* For MHD_OPTION_HTTPS_CERT_CALLBACK2. */
gnutls_certificate_retrieve_function3 kedge_tls_retrieve;

#endif
