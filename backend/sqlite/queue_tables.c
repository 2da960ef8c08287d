/* The tables of the queue and the statements on them.
 *
 * message: its id is its place in the order; a redriven one gets a new id. It is in flight while
 * its visibility lasts; `changed_ms` is when that was set, so that a clock that was put back does
 * not hide a message for longer than KEDGE_QUEUE_CLOCK_SLACK_MS beyond it.
 *
 * waiting_group: the groups that have messages which are not dead. `first_id` is the oldest of
 * these. `busy_until_ms` is the latest `visible_ms` of the group's messages in flight, `changed_ms`
 * their latest `changed_ms`. Both are NULL when nothing is in flight: then the group is free.
 * Nobody writes the row when a visibility ends. So each receive first refreshes the groups whose
 * `busy_until_ms` is past; then it takes the free groups with the lowest `first_id`. It costs the
 * same however many messages and busy groups there are. */
#include "backend/sqlite/queue_tables.h"

#define APPLICATION_ID 0x4b445155 /* "KDQU" */
#define PURGE_MAX      "100"      /* forgotten deduplication names a send */

/* ?1 is the time, ?2 the latest `changed_ms` that the clock allows. */
#define IN_FLIGHT "dead = 0 AND receive_count > 0 AND visible_ms > ?1 AND changed_ms <= ?2"
#define HIGHEST_IN_FLIGHT(column)                                                                  \
    "(SELECT max(" column ") FROM message INDEXED BY message_received "                            \
    "WHERE group_id = ?3 AND " IN_FLIGHT ")"
#define COLUMNS "id, group_id, body, sent_ms, receive_count"

static const char *const statements[KEDGE_QUEUE_STATEMENTS] = {
    [KEDGE_QUEUE_FIND_NAME] = "SELECT sent_ms FROM deduplication WHERE name = ?1",
    [KEDGE_QUEUE_PUT_NAME] = "REPLACE INTO deduplication(name, sent_ms) VALUES(?1, ?2)",
    [KEDGE_QUEUE_PURGE_NAMES] =
        "DELETE FROM deduplication WHERE name IN (SELECT name FROM deduplication "
        "WHERE sent_ms <= ?1 ORDER BY sent_ms LIMIT " PURGE_MAX ")",

    [KEDGE_QUEUE_JOIN_GROUP] = "INSERT INTO waiting_group(group_id, first_id) "
                               "VALUES(?1, last_insert_rowid()) ON CONFLICT DO NOTHING",
    [KEDGE_QUEUE_END_GROUP] =
        "DELETE FROM waiting_group WHERE group_id = ?1 AND NOT EXISTS (SELECT 1 "
        "FROM message INDEXED BY message_of_group WHERE dead = 0 AND group_id = ?1)",
    [KEDGE_QUEUE_REFRESH_GROUP] =
        "UPDATE waiting_group SET first_id = (SELECT id FROM message INDEXED BY message_of_group "
        "WHERE dead = 0 AND group_id = ?3 ORDER BY id LIMIT 1), "
        "busy_until_ms = " HIGHEST_IN_FLIGHT("visible_ms") ", "
                                                           "changed_ms = " HIGHEST_IN_FLIGHT(
                                                               "changed_ms") " WHERE group_id = ?3",
    [KEDGE_QUEUE_SELECT_LANDED] =
        "SELECT group_id FROM waiting_group INDEXED BY group_busy WHERE busy_until_ms <= ?1 "
        "UNION SELECT group_id FROM waiting_group INDEXED BY group_changed WHERE changed_ms > ?2 "
        "LIMIT ?3",
    [KEDGE_QUEUE_SELECT_FREE] = "SELECT group_id FROM waiting_group INDEXED BY group_free "
                                "WHERE busy_until_ms IS NULL ORDER BY first_id LIMIT ?1",
    [KEDGE_QUEUE_BURY_IN_GROUP] = "UPDATE message INDEXED BY message_received SET dead = 1 "
                                  "WHERE group_id = ?1 AND dead = 0 AND receive_count > 0 "
                                  "AND receive_count >= ?2",
    [KEDGE_QUEUE_SELECT_IN_GROUP] = "SELECT id FROM message INDEXED BY message_of_group "
                                    "WHERE dead = 0 AND group_id = ?1 ORDER BY id LIMIT ?2",

    [KEDGE_QUEUE_INSERT_MESSAGE] =
        "INSERT INTO message(group_id, body, sent_ms) VALUES(?1, ?2, ?3)",
    [KEDGE_QUEUE_SELECT_MESSAGE] = "SELECT " COLUMNS " FROM message WHERE id = ?1",
    [KEDGE_QUEUE_DELIVER_MESSAGE] = "UPDATE message SET receive_count = receive_count + 1, "
                                    "changed_ms = ?1, visible_ms = ?2 WHERE id = ?3",
    [KEDGE_QUEUE_FIND_DELIVERY] =
        "SELECT group_id FROM message WHERE id = ?1 AND receive_count = ?2 AND dead = 0",
    [KEDGE_QUEUE_EXTEND_MESSAGE] =
        "UPDATE message SET changed_ms = ?1, visible_ms = ?2 WHERE id = ?3",
    [KEDGE_QUEUE_DELETE_MESSAGE] = "DELETE FROM message WHERE id = ?1",

    [KEDGE_QUEUE_SELECT_DEAD] = "SELECT " COLUMNS " FROM message INDEXED BY message_dead "
                                "WHERE dead = 1 ORDER BY id LIMIT ?1",
    [KEDGE_QUEUE_FIND_DEAD] = "SELECT group_id FROM message WHERE id = ?1 AND dead = 1",
    [KEDGE_QUEUE_REDRIVE_MESSAGE] = "INSERT INTO message(group_id, body, sent_ms) "
                                    "SELECT group_id, body, sent_ms FROM message WHERE id = ?1",
};

