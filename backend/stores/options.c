/* The command-line options that say where data is. */
#include "backend/stores/stores.h"

#include "common/error.h"

#include <string.h>

const char kedge_stores_help[] =
    "  --data DIR          a folder that everything is kept in; or, on AWS:\n"
    "  --table TABLE, --bucket BUCKET\n"
    "                      a DynamoDB table and an S3 bucket that everything is kept in\n"
    "  --queue QUEUE       an SQS FIFO queue, by its name or URL\n"
    "  --snapshots QUEUE   an SQS FIFO queue for requests of snapshots of logs, likewise\n"
    "  --region REGION     default: AWS_REGION, or the profile's\n"
    "  --profile PROFILE   of the shared AWS configuration files; default: AWS_PROFILE\n"
    "  --create            makes the table, the bucket and the queues where they are missing;\n"
    "                      of kedge-admin create-project, create-log-project and import also the\n"
    "                      folder's contents\n";

const char **kedge_stores_option(kedge_stores_options *options, const char *name)
{
    const struct {
        const char *name;
        const char **value;
    } known[] = {
        {"--data", &options->data},           {"--table", &options->table},
        {"--bucket", &options->bucket},       {"--queue", &options->queue},
        {"--region", &options->region},       {"--profile", &options->profile},
        {"--snapshots", &options->snapshots},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (strcmp(name, known[i].name) == 0) return known[i].value;
    }
    return NULL;
}

bool *kedge_stores_flag(kedge_stores_options *options, const char *name)
{
    return strcmp(name, "--create") == 0 ? &options->create : NULL;
}

static const char *first_aws_option(const kedge_stores_options *options)
{
    if (options->table != NULL) return "--table";
    if (options->bucket != NULL) return "--bucket";
    if (options->queue != NULL) return "--queue";
    if (options->snapshots != NULL) return "--snapshots";
    if (options->region != NULL) return "--region";
    if (options->profile != NULL) return "--profile";
    return options->create ? "--create" : NULL;
}

kedge_status kedge_stores_check(const kedge_stores_options *options, kedge_error *error)
{
    const char *aws = first_aws_option(options);
    if (options->data == NULL && aws == NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "the place of the data is missing: give --data DIR, or --table TABLE and "
                          "--bucket BUCKET");
    }
    if (options->data != NULL && aws != NULL) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage",
                          "--data keeps everything in a folder, and %s is for AWS: give one or the "
                          "other",
                          aws);
    }
    if (aws != NULL && (options->table == NULL || options->bucket == NULL)) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "usage", "%s needs %s", aws,
                          options->table == NULL ? "--table TABLE" : "--bucket BUCKET");
    }
    return KEDGE_OK;
}
