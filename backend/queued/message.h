/* The messages of the queue. A message is JSON:
 *
 *   {"format":1, "id":"…", "organization":"…", "project":"…", "user":"…", "role":"…", "push":{…}}
 *
 * `push` is a body as POST push has it (backend/api/push.h). Its mutations need not be I-JSON; so
 * the message is split into its members like a push, and not parsed. `id` is random: no two
 * messages are the same.
 *
 * A message that is too large for the queue, or that is not text which any queue can hold, is a
 * blob, {org}/projects/{project}/pushes/{sha256}.json.gz, and the queue holds its claim check:
 *
 *   {"format":1, "organization":"…", "project":"…", "claim":"{sha256}"} */
#ifndef KEDGE_BACKEND_QUEUED_MESSAGE_H
#define KEDGE_BACKEND_QUEUED_MESSAGE_H

#include "backend/queued/queued.h"
#include "backend/versioned/model/layout.h"

#define KEDGE_MESSAGE_FORMAT    1
#define KEDGE_MESSAGE_NAME_SIZE (KEDGE_LIMIT_NAME_BYTES + 1)
#define KEDGE_MESSAGE_WORD_SIZE 256 /* of a user or a role */
#define KEDGE_MESSAGE_BYTES_MAX (KEDGE_LIMIT_PUSH_BYTES + 65536)

typedef struct kedge_message {
    char organization[KEDGE_MESSAGE_NAME_SIZE];
    char project[KEDGE_MESSAGE_NAME_SIZE];
    char user[KEDGE_MESSAGE_WORD_SIZE];
    char role[KEDGE_MESSAGE_WORD_SIZE];
    char claim[KEDGE_SHA256_HEX]; /* "": the message has its push itself */
    kedge_bytes push;             /* borrowed; empty with a claim */
} kedge_message;

/* KEDGE_INVALID_ARGUMENT "message-unreadable" for anything but a message of this format. */
kedge_status kedge_message_read(kedge_bytes text, kedge_message *message, kedge_error *error);
/* Appends to `out`. The message's push, or its claim. */
void kedge_message_write(const kedge_environment *environment, const kedge_message *message,
                         kedge_buffer *out);

kedge_project_ref kedge_message_ref(const kedge_message *message);
/* The group of a project: its partition key, or that key's hash when it is too long. */
kedge_key kedge_message_group(const kedge_project_ref *ref);
/* Whether every queue can hold the text: UTF-8 without control characters except white space, and
 * without U+FFFE and U+FFFF. */
bool kedge_message_is_plain(kedge_bytes text);

#endif
