/* AWS credentials: where they come from, and keeping them fresh.
 *
 * The chain, first one that has any: environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
 * AWS_SESSION_TOKEN), shared profile files (AWS_SHARED_CREDENTIALS_FILE, AWS_CONFIG_FILE,
 * AWS_PROFILE), container endpoint (AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI with
 * AWS_CONTAINER_AUTHORIZATION_TOKEN or _TOKEN_FILE), instance metadata (IMDSv2;
 * AWS_EC2_METADATA_DISABLED, AWS_EC2_METADATA_SERVICE_ENDPOINT). A source that is in use but
 * damaged ends the chain: the next one would be another identity than the one that was meant.
 *
 * Those that expire are fetched again five minutes before; while the new ones cannot be had, the
 * old ones serve until their end. What was just fetched is handed out even when our clock says that
 * it has expired: the service judges. */
#ifndef KEDGE_BACKEND_AWS_CREDENTIALS_H
#define KEDGE_BACKEND_AWS_CREDENTIALS_H

#include "common/environment.h"

#define KEDGE_AWS_KEY_ID_BYTES_MAX 128
#define KEDGE_AWS_SECRET_BYTES_MAX 128
#define KEDGE_AWS_TOKEN_BYTES_MAX  8192

typedef struct kedge_aws_credentials {
    char key_id[KEDGE_AWS_KEY_ID_BYTES_MAX + 1];
    char secret[KEDGE_AWS_SECRET_BYTES_MAX + 1];
    char token[KEDGE_AWS_TOKEN_BYTES_MAX + 1]; /* "" when there is none */
    int64_t expires_ms;                        /* wall clock; 0: never */
} kedge_aws_credentials;

typedef struct kedge_aws_credentials_provider kedge_aws_credentials_provider;

typedef struct kedge_aws_credentials_options {
    const kedge_environment *environment; /* must outlive the provider */
    /* Goes before the environment's keys. NULL: AWS_PROFILE, else "default", after them. */
    const char *profile;
    /* NULL: getenv. Tests pass their own. */
    const char *(*variable)(void *context, const char *name);
    void *variable_context;
} kedge_aws_credentials_options;

/* Reads nothing yet. */
kedge_status kedge_aws_credentials_provider_new(const kedge_aws_credentials_options *options,
                                                kedge_aws_credentials_provider **provider,
                                                kedge_error *error);
void kedge_aws_credentials_provider_free(kedge_aws_credentials_provider *provider);

/* Fills `credentials`, which the caller wipes (kedge_cleanse); may block for a fetch of some
 * seconds (one thread fetches; the others go on with the old ones, or wait for it). Any thread.
 * KEDGE_UNAUTHORIZED "aws-credentials-missing": the message lists where it looked and what to do;
 * "aws-credentials-invalid": a source that is there but damaged is named;
 * "aws-credentials-unsupported": the only source is one of those that Kedge does not have.
 * KEDGE_UNAVAILABLE "aws-credentials-unreachable": an endpoint does not answer. Either status with
 * "aws-credentials-expired": the same happened when the old ones had expired. KEDGE_NO_MEMORY. */
kedge_status kedge_aws_credentials_get(kedge_aws_credentials_provider *provider,
                                       kedge_aws_credentials *credentials, kedge_error *error);
/* The service refused them as expired: the next get fetches anew, but not within a second of the
 * last fetch, since other requests may still come back that were signed before it. */
void kedge_aws_credentials_forget(kedge_aws_credentials_provider *provider);

#define KEDGE_AWS_REGION_SIZE 64 /* of a region's name, with its NUL */

/* The region of the environment or the profile (AWS_REGION, AWS_DEFAULT_REGION, the profile's
 * `region`). KEDGE_NOT_FOUND, without an error: none says. KEDGE_INVALID_ARGUMENT
 * "aws-region-invalid": it is too long for one. Others: what is wrong with the profile, as of
 * kedge_aws_credentials_get. */
kedge_status kedge_aws_region_find(const kedge_aws_credentials_options *options,
                                   char region[KEDGE_AWS_REGION_SIZE], kedge_error *error);

#endif
