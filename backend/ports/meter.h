/* A meter around the ports of any implementation: what their calls would cost on AWS.
 *
 * A call counts when AWS would charge it: when it succeeded, when its condition failed, when there
 * was nothing to read, and when its outcome is unknown. It does not count when it was refused or
 * throttled. Requests that an implementation repeats by itself are not seen here. Any thread. */
#ifndef KEDGE_BACKEND_PORTS_METER_H
#define KEDGE_BACKEND_PORTS_METER_H

#include "backend/ports/blobs.h"
#include "backend/ports/cost.h"
#include "backend/ports/queue.h"
#include "backend/ports/stream.h"

typedef struct kedge_meter kedge_meter;

/* The ports are borrowed and must outlive the meter; closing a port of the meter does nothing. The
 * vtable of a port that there is not is NULL. */
kedge_status kedge_meter_new(const kedge_allocator *allocator, kedge_records records,
                             kedge_blobs blobs, kedge_queue queue, kedge_stream stream,
                             kedge_meter **meter, kedge_error *error);
void kedge_meter_free(kedge_meter *meter); /* NULL is allowed */

kedge_records kedge_meter_records(kedge_meter *meter);
kedge_blobs kedge_meter_blobs(kedge_meter *meter);
kedge_queue kedge_meter_queue(kedge_meter *meter);
/* Puts the meter around the queue of snapshots, too. Call it before any thread uses the meter. */
kedge_queue kedge_meter_snapshots(kedge_meter *meter, kedge_queue snapshots);
kedge_stream kedge_meter_stream(kedge_meter *meter);

/* Of all calls since the meter was made. */
kedge_cost kedge_meter_totals(kedge_meter *meter);
/* The same as Prometheus text. */
void kedge_meter_write_metrics(kedge_meter *meter, kedge_buffer *out);

/* Of all calls that this thread ever made through any meter: what one request cost is the
 * difference between its end and its beginning. */
kedge_cost kedge_meter_of_thread(void);

#endif
