/* kedge-bench [--json] [--backlog] [--only ROWS] [--server PROGRAM]: the benchmarks of the client,
 * in one table: all but those of a backlog, those of a backlog, or those of one kind. */
#include "bench/bench.h"

#include <stdio.h>
#include <string.h>

#define ROWS_MAX 16

typedef struct bench_kind {
    const char *name;
    size_t (*measure)(bench_row *rows); /* up to ROWS_MAX */
} bench_kind;

static const bench_kind kinds[] = {
    {"writes", bench_writes},   {"mutators", bench_mutators}, {"pulls", bench_pulls},
    {"rebases", bench_rebases}, {"reads", bench_reads},
};
#define KINDS (sizeof kinds / sizeof kinds[0])

typedef struct bench_request {
    bool json;
    bool backlog;
    const char *only;   /* NULL: all kinds */
    const char *server; /* NULL: what needs one is left out */
} bench_request;

static bool is_asked(const bench_request *asked, const char *kind)
{
    return !asked->only || strcmp(asked->only, kind) == 0;
}

static bool print_all(const bench_row *rows, size_t count, bool json)
{
    bool met = true;
    for (size_t i = 0; i < count; i++)
        met = bench_print(&rows[i], json) && met;
    (void)fflush(stdout);
    return met;
}

static bool measure(const bench_request *asked)
{
    bench_row rows[ROWS_MAX];
    bool met = true;
    if (!asked->json) bench_print_head();
    for (size_t i = 0; i < KINDS; i++)
        if (is_asked(asked, kinds[i].name))
            met = print_all(rows, kinds[i].measure(rows), asked->json) && met;
    if (asked->server && is_asked(asked, "confirmations"))
        met = print_all(rows, bench_confirmations(rows, asked->server), asked->json) && met;
    return met;
}

static int refuse(void)
{
    (void)fprintf(stderr, "usage: kedge-bench [--json] [--server PROGRAM] [--only writes | "
                          "mutators | pulls | rebases | reads | confirmations]\n"
                          "       kedge-bench [--json] --server PROGRAM --backlog\n");
    return 2;
}

static bool is_kind(const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(kinds[i].name, name) == 0) return true;
    return strcmp(name, "confirmations") == 0;
}

int main(int argc, char **argv)
{
    bench_request asked = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--json") == 0)
            asked.json = true;
        else if (strcmp(argv[i], "--backlog") == 0)
            asked.backlog = true;
        else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc)
            asked.only = argv[++i];
        else if (strcmp(argv[i], "--server") == 0 && i + 1 < argc)
            asked.server = argv[++i];
        else
            return refuse();
    }
    if ((asked.only && !is_kind(asked.only)) || (asked.backlog && !asked.server)) return refuse();
    return (asked.backlog ? bench_backlog(asked.server, asked.json) : measure(&asked)) ? 0 : 1;
}
