/* A reader of a stream over ports that may fail, and what its handler saw: what the tests of the
 * reader share. */
#ifndef KEDGE_TESTS_EFFECTS_READER_WORLD_H
#define KEDGE_TESTS_EFFECTS_READER_WORLD_H

#include "backend/effects/reader.h"
#include "tests/ports/stream_table.h"

#define ROUNDS_MAX 300
#define RECORDS    8
#define PARTITION  "Log#"

/* The one that the tests run over at the moment. */
extern const stream_implementation *current;

/* What the handler saw: of each record the newest number, and how often an older one came again. */
typedef struct seen_changes {
    int64_t newest[RECORDS];
    size_t handled;
    size_t repeated;
    size_t expired;
    size_t damaged; /* of them */
    int64_t expired_since_ms;
    size_t fail_behind; /* handles so many changes and fails; 0: never */
} seen_changes;

/* Ports whose n-th call fails, before it takes effect or after that. */
typedef struct faults {
    const kedge_records *records;
    const kedge_stream *stream;
    size_t calls;
    size_t fail_at; /* 0: never */
    bool behind;
} faults;

typedef struct fixture {
    world around;
    stream_ports ports;
    kedge_error error;
    faults faults;
    kedge_records records; /* with faults */
    kedge_stream stream;
    seen_changes seen;
    int64_t written[RECORDS];
    uint32_t batch; /* changes a read */
} fixture;

/* The handler; its context is a seen_changes. */
kedge_status handle(void *context, const kedge_stream_change *changes, size_t count,
                    size_t *handled, kedge_error *error);
extern const kedge_stream_pattern pattern;

/* Another number into the record. */
void put(fixture *f, int record);
kedge_stream_reader *make_reader(fixture *f);
bool all_seen(const fixture *f);
/* Rounds until everything that was written was handled. */
void read_all(fixture *f, kedge_stream_reader *reader);
void pass_time(fixture *f, int64_t ms);
/* How many records there are about changes that are missing. */
size_t count_expired_records(fixture *f);

int reader_start(void **state);
int reader_end(void **state);
#define READER(test) cmocka_unit_test_setup_teardown(test, reader_start, reader_end)
/* Over every implementation that the program was linked with; gives what main returns. */
int reader_run(const struct CMUnitTest *tests, size_t count);

#endif