#define GROUPS                                                                                     \
    "CREATE INDEX message_of_group ON message(group_id, id) WHERE dead = 0;"                       \
    "CREATE INDEX message_received ON message(group_id, visible_ms, changed_ms)"                   \
    "  WHERE dead = 0 AND receive_count > 0;"                                                      \
    "CREATE TABLE waiting_group("                                                                  \
    "  group_id BLOB PRIMARY KEY,"                                                                 \
    "  first_id INTEGER NOT NULL,"                                                                 \
    "  busy_until_ms INTEGER,"                                                                     \
    "  changed_ms INTEGER) WITHOUT ROWID;"                                                         \
    "CREATE INDEX group_free ON waiting_group(first_id) WHERE busy_until_ms IS NULL;"              \
    "CREATE INDEX group_busy ON waiting_group(busy_until_ms) WHERE busy_until_ms IS NOT NULL;"     \
    "CREATE INDEX group_changed ON waiting_group(changed_ms) WHERE changed_ms IS NOT NULL;"

/* Version 2 has the groups. All that were received are taken for busy: the next receive looks. */
static const char *const upgrades[] = {
    "DROP INDEX message_waiting; DROP INDEX message_received;" GROUPS
    "INSERT INTO waiting_group SELECT group_id, min(id),"
    "  max(CASE WHEN receive_count > 0 THEN visible_ms END),"
    "  max(CASE WHEN receive_count > 0 THEN changed_ms END)"
    "  FROM message WHERE dead = 0 GROUP BY group_id;",
};

const kedge_sqlite_kind kedge_queue_kind = {
    .name = "queue",
    .application_id = APPLICATION_ID,
    .version = 2,
    .schema = "CREATE TABLE message("
              "  id INTEGER PRIMARY KEY AUTOINCREMENT," /* never used twice: receipts name it */
              "  group_id BLOB NOT NULL,"
              "  sent_ms INTEGER NOT NULL,"
              "  receive_count INTEGER NOT NULL DEFAULT 0,"
              "  changed_ms INTEGER NOT NULL DEFAULT 0,"
              "  visible_ms INTEGER NOT NULL DEFAULT 0,"
              "  dead INTEGER NOT NULL DEFAULT 0,"
              "  body BLOB NOT NULL);"
              "CREATE INDEX message_dead ON message(id) WHERE dead = 1;" GROUPS
              "CREATE TABLE deduplication("
              "  name BLOB PRIMARY KEY,"
              "  sent_ms INTEGER NOT NULL) WITHOUT ROWID;"
              "CREATE INDEX deduplication_sent ON deduplication(sent_ms);",
    .upgrades = upgrades,
    .statements = statements,
    .statement_count = KEDGE_QUEUE_STATEMENTS,
};
