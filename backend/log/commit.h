/* What the writing operations share: entries that are about to be written, and the look at a place
 * after a write with an unknown outcome. */
#ifndef KEDGE_BACKEND_LOG_COMMIT_H
#define KEDGE_BACKEND_LOG_COMMIT_H

#include "backend/log/record.h"

/* A random id. */
void kedge_log_new_id(const kedge_log *log, uint8_t id[KEDGE_LOG_ID_SIZE]);

/* An entry of a type of the log, at a place, made now. */
kedge_log_entry kedge_log_system_entry(const kedge_log *log, const char *type, int64_t segment,
                                       int64_t num);

/* What is at the place where an entry with this id may have been written. */
typedef enum kedge_log_occupant {
    KEDGE_LOG_FREE, /* nothing; the write may still come */
    KEDGE_LOG_OWN,
    KEDGE_LOG_OTHER /* the write can never come any more */
} kedge_log_occupant;

/* By a consistent read. */
kedge_status kedge_log_look(const kedge_log *log, const kedge_log_segment *segment, int64_t num,
                            const uint8_t id[KEDGE_LOG_ID_SIZE], kedge_log_occupant *occupant,
                            kedge_error *error);

/* The failure of an operation that has used up its tries. */
kedge_status kedge_log_give_up(const char *what, const kedge_error *last, kedge_error *error);

/* Tells the option `appended`. */
void kedge_log_tell(const kedge_log *log, int64_t number);

#endif
