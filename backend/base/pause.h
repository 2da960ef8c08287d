/* The pauses between two tries. */
#ifndef KEDGE_BACKEND_BASE_PAUSE_H
#define KEDGE_BACKEND_BASE_PAUSE_H

#include "backend/base/backend.h"

/* Waits a random time below 5 ms * 2^attempt, at most a second. */
void kedge_backend_pause(kedge_backend *backend, uint32_t attempt);

#endif
