/* The sources of the chain of credentials, each a function.
 *
 * A source answers KEDGE_OK and credentials; KEDGE_NOT_FOUND, without an error: it is not in use
 * here, and the next one is asked; anything else: it is in use, and this is what is wrong with it.
 * No error holds a secret. */
#ifndef KEDGE_BACKEND_AWS_CREDENTIAL_SOURCES_H
#define KEDGE_BACKEND_AWS_CREDENTIAL_SOURCES_H

#include "backend/aws/credentials.h"
#include "common/wiping.h"

#define KEDGE_AWS_CONTAINER_HOST       "http://169.254.170.2"
#define KEDGE_AWS_LOCAL_TRIES          3
#define KEDGE_AWS_LOCAL_TRY_MS         1000
#define KEDGE_AWS_LOCAL_PAUSE_MS       100 /* before the second try at most; doubles */
#define KEDGE_AWS_LOCAL_RESPONSE_BYTES 65536
#define KEDGE_AWS_NOTE_BYTES           96

/* One search along the chain. */
typedef struct kedge_aws_lookup {
    const kedge_aws_credentials_options *options;
    const kedge_environment *environment; /* with an allocator that wipes */
    const char *container_host;
    int64_t try_ms;
    char note[KEDGE_AWS_NOTE_BYTES]; /* why the instance's metadata gave nothing */
} kedge_aws_lookup;

typedef kedge_status (*kedge_aws_source)(kedge_aws_lookup *lookup,
                                         kedge_aws_credentials *credentials, kedge_error *error);

kedge_status kedge_aws_from_environment(kedge_aws_lookup *lookup,
                                        kedge_aws_credentials *credentials, kedge_error *error);
kedge_status kedge_aws_from_profile(kedge_aws_lookup *lookup, kedge_aws_credentials *credentials,
                                    kedge_error *error);
kedge_status kedge_aws_from_container(kedge_aws_lookup *lookup, kedge_aws_credentials *credentials,
                                      kedge_error *error);
kedge_status kedge_aws_from_instance(kedge_aws_lookup *lookup, kedge_aws_credentials *credentials,
                                     kedge_error *error);

/* The value of an environment variable, "" when there is none. */
const char *kedge_aws_variable(const kedge_aws_credentials_options *options, const char *name);

/* Checks that they may stand in a header and fit, and copies them. `where` names the source. */
kedge_status kedge_aws_credentials_set(kedge_aws_credentials *credentials, kedge_bytes key_id,
                                       kedge_bytes secret, kedge_bytes token, const char *where,
                                       kedge_error *error);
/* The same of the JSON that containers' and instances' endpoints answer. */
kedge_status kedge_aws_credentials_read(kedge_bytes json, kedge_aws_credentials *credentials,
                                        const kedge_allocator *allocator, const char *where,
                                        kedge_error *error);

/* What one of these endpoints answered. */
typedef struct kedge_aws_local_response {
    int status;
    kedge_buffer body;
} kedge_aws_local_response;

/* A request to an endpoint of this machine, with tries of `lookup->try_ms`; 5xx and 429 are tried
 * again. `where` names the endpoint in errors, which do not show the URL: its path may be a secret.
 * KEDGE_UNAVAILABLE "aws-credentials-unreachable": no response came. Free the response's body. */
kedge_status kedge_aws_local_request(const kedge_aws_lookup *lookup, const char *method,
                                     const char *url, const char *header, const char *value,
                                     const char *where, kedge_aws_local_response *response,
                                     kedge_error *error);

/* For tests: where containers' endpoints with a relative URI are, and how long a try lasts. */
void kedge_aws_credentials_provider_redirect(kedge_aws_credentials_provider *provider,
                                             const char *container_host, int64_t try_ms);

#endif
