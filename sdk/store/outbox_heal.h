/* What the files share that heal the outbox: outbox_heal.c, outbox_orphans.c,
 * inbox_heal.c, totals.c, trimmed.c. */
#ifndef KEDGE_SDK_STORE_OUTBOX_HEAL_H
#define KEDGE_SDK_STORE_OUTBOX_HEAL_H

#include "sdk/store/store_internal.h"

/* An id of the living client that no sound row has. */
typedef struct kedge_missing_id {
    int64_t id;
    int64_t sequence; /* 0: it needs none, since it is decided */
    int64_t low;      /* the hole that it is missing in is between these two */
    int64_t high;
    int64_t orphan; /* the key of a damaged row that may be what is left of it; 0: none */
    bool in_place;  /* `orphan` is also its sequence */
} kedge_missing_id;

/* A row of `pending` that does not prove itself, or stands where it cannot belong. */
typedef struct kedge_orphan {
    int64_t key;
    int64_t id;   /* what it says itself, as the client */
    bool ours;    /* it says that it is of the living client */
    bool new;     /* it says that it had no other name before */
    bool covered; /* it says that the cache covers it */
    bool sound;   /* it proves itself: what it says was true once */
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
    int64_t decided_through; /* ids that the server is known to have decided, those included */
    bool older;              /* see kedge_prediction_outbox_is_older */
    int64_t last_given;      /* last_sequence, as it was found */
    /* The walk over `pending`. */
    int64_t present;        /* sound rows in their places */
    kedge_missing_id first; /* of the living client's */
    int64_t last_id;        /* 0: none yet */
    int64_t last_sequence;
    kedge_buffer orphans; /* kedge_orphan, by rising key */
    size_t orphan_count;
    kedge_buffer taken;   /* sequences of present rows of earlier clients, as int64_t, rising */
    kedge_buffer decided; /* sequences of edits that are decided, as int64_t, rising */
    int64_t renumbered;   /* the highest id of a present row that had another name before */
    kedge_buffer missing; /* kedge_missing_id, by rising id */
    size_t missing_count;
} kedge_outbox_healing;

/* What becomes of an entry when the inbox has one of its sequence. */
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

/* ---- outbox_orphans.c ---- */
/* What other tables tell: which sequences are decided, which orphans `settled` or `told`. */
kedge_status kedge_outbox_find_decided(kedge_outbox_healing *heal, kedge_error *error);
/* Gives each missing id its sequence, and the damaged row that is left of it. KEDGE_CORRUPT when
 * there is no room for them. */
kedge_status kedge_outbox_place_missing(kedge_outbox_healing *heal, kedge_error *error);

/* ---- inbox_heal.c ---- */
void kedge_inbox_entry_free(kedge_inbox_entry *entry);
/* What the row `key` of `pending` still says (0: there is none), for kedge_inbox_set_aside. */
kedge_status kedge_inbox_read_orphan(kedge_outbox_healing *heal, int64_t key,
                                     kedge_inbox_entry *entry, kedge_error *error);
kedge_status kedge_inbox_read_legible(kedge_outbox_healing *heal, kedge_bytes name,
                                      kedge_bytes args, kedge_inbox_entry *entry,
                                      kedge_error *error);
/* Puts the entry into the inbox, under a new sequence when another edit has its own there, and
 * frees its buffers. */
kedge_status kedge_inbox_set_aside(kedge_outbox_healing *heal, kedge_inbox_entry *entry,
                                   kedge_error *error);
/* Entries that do not prove themselves stay, as damaged ones. */
kedge_status kedge_inbox_heal(kedge_outbox_healing *heal, kedge_error *error);

/* ---- trimmed.c ---- */
kedge_status kedge_trimmed_heal(kedge_outbox_healing *heal, kedge_error *error);

/* ---- totals.c ---- */
/* Before anything is healed: what the tables lack. */
kedge_status kedge_totals_check(kedge_outbox_healing *heal, kedge_error *error);
/* The ids of a client behind `from` up to `through` count as trimmed from now on. */
typedef struct kedge_tail_mark {
    const char *client;
    int64_t from;
    int64_t through;
} kedge_tail_mark;

/* `missing` rows of the tail are nowhere. Those that the mark does not count were of earlier
 * clients, and nobody knows which: a damaged row without a sequence stands for each, which counts
 * as unrecovered once a lineage is lost. */
kedge_status kedge_tail_note_missing(kedge_store_db *db, const kedge_tail_mark *mark,
                                     int64_t missing, int64_t now_ms, kedge_error *error);
/* Makes them anew from the tables. */
kedge_status kedge_totals_write(kedge_store_db *db, kedge_error *error);

#endif
