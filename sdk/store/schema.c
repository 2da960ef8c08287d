/* The tables of both files, layout by layout.
 *
 * The outbox's columns carry no constraints: the checksum of a row says more than NOT NULL or CHECK
 * could, and SQLite's integrity check would report a broken constraint as a broken file, which
 * would be refused as a whole, where the row alone is damaged and can be set aside. Its `meta` is
 * kept twice. `totals` says how many rows `rejected`, `confirmed` and `trimmed` have and what their
 * checksums add up to; triggers keep it. Those of `pending` stand in `meta`, which every edit
 * writes anyway. `meta` also has the number of rows of `rejected`: when all other tables are older
 * than `meta`, they fit each other. */
#include "sdk/store/schema.h"

#include "sdk/store/cache_row.h"
#include "sdk/store/outbox_rows.h"

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* ---- outbox.db, layout 6 ---- */

#define OUTBOX_META_3 "CREATE TABLE meta({meta_types});"
#define OUTBOX_META   "CREATE TABLE meta({meta_types}, rejected_rows INTEGER);"

#define OUTBOX_PENDING                                                                             \
    "CREATE TABLE pending("                                                                        \
    " sequence INTEGER PRIMARY KEY, checksum INTEGER, {edit_types}, covered_version INTEGER,"      \
    " withheld INTEGER);"                                                                          \
    "CREATE INDEX pending_covered ON pending(covered_version) WHERE covered_version IS NOT "       \
    "NULL;{withheld_index}"

#define OUTBOX_REJECTED                                                                            \
    "CREATE TABLE rejected("                                                                       \
    " sequence INTEGER PRIMARY KEY, checksum INTEGER, {edit_types}, version INTEGER, code TEXT,"   \
    " message TEXT, state INTEGER, decided_ms INTEGER);"

#define OUTBOX_CONFIRMED                                                                           \
    "CREATE TABLE confirmed("                                                                      \
    " ordinal INTEGER PRIMARY KEY, checksum INTEGER, sequence INTEGER, {edit_types},"              \
    " confirmed_ms INTEGER);"

#define OUTBOX_TRIMMED                                                                             \
    "CREATE TABLE trimmed("                                                                        \
    " ordinal INTEGER PRIMARY KEY, checksum INTEGER, client TEXT, through INTEGER);"

#define OUTBOX_TOTALS                                                                              \
    "CREATE TABLE totals(name TEXT PRIMARY KEY, checksum INTEGER, rows INTEGER, sum INTEGER)"      \
    " WITHOUT ROWID;{totals_of rejected}{totals_of confirmed}{totals_of trimmed}"

/* The indexes that the app has declared. Nothing counts these rows: without one, queries are slower
 * and show the same. */
#define OUTBOX_DECLARED                                                                            \
    "CREATE TABLE declared("                                                                       \
    " ordinal INTEGER PRIMARY KEY, checksum INTEGER, name TEXT, collection TEXT, paths TEXT);"

static const kedge_schema_table OUTBOX_TABLES[] = {
    {"meta", OUTBOX_META},           {"pending", OUTBOX_PENDING}, {"rejected", OUTBOX_REJECTED},
    {"confirmed", OUTBOX_CONFIRMED}, {"trimmed", OUTBOX_TRIMMED}, {"totals", OUTBOX_TOTALS},
    {"declared", OUTBOX_DECLARED},
};

/* ---- outbox.db, from older layouts ---- */

/* What layout 2 adds to layout 1. */
static const char *const OUTBOX_LAYOUT_2[] = {
    "{add rejected} uid BLOB;"
    "{add rejected} digest BLOB;"
    "{add rejected} origin_client TEXT;"
    "{add rejected} origin_id INTEGER;"
    "CREATE TABLE trimmed("
    " ordinal INTEGER PRIMARY KEY, client TEXT NOT NULL UNIQUE, through INTEGER NOT NULL);",
    NULL};

/* Layout 3 has checksums, the second copy of meta, totals, and `withheld`. */
static const char *const OUTBOX_LAYOUT_3[] = {
    "DROP INDEX pending_covered;"
    "{old meta}{old pending}{old rejected}{old confirmed}{old trimmed}",
    OUTBOX_META_3,
    OUTBOX_PENDING,
    OUTBOX_REJECTED,
    OUTBOX_CONFIRMED,
    OUTBOX_TRIMMED,
    OUTBOX_TOTALS,
    "INSERT INTO {sealed pending} (SELECT *, 0 AS withheld FROM old_pending);"
    "{moved rejected}{moved confirmed}{moved trimmed}"
    "INSERT INTO meta(copy, {outbox_meta_3}, checksum)"
    " SELECT column1, {outbox_meta_3}, {outbox_meta_3#} FROM (VALUES(1), (2)),"
    " (SELECT *, 0 AS ask_settled,"
    " (SELECT count(*) FROM pending) AS pending_rows,"
    " (SELECT coalesce(sum(checksum), 0) FROM pending) AS pending_sum FROM old_meta);"
    "DROP TABLE old_meta; DROP TABLE old_pending",
    NULL};

