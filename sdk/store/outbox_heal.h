/* The healing of the outbox, and what its files share: outbox_heal.c, outbox_orphans.c,
 * inbox_heal.c, totals.c. */
#ifndef KEDGE_SDK_STORE_OUTBOX_HEAL_H
#define KEDGE_SDK_STORE_OUTBOX_HEAL_H

#include "sdk/store/store_internal.h"

/* An id of the living client without a sound row. */
typedef struct kedge_missing_id {
    int64_t id;
    int64_t sequence; /* 0: none is needed, since the id is decided */
    int64_t low;      /* the sequences of the two rows around the hole */
    int64_t high;
    int64_t orphan; /* the key of a damaged row that may be its remains; 0: none */
    bool in_place;  /* `orphan` is also its sequence */
} kedge_missing_id;

/* A row of `pending` that is damaged, or that is not in its place. */
typedef struct kedge_orphan {
    int64_t key;
    int64_t id;   /* as read from the row; so is the client */
    bool ours;    /* according to the row it is of the living client */
    bool new;     /* according to the row it has no origin */
    bool covered; /* according to the row the cache covers it */
    bool sound;   /* the row is sound: its contents were right at some time */
    bool settled; /* the outbox shows elsewhere that it is decided */
    bool told;    /* the inbox shows it as damaged already; its kedge.noop may be decided, or not */
    bool matched; /* with a missing id */
} kedge_orphan;

typedef struct kedge_outbox_healing {
    kedge_store *store;
    int64_t now_ms;
    kedge_outbox_meta meta; /* written at the end when `changed` */
    bool changed;
    bool totals_wrong;
    int64_t covered_through; /* ids that the cache covers */
    /* ids that the server is known to have decided, the covered ones included */
    int64_t decided_through;
    bool older; /* see kedge_prediction_outbox_is_older */
    /* Ids that the cache covers. An older outbox may still have some of them pending. */
    int64_t pulled_through;
    int64_t last_given; /* last_sequence, as it was found */
    /* Filled while `pending` is read. */
    int64_t found_rows; /* of any kind, and the sum of the checksums that stand in them */
    int64_t found_sum;
    int64_t present;        /* sound rows in their places */
    kedge_missing_id first; /* of the living client's */
    int64_t last_id;        /* 0: none yet */
    int64_t last_sequence;
    kedge_buffer orphans; /* kedge_orphan, by rising key */
    size_t orphan_count;
    kedge_buffer taken;   /* sequences of present rows of earlier clients, as int64_t, rising */
    kedge_buffer decided; /* sequences of edits that are decided, as int64_t, rising */
    int64_t renumbered;   /* the highest id of a present row with an origin */
    kedge_buffer missing; /* kedge_missing_id, by rising id */
    size_t missing_count;
} kedge_outbox_healing;

/* What to do with an entry when the inbox already has one with its sequence. */
typedef enum kedge_inbox_conflict {
    KEDGE_INBOX_MOVES,    /* the sequence was guessed: it gets a new one */
    KEDGE_INBOX_REPLACES, /* it is of the same edit, which is to be decided anew */
    KEDGE_INBOX_YIELDS    /* it is of the same edit, and was decided: the other one tells more */
} kedge_inbox_conflict;

/* An edit that the inbox shows as damaged. */
typedef struct kedge_inbox_entry {
    int64_t sequence;
    int64_t id;
    int64_t timestamp_ms;
    kedge_buffer name;
    kedge_buffer args; /* JSON */
    const char *message;
    kedge_inbox_conflict conflict;
} kedge_inbox_entry;

/* ---- outbox_heal.c ---- */
/* SQLite's own check of the whole file, its indexes included. */
kedge_status kedge_outbox_check_file(kedge_store_db *db, kedge_error *error);
/* Call in a write turn; uses its own transaction. Sets aside every damaged or missing row, so that
 * the edits after it can be sent. Writes nothing when all is sound. */
kedge_status kedge_outbox_heal(kedge_store *store, kedge_error *error);

/* ---- outbox_orphans.c ---- */
/* Reads from the other tables which sequences are decided, and which orphans are `settled` or
 * `told`. */
kedge_status kedge_outbox_find_decided(kedge_outbox_healing *heal, kedge_error *error);
/* Gives each missing id a sequence and, if one is left, its damaged row. Returns KEDGE_CORRUPT when
 * there are not enough free sequences. */
kedge_status kedge_outbox_place_missing(kedge_outbox_healing *heal, kedge_error *error);

/* ---- inbox_heal.c ---- */
void kedge_inbox_entry_free(kedge_inbox_entry *entry);
/* Reads the legible contents of the row `key` of `pending` (0: no row), for
 * kedge_inbox_set_aside. */
kedge_status kedge_inbox_read_orphan(kedge_outbox_healing *heal, int64_t key,
                                     kedge_inbox_entry *entry, kedge_error *error);
kedge_status kedge_inbox_read_legible(kedge_outbox_healing *heal, kedge_bytes name,
                                      kedge_bytes args, kedge_inbox_entry *entry,
                                      kedge_error *error);
/* Inserts the entry into the inbox, with a new sequence when another edit has its sequence there,
 * and frees its buffers. */
kedge_status kedge_inbox_set_aside(kedge_outbox_healing *heal, kedge_inbox_entry *entry,
                                   kedge_error *error);
/* Makes the rows of first attempts, where they are missing or damaged: such a row says no more than
 * which attempt of a client-only edit is the newest one, and that one names the first, too. */
kedge_status kedge_inbox_make_leads(kedge_outbox_healing *heal, kedge_error *error);
/* Damaged entries of the inbox are kept and marked as damaged. */
kedge_status kedge_inbox_heal(kedge_outbox_healing *heal, kedge_error *error);

/* ---- totals.c: what was trimmed ---- */
kedge_status kedge_trimmed_heal(kedge_outbox_healing *heal, kedge_error *error);

/* ---- totals.c: the totals ---- */
/* Counts the rows that the tables lack. Call it before anything is healed. */
kedge_status kedge_totals_check(kedge_outbox_healing *heal, kedge_error *error);
/* The ids of a client above `from`, up to `through`, which count as trimmed from now on. */
typedef struct kedge_tail_mark {
    const char *client;
    int64_t from;
    int64_t through;
} kedge_tail_mark;

/* Counts those of the mark's ids that stand in no table. */
kedge_status kedge_tail_count_nowhere(kedge_store_db *db, const kedge_tail_mark *mark,
                                      int64_t *count, kedge_error *error);
/* `missing` rows of the tail are lost. Those that the mark does not count were of earlier clients,
 * but nothing says of which ones: for each of them a damaged row without a sequence is inserted,
 * which counts as unrecovered when a lineage is lost. */
kedge_status kedge_tail_note_missing(kedge_store_db *db, const kedge_tail_mark *mark,
                                     int64_t missing, int64_t now_ms, kedge_error *error);
/* Computes the totals again from the tables. */
kedge_status kedge_totals_write(kedge_store_db *db, kedge_error *error);

#endif
