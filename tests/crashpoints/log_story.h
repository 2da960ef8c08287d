/* What two processors do to one log, from a state that each story prepares. */
#ifndef KEDGE_TESTS_CRASHPOINTS_LOG_STORY_H
#define KEDGE_TESTS_CRASHPOINTS_LOG_STORY_H

#include "backend/log/log.h"

#define LOG_STEPS_MAX 2

typedef enum log_step_kind {
    STEP_NONE,
    STEP_CREATE,
    STEP_APPEND,   /* at the end */
    STEP_EXPECT,   /* at `number` */
    STEP_LARGE,    /* at the end, with a body that is a blob */
    STEP_ROLL,     /* a new segment */
    STEP_SNAPSHOT, /* at `number` */
    STEP_ARCHIVE,  /* segment `number` */
    STEP_TRUNCATE  /* before `number` */
} log_step_kind;

typedef struct log_step {
    log_step_kind kind;
    uint8_t id; /* of an append */
    int64_t number;
} log_step;

typedef struct log_answer {
    kedge_status status;
    bool conflict;
    int64_t number;
} log_answer;

typedef struct log_story {
    /* Done before: c creates, a appends, s makes a snapshot of the last entry, r ends the
     * segment. */
    const char *before;
    log_step first[LOG_STEPS_MAX];
    log_step second[LOG_STEPS_MAX];
} log_story;

extern const log_story log_stories[];

kedge_status log_story_prepare(const log_story *told, const kedge_log *log, int64_t *next,
                               kedge_error *error);
/* Does it, once. `since`: the next number when the story began. */
log_answer log_story_do(const log_step *wanted, const kedge_log *log, int64_t since);

#endif
