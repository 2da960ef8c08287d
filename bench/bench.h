/* What the benchmark programs share: clocks, medians, and rows of a table.
 *
 * A figure is a ratio to a floor or a peer that ran in the same program at the same time, in
 * alternating blocks, so that a machine's noise falls on both. */
#ifndef KEDGE_BENCH_H
#define KEDGE_BENCH_H

#include "common/environment.h"

/* One row of the table. A `target` of 0 means that the row is for information. A floor is measured
 * beside the row, in the same run. */
typedef struct bench_row {
    const char *name;
    double value;
    const char *unit;
    double floor; /* the same measure of the floor; 0: none */
    double ratio; /* value : floor, so that more is better; 0: none */
    double target;
    bool target_is_ratio;   /* the target is for the ratio; else for the value */
    bool target_is_ceiling; /* at most, not at least */
    const char *see;        /* what explains a target that is missed; NULL: nothing */
} bench_row;

double bench_now_ms(void);
double bench_cpu_ms(void);                         /* of this thread: for what waits for nothing */
double bench_process_cpu_ms(void);                 /* of all threads of this process */
double bench_median(double *values, size_t count); /* sorts them */
double bench_percentile(double *values, size_t count, double part);
/* Prints the row, as a line of the table or as a JSON object; returns whether it met its target. */
bool bench_print(const bench_row *row, bool json);
/* Prints the heads of the columns. */
void bench_print_head(void);
/* A fresh folder below TMPDIR; removed by bench_remove_folder. */
void bench_make_folder(char *path, size_t size);
void bench_remove_folder(const char *path);
/* Ends the program with a message when `status` is not KEDGE_OK. */
void bench_check(kedge_status status, const kedge_error *error, const char *what);

/* Each fills up to 16 rows and returns how many. */
size_t bench_writes(bench_row *rows);
size_t bench_mutators(bench_row *rows);
size_t bench_pulls(bench_row *rows);
size_t bench_rebases(bench_row *rows);
size_t bench_reads(bench_row *rows);
size_t bench_confirmations(bench_row *rows, const char *server_program);

/* Where rows of the client that miss their target are explained. */
#define BENCH_SEE_SPEED "docs/explanation/speed.md"
/* Prints its own table; returns whether all targets were met. */
bool bench_backlog(const char *server_program, bool json);

#endif
