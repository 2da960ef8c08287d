/* Why a message cannot be decided.
 *
 * The queue keeps dead letters, but not the reason of their failure. So each failed try puts the
 * reason into records, under the message's id (the SHA-256 of its body):
 *
 *   DeadLetters#{organization}   {id}   code, detail, at (ms since 1970), deliveries, ended
 *
 * The organization is empty for a message that does not name one. A try may end its consumer's
 * process, which then writes no reason. So before a message is tried alone its row is written, with
 * the code "consumer-ended"; `ended` counts such tries in a row. The row is removed when the
 * message is decided, or when an operator puts it back into the queue. */
#ifndef KEDGE_BACKEND_QUEUED_DEAD_LETTERS_H
#define KEDGE_BACKEND_QUEUED_DEAD_LETTERS_H

#include "backend/queued/queued.h"
#include "common/json.h"

/* Notes the reason, and calls the option `failed`. `ended`: the count of
 * kedge_dead_letter_read_mark, for a message that was not tried; otherwise 0, which removes the
 * mark. A note that cannot be put is not an error: the message comes again. */
void kedge_dead_letter_note(kedge_queued *queued, const kedge_queue_message *message,
                            const kedge_error *reason, uint32_t ended);
/* Only calls the option `failed`. */
void kedge_dead_letter_tell(kedge_queued *queued, const kedge_queue_message *message,
                            const kedge_error *reason);
/* Notes that the message is about to be tried alone, the `ended` + 1st time in a row. After any
 * status but KEDGE_OK it must not be tried. */
kedge_status kedge_dead_letter_mark(kedge_queued *queued, const kedge_queue_message *message,
                                    uint32_t ended, kedge_error *error);
/* `*ended`: how many tries of the message in a row were begun and have left no outcome. */
kedge_status kedge_dead_letter_read_mark(kedge_queued *queued, const kedge_queue_message *message,
                                         uint32_t *ended, kedge_error *error);
void kedge_dead_letter_forget(kedge_queued *queued, const kedge_queue_message *message);

/* ---- for operators ---- */

/* {"id","organization","project","user","sent","bytes","claim","code","detail"}: what is not known
 * is null. */
kedge_status kedge_dead_letter_write(kedge_queued *queued, const kedge_queue_message *message,
                                     kedge_json_writer *writer, kedge_error *error);
/* Calls `visit` with the key of each blob that a dead letter of the project refers to (claim
 * checks). `*whole`: these are all. It is false without a queue (its `vtable` NULL), and when there
 * may be more letters, or more bytes of letters, than a queue shows. */
typedef kedge_status (*kedge_dead_letter_visit)(void *context, kedge_bytes key, kedge_error *error);
kedge_status kedge_dead_letter_claims(const kedge_queue *queue, const kedge_project_ref *ref,
                                      kedge_dead_letter_visit visit, void *context, bool *whole,
                                      kedge_error *error);
/* Puts a dead letter back at the end of its group. */
kedge_status kedge_dead_letter_redrive(kedge_queued *queued, const kedge_queue_message *message,
                                       kedge_error *error);

#endif
