/* Credentials of the role of an EC2 instance, from its metadata, version 2: a token first, by a PUT
 * that proxies do not let through, then the role's name, then its credentials. */
#include "backend/aws/credential_sources.h"

#include "common/error.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TOKEN_HEADER   "X-aws-ec2-metadata-token"
#define TTL_HEADER     "X-aws-ec2-metadata-token-ttl-seconds"
#define TTL_SECONDS    "21600"
#define ROLES_PATH     "/latest/meta-data/iam/security-credentials/"
#define URL_BYTES_MAX  512
#define ROLE_BYTES_MAX 128

static const char where[] = "the instance's metadata";

static const char *endpoint_of(const kedge_aws_credentials_options *options)
{
    const char *given = kedge_aws_variable(options, "AWS_EC2_METADATA_SERVICE_ENDPOINT");
    const char *mode = kedge_aws_variable(options, "AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    if (given[0] != '\0') return given;
    return strcasecmp(mode, "IPv6") == 0 ? "http://[fd00:ec2::254]" : "http://169.254.169.254";
}

static kedge_status make_url(const kedge_aws_lookup *lookup, const char *path, const char *role,
                             char url[URL_BYTES_MAX], kedge_error *error)
{
    const char *endpoint = endpoint_of(lookup->options);
    size_t size = strlen(endpoint);
    while (size > 0 && endpoint[size - 1] == '/') {
        size--;
    }
    int made = snprintf(url, URL_BYTES_MAX, "%.*s%s%s", (int)size, endpoint, path, role);
    if (made > 0 && made < URL_BYTES_MAX) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                      "AWS_EC2_METADATA_SERVICE_ENDPOINT is too long");
}

/* A status other than 200 where nothing else can be: KEDGE_UNAVAILABLE when it may pass. */
static kedge_status refuse(int status, const char *step, kedge_error *error)
{
    bool later = status >= 500 || status == 429;
    return kedge_fail(error, later ? KEDGE_UNAVAILABLE : KEDGE_UNAUTHORIZED,
                      later ? "aws-credentials-unreachable" : "aws-credentials-invalid",
                      "%s responded to the request for %s with status %d", where, step, status);
}

/* No response at all, or one of somebody else: this is no instance, unless an endpoint was
 * named. */
static kedge_status get_token(kedge_aws_lookup *lookup, kedge_buffer *token, kedge_error *error)
{
    char url[URL_BYTES_MAX];
    kedge_aws_local_response response;
    kedge_error own = {0};
    kedge_status status = make_url(lookup, "/latest/api/token", "", url, error);
    if (status != KEDGE_OK) return status;
    status = kedge_aws_local_request(lookup, "PUT", url, TTL_HEADER, TTL_SECONDS, where, &response,
                                     &own);
    bool named =
        kedge_aws_variable(lookup->options, "AWS_EC2_METADATA_SERVICE_ENDPOINT")[0] != '\0';
    if (status == KEDGE_UNAVAILABLE && !named) {
        snprintf(lookup->note, sizeof lookup->note, "no response");
        return KEDGE_NOT_FOUND;
    }
    if (status != KEDGE_OK) {
        if (error != NULL) *error = own;
        return status;
    }
    kedge_bytes body = kedge_buffer_bytes(&response.body);
    if (response.status != 200) {
        snprintf(lookup->note, sizeof lookup->note, "status %d for a token", response.status);
        status =
            response.status >= 500 ? refuse(response.status, "a token", error) : KEDGE_NOT_FOUND;
    } else {
        kedge_buffer_append_bytes(token, body);
        status = kedge_buffer_status(token, error);
    }
    for (size_t i = 0; i < body.size && status == KEDGE_OK; i++) {
        if (body.data[i] >= '!' && body.data[i] <= '~') continue;
        snprintf(lookup->note, sizeof lookup->note, "its token is invalid");
        status = KEDGE_NOT_FOUND;
    }
    kedge_buffer_free(&response.body);
    return status;
}

/* The first line of the list; role names have none but letters, digits and +=,.@_- */
static bool read_role(kedge_bytes list, char role[ROLE_BYTES_MAX])
{
    size_t size = 0;
    while (size < list.size && list.data[size] != '\n' && list.data[size] != '\r') {
        size++;
    }
    if (size == 0 || size >= ROLE_BYTES_MAX) return false;
    memcpy(role, list.data, size);
    role[size] = '\0';
    return strspn(role, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+=,.@_-") ==
           size;
}

static kedge_status get_role(kedge_aws_lookup *lookup, const char *token, char role[ROLE_BYTES_MAX],
                             kedge_error *error)
{
    char url[URL_BYTES_MAX];
    kedge_aws_local_response response;
    kedge_status status = make_url(lookup, ROLES_PATH, "", url, error);
    if (status != KEDGE_OK) return status;
    status =
        kedge_aws_local_request(lookup, "GET", url, TOKEN_HEADER, token, where, &response, error);
    if (status != KEDGE_OK) return status;
    if (response.status == 404) {
        snprintf(lookup->note, sizeof lookup->note, "the instance has no role");
        status = KEDGE_NOT_FOUND;
    } else if (response.status != 200) {
        status = refuse(response.status, "its role", error);
    } else if (!read_role(kedge_buffer_bytes(&response.body), role)) {
        status = kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                            "%s responded with an invalid name of a role", where);
    }
    kedge_buffer_free(&response.body);
    return status;
}

static kedge_status get_credentials(const kedge_aws_lookup *lookup, const char *token,
                                    const char *role, kedge_aws_credentials *credentials,
                                    kedge_error *error)
{
    char url[URL_BYTES_MAX];
    kedge_aws_local_response response;
    kedge_status status = make_url(lookup, ROLES_PATH, role, url, error);
    if (status != KEDGE_OK) return status;
    status =
        kedge_aws_local_request(lookup, "GET", url, TOKEN_HEADER, token, where, &response, error);
    if (status != KEDGE_OK) return status;
    if (response.status == 200) {
        status = kedge_aws_credentials_read(kedge_buffer_bytes(&response.body), credentials,
                                            lookup->environment->allocator, where, error);
    } else {
        status = refuse(response.status, "its credentials", error);
    }
    kedge_buffer_free(&response.body);
    return status;
}

kedge_status kedge_aws_from_instance(kedge_aws_lookup *lookup, kedge_aws_credentials *credentials,
                                     kedge_error *error)
{
    const char *disabled = kedge_aws_variable(lookup->options, "AWS_EC2_METADATA_DISABLED");
    char role[ROLE_BYTES_MAX];
    if (strcasecmp(disabled, "true") == 0) {
        snprintf(lookup->note, sizeof lookup->note, "AWS_EC2_METADATA_DISABLED is set");
        return KEDGE_NOT_FOUND;
    }
    kedge_buffer token = kedge_buffer_make(lookup->environment->allocator);
    kedge_status status = get_token(lookup, &token, error);
    if (status == KEDGE_OK && token.size == 0) {
        snprintf(lookup->note, sizeof lookup->note, "its token is empty");
        status = KEDGE_NOT_FOUND;
    }
    if (status == KEDGE_OK) status = get_role(lookup, token.data, role, error);
    if (status == KEDGE_OK) status = get_credentials(lookup, token.data, role, credentials, error);
    kedge_buffer_free(&token);
    return status;
}
