/* every_call_test: an app's mutators, which call every function that a mutator has. */
#include "tests/runtime/every_call.h"

#include <kedge/cjson.h>
#include <kedge/order.h>

static kedge_status refuse(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                           kedge_error *error)
{
    (void)userdata;
    return kedge_tx_put(tx, "notes", "local", 5, args, args_size, error);
}

static kedge_status use_transaction(kedge_tx *tx, const char *args, size_t args_size,
                                    void *userdata, kedge_error *error)
{
    const char *id, *value;
    size_t id_size, value_size;
    char text[32], key[KEDGE_ORDER_KEY_SIZE];
    int64_t number = 0;
    (void)userdata;
    kedge_status status =
        kedge_args_text(args, args_size, "text", text, sizeof text, &id_size, error);
    if (status == KEDGE_OK) status = kedge_args_integer(args, args_size, "number", &number, error);
    if (status == KEDGE_OK) status = kedge_tx_get(tx, "notes", "a", 1, &value, &value_size, error);
    if (status == KEDGE_OK)
        status = kedge_tx_next(tx, "notes", NULL, 0, &id, &id_size, &value, &value_size, error);
    if (status == KEDGE_OK) status = kedge_order_between(NULL, NULL, 0, key, error);
    if (status == KEDGE_OK) status = kedge_tx_put(tx, "notes", "d", 1, "{\"d\":1}", 7, error);
    if (status == KEDGE_OK) status = kedge_tx_delete(tx, "notes", "b", 1, error);
    if (status == KEDGE_OK) status = kedge_tx_put_project(tx, "{\"title\":\"x\"}", 13, error);
    if (status == KEDGE_OK) status = kedge_tx_get_project(tx, &value, &value_size, error);
    if (status == KEDGE_OK && kedge_tx_caller(tx)->client[0] == '\0')
        return kedge_tx_reject(tx, "no-client", "the client has no id", error);
    return status;
}

static kedge_status use_trees(kedge_tx *tx, const cJSON *args, void *userdata, kedge_error *error)
{
    cJSON *edited = NULL, *read = NULL;
    int64_t whole = 0;
    double number = 0;
    bool yes = false;
    (void)userdata;
    kedge_status status = kedge_tx_edit_json(tx, "notes", "a", &edited, error);
    if (status == KEDGE_OK) status = kedge_member_set_number(edited, "n", 1.5, error);
    if (status == KEDGE_OK) status = kedge_member_set_boolean(edited, "b", true, error);
    if (status == KEDGE_OK)
        status = kedge_member_set_text(edited, "text", kedge_member_text(args, "text"), error);
    if (status == KEDGE_OK) status = kedge_member_set(edited, "list", cJSON_CreateArray(), error);
    if (status == KEDGE_OK) status = kedge_member_integer(args, "number", &whole, error);
    if (status == KEDGE_OK) status = kedge_member_number(args, "number", &number, error);
    if (status == KEDGE_OK) status = kedge_member_boolean(args, "yes", &yes, error);
    if (status == KEDGE_OK)
        status = kedge_tx_patch_json(tx, "notes", "b", cJSON_GetObjectItem(args, "patch"), error);
    if (status == KEDGE_OK)
        status = kedge_tx_call_json(tx, "kedge.put", cJSON_GetObjectItem(args, "put"), error);
    if (status == KEDGE_OK) status = kedge_tx_get_json(tx, "notes", "b", &read, error);
    if (status == KEDGE_OK) status = kedge_tx_put_json(tx, "notes", "copy", read, error);
    if (status == KEDGE_OK) status = kedge_tx_merge_json(tx, "notes", "merged", args, error);
    cJSON_Delete(read);
    return status;
}

static const kedge_mutator mutators[] = {
    {"app.refused", 1, refuse, NULL},
    {"app.transaction", 1, use_transaction, NULL},
    KEDGE_JSON_MUTATOR("app.trees", 1, use_trees),
};

static const kedge_mutator client_mutators[] = {{"app.client_only", 1, use_transaction, NULL}};

void every_call_add_mutators(kedge_options *options)
{
    options->mutators = mutators;
    options->mutator_count = sizeof mutators / sizeof *mutators;
    options->client_mutators = client_mutators;
    options->client_mutator_count = 1;
}
