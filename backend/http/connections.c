/* See connections.h: two lists under one mutex, of strangers and of known peers, the newest first.
 * A row leaves its list before the daemon closes the socket, so that no other file that got the
 * same number is shut. */
#include "backend/http/connections.h"

#include "common/assert.h"
#include "common/hash.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

/* Each look at a connection that lingers reads at most LINGER_PIECES times LINGER_PIECE bytes. */
#define LINGER_PIECE  16384
#define LINGER_PIECES 64

typedef struct list {
    kedge_server_connection *newest;
    kedge_server_connection *oldest;
    size_t count;
} list;

struct kedge_server_connection {
    kedge_server_connection *newer;
    kedge_server_connection *older;
    int socket;
    int64_t due_ms;    /* or KEDGE_CONNECTION_UNHURRIED */
    int64_t within_ms; /* of a step whose time is put off; 0: it is not */
    kedge_paced_step step;
    uint64_t moved_bytes; /* that have put it off */
    bool watched;
    atomic_bool gone;
    bool lingers;
    bool cut; /* shut from here */
    bool known;
    kedge_budget_account account; /* of one that is known */
    uint64_t address;             /* hash; 0: not counted */
    kedge_gate gate;
};

/* How many connections an address has. */
typedef struct address_count {
    uint64_t address; /* 0: free */
    uint32_t count;
} address_count;

struct kedge_connections {
    const kedge_environment *environment;
    size_t strangers_max;
    size_t known_max;
    size_t address_max;
    bool encrypted;
    uint8_t secret[16]; /* so that nobody can choose addresses that share a place */
    pthread_mutex_t mutex;
    list strangers;
    list known;
    struct lingering {
        int socket; /* a copy; 0: free */
        int64_t until_ms;
    } lingering[KEDGE_CONNECTION_LINGERS];
    size_t next_lingering;
    uint64_t refused_by_address;
    uint64_t strangers_replaced;
    address_count addresses[KEDGE_CONNECTION_ADDRESSES];
};

kedge_connections *kedge_connections_new(const kedge_connections_options *options)
{
    const kedge_environment *environment = options->environment;
    kedge_connections *connections = kedge_allocate(environment->allocator, sizeof *connections);
    if (!connections) return NULL;
    KEDGE_ASSERT(options->strangers_max > 0);
    connections->environment = environment;
    connections->strangers_max = options->strangers_max;
    connections->known_max = options->known_max;
    connections->address_max = options->address_max;
    connections->encrypted = options->encrypted;
    environment->random(environment->context, connections->secret, sizeof connections->secret);
    pthread_mutex_init(&connections->mutex, NULL);
    return connections;
}

void kedge_connections_free(kedge_connections *connections)
{
    if (!connections) return;
    for (size_t i = 0; i < KEDGE_CONNECTION_LINGERS; i++) {
        if (connections->lingering[i].socket > 0) close(connections->lingering[i].socket);
    }
    pthread_mutex_destroy(&connections->mutex);
    kedge_release(connections->environment->allocator, connections);
}

/* ---- the lists; with the mutex held ---- */

static void add(list *to, kedge_server_connection *connection)
{
    connection->newer = NULL;
    connection->older = to->newest;
    *(to->newest ? &to->newest->newer : &to->oldest) = connection;
    to->newest = connection;
    to->count++;
}

static void remove_from(list *from, kedge_server_connection *connection)
{
    *(connection->newer ? &connection->newer->older : &from->newest) = connection->older;
    *(connection->older ? &connection->older->newer : &from->oldest) = connection->newer;
    from->count--;
}

static void cut(kedge_server_connection *connection)
{
    shutdown(connection->socket, SHUT_RDWR);
    connection->due_ms = KEDGE_CONNECTION_UNHURRIED;
    connection->cut = true;
}

/* Cuts the stranger that came first, of those that the server does not work for. Those that were
 * cut before stand at the end of the list only until the daemon sees it. */
