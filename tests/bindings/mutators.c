/* The client-only mutators of the scenarios, but that of tests/support/append_line.c. stock.take,
 * which the server has, too, is that of docs/how-to/write-a-mutator.c. */
#include "tests/bindings/runner.h"
#include "tests/support/append_line.h"

#include <stdio.h>
#include <string.h>

KEDGE_API const kedge_mutator *kedge_plugin_mutators(size_t *count);

/* log.sign {}: the project record gets the caller as `by` and one more as `signed`; the item
 * "log"/"last" goes. */
static kedge_status sign_log(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error)
{
    (void)args;
    (void)args_size;
    (void)userdata;
    char record[256];
    const char *value = "{}";
    size_t size = 2;
    int64_t count = 0;
    kedge_status status = kedge_tx_get_project(tx, &value, &size, error);
    if (status != KEDGE_OK && status != KEDGE_NOT_FOUND) return status;
    if (status == KEDGE_OK) (void)kedge_args_integer(value, size, "signed", &count, NULL);
    const kedge_caller *caller = kedge_tx_caller(tx);
    int length = snprintf(record, sizeof record, "{\"by\":\"%s/%s\",\"signed\":%d}", caller->user,
                          caller->role, (int)count + 1);
    status = kedge_tx_put_project(tx, record, (size_t)length, error);
    if (status != KEDGE_OK) return status;
    return kedge_tx_delete(tx, "log", "last", 4, error);
}

/* log.fail {}: fails as a mutator of this language fails by mistake, after it has written. */
static kedge_status fail_log(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error)
{
    (void)args;
    (void)args_size;
    (void)userdata;
    kedge_status status = kedge_tx_put(tx, "log", "failed", 6, "true", 4, error);
    return status == KEDGE_OK ? KEDGE_INTERNAL : status;
}

static const kedge_mutator mutators[] = {
    {"log.sign", 1, sign_log, NULL},
    {"log.fail", 1, fail_log, NULL},
};

kedge_mutator runner_mutator(const char *name)
{
    size_t count = 0;
    const kedge_mutator *of_the_server = kedge_plugin_mutators(&count);
    if (strcmp(of_the_server->name, name) == 0) return *of_the_server;
    if (strcmp(append_line_mutator.name, name) == 0) return append_line_mutator;
    for (size_t i = 0; i < sizeof mutators / sizeof mutators[0]; i++)
        if (strcmp(mutators[i].name, name) == 0) return mutators[i];
    runner_fail("no such mutator", name);
}
