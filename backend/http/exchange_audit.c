/* What the audit log has of a request that was refused, and of one that administered something. */
#include "backend/http/exchange.h"

#include "common/json.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <strings.h>

#define ADDRESS_SIZE INET6_ADDRSTRLEN
#define CODE_SIZE    64

static void write_socket(const struct sockaddr *peer, char address[ADDRESS_SIZE])
{
    const void *number = peer->sa_family == AF_INET6
                             ? (const void *)&((const struct sockaddr_in6 *)peer)->sin6_addr
                             : (const void *)&((const struct sockaddr_in *)peer)->sin_addr;
    if (!inet_ntop(peer->sa_family, number, address, ADDRESS_SIZE)) address[0] = '\0';
}

#define FORWARDED "X-Forwarded-For"

static enum MHD_Result keep_last(void *context, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    (void)kind;
    if (strcasecmp(name, FORWARDED) == 0) *(const char **)context = value;
    return MHD_YES;
}

/* The last address of the last header, which is the one that the proxy itself has seen: a proxy may
 * add a header of its own after that of the peer. */
static bool read_forwarded(kedge_exchange *exchange, char address[ADDRESS_SIZE])
{
    unsigned char number[sizeof(struct in6_addr)];
    const char *header = NULL;
    MHD_get_connection_values(exchange->connection, MHD_HEADER_KIND, keep_last, &header);
    const char *comma = header ? strrchr(header, ',') : NULL;
    const char *last = comma ? comma + 1 + strspn(comma + 1, " ") : header;
    size_t size = last ? strcspn(last, " ") : 0;
    if (size == 0 || size >= ADDRESS_SIZE) return false;
    memcpy(address, last, size);
    address[size] = '\0';
    return inet_pton(AF_INET, address, number) == 1 || inet_pton(AF_INET6, address, number) == 1;
}

static void write_address(kedge_exchange *exchange, char address[ADDRESS_SIZE])
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(exchange->connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    address[0] = '\0';
    if (exchange->context->behind_proxy && read_forwarded(exchange, address)) return;
    if (info && info->client_addr) write_socket(info->client_addr, address);
}

void kedge_exchange_audit(kedge_exchange *exchange)
{
    const kedge_environment *environment = exchange->context->environment;
    int status = exchange->response.status;
    bool refused = status == 401 || status == 403 || status == 413 || status == 429;
    bool changed = exchange->response.changed;
    if (!exchange->context->audit || (!refused && !changed)) return;
    char address[ADDRESS_SIZE];
    char code[CODE_SIZE] = "";
    const kedge_auth_result *who = exchange->who;
    write_address(exchange, address);
    if (status >= 400)
        kedge_json_member_chars(kedge_buffer_bytes(&exchange->response.body), "code", code,
                                CODE_SIZE);
    kedge_random_hex(environment, (KEDGE_REQUEST_ID_SIZE - 1) / 2, exchange->request_id);
    const char *other = exchange->response.other;
    const kedge_audit_entry entry = {
        .what = "changed",
        .status = status,
        .code = code,
        .user = who ? who->user : NULL,
        .role = who ? who->role : NULL,
        .organization = who ? who->organization : NULL,
        .address = address,
        .request = exchange->request_id,
        .method = exchange->method,
        .path = {exchange->target, strcspn(exchange->target, "?")},
        .detail = other[0] == '\0' ? NULL : other,
    };
    if (changed)
        kedge_audit_act(exchange->context->audit, &entry);
    else
        kedge_audit_refusal(exchange->context->audit, &entry);
}
