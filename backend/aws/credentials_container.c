/* Credentials of a container's role, from the endpoint that ECS and EKS put beside it. */
#include "backend/aws/credential_sources.h"

#include "common/error.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define HOST_BYTES_MAX 64

static const char where[] = "the container's credentials endpoint";

/* ---- the address ---- */

/* Takes the host out of "http://host:port/path"; brackets around an IPv6 address go. False: no
 * such URL, or a longer host than any that is allowed. */
static bool read_host(const char *url, char host[HOST_BYTES_MAX])
{
    const char *start = url + strlen("http://");
    size_t size = strcspn(start, "/?#");
    const char *end = start + size;
    if (memchr(start, '@', size) != NULL || memchr(start, '\\', size) != NULL) return false;
    if (*start == '[') {
        start++;
        const char *bracket = memchr(start, ']', (size_t)(end - start));
        if (bracket == NULL || (bracket + 1 < end && bracket[1] != ':')) return false;
        end = bracket;
    } else {
        const char *colon = memchr(start, ':', size);
        if (colon != NULL) end = colon;
    }
    if (end == start || end - start >= HOST_BYTES_MAX) return false;
    memcpy(host, start, (size_t)(end - start));
    host[end - start] = '\0';
    return true;
}

/* Credentials travel without TLS only within this machine, and to the fixed addresses of ECS
 * (169.254.170.2) and EKS (169.254.170.23, fd00:ec2::23). */
static bool allowed(const char *url)
{
    struct in_addr four;
    struct in6_addr six;
    struct in6_addr eks;
    char host[HOST_BYTES_MAX];
    if (strncasecmp(url, "https://", 8) == 0) return true;
    if (strncasecmp(url, "http://", 7) != 0 || !read_host(url, host)) return false;
    if (strcasecmp(host, "localhost") == 0) return true;
    if (inet_pton(AF_INET, host, &four) == 1) {
        uint32_t address = ntohl(four.s_addr);
        return address >> 24 == 127 || address == 0xA9FEAA02 || address == 0xA9FEAA17;
    }
    if (inet_pton(AF_INET6, host, &six) != 1) return false;
    inet_pton(AF_INET6, "fd00:ec2::23", &eks);
    return IN6_IS_ADDR_LOOPBACK(&six) || memcmp(&six, &eks, sizeof six) == 0;
}

static kedge_status make_url(const kedge_aws_lookup *lookup, const char *relative, const char *full,
                             kedge_buffer *url, kedge_error *error)
{
    if (relative[0] == '/') {
        kedge_buffer_append_format(url, "%s%s", lookup->container_host, relative);
        return kedge_buffer_status(url, error);
    }
    if (relative[0] != '\0') {
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                          "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI does not start with '/'");
    }
    if (!allowed(full)) {
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                          "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or http to a loopback "
                          "address, 169.254.170.2, 169.254.170.23 or [fd00:ec2::23]");
    }
    kedge_buffer_append_text(url, full);
    return kedge_buffer_status(url, error);
}

/* ---- the token ---- */

static kedge_status read_token_file(const char *path, kedge_buffer *token, kedge_error *error)
{
    const char *why = NULL;
    ssize_t got = 1;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) why = strerror(errno);
    while (why == NULL && got != 0) {
        char *room = kedge_buffer_reserve(token, KEDGE_AWS_TOKEN_BYTES_MAX);
        if (room == NULL) break;
        got = read(file, room, KEDGE_AWS_TOKEN_BYTES_MAX);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) why = strerror(errno);
        if (got > 0) token->size += (size_t)got;
        if (token->size > KEDGE_AWS_TOKEN_BYTES_MAX) why = "it is too long";
    }
    if (file >= 0) close(file);
    if (why == NULL) return kedge_buffer_status(token, error);
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                      "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: %.120s cannot be read: %s", path,
                      why);
}

/* The file goes first: it is the one that is written anew. It is read at each fetch. */
static kedge_status make_token(const kedge_aws_lookup *lookup, kedge_buffer *token,
                               kedge_error *error)
{
    const char *path =
        kedge_aws_variable(lookup->options, "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    kedge_status status = KEDGE_OK;
    if (path[0] != '\0') {
        status = read_token_file(path, token, error);
    } else {
        kedge_buffer_append_text(
            token, kedge_aws_variable(lookup->options, "AWS_CONTAINER_AUTHORIZATION_TOKEN"));
    }
    kedge_buffer_append(token, "", 0); /* the NUL after what was read */
    if (status == KEDGE_OK) status = kedge_buffer_status(token, error);
    if (status != KEDGE_OK) return status;
    while (token->size > 0 && strchr(" \t\r\n", token->data[token->size - 1]) != NULL) {
        kedge_buffer_truncate(token, token->size - 1);
    }
    for (size_t i = 0; i < token->size; i++) {
        if (token->data[i] >= ' ' && token->data[i] <= '~') continue;
        return kedge_fail(
            error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
            "the container's authorization token has a byte that is not visible ASCII");
    }
    return KEDGE_OK;
}

/* ---- the source ---- */

static kedge_status fetch(const kedge_aws_lookup *lookup, const char *url, const char *token,
                          kedge_aws_credentials *credentials, kedge_error *error)
{
    kedge_aws_local_response response;
    kedge_status status =
        kedge_aws_local_request(lookup, "GET", url, token[0] == '\0' ? NULL : "Authorization",
                                token, where, &response, error);
    if (status != KEDGE_OK) return status;
    if (response.status == 200) {
        status = kedge_aws_credentials_read(kedge_buffer_bytes(&response.body), credentials,
                                            lookup->environment->allocator, where, error);
    } else {
        bool later = response.status >= 500 || response.status == 429;
        status = kedge_fail(error, later ? KEDGE_UNAVAILABLE : KEDGE_UNAUTHORIZED,
                            later ? "aws-credentials-unreachable" : "aws-credentials-invalid",
                            "%s responded with status %d%s", where, response.status,
                            response.status == 401 || response.status == 403
                                ? ": check AWS_CONTAINER_AUTHORIZATION_TOKEN"
                                : "");
    }
    kedge_buffer_free(&response.body);
    return status;
}

kedge_status kedge_aws_from_container(kedge_aws_lookup *lookup, kedge_aws_credentials *credentials,
                                      kedge_error *error)
{
    const kedge_aws_credentials_options *options = lookup->options;
    const char *relative = kedge_aws_variable(options, "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    const char *full = kedge_aws_variable(options, "AWS_CONTAINER_CREDENTIALS_FULL_URI");
    if (relative[0] == '\0' && full[0] == '\0') return KEDGE_NOT_FOUND;

    kedge_buffer url = kedge_buffer_make(lookup->environment->allocator);
    kedge_buffer token = kedge_buffer_make(lookup->environment->allocator);
    kedge_status status = make_url(lookup, relative, full, &url, error);
    if (status == KEDGE_OK) status = make_token(lookup, &token, error);
    if (status == KEDGE_OK) {
        status = fetch(lookup, url.data, token.data, credentials, error);
    }
    kedge_buffer_free(&url);
    kedge_buffer_free(&token);
    return status;
}