static void replace_stranger(kedge_connections *connections)
{
    kedge_server_connection *at = connections->strangers.oldest;
    while (at && at->due_ms == KEDGE_CONNECTION_UNHURRIED)
        at = at->newer;
    if (!at) return;
    cut(at);
    connections->strangers_replaced++;
}

/* ---- addresses; with the mutex held ---- */

/* Of IPv6 the first half: a peer has as many addresses as it likes in the second. */
static uint64_t hash_address(const kedge_connections *connections, const struct sockaddr *address)
{
    kedge_bytes part = {NULL, 0};
    if (address && address->sa_family == AF_INET)
        part = (kedge_bytes){(const char *)&((const struct sockaddr_in *)address)->sin_addr, 4};
    if (address && address->sa_family == AF_INET6)
        part = (kedge_bytes){(const char *)&((const struct sockaddr_in6 *)address)->sin6_addr, 8};
    if (part.size == 0) return 0;
    const kedge_bytes pieces[] = {{(const char *)connections->secret, sizeof connections->secret},
                                  part};
    uint8_t hash[KEDGE_SHA256_SIZE];
    uint64_t number;
    kedge_sha256_of(pieces, 2, hash);
    memcpy(&number, hash, sizeof number);
    return number == 0 ? 1 : number;
}

/* The place of an address, or the free one where it would stand; NULL when all are taken. */
static address_count *find_address(kedge_connections *connections, uint64_t address)
{
    for (size_t i = 0; i < KEDGE_CONNECTION_ADDRESSES; i++) {
        address_count *at = &connections->addresses[(address + i) % KEDGE_CONNECTION_ADDRESSES];
        if (at->address == address || at->address == 0) return at;
    }
    return NULL;
}

/* False: it has as many as it may. */
static bool count_address(kedge_connections *connections, uint64_t address)
{
    address_count *at = find_address(connections, address);
    if (!at || at->count >= connections->address_max) return false;
    at->address = address;
    at->count++;
    return true;
}

/* Frees the place of an address without connections, and moves those after it that would not be
 * found any more. */
static void uncount_address(kedge_connections *connections, uint64_t address)
{
    address_count *table = connections->addresses;
    address_count *found = find_address(connections, address);
    KEDGE_ASSERT(found && found->count > 0);
    if (--found->count > 0) return;
    size_t hole = (size_t)(found - table);
    table[hole].address = 0;
    for (size_t i = 1; i < KEDGE_CONNECTION_ADDRESSES; i++) {
        size_t at = (hole + i) % KEDGE_CONNECTION_ADDRESSES;
        if (table[at].address == 0) return;
        address_count moved = table[at];
        table[at] = (address_count){0, 0};
        *find_address(connections, moved.address) = moved;
    }
}

/* ---- connections ---- */

static int64_t due_in(const kedge_connections *connections, int64_t within_ms)
{
    const kedge_environment *environment = connections->environment;
    if (within_ms == KEDGE_CONNECTION_UNHURRIED) return KEDGE_CONNECTION_UNHURRIED;
    return environment->monotonic_ms(environment->context) + within_ms;
}

kedge_server_connection *kedge_server_connection_opened(kedge_connections *connections, int socket,
                                                        const struct sockaddr *address,
                                                        int64_t within_ms)
{
    kedge_server_connection *connection =
        kedge_allocate(connections->environment->allocator, sizeof *connection);
    bool taken = connection != NULL;
    if (taken) {
        connection->socket = socket;
        connection->due_ms = due_in(connections, within_ms);
        kedge_gate_open(&connection->gate, connections->environment->allocator,
                        connections->encrypted);
        if (connections->address_max > 0) connection->address = hash_address(connections, address);
        pthread_mutex_lock(&connections->mutex);
        taken = connection->address == 0 || count_address(connections, connection->address);
        if (taken && connections->strangers.count >= connections->strangers_max)
            replace_stranger(connections);
        if (taken) add(&connections->strangers, connection);
        if (!taken) connections->refused_by_address++;
        pthread_mutex_unlock(&connections->mutex);
    }
    if (taken) return connection;
    kedge_release(connections->environment->allocator, connection);
    shutdown(socket, SHUT_RDWR);
    return NULL;
}

