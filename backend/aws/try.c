/* One try of a request: what is signed, what is sent, and presigned URLs. */
#include "backend/aws/internal.h"

#include "common/error.h"
#include "common/hash.h"
#include "common/percent.h"

#include <stdio.h>
#include <string.h>

#define SIGNATURE_HEADERS 4

static const char *const signing_names[KEDGE_AWS_SERVICES] = {"dynamodb", "s3", "sqs", "dynamodb"};

/* "http://127.0.0.1:8000" is "http://" and the host. */
static size_t scheme_size(const char *endpoint)
{
    return (size_t)(strstr(endpoint, "://") - endpoint) + 3;
}

bool kedge_aws_host(const kedge_aws_client *client, const kedge_aws_request *request,
                    char host[KEDGE_AWS_HOST_BYTES_MAX])
{
    const char *endpoint = client->endpoints[request->service];
    int size = snprintf(host, KEDGE_AWS_HOST_BYTES_MAX, "%s%s",
                        request->host_prefix == NULL ? "" : request->host_prefix,
                        endpoint + scheme_size(endpoint));
    return size > 0 && size < KEDGE_AWS_HOST_BYTES_MAX;
}

void kedge_aws_sign_with(const kedge_aws_client *client, kedge_aws_service service,
                         const kedge_aws_credentials *credentials, kedge_aws_signing *signing)
{
    const kedge_environment *environment = client->environment;
    bool s3 = service == KEDGE_AWS_S3;
    *signing = (kedge_aws_signing){
        .credentials = credentials,
        .region = client->region,
        .service = signing_names[service],
        .now_ms = environment->now_ms(environment->context) + atomic_load(&client->skew_ms),
        .encode_path_twice = !s3,
        .normalize_path = !s3,
        .payload_header = s3,
    };
}

static void write_url(const kedge_aws_client *client, const kedge_aws_request *request,
                      const char *host, kedge_buffer *url)
{
    const char *endpoint = client->endpoints[request->service];
    kedge_buffer_append(url, endpoint, scheme_size(endpoint));
    kedge_buffer_append_text(url, host);
    kedge_percent_encode(request->path, KEDGE_PERCENT_UNRESERVED "/", url);
    for (size_t i = 0; i < request->query_count; i++) {
        kedge_buffer_append_byte(url, i == 0 ? '?' : '&');
        kedge_percent_encode(request->query[i].name, KEDGE_PERCENT_UNRESERVED, url);
        kedge_buffer_append_byte(url, '=');
        kedge_percent_encode(request->query[i].value, KEDGE_PERCENT_UNRESERVED, url);
    }
}

static kedge_aws_signed_request signed_request(const kedge_aws_request *request, const char *host)
{
    return (kedge_aws_signed_request){
        .method = request->method,
        .host = host,
        .path = request->path,
        .query = request->query,
        .query_count = request->query_count,
        .headers = request->headers,
        .header_count = request->header_count,
        .body = request->body,
    };
}

static kedge_status check(const kedge_aws_client *client, const kedge_aws_request *request,
                          char host[KEDGE_AWS_HOST_BYTES_MAX], kedge_error *error)
{
    if (request->header_count > KEDGE_AWS_HEADERS_MAX || request->path.size == 0 ||
        request->path.data[0] != '/' || !kedge_aws_host(client, request, host)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "aws-request-invalid",
                          "a request for %s has more than %d headers, no path, or too long a host",
                          request->action, KEDGE_AWS_HEADERS_MAX);
    }
    return KEDGE_OK;
}

