/* Lines in the log about what follows the writes of logs (backend/effects). */
#ifndef KEDGE_BACKEND_FRONT_EFFECTS_H
#define KEDGE_BACKEND_FRONT_EFFECTS_H

#include "backend/effects/apply.h"
#include "backend/effects/reader.h"
#include "backend/front/logger.h"

/* `log-change-passed`: a record that cannot be one of a log. */
void kedge_effects_log_passed(kedge_logger *logger, const kedge_error *error);
/* `changes-expired`, or `stream-checkpoint-damaged`: kedge-admin reprocess-logs makes the missing
 * effects. */
void kedge_effects_log_expired(kedge_logger *logger, const kedge_stream_expired *expired);
/* `snapshot-refused`: for debugging only when the log is one whose app makes its own. */
void kedge_effects_log_refused(kedge_logger *logger, const kedge_log *log,
                               const kedge_log_place *at, const kedge_error *error);

#endif
