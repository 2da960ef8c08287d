/* The records port on DynamoDB before a server that answers as a test tells it to. */
#ifndef KEDGE_TESTS_AWS_DYNAMODB_WORLD_H
#define KEDGE_TESTS_AWS_DYNAMODB_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "backend/aws/dynamodb.h"
#include "tests/aws/client_world.h"

typedef struct dynamodb_world {
    client_world around;
    kedge_records records; /* on the table "t" */
    kedge_error error;
} dynamodb_world;

/* The responses to come, in order; the last one for ever. */
#define DYNAMODB_BEGIN(world, ...)                                                                 \
    do {                                                                                           \
        const scripted_reply replies_[] = {__VA_ARGS__};                                           \
        dynamodb_world_begin((world), replies_, sizeof replies_ / sizeof replies_[0]);             \
    } while (0)

void dynamodb_world_begin(dynamodb_world *world, const scripted_reply *replies, size_t count);
void dynamodb_world_end(dynamodb_world *world);

/* 200 with this body. */
#define RESPONSE(text)                                                                             \
    {                                                                                              \
        .status = 200, .body = (text)                                                              \
    }
/* 400 with this code, as DynamoDB writes it. */
#define REFUSAL(code)                                                                              \
    {                                                                                              \
        .status = 400,                                                                             \
        .body = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#" code "\",\"message\":\"no\"}"    \
    }
/* A cancelled transaction with these reasons, which are JSON. */
#define CANCELLED(reasons)                                                                         \
    {                                                                                              \
        .status = 400,                                                                             \
        .body = "{\"__type\":\"com.amazonaws.dynamodb.v20120810#TransactionCanceledException\","   \
                "\"CancellationReasons\":[" reasons "],\"Message\":\"cancelled\"}"                 \
    }
#define FAILURE                                                                                    \
    {                                                                                              \
        .status = 500, .body = "{\"__type\":\"InternalServerError\"}"                              \
    }

/* Short forms on the record p/s with one number n = 1. */
kedge_status put(dynamodb_world *world, kedge_condition condition);
kedge_status removal(dynamodb_world *world, kedge_condition condition);
/* The same on the records p/a and p/b together. */
kedge_status transact(dynamodb_world *world);
kedge_status get(dynamodb_world *world, kedge_record_set *set);
size_t requests(dynamodb_world *world);

#endif
