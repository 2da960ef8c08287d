/* See budgets.h: a table of rows under one mutex. A row that nobody uses stays, for its buckets,
 * until its place is needed; then the one that was used least recently goes. */
#include "backend/http/budgets.h"

#include "backend/base/options.h"
#include "common/assert.h"
#include "common/hash.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#define NONE  UINT32_MAX
#define TOKEN 1000 /* what one request or byte costs, in thousandths */

/* The rates come first, so that their buckets stand in an array of their own. */
#define RATES (KEDGE_BUDGET_BYTES + 1)

/* The budgets that the backend counts. */
#define OF_BACKEND (sizeof of_backend / sizeof of_backend[0])
static const char *const of_backend[] = {KEDGE_USAGE_PROJECTS, KEDGE_USAGE_STORED};

typedef struct row {
    uint8_t key[KEDGE_BUDGET_KEY_SIZE];
    uint32_t uses;
    uint32_t next;  /* of the same place */
    uint32_t newer; /* of those that nobody uses */
    uint32_t older;
    int64_t level[KEDGE_BUDGETS]; /* of a rate: thousandths of what its bucket holds */
    int64_t filled_ms[RATES];
} row;

struct kedge_budgets {
    const kedge_environment *environment;
    kedge_budget_limits limits;
    pthread_mutex_t mutex;
    uint32_t places[KEDGE_BUDGET_ROWS];
    row rows[KEDGE_BUDGET_ROWS];
    uint32_t row_count; /* that were ever used */
    uint32_t newest;
    uint32_t oldest;
    int64_t held; /* KEDGE_BUDGET_HELD of all */
    atomic_uint_fast64_t refused[KEDGE_BUDGETS][KEDGE_BUDGET_SCOPES];
    atomic_uint_fast64_t refused_of_backend[OF_BACKEND];
};

kedge_budgets *kedge_budgets_new(const kedge_environment *environment,
                                 const kedge_budget_limits *limits)
{
    kedge_budgets *budgets = kedge_allocate(environment->allocator, sizeof *budgets);
    if (!budgets) return NULL;
    budgets->environment = environment;
    budgets->limits = *limits;
    budgets->newest = budgets->oldest = NONE;
    memset(budgets->places, 0xff, sizeof budgets->places);
    pthread_mutex_init(&budgets->mutex, NULL);
    return budgets;
}

void kedge_budgets_free(kedge_budgets *budgets)
{
    if (!budgets) return;
    pthread_mutex_destroy(&budgets->mutex);
    kedge_release(budgets->environment->allocator, budgets);
}

const kedge_budget_limits *kedge_budgets_limits(const kedge_budgets *budgets)
{
    return &budgets->limits;
}

kedge_budget_owner kedge_budget_owner_of(const char *organization, const char *user)
{
    kedge_budget_owner owner;
    uint8_t hash[KEDGE_SHA256_SIZE];
    const kedge_bytes pieces[] = {
        {organization, strlen(organization) + 1}, /* with the NUL, which ends it */
        kedge_bytes_of(user),
    };
    kedge_sha256_of(pieces, 1, hash);
    memcpy(owner.of[KEDGE_BUDGET_OF_ORGANIZATION], hash, KEDGE_BUDGET_KEY_SIZE);
    const kedge_bytes both[] = {{(const char *)hash, sizeof hash}, pieces[1]};
    kedge_sha256_of(both, 2, hash);
    memcpy(owner.of[KEDGE_BUDGET_OF_USER], hash, KEDGE_BUDGET_KEY_SIZE);
    return owner;
}

/* ---- the table; with the mutex held ---- */

static uint32_t place_of(const uint8_t key[KEDGE_BUDGET_KEY_SIZE])
{
    uint32_t number;
    memcpy(&number, key, sizeof number);
    return number % KEDGE_BUDGET_ROWS;
}

