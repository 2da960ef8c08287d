/* A kedge-server as a child process: in open mode, on a port of its own, ended with its parent. */
#ifndef KEDGE_TESTS_SUPPORT_SERVER_PROCESS_H
#define KEDGE_TESTS_SUPPORT_SERVER_PROCESS_H

#include <sys/types.h>

typedef struct server_process {
    pid_t pid;
    char url[128];
} server_process;

/* Starts `program` on the data folder `data` and returns when it is ready. A server that does not
 * start ends the program with exit code 3 and a sentence. */
void server_process_start(server_process *server, const char *program, const char *data);
/* The same with the mutators of a plugin; NULL: with the built-in ones alone. */
void server_process_start_with(server_process *server, const char *program, const char *data,
                               const char *plugin);
/* Ends it as SIGTERM does, and waits. A server that was not started is left alone. */
void server_process_stop(server_process *server);

#endif
