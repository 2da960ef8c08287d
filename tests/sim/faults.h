/* What can go wrong in the simulation. Each kind is counted when it really took effect. */
#ifndef KEDGE_TESTS_SIM_FAULTS_H
#define KEDGE_TESTS_SIM_FAULTS_H

#include <stdint.h>

typedef enum sim_fault {
    /* network */
    SIM_NET_DROP,      /* refused at once */
    SIM_NET_DELAY,     /* seconds */
    SIM_NET_LATE,      /* arrives after the client gave up */
    SIM_NET_DUPLICATE, /* the request arrives twice */
    SIM_NET_REORDER,   /* arrives after a request that was sent later */
    SIM_NET_TRUNCATE,  /* the response's body is cut, and nobody says so */
    SIM_NET_RESET,     /* handled, but the response is lost with an error */
    SIM_NET_PORTAL,    /* a captive portal answers 200 with a page of its own */
    SIM_NET_HANG,      /* handled, and never answered */
    SIM_NET_PARTITION, /* nothing goes either way */
    SIM_NET_ONE_WAY,   /* requests arrive, responses do not */
    SIM_STREAM_CUT,    /* the event stream ends */
    SIM_STREAM_SILENT, /* it stays open and says nothing */
    SIM_APP_OFFLINE,
    /* server */
    SIM_SERVER_CRASH_BEFORE, /* a port call: before it took effect */
    SIM_SERVER_CRASH_AFTER,
    SIM_SERVER_PAUSE, /* at a port call, while the world goes on */
    SIM_SERVER_RACE,  /* another processor commits in between */
    SIM_RESTORE_RECORDS,
    SIM_RESTORE_BLOBS,
    SIM_RESTORE_BOTH,
    SIM_RESTORE_ROWS_STAY, /* of a restore: index rows and roots of the other lineage stay */
    SIM_RESTORE_AGAIN,     /* a restore before all clients had pulled since the one before it */
    /* records and blobs */
    SIM_PORT_THROTTLE,
    SIM_PORT_TIMEOUT_DONE, /* an unknown outcome: it took effect */
    SIM_PORT_TIMEOUT_LOST, /* … it did not */
    SIM_PORT_STALE_READ,
    SIM_PORT_SHORT_PAGE,
    SIM_BLOB_SLOW_DOWN,
    SIM_BLOB_TIMEOUT_STORED,
    SIM_BLOB_MISSING,
    /* queue: in queued mode */
    SIM_QUEUE_AWAY,
    SIM_QUEUE_TIMEOUT_DONE,
    SIM_QUEUE_TWICE,
    SIM_QUEUE_LATE,            /* after messages that were sent later */
    SIM_QUEUE_PAST_VISIBILITY, /* delivered to somebody else while it is decided */
    SIM_QUEUE_POISON,
    SIM_QUEUE_KILLER, /* … that ends the processor */
    SIM_QUEUE_REDRIVE,
    /* client */
    SIM_OLD_RESPONSE, /* a response to an earlier pull is applied, as by another process */
    SIM_CLIENT_KILL,
    SIM_CLIENT_POWER_CUT,
    SIM_POWER_WRITE_DROPPED, /* of a power cut: an unsynced write is gone */
    SIM_POWER_WRITE_TORN,    /* … or is there in part */
    SIM_DISK_FULL,
    SIM_DISK_ERROR,
    SIM_CACHE_CORRUPT,
    SIM_NO_MEMORY,
    SIM_FOLDER_COPIED,
    SIM_FOLDER_RESTORED,
    /* a client's files lie: values, pages and whole files are others than were written */
    SIM_ROW_FLIPPED_OUTBOX,
    SIM_ROW_FLIPPED_CACHE,
    SIM_PAGE_SWAPPED_OUTBOX, /* with another page, or for what it was at the last backup */
    SIM_PAGE_SWAPPED_CACHE,
    SIM_OUTBOX_OLDER, /* it alone comes from the folder's backup */
    SIM_CACHE_OLDER,
    SIM_WAL_LOST,    /* the outbox's */
    SIM_OPENING_CUT, /* of an outbox that went back: killed, a power cut, or a full disk */
    SIM_CLOCK_JUMP,
    SIM_CLOCK_1970,
    SIM_SERVER_CLOCK_JUMP,
    SIM_FAULTS
} sim_fault;

extern const char *const sim_fault_names[SIM_FAULTS];

#define SIM_FAULT_BIT(fault) (UINT64_C(1) << (fault))
#define SIM_FAULTS_ALL       (SIM_FAULT_BIT(SIM_FAULTS) - 1)
_Static_assert(SIM_FAULTS < 64, "a set of faults is a mask of 64 bits");

#endif
