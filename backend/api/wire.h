/* Values, items, mutations and outcomes in responses. */
#ifndef KEDGE_BACKEND_API_WIRE_H
#define KEDGE_BACKEND_API_WIRE_H

#include "backend/api/call.h"
#include "backend/versioned/model/version.h"
#include "backend/versioned/state/state.h"
#include "common/json.h"
#include "wire/outcomes.h"

/* "value": …, or "hash" and "size" when `by_hash` and the value is large. */
kedge_status kedge_api_write_value(kedge_json_writer *writer, kedge_state *state,
                                   kedge_bytes collection, const kedge_entry *entry, bool by_hash,
                                   kedge_error *error);
/* "id", "hash", "size", "meta" of an item. */
void kedge_api_write_entry(kedge_json_writer *writer, const kedge_entry *entry);
/* "outcome", and "code" and "message" of a rejection. */
void kedge_api_write_outcome(kedge_json_writer *writer, const kedge_version_mutation *mutation);
/* The members of a mutation, without the braces. */
void kedge_api_write_mutation(kedge_json_writer *writer, const kedge_version_mutation *mutation);
/* The outcomes of a client's mutations `from` to `to` at a version, as many as a response may have;
 * the caller initializes `outcomes` as empty. */
kedge_status kedge_api_load_outcomes(kedge_api_call *call, const kedge_version *at,
                                     kedge_bytes client, int64_t from, int64_t to,
                                     kedge_wire_outcomes *outcomes);
/* Writes the member `name`: `next`, or null when that is 0. */
void kedge_api_write_next(kedge_json_writer *writer, const char *name, int64_t next);

#endif
