/* The server's URL as an app gives it, and the base of a project's requests. */
#ifndef KEDGE_SDK_NET_URL_H
#define KEDGE_SDK_NET_URL_H

#include "common/bytes.h"

#define KEDGE_URL_BYTES_MAX 2048

/* Appends "{url}/v1/orgs/{organization}/projects/{project}/" to `base`. `url` is http or https with
 * a host, maybe a port and maybe a path, which is kept as a prefix; a slash at its end is
 * tolerated. Anything else is KEDGE_INVALID_ARGUMENT "url-invalid", with what is wrong. The names
 * must have been checked. */
kedge_status kedge_url_base(const char *url, const char *organization, const char *project,
                            kedge_buffer *base, kedge_error *error);

#endif
