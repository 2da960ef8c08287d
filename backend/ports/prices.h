/* What AWS asks for the requests of the ports: on demand, region us-east-1, US dollars, as read on
 * 2026-11-21 from aws.amazon.com/dynamodb/pricing/on-demand, aws.amazon.com/s3/pricing,
 * aws.amazon.com/sqs/pricing and aws.amazon.com/lambda/pricing. Storage, transfer out of the region
 * and free tiers are left out. */
#ifndef KEDGE_BACKEND_PORTS_PRICES_H
#define KEDGE_BACKEND_PORTS_PRICES_H

#define KEDGE_PRICE_DATE "2026-11-21"

/* Dollars for a million. */
#define KEDGE_PRICE_WRITE_UNITS     0.625
#define KEDGE_PRICE_READ_UNITS      0.125
#define KEDGE_PRICE_BLOB_PUTS       5.00 /* PUT, POST, LIST and their like */
#define KEDGE_PRICE_BLOB_GETS       0.40 /* GET, HEAD and all others; DELETE is free */
#define KEDGE_PRICE_QUEUE_REQUESTS  0.50 /* FIFO */
#define KEDGE_PRICE_STREAM_READS    0.20 /* GetRecords */
#define KEDGE_PRICE_LAMBDA_REQUESTS 0.20

/* Dollars for a second of a function with 1 GB, arm64. */
#define KEDGE_PRICE_LAMBDA_GB_SECOND 0.0000133334

#endif