/* Takes the row out of the list of unused rows. */
static void unlist(kedge_budgets *budgets, uint32_t at)
{
    row *this = &budgets->rows[at];
    *(this->newer == NONE ? &budgets->newest : &budgets->rows[this->newer].older) = this->older;
    *(this->older == NONE ? &budgets->oldest : &budgets->rows[this->older].newer) = this->newer;
}

static void list(kedge_budgets *budgets, uint32_t at)
{
    row *this = &budgets->rows[at];
    this->newer = NONE;
    this->older = budgets->newest;
    *(this->older == NONE ? &budgets->oldest : &budgets->rows[this->older].newer) = at;
    budgets->newest = at;
}

/* A row without a key and a place; NONE: all are used. */
static uint32_t take_row(kedge_budgets *budgets)
{
    if (budgets->row_count < KEDGE_BUDGET_ROWS) return budgets->row_count++;
    uint32_t at = budgets->oldest;
    if (at == NONE) return NONE;
    unlist(budgets, at);
    uint32_t *link = &budgets->places[place_of(budgets->rows[at].key)];
    while (*link != at)
        link = &budgets->rows[*link].next;
    *link = budgets->rows[at].next;
    return at;
}

static uint32_t use_row(kedge_budgets *budgets, const uint8_t key[KEDGE_BUDGET_KEY_SIZE])
{
    uint32_t *place = &budgets->places[place_of(key)];
    uint32_t at = *place;
    while (at != NONE && memcmp(budgets->rows[at].key, key, KEDGE_BUDGET_KEY_SIZE) != 0)
        at = budgets->rows[at].next;
    if (at == NONE) {
        at = take_row(budgets);
        if (at == NONE) return NONE;
        budgets->rows[at] = (row){.next = *place};
        memcpy(budgets->rows[at].key, key, KEDGE_BUDGET_KEY_SIZE);
        for (size_t rate = 0; rate < RATES; rate++)
            budgets->rows[at].level[rate] = INT64_MAX; /* full; cut to its size when it is filled */
        *place = at;
    } else if (budgets->rows[at].uses == 0) {
        unlist(budgets, at);
    }
    budgets->rows[at].uses++;
    return at;
}

static void leave_row(kedge_budgets *budgets, uint32_t at)
{
    KEDGE_ASSERT(budgets->rows[at].uses > 0);
    if (--budgets->rows[at].uses == 0) list(budgets, at);
}

/* ---- accounts ---- */

bool kedge_budgets_open(kedge_budgets *budgets, const kedge_budget_owner *owner,
                        kedge_budget_account *account)
{
    *account = (kedge_budget_account){.budgets = budgets};
    pthread_mutex_lock(&budgets->mutex);
    account->row[0] = use_row(budgets, owner->of[0]);
    account->row[1] = account->row[0] == NONE ? NONE : use_row(budgets, owner->of[1]);
    bool opened = account->row[1] != NONE;
    if (!opened && account->row[0] != NONE) leave_row(budgets, account->row[0]);
    pthread_mutex_unlock(&budgets->mutex);
    if (!opened) *account = (kedge_budget_account){0};
    return opened;
}

kedge_budget_account kedge_budget_account_keep(const kedge_budget_account *account)
{
    kedge_budgets *budgets = account->budgets;
    if (!budgets) return *account;
    pthread_mutex_lock(&budgets->mutex);
    for (size_t scope = 0; scope < KEDGE_BUDGET_SCOPES; scope++)
        budgets->rows[account->row[scope]].uses++;
    pthread_mutex_unlock(&budgets->mutex);
    return *account;
}

void kedge_budget_account_release(kedge_budget_account *account)
{
    kedge_budgets *budgets = account->budgets;
    if (!budgets) return;
    pthread_mutex_lock(&budgets->mutex);
    for (size_t scope = 0; scope < KEDGE_BUDGET_SCOPES; scope++)
        leave_row(budgets, account->row[scope]);
    pthread_mutex_unlock(&budgets->mutex);
    *account = (kedge_budget_account){0};
}

