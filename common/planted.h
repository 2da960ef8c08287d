/* Bugs on purpose: the simulator builds the sources again with KEDGE_PLANTED and shows that its
 * checkers catch each of them. A normal build has none: the macro is the constant 0. */
#ifndef KEDGE_COMMON_PLANTED_H
#define KEDGE_COMMON_PLANTED_H

typedef enum kedge_planted {
    /* client */
    KEDGE_PLANTED_PENDING_DROPPED_ON_PUSH = 1, /* pending is deleted once it was sent */
    KEDGE_PLANTED_TWINS_WITHOUT_UID, /* digests without uid, on the server too: two twins that make
                                        the same edit under one id pass for one */
    KEDGE_PLANTED_INBOX_DOUBLED, /* a rejection that was kept before a crash is inserted again */
    KEDGE_PLANTED_DELTA_ON_WRONG_VERSION,   /* a delta is applied wherever it starts from */
    KEDGE_PLANTED_COVERED_NOT_SKIPPED,      /* pending at or below the lmid is replayed */
    KEDGE_PLANTED_IDS_REUSED_AFTER_RESTORE, /* a rotation starts over under the same client id */
    KEDGE_PLANTED_REBASE_SKIPS_BASE,        /* a rebase takes the visible state for canonical */
    KEDGE_PLANTED_ROW_NOT_CHECKED,    /* a damaged row is sent, replayed and matched as it is */
    KEDGE_PLANTED_CACHE_NOT_CHECKED,  /* a damaged value of the cache is read as it is */
    KEDGE_PLANTED_WITHHELD_PREDICTED, /* edits that may be decided already are predicted */
    /* server */
    KEDGE_PLANTED_DEDUP_BEFORE_HEAD = 101, /* dedupes with a cached head and answers from it */
    KEDGE_PLANTED_RECENT_SHORTENED_EARLY,  /* `recent` dropped before its rows are durable */
    KEDGE_PLANTED_LMID_NEWER_THAN_PIN,     /* reads the newest rows whatever version is pinned */
    KEDGE_PLANTED_NO_VERSION_CONDITION,    /* puts the version record without its condition */
    KEDGE_PLANTED_GAP_SKIPPED,             /* applies id > lmid + 1 */
    KEDGE_PLANTED_REJECT_BLOCKS,           /* a rejected mutation does not advance lmid */
    KEDGE_PLANTED_MISMATCH_SKIPPED,   /* another digest under a decided id is skipped silently */
    KEDGE_PLANTED_BODY_AFTER_COMMIT,  /* large bodies are written behind the version record */
    KEDGE_PLANTED_ORIGIN_NOT_CHECKED, /* an origin is applied as often as it comes */
    KEDGE_PLANTED_STALE_LINEAGE_ROWS, /* rows and roots of another lineage are believed */
    KEDGE_PLANTED_REJECTION_UNTOLD,   /* a duplicate of a rejected mutation passes for applied */
    /* consumer */
    KEDGE_PLANTED_DONE_BEFORE_COMMIT = 201, /* a message leaves the queue before it is decided */
    KEDGE_PLANTED_MERGED_BACKWARDS,         /* the last of several messages comes first */
    KEDGE_PLANTED_MERGED_ONE_SENDER         /* all mutations are the first message's sender's */
} kedge_planted;

#ifdef KEDGE_PLANTED
extern int kedge_planted_bug; /* the one that is active; 0: none */
#define KEDGE_PLANTED_BUG(bug) (kedge_planted_bug == (int)(bug))
#else
#define KEDGE_PLANTED_BUG(bug) 0
#endif

#endif
