/* Logs over a world of the backend's tests: what is appended, read and shown as text. */
#ifndef KEDGE_TESTS_LOG_LOG_WORLD_H
#define KEDGE_TESTS_LOG_LOG_WORLD_H

#include "tests/backend/world.h"

#include "backend/api/api.h"
#include "backend/log/layout.h"
#include "backend/log/log.h"
#include "backend/log/record.h"
#include "backend/log/segments.h"

/* Stale reads need two copies of the records, which memory alone has. */
#ifdef KEDGE_TEST_DYNAMODB
#define OVER_REPLICA(test)                                                                         \
    {                                                                                              \
#test " (left out)", ((CMUnitTestFunction[]){log_nothing_to_test, test})[0], NULL, NULL,   \
                                                                                 NULL              \
    }
#else
#define OVER_REPLICA(test) OVER_MEMORY(test)
#endif
void log_nothing_to_test(void **state);

/* The log "journal" of the project acme/notes, by the world's backend or another one. Lives until
 * 64 others were asked for. */
const kedge_log *journal(test_world *world);
const kedge_log *journal_of(kedge_backend *backend);
/* Another log of it. */
const kedge_log *log_named(test_world *world, const char *name);

/* Creates it; it must not be there. */
const kedge_log *journal_new(test_world *world);

/* Appends an entry of the type "set" with the body at the end; gives its number. */
int64_t log_add(const kedge_log *log, const char *body);
/* The same at an expected number. */
kedge_status log_add_at(const kedge_log *log, int64_t expected, const char *body,
                        kedge_log_append_result *result, kedge_error *error);
/* Sets a snapshot at an entry; must succeed. */
void log_snap(const kedge_log *log, int64_t number, const char *snapshot);
/* Ends the current segment; gives the number of the new one's Snapshot entry. */
int64_t log_roll(const kedge_log *log);

/* What the reader gives from where it stands to its end, or to its first error: each entry as
 * "number type body", with "@segment.num" when `places`, joined by "|"; an error as "!code". Pages
 * have `limit` entries. Lives until the next call but 15. */
const char *log_text(kedge_log_reader *reader, uint32_t limit, bool places);
/* The whole log, up. */
const char *log_all(const kedge_log *log);
/* Load and the rest of what it gives. */
const char *log_loaded(const kedge_log *log);
/* The message of the error that the last of these ended with. */
const char *log_error_message(void);

/* Puts the record of an entry, or removes it, behind the back of the backend. */
void log_put_entry(test_world *world, const kedge_log *log, const kedge_log_entry *entry);
void log_remove_entry(test_world *world, const kedge_log *log, int64_t segment, int64_t num);
kedge_log_segment log_segment(const kedge_log *log, int64_t num);
void log_put_segment(test_world *world, const kedge_log *log, const kedge_log_segment *segment);
/* How many entries of the log have the id. */
int log_count_id(const kedge_log *log, const uint8_t id[KEDGE_LOG_ID_SIZE]);

#endif
