/* Opening what the options name. */
#include "backend/stores/stores.h"

#include "backend/aws/actions.h"
#include "backend/aws/aws.h"
#include "backend/embedded/embedded.h"
#include "backend/ports/meter.h"
#include "common/error.h"

#include <stdlib.h>

/* A clock that is wrong by less gets no warning. */
#define SKEW_WARNED_MS 60000

struct kedge_stores {
    const kedge_allocator *allocator;
    kedge_buffer name;
    kedge_embedded *embedded; /* or: */
    kedge_aws *aws;
    kedge_aws_actions *actions;
    kedge_meter *meter;
    kedge_stream changes; /* those of the embedded folder, or of the table */
    kedge_queue snapshots;
};

static kedge_status open_folder(const kedge_environment *environment,
                                const kedge_stores_options *options, kedge_stores_purpose purpose,
                                kedge_stores *stores, kedge_error *error)
{
    const char *path = options->data;
    kedge_buffer_append_text(&stores->name, path);
    bool there = purpose == KEDGE_STORES_VISIT || purpose == KEDGE_STORES_CHANGE;
    bool locks = purpose == KEDGE_STORES_SERVE || purpose == KEDGE_STORES_CHANGE;
    if (there && !kedge_embedded_exists(path)) {
        return kedge_fail(error, KEDGE_NOT_A_DATABASE, "not-a-data-folder",
                          "%.100s is not a data folder of a backend: it has no records.db. To make "
                          "one, start kedge-server on it, or give --create to create-project, "
                          "create-log-project or import",
                          path);
    }
    kedge_status status = kedge_embedded_open(environment, path, locks, &stores->embedded, error);
    if (status != KEDGE_OK || options->changes_of == NULL) return status;
    return kedge_embedded_stream(stores->embedded, options->changes_of, &stores->changes, error);
}

static kedge_status open_aws(const kedge_environment *environment,
                             const kedge_stores_options *options, kedge_stores *stores,
                             kedge_error *error)
{
    const char *file = getenv("KEDGE_AWS_ACTIONS");
    kedge_buffer_append_format(&stores->name, "%s %s", options->table, options->bucket);
    kedge_status status =
        kedge_aws_actions_new(environment->allocator, file != NULL && file[0] != '\0' ? file : NULL,
                              &stores->actions, error);
    if (status != KEDGE_OK) return status;
    const kedge_aws_options aws = {
        .environment = environment,
        .table = options->table,
        .bucket = options->bucket,
        .queue = options->queue,
        .snapshots = options->snapshots,
        .stream = options->snapshots != NULL && options->changes_of != NULL,
        .region = options->region,
        .profile = options->profile,
        .create = options->create,
        .observe = kedge_aws_actions_observe,
        .observe_context = stores->actions,
    };
    status = kedge_aws_open(&aws, &stores->aws, error);
    if (status == KEDGE_OK) stores->changes = kedge_aws_stream(stores->aws);
    return status;
}

static kedge_status open_meter(kedge_stores *stores, kedge_error *error)
{
    const kedge_aws *aws = stores->aws;
    const kedge_embedded *embedded = stores->embedded;
    kedge_queue snapshots =
        aws != NULL ? kedge_aws_snapshots(aws) : kedge_embedded_snapshots(embedded);
    kedge_status status = kedge_meter_new(
        stores->allocator, aws != NULL ? kedge_aws_records(aws) : kedge_embedded_records(embedded),
        aws != NULL ? kedge_aws_blobs(aws) : kedge_embedded_blobs(embedded),
        aws != NULL ? kedge_aws_queue(aws) : kedge_embedded_queue(embedded), stores->changes,
        &stores->meter, error);
    if (status == KEDGE_OK) stores->snapshots = kedge_meter_snapshots(stores->meter, snapshots);
    return status;
}

