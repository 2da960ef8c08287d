/* A kedge-server for a benchmark: on loopback, open to all, ended with the benchmark. */
#ifndef KEDGE_BENCH_SERVER_H
#define KEDGE_BENCH_SERVER_H

#include <stddef.h>
#include <sys/types.h>

/* Starts the program on a free port, over `folder`; its address goes into `url`. */
pid_t bench_start_server(const char *program, const char *folder, char *url, size_t url_size);
/* Ends it, and gives the seconds of CPU that it took. */
double bench_stop_server(pid_t server);

#endif
