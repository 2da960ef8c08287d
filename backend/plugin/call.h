/* One mutation on one mutator process. */
#ifndef KEDGE_BACKEND_PLUGIN_CALL_H
#define KEDGE_BACKEND_PLUGIN_CALL_H

#include "backend/plugin/process.h"
#include "mutate/transaction.h"

typedef struct kedge_plugin_call {
    kedge_tx *tx;
    const char *name;
    kedge_bytes args;
    const kedge_environment *environment;
    const kedge_plugin_options *options;
} kedge_plugin_call;

/* KEDGE_TALK_OK: the process can run another mutation, and `status` and `error` are what the
 * mutator must return. Otherwise the process must be ended, and the transaction is as before. */
kedge_talk kedge_plugin_call_run(kedge_plugin_call *call, kedge_process *process,
                                 kedge_status *status, kedge_error *error);

#endif
