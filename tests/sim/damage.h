/* Client files that lie: what is done to them, what is forgiven for it, and what never is. */
#ifndef KEDGE_TESTS_SIM_DAMAGE_H
#define KEDGE_TESTS_SIM_DAMAGE_H

#include "common/hash.h"
#include "tests/sim/oracle.h"

struct sim_client;
struct sim_entry;
struct sim_message;
struct sim_world;

/* What was done to a client's files, and what its checkers forgive for it. */
typedef struct sim_damage {
    bool cache;          /* it may be set aside: version 0 once */
    bool cache_aside;    /* … and that was seen */
    uint64_t cache_file; /* which file cache.db was when it was looked at last */
    bool outbox_pages;   /* of the outbox since it was opened: it may be refused */
    uint32_t meta_flips; /* the same: one copy of meta is mended by the other, two are not */
    bool rows_vanished;  /* with a page of the outbox, at some time: what they were is not known */
    bool outbox_older;   /* at some time: what an earlier client id had decided may be pending */
    bool anew;           /* counters and versions may have gone back: compared from now on */
    bool opening_cut;    /* the next opening is to be cut short */
    bool forgive;        /* once, whatever is missing: nobody could read how much it is */
    int64_t doubt_ms;    /* until then old or foreign pages of the cache may be read; 0: no */
    /* Where the cache was before it was lost or went back. Until it is there again, what it covered
     * counts as covered. */
    const sim_version *cache_was;
} sim_damage;

/* What apps made, whoever sends it: each by its uid. An edit whose call failed may be kept all the
 * same: its content waits for its uid. */
typedef struct sim_made {
    uint8_t uid[SIM_UID_SIZE];
    uint8_t content[KEDGE_SHA256_SIZE]; /* of name and canonical args */
    int64_t timestamp_ms;
    bool told; /* the app was: uid and timestamp are known */
} sim_made;

typedef struct sim_made_list {
    sim_made *edits;
    size_t count;
    size_t capacity;
} sim_made_list;

/* damage.c: what may happen to the files of a client. */
void sim_trouble_files(struct sim_world *world, struct sim_client *client);
/* A client that runs, or is closed: its cache on the disk is ruined so that SQLite can tell. */
bool sim_damage_ruin_cache(struct sim_client *client);
/* The store of a closed client cannot be opened: its user does what the documentation says. */
void sim_damage_user_acts(struct sim_client *client);

/* Whether its cache.db is another file than the one that was looked at last. */
bool sim_damage_new_cache(struct sim_client *client);
/* Its cache is empty, or older than it was. */
void sim_damage_cache_was(struct sim_client *client);
/* A new client id is due, which does not count as one without a reason. */
void sim_damage_may_rotate(struct sim_client *client);
/* Before it is opened: what is left that tells of a lost outbox may be less by now. */
void sim_damage_opening(struct sim_client *client);
/* Behind an opening, whatever came of it. */
void sim_damage_tried(struct sim_client *client);
/* It could be opened: what was wrong with the outbox is known from now on. */
void sim_damage_opened(struct sim_client *client);

/* damage_rows.c */
bool sim_damage_flip(struct sim_client *client, bool outbox);
/* Moves the WAL into its file, so that the file is what will be read. */
void sim_damage_checkpoint(struct sim_client *client, bool outbox);
/* One number of a database, as it stands in the file. False: it cannot be read. */
bool sim_damage_number(struct sim_client *client, bool outbox, const char *sql, int64_t *number);

/* checks_damage.c */
/* The name and the args of an edit, whatever their spelling. */
void sim_content(kedge_bytes name, kedge_bytes args, uint8_t content[KEDGE_SHA256_SIZE]);
/* `uid` NULL: the call failed or its process died, and the edit may be kept all the same. */
void sim_note_made(struct sim_world *world, const uint8_t *content, const uint8_t *uid,
                   int64_t timestamp_ms);
/* Whether somebody has, also in a call that failed or whose process died. */
bool sim_was_made(const struct sim_world *world, const uint8_t *content);

#endif