/* ---- rates ---- */

/* What is in the bucket now. A limit of N a second brings N thousandths a millisecond. */
static int64_t fill(const kedge_budgets *budgets, row *of, size_t rate, int64_t limit)
{
    int64_t now = budgets->environment->monotonic_ms(budgets->environment->context);
    int64_t most = limit * KEDGE_BUDGET_BURST_S * TOKEN;
    int64_t passed = now - of->filled_ms[rate];
    int64_t room = most - of->level[rate];
    bool full = room <= 0 || (passed > 0 && passed > room / limit);
    of->level[rate] = full ? most : of->level[rate] + (passed > 0 ? passed * limit : 0);
    of->filled_ms[rate] = now;
    return of->level[rate];
}

static void refuse(kedge_budgets *budgets, kedge_budget budget, size_t scope, int64_t limit,
                   int64_t wait_ms, kedge_budget_refusal *refusal)
{
    kedge_budgets_refused(budgets, budget, (kedge_budget_scope)scope);
    int64_t wait_s = (wait_ms + 999) / 1000;
    if (wait_s > KEDGE_BUDGET_RETRY_MAX_S) wait_s = KEDGE_BUDGET_RETRY_MAX_S;
    *refusal = (kedge_budget_refusal){.name = kedge_budget_name(budget, (kedge_budget_scope)scope),
                                      .scope = (kedge_budget_scope)scope,
                                      .limit = limit,
                                      .retry_after_s = (int32_t)wait_s};
}

/* With the mutex held. */
static bool may_begin(const kedge_budget_account *account, kedge_budget_refusal *refusal)
{
    kedge_budgets *budgets = account->budgets;
    for (size_t i = 0; i < (size_t)RATES * KEDGE_BUDGET_SCOPES; i++) {
        size_t rate = i / KEDGE_BUDGET_SCOPES;
        size_t scope = i % KEDGE_BUDGET_SCOPES;
        int64_t limit = budgets->limits.of[rate][scope];
        if (limit == 0) continue;
        int64_t level = fill(budgets, &budgets->rows[account->row[scope]], rate, limit);
        if (level >= TOKEN) continue;
        refuse(budgets, (kedge_budget)rate, scope, limit, (TOKEN - level) / limit + 1, refusal);
        return false;
    }
    return true;
}

/* With the mutex held. */
static void charge(const kedge_budget_account *account, kedge_budget rate, int64_t count)
{
    for (size_t scope = 0; scope < KEDGE_BUDGET_SCOPES; scope++) {
        row *of = &account->budgets->rows[account->row[scope]];
        int64_t limit = account->budgets->limits.of[rate][scope];
        if (limit == 0) continue;
        fill(account->budgets, of, rate, limit);
        of->level[rate] -= count * TOKEN;
    }
}

bool kedge_budget_begin(const kedge_budget_account *account, kedge_budget_refusal *refusal)
{
    kedge_budgets *budgets = account->budgets;
    if (!budgets) return true;
    pthread_mutex_lock(&budgets->mutex);
    bool may = may_begin(account, refusal);
    if (may) charge(account, KEDGE_BUDGET_REQUESTS, 1);
    pthread_mutex_unlock(&budgets->mutex);
    return may;
}

void kedge_budget_charge(const kedge_budget_account *account, size_t bytes)
{
    if (!account->budgets || bytes == 0) return;
    pthread_mutex_lock(&account->budgets->mutex);
    charge(account, KEDGE_BUDGET_BYTES, (int64_t)bytes);
    pthread_mutex_unlock(&account->budgets->mutex);
}

/* ---- levels ---- */

