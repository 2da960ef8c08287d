/* Where a key set comes from: a file, or a URL that is asked again from time to time. */
#ifndef KEDGE_BACKEND_HTTP_KEY_SOURCE_H
#define KEDGE_BACKEND_HTTP_KEY_SOURCE_H

#include "common/environment.h"

#include <stdatomic.h>

#define KEDGE_KEYS_DEADLINE_MS     10000 /* of one request, connecting included */
#define KEDGE_KEYS_EVERY_S_DEFAULT 300
#define KEDGE_KEYS_EVERY_S_MAX     86400
#define KEDGE_KEYS_RETRY_MS        30000 /* after a request that failed, or sooner */

bool kedge_key_source_is_url(const char *source);
/* A URL must be https, or http to loopback: who can change the key set can sign any token. Anything
 * else is a file's name. */
kedge_status kedge_key_source_check(const char *source, kedge_error *error);
/* The text of the key set, at most KEDGE_FILE_BYTES_MAX. Free with kedge_release. Of a URL: the
 * body of a 200; no redirect is followed. Ends early with KEDGE_CANCELLED when `stop` (may be NULL)
 * becomes true. */
kedge_status kedge_key_source_read(const kedge_environment *environment, const char *source,
                                   const atomic_bool *stop, char **text, kedge_error *error);

#endif