kedge_status kedge_stores_open(const kedge_environment *environment,
                               const kedge_stores_options *options, kedge_stores_purpose purpose,
                               kedge_stores **stores, kedge_error *error)
{
    kedge_stores *made = kedge_allocate(environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->allocator = environment->allocator;
    made->name = kedge_buffer_make(environment->allocator);
    kedge_status status = options->data != NULL
                              ? open_folder(environment, options, purpose, made, error)
                              : open_aws(environment, options, made, error);
    if (status == KEDGE_OK) status = open_meter(made, error);
    if (status == KEDGE_OK) status = kedge_buffer_status(&made->name, error);
    if (status != KEDGE_OK) {
        kedge_stores_close(made);
        return status;
    }
    *stores = made;
    return KEDGE_OK;
}

void kedge_stores_close(kedge_stores *stores)
{
    if (stores == NULL) return;
    kedge_meter_free(stores->meter);
    kedge_embedded_close(stores->embedded);
    kedge_aws_close(stores->aws);
    kedge_aws_actions_free(stores->actions);
    kedge_buffer_free(&stores->name);
    kedge_release(stores->allocator, stores);
}

kedge_records kedge_stores_records(const kedge_stores *stores)
{
    return kedge_meter_records(stores->meter);
}

kedge_blobs kedge_stores_blobs(const kedge_stores *stores)
{
    return kedge_meter_blobs(stores->meter);
}

kedge_queue kedge_stores_queue(const kedge_stores *stores)
{
    return kedge_meter_queue(stores->meter);
}

kedge_queue kedge_stores_snapshots(const kedge_stores *stores)
{
    return stores->snapshots;
}

kedge_stream kedge_stores_stream(const kedge_stores *stores)
{
    return kedge_meter_stream(stores->meter);
}

const char *kedge_stores_name(const kedge_stores *stores)
{
    return stores->name.data;
}

int64_t kedge_stores_skew_ms(const kedge_stores *stores)
{
    return stores->aws == NULL ? 0 : kedge_aws_skew_ms(stores->aws);
}

/* ---- warnings ---- */

static bool lacks_records(const kedge_stores *stores, kedge_error *warning)
{
    if (stores->embedded == NULL || !kedge_embedded_lacked_records(stores->embedded)) return false;
    kedge_fail(warning, KEDGE_OK, "records-missing",
               "the data folder had blobs or a queue and no records.db: all projects begin "
               "anew; when it was lost, stop the server and restore it from a backup");
    return true;
}

static bool is_readable_by_others(const kedge_stores *stores, kedge_error *warning)
{
    if (stores->embedded == NULL || !kedge_embedded_is_readable_by_others(stores->embedded))
        return false;
    kedge_fail(warning, KEDGE_OK, "data-readable-by-others",
               "other users of this machine can read the databases in the data folder; take "
               "their rights away with: chmod -R go-rwx %s",
               stores->name.data);
    return true;
}

static bool is_skewed(const kedge_stores *stores, kedge_error *warning)
{
    int64_t skew_ms = kedge_stores_skew_ms(stores);
    if (llabs((long long)skew_ms) < SKEW_WARNED_MS) return false;
    kedge_fail(
        warning, KEDGE_OK, "aws-clock-skewed",
        "this machine's clock is %lld seconds %s that of AWS; requests to AWS are corrected, "
        "but tokens and times are judged by the clock: set it",
        llabs((long long)skew_ms) / 1000, skew_ms > 0 ? "behind" : "ahead of");
    return true;
}

static bool delivers_seldom(const kedge_stores *stores, kedge_error *warning)
{
    uint32_t deliveries = stores->aws == NULL ? 0 : kedge_aws_deliveries(stores->aws);
    if (deliveries == 0 || deliveries >= KEDGE_QUEUE_DELIVERIES_LEAST) return false;
    kedge_fail(
        warning, KEDGE_OK, "aws-queue-deliveries",
        "the queue makes a push a dead letter after %u deliveries: one that ends the program "
        "takes others with it, and a short outage of a store takes all; set maxReceiveCount "
        "in its redrive policy to %d, to %d at least",
        deliveries, KEDGE_QUEUE_DELIVERIES, KEDGE_QUEUE_DELIVERIES_LEAST);
    return true;
}

bool kedge_stores_warning(const kedge_stores *stores, size_t index, kedge_error *warning)
{
    static bool (*const looks[])(const kedge_stores *stores, kedge_error *warning) = {
        lacks_records, is_readable_by_others, is_skewed, delivers_seldom};
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        if (looks[i](stores, warning) && index-- == 0) return true;
    }
    return false;
}

void kedge_stores_write_metrics(void *context, kedge_buffer *out)
{
    kedge_stores *stores = context;
    kedge_meter_write_metrics(stores->meter, out);
    if (stores->actions != NULL) kedge_aws_actions_write(stores->actions, out);
}
