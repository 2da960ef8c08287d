/* Running mutations: a savepoint each, and the decision what its end means. */
#include "mutate/transaction.h"

#include "common/assert.h"
#include "common/error.h"
#include "common/json.h"
#include "common/names.h"
#include "mutate/transaction_internal.h"

#include <kedge/limits.h>
#include <string.h>

static kedge_status run_part(kedge_tx *tx, kedge_bytes name, kedge_bytes args, kedge_error *error);

kedge_status kedge_tx_new(const kedge_allocator *allocator, const kedge_registry *registry,
                          kedge_overlay *overlay, kedge_state_reader reader, kedge_tx **tx,
                          kedge_error *error)
{
    kedge_tx *made = kedge_allocate(allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = allocator;
    made->registry = registry;
    made->run_part = run_part;
    made->overlay = overlay;
    made->view = (kedge_overlay_view){overlay, reader};
    made->ids[0] = made->ids[1] = kedge_buffer_make(allocator);
    made->values[0] = made->values[1] = kedge_buffer_make(allocator);
    made->canonical = made->args = kedge_buffer_make(allocator);
    *tx = made;
    return KEDGE_OK;
}

void kedge_tx_free(kedge_tx *tx)
{
    if (tx == NULL) return;
    kedge_buffer_free(&tx->ids[0]);
    kedge_buffer_free(&tx->ids[1]);
    kedge_buffer_free(&tx->values[0]);
    kedge_buffer_free(&tx->values[1]);
    kedge_buffer_free(&tx->canonical);
    kedge_buffer_free(&tx->args);
    kedge_release(tx->allocator, tx);
}

uint64_t kedge_tx_passed_over(const kedge_tx *tx)
{
    return tx->passed_over;
}

void kedge_tx_set_accept(kedge_tx *tx, kedge_tx_accept accept, void *context)
{
    tx->accept = accept;
    tx->accept_context = context;
}

/* ---- before the mutator ---- */

static kedge_status find_mutator(const kedge_tx *tx, kedge_bytes name,
                                 const kedge_mutator **mutator, kedge_error *error)
{
    *mutator = kedge_registry_find(tx->registry, name);
    if (*mutator != NULL) return KEDGE_OK;
    kedge_error why = {0};
    if (kedge_check_name("mutator", name, &why) != KEDGE_OK) {
        return kedge_fail(error, KEDGE_REJECTED, "mutator-unknown", "%s", why.message);
    }
    return kedge_fail(error, KEDGE_REJECTED, "mutator-unknown", "there is no mutator \"%.*s\" here",
                      (int)name.size, name.data);
}

/* Makes the args canonical, into tx->args. */
static kedge_status take_args(kedge_tx *tx, const kedge_call *call, kedge_error *error)
{
    kedge_error why = {0};
    kedge_bytes args = call->args;
    if (args.size == 0) args = KEDGE_BYTES("null");
    kedge_buffer_clear(&tx->args);
    if (call->args_are_canonical) {
        KEDGE_ASSERT(args.size <= KEDGE_LIMIT_ARGS_BYTES);
        kedge_buffer_append_bytes(&tx->args, args);
        return kedge_buffer_status(&tx->args, error);
    }
    kedge_status status = kedge_json_normalize(args, KEDGE_LIMIT_JSON_DEPTH, &tx->args, &why);
    if (status == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (status != KEDGE_OK) {
        return kedge_fail(error, KEDGE_REJECTED, "args-invalid", "the args: %s", why.message);
    }
    if (tx->args.size > KEDGE_LIMIT_ARGS_BYTES) {
        return kedge_fail(error, KEDGE_REJECTED, "args-too-large",
                          "the args are %zu bytes as canonical JSON; at most %d are allowed",
                          tx->args.size, KEDGE_LIMIT_ARGS_BYTES);
    }
    return KEDGE_OK;
}

static void begin(kedge_tx *tx, const kedge_call *call)
{
    tx->call = call;
    tx->operations = tx->bytes = tx->passed_over = 0;
    tx->postponed = tx->over = tx->rejection = tx->last = (kedge_error){0};
    tx->mark = kedge_overlay_set_mark(tx->overlay);
}

/* ---- after it ---- */

static bool is_code(const char *code)
{
    size_t size = strspn(code, "abcdefghijklmnopqrstuvwxyz0123456789-");
    return size > 0 && code[size] == '\0';
}

/* Why the mutator refused: what it said last about the status that it returned. Lack of memory is
 * never a rejection: the next try may have it. */
static kedge_status refuse(const kedge_tx *tx, const kedge_mutator *mutator, kedge_status returned,
                           const kedge_error *told, kedge_error *error)
{
    const kedge_error *reason = told;
    if (returned == KEDGE_NO_MEMORY) return kedge_fail_no_memory(error);
    if (returned == KEDGE_REJECTED && tx->rejection.status != KEDGE_OK) {
        reason = &tx->rejection;
    } else if (told->status != returned && tx->last.status == returned) {
        reason = &tx->last;
    }
    if (reason->status == returned && is_code(reason->code)) {
        return kedge_fail(error, KEDGE_REJECTED, reason->code, "%s", reason->message);
    }
    return kedge_fail(error, KEDGE_REJECTED, "mutator-failed",
                      "the mutator \"%s\" failed (%s) without a valid code", mutator->name,
                      kedge_status_name(returned));
}

static kedge_status conclude(kedge_tx *tx, const kedge_mutator *mutator, kedge_status returned,
                             const kedge_error *told, kedge_error *error)
{
    if (tx->postponed.status != KEDGE_OK) {
        return kedge_fail(error, tx->postponed.status, tx->postponed.code, "%s",
                          tx->postponed.message);
    }
    if (tx->over.status != KEDGE_OK) {
        return kedge_fail(error, KEDGE_REJECTED, tx->over.code, "%s", tx->over.message);
    }
    if (returned != KEDGE_OK) return refuse(tx, mutator, returned, told, error);
    if (tx->accept == NULL) return KEDGE_OK;
    return tx->accept(tx->accept_context, tx->overlay, tx->mark, error);
}

static kedge_status run_part(kedge_tx *tx, kedge_bytes name, kedge_bytes args, kedge_error *error)
{
    const kedge_mutator *mutator;
    kedge_error told = {0};
    KEDGE_ASSERT(tx->call != NULL && error != NULL);
    kedge_status status = find_mutator(tx, name, &mutator, error);
    if (status != KEDGE_OK) return status;
    tx->rejection = tx->last = (kedge_error){0};
    kedge_status returned = mutator->function(tx, args.data, args.size, mutator->userdata, &told);
    if (tx->postponed.status != KEDGE_OK || tx->over.status != KEDGE_OK) {
        *error = tx->postponed.status != KEDGE_OK ? tx->postponed : tx->over;
        return error->status;
    }
    return returned == KEDGE_OK ? KEDGE_OK : refuse(tx, mutator, returned, &told, error);
}

kedge_status kedge_tx_run(kedge_tx *tx, const kedge_call *call, kedge_error *error)
{
    const kedge_mutator *mutator;
    kedge_status status = find_mutator(tx, call->name, &mutator, error);
    if (status == KEDGE_OK) status = take_args(tx, call, error);
    if (status != KEDGE_OK) return status;

    kedge_error told = {0};
    begin(tx, call);
    kedge_status returned =
        mutator->function(tx, tx->args.data, tx->args.size, mutator->userdata, &told);
    status = conclude(tx, mutator, returned, &told, error);
    if (status == KEDGE_OK) {
        kedge_overlay_release(tx->overlay, tx->mark);
    } else {
        kedge_overlay_rollback(tx->overlay, tx->mark);
    }
    tx->call = NULL;
    return status;
}