static void run(kedge_aws_client *client, const kedge_aws_request *request,
                const kedge_aws_credentials *credentials, const kedge_aws_signature *signature,
                const char *url, int64_t deadline_ms, kedge_aws_response *response,
                kedge_aws_reply *reply)
{
    kedge_http_header headers[KEDGE_AWS_HEADERS_MAX + SIGNATURE_HEADERS];
    size_t count = request->header_count;
    if (count > 0) memcpy(headers, request->headers, count * sizeof *headers);
    headers[count++] = (kedge_http_header){"Authorization", signature->authorization.data};
    headers[count++] = (kedge_http_header){"X-Amz-Date", signature->timestamp};
    if (credentials->token[0] != '\0') {
        headers[count++] = (kedge_http_header){"X-Amz-Security-Token", credentials->token};
    }
    if (request->service == KEDGE_AWS_S3) {
        headers[count++] = (kedge_http_header){"X-Amz-Content-Sha256", signature->payload_sha256};
    }
    const kedge_http_request sent = {
        .method = request->method,
        .url = url,
        .headers = headers,
        .header_count = count,
        .body = request->body,
        .deadline_ms = deadline_ms,
        .response_bytes_max = request->response_bytes_max,
        .undecoded = true,
        .send_once = true,
    };
    kedge_aws_transport_run(client->transport, &sent, &response->headers, &response->body, reply);
    response->status = reply->status;
    response->code[0] = response->message[0] = response->region[0] = '\0';
}

kedge_status kedge_aws_try(kedge_aws_client *client, const kedge_aws_request *request,
                           int64_t deadline_ms, kedge_aws_response *response,
                           kedge_aws_reply *reply, kedge_error *error)
{
    const kedge_allocator *allocator = client->environment->allocator;
    char host[KEDGE_AWS_HOST_BYTES_MAX];
    kedge_aws_credentials credentials;
    kedge_aws_signing signing;
    kedge_aws_signature signature;
    kedge_buffer url = kedge_buffer_make(allocator);
    kedge_aws_signature_make(allocator, &signature);

    kedge_status status = check(client, request, host, error);
    if (status == KEDGE_OK) {
        status = kedge_aws_credentials_get(client->credentials, &credentials, error);
    }
    if (status == KEDGE_OK) {
        kedge_aws_signed_request to_sign = signed_request(request, host);
        kedge_aws_sign_with(client, request->service, &credentials, &signing);
        write_url(client, request, host, &url);
        status = kedge_buffer_status(&url, error);
        if (status == KEDGE_OK) {
            status = kedge_aws_sign(allocator, &signing, &to_sign, &signature, error);
        }
    }
    if (status == KEDGE_OK) {
        run(client, request, &credentials, &signature, url.data, deadline_ms, response, reply);
        /* What the HTTP client does not take today, it does not take tomorrow. */
        if (!reply->sent && reply->error.status == KEDGE_INVALID_ARGUMENT) {
            status = KEDGE_INVALID_ARGUMENT;
            if (error != NULL) *error = reply->error;
        }
    }
    kedge_cleanse(&credentials, sizeof credentials);
    kedge_aws_signature_free(&signature);
    kedge_buffer_free(&url);
    return status;
}

kedge_status kedge_aws_client_presign(kedge_aws_client *client, const kedge_aws_request *request,
                                      uint32_t expires_s, kedge_buffer *url, kedge_error *error)
{
    char host[KEDGE_AWS_HOST_BYTES_MAX];
    char scheme_host[KEDGE_AWS_ENDPOINT_BYTES_MAX + KEDGE_AWS_HOST_BYTES_MAX];
    kedge_aws_credentials credentials;
    kedge_status status = check(client, request, host, error);
    if (status == KEDGE_OK) {
        status = kedge_aws_credentials_get(client->credentials, &credentials, error);
    }
    if (status == KEDGE_OK) {
        const char *endpoint = client->endpoints[request->service];
        kedge_aws_signing signing;
        kedge_aws_signed_request to_sign = signed_request(request, host);
        kedge_aws_sign_with(client, request->service, &credentials, &signing);
        snprintf(scheme_host, sizeof scheme_host, "%.*s%s", (int)scheme_size(endpoint), endpoint,
                 host);
        status = kedge_aws_presign(client->environment->allocator, &signing, &to_sign, scheme_host,
                                   expires_s, url, error);
    }
    kedge_cleanse(&credentials, sizeof credentials);
    return status;
}