/* What the account's scope may have of a level now; 0: no limit. With the mutex held. */
static int64_t level_limit(const kedge_budget_account *account, kedge_budget level, size_t scope)
{
    const kedge_budgets *budgets = account->budgets;
    int64_t limit = budgets->limits.of[level][scope];
    if (limit == 0 || level != KEDGE_BUDGET_HELD || scope != KEDGE_BUDGET_OF_ORGANIZATION)
        return limit;
    int64_t others = budgets->held - budgets->rows[account->row[scope]].level[level];
    int64_t left = KEDGE_BUDGET_HELD_POOL > others ? KEDGE_BUDGET_HELD_POOL - others : 0;
    int64_t share = left / 2 + KEDGE_BUDGET_HELD_LEAST;
    return share < limit ? share : limit;
}

/* With the mutex held. */
static void add_to_level(const kedge_budget_account *account, kedge_budget level, int64_t count)
{
    for (size_t scope = 0; scope < KEDGE_BUDGET_SCOPES; scope++) {
        int64_t *now = &account->budgets->rows[account->row[scope]].level[level];
        KEDGE_ASSERT(*now + count >= 0);
        *now += count;
    }
    if (level == KEDGE_BUDGET_HELD) account->budgets->held += count;
}

bool kedge_budget_take(const kedge_budget_account *account, kedge_budget level, size_t count,
                       kedge_budget_refusal *refusal)
{
    kedge_budgets *budgets = account->budgets;
    if (!budgets) return true;
    bool may = true;
    pthread_mutex_lock(&budgets->mutex);
    for (size_t scope = 0; scope < KEDGE_BUDGET_SCOPES && may; scope++) {
        int64_t limit = level_limit(account, level, scope);
        int64_t wanted = budgets->rows[account->row[scope]].level[level] + (int64_t)count;
        may = limit == 0 || wanted <= limit;
        if (!may) refuse(budgets, level, scope, limit, KEDGE_BUDGET_LEVEL_RETRY_MS, refusal);
    }
    if (may) add_to_level(account, level, (int64_t)count);
    pthread_mutex_unlock(&budgets->mutex);
    return may;
}

void kedge_budget_give(const kedge_budget_account *account, kedge_budget level, size_t count)
{
    kedge_budgets *budgets = account->budgets;
    if (!budgets || count == 0) return;
    pthread_mutex_lock(&budgets->mutex);
    add_to_level(account, level, -(int64_t)count);
    pthread_mutex_unlock(&budgets->mutex);
}

void kedge_budgets_refused(kedge_budgets *budgets, kedge_budget budget, kedge_budget_scope scope)
{
    atomic_fetch_add(&budgets->refused[budget][scope], 1);
}

void kedge_budgets_refused_named(kedge_budgets *budgets, const char *name)
{
    for (size_t i = 0; i < OF_BACKEND; i++)
        if (strcmp(name, of_backend[i]) == 0) atomic_fetch_add(&budgets->refused_of_backend[i], 1);
}

static void write_refusals(kedge_buffer *out, const char *name, atomic_uint_fast64_t *count)
{
    kedge_buffer_append_format(out, "kedge_budget_refusals_total{budget=\"%s\"} %llu\n", name,
                               (unsigned long long)atomic_load(count));
}

void kedge_budgets_write_metrics(kedge_budgets *budgets, kedge_buffer *out)
{
    kedge_buffer_append_text(out, "# TYPE kedge_budget_refusals_total counter\n");
    for (size_t i = 0; i < (size_t)KEDGE_BUDGETS * KEDGE_BUDGET_SCOPES; i++) {
        kedge_budget budget = (kedge_budget)(i / KEDGE_BUDGET_SCOPES);
        kedge_budget_scope scope = (kedge_budget_scope)(i % KEDGE_BUDGET_SCOPES);
        write_refusals(out, kedge_budget_name(budget, scope), &budgets->refused[budget][scope]);
    }
    for (size_t i = 0; i < OF_BACKEND; i++)
        write_refusals(out, of_backend[i], &budgets->refused_of_backend[i]);
}