/* ---- lingering; with the mutex held ---- */

/* The copy keeps the connection open when the daemon closes its socket. */
static void begin_lingering(kedge_connections *connections, int socket)
{
    struct lingering *place = &connections->lingering[connections->next_lingering];
    if (place->socket > 0) close(place->socket);
    connections->next_lingering = (connections->next_lingering + 1) % KEDGE_CONNECTION_LINGERS;
    *place = (struct lingering){dup(socket), due_in(connections, KEDGE_CONNECTION_LINGER_MS)};
    if (place->socket > 0) shutdown(place->socket, SHUT_WR);
}

/* Reads what has come. False when that was all, or it took too long. */
static bool goes_on(const struct lingering *at, int64_t now_ms)
{
    char dropped[LINGER_PIECE];
    for (int piece = 0; piece < LINGER_PIECES; piece++) {
        ssize_t size = recv(at->socket, dropped, sizeof dropped, MSG_DONTWAIT);
        if (size == 0 || (size < 0 && errno != EAGAIN)) return false;
        if (size < 0) break;
    }
    return now_ms < at->until_ms;
}

static void linger(kedge_connections *connections, int64_t now_ms)
{
    for (size_t i = 0; i < KEDGE_CONNECTION_LINGERS; i++) {
        struct lingering *at = &connections->lingering[i];
        if (at->socket <= 0 || goes_on(at, now_ms)) continue;
        close(at->socket);
        at->socket = 0;
    }
}

void kedge_server_connection_linger(kedge_connections *connections,
                                    kedge_server_connection *connection)
{
    if (!connection) return;
    pthread_mutex_lock(&connections->mutex);
    connection->lingers = true;
    pthread_mutex_unlock(&connections->mutex);
}

void kedge_server_connection_closed(kedge_connections *connections,
                                    kedge_server_connection *connection)
{
    if (!connection) return;
    pthread_mutex_lock(&connections->mutex);
    if (connection->lingers && !connection->cut) begin_lingering(connections, connection->socket);
    remove_from(connection->known ? &connections->known : &connections->strangers, connection);
    if (connection->address != 0) uncount_address(connections, connection->address);
    pthread_mutex_unlock(&connections->mutex);
    if (connection->known) kedge_budget_give(&connection->account, KEDGE_BUDGET_CONNECTIONS, 1);
    kedge_budget_account_release(&connection->account);
    kedge_gate_close(&connection->gate);
    kedge_release(connections->environment->allocator, connection);
}

kedge_gate *kedge_server_connection_gate(kedge_server_connection *connection)
{
    static kedge_gate shut = {.state = KEDGE_GATE_BROKEN};
    return connection ? &connection->gate : &shut;
}

/* 0 when the system does not tell: then nothing is put off. */
static uint64_t count_moved(int socket, kedge_paced_step step)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return 0;
    return step == KEDGE_PACED_BODY ? info.tcpi_bytes_received : info.tcpi_bytes_acked;
}

void kedge_server_connection_due(kedge_connections *connections,
                                 kedge_server_connection *connection, int64_t within_ms)
{
    if (!connection) return;
    int64_t due_ms = due_in(connections, within_ms);
    pthread_mutex_lock(&connections->mutex);
    connection->due_ms = connection->cut ? KEDGE_CONNECTION_UNHURRIED : due_ms;
    connection->within_ms = 0;
    pthread_mutex_unlock(&connections->mutex);
}

void kedge_server_connection_paced(kedge_connections *connections,
                                   kedge_server_connection *connection, int64_t within_ms,
                                   kedge_paced_step step)
{
    if (!connection) return;
    uint64_t moved_bytes = count_moved(connection->socket, step);
    kedge_server_connection_due(connections, connection, within_ms);
    pthread_mutex_lock(&connections->mutex);
    connection->within_ms = within_ms;
    connection->step = step;
    connection->moved_bytes = moved_bytes;
    pthread_mutex_unlock(&connections->mutex);
}