/* Layout 4 finds what is withheld by an index. */
static const char *const OUTBOX_LAYOUT_4[] = {
    "DROP INDEX IF EXISTS pending_withheld;{withheld_index}", NULL};

/* Layout 5 has declared indexes. */
static const char *const OUTBOX_LAYOUT_5[] = {OUTBOX_DECLARED, NULL};

/* Layout 6 has the number of rows of `rejected` in meta. A damaged copy stays damaged. */
static const char *const OUTBOX_LAYOUT_6[] = {
    "{add meta} rejected_rows INTEGER;"
    "UPDATE meta SET rejected_rows = (SELECT count(*) FROM rejected)"
    " WHERE {intact outbox_meta_3};"
    "UPDATE meta SET checksum = {outbox_meta#} WHERE rejected_rows IS NOT NULL;",
    NULL};

static const kedge_schema_layout OUTBOX_LAYOUTS[] = {{1, NULL},
                                                     {2, OUTBOX_LAYOUT_2},
                                                     {3, OUTBOX_LAYOUT_3},
                                                     {4, OUTBOX_LAYOUT_4},
                                                     {5, OUTBOX_LAYOUT_5},
                                                     {6, OUTBOX_LAYOUT_6}};

const kedge_schema kedge_outbox_schema = {.application = 0x4b646f31, /* "Kdo1" */
                                          .table_count = COUNT(OUTBOX_TABLES),
                                          .tables = OUTBOX_TABLES,
                                          .layout_count = COUNT(OUTBOX_LAYOUTS),
                                          .layouts = OUTBOX_LAYOUTS};

/* ---- cache.db, layout 5 ---- */

/* What a commit changed, for other processes. A row that is missing or wrong costs nothing but that
 * they read again what they show. */
#define CACHE_CHANGE                                                                               \
    "CREATE TABLE change("                                                                         \
    " number INTEGER PRIMARY KEY, writer {int}, by {int}, changes BLOB,"                           \
    " checksum {int});"

/* With rowids. In a table without them SQLite compares whole records when it looks for a key: one
 * item of some MB in its way is read again for every other one (client-store.md). `base` has none:
 * few of its rows have large values, and each edit of a new item writes one. */
#define CACHE_ITEM        "CREATE TABLE item{keyed TEXT NOT NULL};"
#define CACHE_STAGED_ITEM "CREATE TABLE staged_item{keyed TEXT NOT NULL};"

static const kedge_schema_table CACHE_TABLES[] = {
    {"meta", "CREATE TABLE meta("
             " only INTEGER PRIMARY KEY CHECK(only = 1), client {text}, lineage {text},"
             " version {int}, lmid {int}, revision {int},"
             " reflected_sequence {int}, resyncing {int},"
             " organization {text}, project {text}, item_rows {int},"
             " item_sum {int}, base_rows {int}, base_sum {int},"
             " checksum {int});"},
    {"registry",
     "CREATE TABLE registry(only INTEGER PRIMARY KEY CHECK(only = 1), description {text});"},
    {"item", CACHE_ITEM},
    {"base", "CREATE TABLE base("
             " {key}, value TEXT, checksum {int}, PRIMARY KEY(collection, id)) WITHOUT ROWID;"},
    {"staging", "CREATE TABLE staging("
                " only INTEGER PRIMARY KEY CHECK(only = 1), version {int}, lineage {text},"
                " lmid {int}, client {text}, lost {int},"
                " complete {int}, after {text}, item_rows {int},"
                " item_sum {int}, outcome_rows {int}, outcome_sum {int},"
                " checksum {int});"},
    {"staged_item", CACHE_STAGED_ITEM},
    {"staged_outcome", "CREATE TABLE staged_outcome("
                       " id INTEGER PRIMARY KEY, version {int}, digest BLOB NOT NULL,"
                       " decision {int}, code {text}, message {text},"
                       " checksum {int});"},
    {"change", CACHE_CHANGE},
};

/* ---- cache.db, from older layouts ---- */

/* Layout 5 has rowids. The declared indexes go with the old table, and are made again when the
 * cache is compared with what the outbox declares. */
static const char *const CACHE_LAYOUT_5[] = {
    "{old item}{old staged_item}" CACHE_ITEM CACHE_STAGED_ITEM
    "{rekeyed item}{rekeyed staged_item}",
    NULL};

static const kedge_schema_layout CACHE_LAYOUTS[] = {{4, NULL}, {5, CACHE_LAYOUT_5}};

const kedge_schema kedge_cache_schema = {.application = 0x4b646331, /* "Kdc1" */
                                         .table_count = COUNT(CACHE_TABLES),
                                         .tables = CACHE_TABLES,
                                         .layout_count = COUNT(CACHE_LAYOUTS),
                                         .layouts = CACHE_LAYOUTS};
