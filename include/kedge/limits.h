/* The limits of Kedge. A function or request that exceeds one fails with an error that names it. */
#ifndef KEDGE_LIMITS_H
#define KEDGE_LIMITS_H

/* Names and documents. */
#define KEDGE_LIMIT_NAME_BYTES              64      /* organization, project, collection, mutator */
#define KEDGE_LIMIT_SCHEMA_VERSION_BYTES    64      /* of an app */
#define KEDGE_LIMIT_CLIENT_ID_BYTES         128     /* client and client group ids */
#define KEDGE_LIMIT_ITEM_ID_BYTES           512     /* UTF-8 without NUL; may be empty */
#define KEDGE_LIMIT_PROJECT_RECORD_BYTES    1536    /* canonical JSON of the project record */
#define KEDGE_LIMIT_ITEM_BYTES              8388608 /* canonical JSON of one item: 8 MiB */
#define KEDGE_LIMIT_ARGS_BYTES              8388608 /* canonical JSON of a mutation's args: 8 MiB */
#define KEDGE_LIMIT_JSON_DEPTH              64      /* nested arrays and objects */
#define KEDGE_LIMIT_MUTATION_ID             9007199254740991 /* 2^53 - 1 */
#define KEDGE_LIMIT_REJECTION_CODE_BYTES    63
#define KEDGE_LIMIT_REJECTION_MESSAGE_BYTES 255
#define KEDGE_LIMIT_RESOURCE_ID_BYTES       512    /* any UTF-8, not empty */
#define KEDGE_LIMIT_RESOURCE_BYTES          262144 /* canonical JSON of one version: 256 KiB */

/* Sizes of a project. The server rejects an edit that exceeds one. */
#define KEDGE_LIMIT_COLLECTIONS      256
#define KEDGE_LIMIT_COLLECTION_ITEMS 1000000

/* Declared indexes of a database. */
#define KEDGE_LIMIT_INDEXES          32
#define KEDGE_LIMIT_INDEX_PATHS      4   /* of one index */
#define KEDGE_LIMIT_INDEX_PATH_BYTES 128 /* of one path */

/* The result of a watched query. */
#define KEDGE_LIMIT_WATCH_ROWS  10000
#define KEDGE_LIMIT_WATCH_BYTES 16777216 /* keys and rows: 16 MiB */

/* How many scans, queries and lists of a database may be open at once. Each kedge_get counts while
 * it runs, and so does each read that Kedge makes for its own work. */
#define KEDGE_LIMIT_READERS 64

/* Requests. */
#define KEDGE_LIMIT_PUSH_BYTES          16777216 /* 16 MiB */
#define KEDGE_LIMIT_PUSH_MUTATIONS      10000
#define KEDGE_LIMIT_MUTATION_CHANGES    10000 /* items changed by one mutation */
#define KEDGE_LIMIT_BATCH_MUTATIONS     10000 /* in one kedge.batch */
#define KEDGE_LIMIT_APPLY_ATTEMPTS      5     /* of a client-only mutation that conflicts */
#define KEDGE_LIMIT_OUTCOMES_PER_PULL   1000
#define KEDGE_LIMIT_EARLIER_CLIENTS     64 /* named in one retire request */
#define KEDGE_LIMIT_REQUEST_DEADLINE_MS 30000

/* Undo: groups, the changes and bytes of one group, and the bytes of all groups. */
#define KEDGE_LIMIT_UNDO_GROUPS      100
#define KEDGE_LIMIT_UNDO_CHANGES     10000
#define KEDGE_LIMIT_UNDO_GROUP_BYTES 4194304  /* 4 MiB */
#define KEDGE_LIMIT_UNDO_BYTES       16777216 /* 16 MiB */

/* How many confirmed mutations a client keeps for a restore of the backend, and for how long. */
#define KEDGE_LIMIT_CONFIRMED_TAIL    10000
#define KEDGE_LIMIT_CONFIRMED_TAIL_MS 2592000000 /* 30 days */

#endif
