/* kedge-bench [--json] [--backlog] [--server PROGRAM]: the benchmarks of the client, one table, or
 * those of a backlog. */
#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    bool json = false;
    bool backlog = false;
    const char *server = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            json = true;
        } else if (strcmp(argv[i], "--backlog") == 0) {
            backlog = true;
        } else if (strcmp(argv[i], "--server") == 0 && i + 1 < argc) {
            server = argv[++i];
        } else {
            fprintf(stderr, "usage: kedge-bench [--json] [--backlog] [--server PROGRAM]\n");
            return 2;
        }
    }
    if (backlog && !server) {
        fprintf(stderr, "kedge-bench: --backlog needs --server\n");
        return 2;
    }
    if (backlog) return bench_backlog(server, json) ? 0 : 1;
    if (!json) {
        printf("%-52s %10s %-8s %10s %7s  %-12s\n", "median", "value", "unit", "floor", "ratio",
               "target");
    }
    bench_row rows[16];
    size_t count = bench_writes(rows);
    count += bench_pulls(rows + count);
    count += bench_rebases(rows + count);
    count += bench_reads(rows + count);
    if (server) count += bench_confirmations(rows + count, server);
    bool met = true;
    for (size_t i = 0; i < count; i++)
        met = bench_print(&rows[i], json) && met;
    return met ? 0 : 1;
}