bool kedge_server_connection_known(kedge_connections *connections,
                                   kedge_server_connection *connection,
                                   const kedge_budget_account *account,
                                   kedge_budget_refusal *refusal)
{
    if (!connection || connection->known) return true; /* only this thread sets it */
    if (!kedge_budget_take(account, KEDGE_BUDGET_CONNECTIONS, 1, refusal)) return false;
    pthread_mutex_lock(&connections->mutex);
    bool room = connections->known.count < connections->known_max;
    if (room) {
        remove_from(&connections->strangers, connection);
        add(&connections->known, connection);
        connection->known = true;
    }
    pthread_mutex_unlock(&connections->mutex);
    if (room) {
        connection->account = kedge_budget_account_keep(account);
    } else {
        kedge_budget_give(account, KEDGE_BUDGET_CONNECTIONS, 1);
        *refusal = (kedge_budget_refusal){.name = NULL};
    }
    return room;
}

void kedge_server_connection_watch(kedge_connections *connections,
                                   kedge_server_connection *connection, bool watched)
{
    if (!connection) return;
    pthread_mutex_lock(&connections->mutex);
    connection->watched = watched;
    pthread_mutex_unlock(&connections->mutex);
}

bool kedge_server_connection_is_gone(const kedge_server_connection *connection)
{
    return connection && atomic_load_explicit(&connection->gone, memory_order_relaxed);
}

/* Whether the peer has closed its sending side. Such a peer might still read the response, but in
 * nearly all cases it is gone. Proxies take it for gone, too. */
static bool has_hung_up(int socket)
{
    struct pollfd look = {.fd = socket, .events = POLLRDHUP};
    return poll(&look, 1, 0) == 1 && (look.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

/* By what has moved since the last look. */
static void put_off(kedge_server_connection *connection, int64_t now_ms)
{
    uint64_t moved_bytes = count_moved(connection->socket, connection->step);
    if (moved_bytes <= connection->moved_bytes) return;
    uint64_t added_ms = (moved_bytes - connection->moved_bytes) * 1000;
    connection->due_ms += (int64_t)(added_ms / KEDGE_CONNECTION_PACE_BYTES_S);
    connection->moved_bytes = moved_bytes;
    int64_t latest_ms = now_ms + connection->within_ms;
    if (connection->due_ms > latest_ms) connection->due_ms = latest_ms;
}

static void look_at(list *of, int64_t now_ms)
{
    for (kedge_server_connection *at = of->newest; at; at = at->older) {
        if (at->watched && has_hung_up(at->socket)) atomic_store(&at->gone, true);
        if (at->due_ms == KEDGE_CONNECTION_UNHURRIED) continue;
        if (at->within_ms > 0) put_off(at, now_ms);
        if (now_ms >= at->due_ms) cut(at);
    }
}

void kedge_connections_look(kedge_connections *connections)
{
    const kedge_environment *environment = connections->environment;
    int64_t now = environment->monotonic_ms(environment->context);
    pthread_mutex_lock(&connections->mutex);
    look_at(&connections->strangers, now);
    look_at(&connections->known, now);
    linger(connections, now);
    pthread_mutex_unlock(&connections->mutex);
}

void kedge_connections_write_metrics(kedge_connections *connections, kedge_buffer *out)
{
    pthread_mutex_lock(&connections->mutex);
    size_t strangers = connections->strangers.count;
    uint64_t refused = connections->refused_by_address;
    uint64_t replaced = connections->strangers_replaced;
    pthread_mutex_unlock(&connections->mutex);
    kedge_buffer_append_format(
        out,
        "kedge_budget_refusals_total{budget=\"address_connections\"} %llu\n"
        "kedge_budget_refusals_total{budget=\"stranger_connections\"} %llu\n"
        "# TYPE kedge_stranger_connections gauge\nkedge_stranger_connections %zu\n",
        (unsigned long long)refused, (unsigned long long)replaced, strangers);
}
