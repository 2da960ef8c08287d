/* The app's mutators on the server: a plugin library that runs in supervised child processes.
 *
 * The server does not load the library. Child processes do: the program executes itself again with
 * --mutator-child, confines itself and loads the library. Each mutation goes to one idle child over
 * a socket. The child runs it with a transaction of its own, whose reads come back over the socket,
 * and sends the changes. A child that ends, exceeds a limit or sends an invalid frame is killed and
 * replaced. This affects only the mutation that it ran:
 *   - "mutator-crashed": the process ended or sent an invalid frame. The system may have killed it,
 *     for example when memory was short, or an earlier mutation may have damaged it. So the
 *     mutation is tried again on another child, and rejected when it has ended KEDGE_PLUGIN_TRIES
 *     children, not counting a first one that had run other mutations before.
 *   - "mutator-timeout": more CPU or more time than allowed. The time that the server takes to
 *     answer reads does not count.
 * When no child can be started (again), a mutation fails with KEDGE_UNAVAILABLE, undecided. */
#ifndef KEDGE_BACKEND_PLUGIN_H
#define KEDGE_BACKEND_PLUGIN_H

#include "common/environment.h"

#include <kedge/mutator.h>

#define KEDGE_PLUGIN_CHILDREN_MAX      64
#define KEDGE_PLUGIN_LOAD_MS_MAX       10000 /* for a child to load the library and say hello */
#define KEDGE_PLUGIN_MEMORY_BYTES_MAX  1073741824 /* address space of a child: 1 GiB */
#define KEDGE_PLUGIN_FILES_MAX         64         /* that a child may have open */
#define KEDGE_PLUGIN_TRIES             3          /* children that a mutation may end */
#define KEDGE_PLUGIN_LOOK_MS           100        /* between two looks at the thread's deadline */
#define KEDGE_PLUGIN_CHANGES_BYTES_MAX 134217728  /* of a mutation, as they are sent: 128 MiB */

typedef struct kedge_plugin_options {
    int64_t cpu_ms_max;  /* per mutation */
    int64_t wall_ms_max; /* per mutation; also how long one waits for an idle child */
    uint32_t children;   /* 1 to KEDGE_PLUGIN_CHILDREN_MAX, each started when it is needed:
                          * mutations that run at once; the others wait in their order */
    /* NULL, or called when a mutator has crashed or taken too long, with the error of the
     * rejection. Any thread; texts are borrowed. */
    void (*failed)(void *context, const char *mutator, const kedge_error *error);
    void *failed_context;
} kedge_plugin_options;

#define KEDGE_PLUGIN_OPTIONS_INIT                                                                  \
    {                                                                                              \
        .cpu_ms_max = 2000, .wall_ms_max = 5000, .children = 8                                     \
    }

typedef struct kedge_plugin kedge_plugin;

/* Starts the children and learns the mutators' names and versions. KEDGE_INVALID_ARGUMENT, with the
 * reason, when the library cannot be loaded, exports no KEDGE_PLUGIN_ENTRY or brings a bad mutator.
 * The environment must outlive the plugin. */
kedge_status kedge_plugin_start(const kedge_environment *environment, const char *library_path,
                                const kedge_plugin_options *options, kedge_plugin **plugin,
                                kedge_error *error);
/* Ends and reaps all children. NULL is allowed. No mutation may be running. */
void kedge_plugin_stop(kedge_plugin *plugin);

/* The mutators, for kedge_registry_new: any number of threads may call them at once. They live as
 * long as the plugin. */
void kedge_plugin_mutators(const kedge_plugin *plugin, const kedge_mutator **mutators,
                           size_t *count);

/* Call it first in main. Returns -1 in the program itself; in a child it runs the child, and
 * returns its exit code. The program must export its symbols, since the plugin takes the functions
 * of <kedge/mutator.h> from it. */
int kedge_plugin_child_dispatch(int argc, char **argv);

#endif
