/* The stories of logs. */
#include "tests/crashpoints/log_story.h"

#include "tests/crashpoints/log_run.h"

#include <string.h>

#define BODY_BYTES 20000

const log_story log_stories[] = {
    {"", {{STEP_CREATE, 0, 0}}, {{STEP_CREATE, 0, 0}}},
    {"c", {{STEP_APPEND, 'a', 0}}, {{STEP_APPEND, 'b', 0}}},
    {"c", {{STEP_APPEND, 'a', 0}}, {{STEP_APPEND, 'a', 0}}},
    {"ca", {{STEP_EXPECT, 'a', 2}}, {{STEP_EXPECT, 'b', 2}}},
    {"c", {{STEP_LARGE, 'a', 0}}, {{STEP_LARGE, 'b', 0}}},
    {"cas", {{STEP_APPEND, 'a', 0}}, {{STEP_ROLL, 0, 0}}},
    {"cas", {{STEP_EXPECT, 'a', 2}, {STEP_APPEND, 'b', 0}}, {{STEP_ROLL, 0, 0}}},
    {"cas", {{STEP_ROLL, 0, 0}}, {{STEP_ROLL, 0, 0}}},
    {"caaa", {{STEP_SNAPSHOT, 0, 1}}, {{STEP_SNAPSHOT, 0, 3}}},
    {"caa", {{STEP_SNAPSHOT, 0, 1}, {STEP_ROLL, 0, 0}}, {{STEP_APPEND, 'a', 0}}},
    {"casrasra", {{STEP_ARCHIVE, 0, 0}}, {{STEP_ARCHIVE, 0, 0}}},
    {"casrasra", {{STEP_ARCHIVE, 0, 0}}, {{STEP_TRUNCATE, 0, 4}}},
    {"casrasa", {{STEP_TRUNCATE, 0, 4}}, {{STEP_APPEND, 'a', 0}}},
};

static const char *const names[] = {
    "two create",
    "two append",
    "one append comes twice",
    "two append at the same number",
    "two append large bodies",
    "one appends, another ends the segment",
    "one appends twice, another ends the segment",
    "two end the segment",
    "two set snapshots",
    "one sets a snapshot and ends the segment, another appends",
    "two archive a segment",
    "one archives, another truncates",
    "one truncates, another appends",
};
const char *const *const log_story_names = names;
const size_t log_story_count = sizeof log_stories / sizeof log_stories[0];

static kedge_status snap(const kedge_log *log, int64_t number, kedge_error *error)
{
    kedge_log_metadata metadata = {.snapshot = KEDGE_BYTES("s")};
    return kedge_log_set_metadata(log, number, &metadata, error);
}

kedge_status log_story_prepare(const log_story *told, const kedge_log *log, int64_t *next,
                               kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    *next = 0;
    for (const char *step = told->before; *step != '\0' && status == KEDGE_OK; step++) {
        bool created;
        kedge_log_place place = {.number = 0};
        kedge_log_append_result result = {.at = {.number = *next}};
        kedge_log_append_request request = {
            .type = KEDGE_BYTES("set"), .version = 1, .expected = KEDGE_LOG_AT_END, .since = -1};
        if (*step == 'c') status = kedge_log_create(log, &created, error);
        if (*step == 'a') status = kedge_log_append(log, &request, &result, error);
        if (*step == 's') status = snap(log, *next - 1, error);
        if (*step == 'r') status = kedge_log_new_segment(log, &place, error);
        if (*step == 'r') *next = place.number + 1;
        if (*step == 'c' || *step == 'a') *next += 1;
    }
    return status;
}

static log_answer append(const log_step *wanted, const kedge_log *log, int64_t since)
{
    char text[BODY_BYTES];
    kedge_error error = {0};
    kedge_log_append_result result = {.conflict = false};
    kedge_log_append_request request = {.type = KEDGE_BYTES("set"),
                                        .version = 1,
                                        .body = KEDGE_BYTES("1"),
                                        .expected = wanted->kind == STEP_EXPECT ? wanted->number
                                                                                : KEDGE_LOG_AT_END,
                                        .since = wanted->kind == STEP_EXPECT ? -1 : since,
                                        .id = {wanted->id}};
    if (wanted->kind == STEP_LARGE) {
        memset(text, 'x', sizeof text);
        text[0] = text[sizeof text - 1] = '"';
        request.body = (kedge_bytes){text, sizeof text};
    }
    kedge_status status = kedge_log_append(log, &request, &result, &error);
    return (log_answer){status, result.conflict, result.at.number};
}

log_answer log_story_do(const log_step *wanted, const kedge_log *log, int64_t since)
{
    bool created;
    kedge_log_place place = {.number = 0};
    kedge_error error = {0};
    switch (wanted->kind) {
    case STEP_NONE:
        break;
    case STEP_CREATE:
        return (log_answer){.status = kedge_log_create(log, &created, &error)};
    case STEP_APPEND:
    case STEP_EXPECT:
    case STEP_LARGE:
        return append(wanted, log, since);
    case STEP_ROLL:
        return (log_answer){.status = kedge_log_new_segment(log, &place, &error)};
    case STEP_SNAPSHOT:
        return (log_answer){.status = snap(log, wanted->number, &error)};
    case STEP_ARCHIVE:
        return (log_answer){
            .status = kedge_log_archive(log, wanted->number, KEDGE_LOG_DELETE, 0, &error)};
    case STEP_TRUNCATE:
        return (log_answer){.status = kedge_log_truncate(log, wanted->number, &error)};
    }
    return (log_answer){.status = KEDGE_OK};
}
