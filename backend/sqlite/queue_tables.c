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
 * `busy_until_ms` is past.
 *
 * waiting_owner: the owners of these groups; `free` is 1 while one of the groups is free. The free
 * owner with the lowest `turn` is next, and of its free groups the one with the lowest `turn`:
 * their place in line. Served, the owner gets the place after all others, and the group that same
 * number. An owner that comes anew goes after all others, too; a group that comes anew gets the
 * number of its owner, so that it goes after all groups but those that are served later.
 *
 * All of this costs the same however many messages, groups and owners wait. The places are
 * in the file, as what waits is: they hold over a restart. */
#include "backend/sqlite/queue_tables.h"

#define APPLICATION_ID 0x4b445155 /* "KDQU" */
#define PURGE_MAX      "100"      /* forgotten deduplication names a send */

/* ?1 is the time, ?2 the latest `changed_ms` that the clock allows. */
#define IN_FLIGHT "dead = 0 AND receive_count > 0 AND visible_ms > ?1 AND changed_ms <= ?2"
#define HIGHEST_IN_FLIGHT(column)                                                                  \
    "(SELECT max(" column ") FROM message INDEXED BY message_received "                            \
    "WHERE group_id = ?3 AND " IN_FLIGHT ")"
#define COLUMNS "id, group_id, body, sent_ms, receive_count"
#define PLACE_AFTER_ALL                                                                            \
    "(SELECT 1 + max(ifnull((SELECT max(turn) FROM waiting_owner WHERE free = 0), 0), "            \
    "ifnull((SELECT max(turn) FROM waiting_owner WHERE free = 1), 0)))"
#define HAS_GROUPS(condition)                                                                      \
    "EXISTS (SELECT 1 FROM waiting_group INDEXED BY group_of_owner WHERE owner = ?1" condition ")"

static const char *const statements[KEDGE_QUEUE_STATEMENTS] = {
    [KEDGE_QUEUE_FIND_NAME] = "SELECT sent_ms FROM deduplication WHERE name = ?1",
    [KEDGE_QUEUE_PUT_NAME] = "REPLACE INTO deduplication(name, sent_ms) VALUES(?1, ?2)",
    [KEDGE_QUEUE_PURGE_NAMES] =
        "DELETE FROM deduplication WHERE name IN (SELECT name FROM deduplication "
        "WHERE sent_ms <= ?1 ORDER BY sent_ms LIMIT " PURGE_MAX ")",

    [KEDGE_QUEUE_JOIN_OWNER] = "INSERT INTO waiting_owner(owner, turn, free) "
                               "VALUES(?1, " PLACE_AFTER_ALL ", 0) ON CONFLICT DO NOTHING",
    [KEDGE_QUEUE_END_OWNER] = "DELETE FROM waiting_owner WHERE owner = ?1 AND NOT " HAS_GROUPS(""),
    [KEDGE_QUEUE_REFRESH_OWNER] = "UPDATE waiting_owner SET free = " HAS_GROUPS(
        " AND busy_until_ms IS NULL") " WHERE owner = ?1",
    [KEDGE_QUEUE_SERVE_OWNER] =
        "UPDATE waiting_owner SET turn = " PLACE_AFTER_ALL " WHERE owner = ?1",
    [KEDGE_QUEUE_SELECT_OWNERS] = "SELECT owner FROM waiting_owner INDEXED BY owner_turn "
                                  "WHERE free = 1 ORDER BY turn LIMIT ?1",

    [KEDGE_QUEUE_JOIN_GROUP] =
        "INSERT INTO waiting_group(group_id, owner, turn, first_id) "
        "SELECT ?2, owner, turn, last_insert_rowid() FROM waiting_owner WHERE owner = ?1 "
        "ON CONFLICT DO NOTHING",
    [KEDGE_QUEUE_FIND_OWNER] = "SELECT owner FROM waiting_group WHERE group_id = ?1",
    [KEDGE_QUEUE_SERVE_GROUP] = "UPDATE waiting_group SET turn = (SELECT turn FROM waiting_owner "
                                "WHERE owner = ?1) WHERE group_id = ?2",
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
    [KEDGE_QUEUE_SELECT_FREE] =
        "SELECT group_id FROM waiting_group INDEXED BY group_of_owner "
        "WHERE owner = ?1 AND busy_until_ms IS NULL ORDER BY turn, first_id LIMIT ?2",
    [KEDGE_QUEUE_BURY_IN_GROUP] = "UPDATE message INDEXED BY message_received SET dead = 1 "
                                  "WHERE group_id = ?1 AND dead = 0 AND receive_count > 0 "
                                  "AND receive_count >= ?2",
    [KEDGE_QUEUE_SELECT_IN_GROUP] = "SELECT id FROM message INDEXED BY message_of_group "
                                    "WHERE dead = 0 AND group_id = ?1 ORDER BY id LIMIT ?2",

    [KEDGE_QUEUE_INSERT_MESSAGE] =
        "INSERT INTO message(owner, group_id, body, sent_ms) VALUES(?1, ?2, ?3, ?4)",
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
    [KEDGE_QUEUE_FIND_DEAD] = "SELECT group_id, owner FROM message WHERE id = ?1 AND dead = 1",
    [KEDGE_QUEUE_REDRIVE_MESSAGE] =
        "INSERT INTO message(owner, group_id, body, sent_ms) "
        "SELECT owner, group_id, body, sent_ms FROM message WHERE id = ?1",
};

#define MESSAGE_INDEXES                                                                            \
    "CREATE INDEX message_of_group ON message(group_id, id) WHERE dead = 0;"                       \
    "CREATE INDEX message_received ON message(group_id, visible_ms, changed_ms)"                   \
    "  WHERE dead = 0 AND receive_count > 0;"
#define WAITING                                                                                    \
    "CREATE TABLE waiting_group("                                                                  \
    "  group_id BLOB PRIMARY KEY,"                                                                 \
    "  owner BLOB NOT NULL,"                                                                       \
    "  turn INTEGER NOT NULL,"                                                                     \
    "  first_id INTEGER NOT NULL,"                                                                 \
    "  busy_until_ms INTEGER,"                                                                     \
    "  changed_ms INTEGER) WITHOUT ROWID;"                                                         \
    "CREATE INDEX group_of_owner ON waiting_group(owner, busy_until_ms, turn, first_id);"          \
    "CREATE INDEX group_busy ON waiting_group(busy_until_ms) WHERE busy_until_ms IS NOT NULL;"     \
    "CREATE INDEX group_changed ON waiting_group(changed_ms) WHERE changed_ms IS NOT NULL;"        \
    "CREATE TABLE waiting_owner("                                                                  \
    "  owner BLOB PRIMARY KEY,"                                                                    \
    "  turn INTEGER NOT NULL,"                                                                     \
    "  free INTEGER NOT NULL) WITHOUT ROWID;"                                                      \
    "CREATE INDEX owner_turn ON waiting_owner(free, turn);"

/* The organization that a message names, as those that send have always written it. */
#define ORGANIZATION "CAST('\"organization\":\"' AS BLOB)"
#define BEHIND_IT    "substr(body, instr(body, " ORGANIZATION ") + 16, 129)"
#define OWNER_OF_BODY                                                                              \
    "CASE WHEN instr(body, " ORGANIZATION ") = 0 OR instr(" BEHIND_IT ", X'22') < 2 THEN X'' "     \
    "ELSE substr(" BEHIND_IT ", 1, instr(" BEHIND_IT ", X'22') - 1) END"

static const char *const upgrades[] = {
    /* Version 2 has the groups; version 3 makes them again. */
    "DROP INDEX message_waiting; DROP INDEX message_received;" MESSAGE_INDEXES
    "CREATE TABLE waiting_group(group_id);",
    /* Version 3 has the owners. All groups with a message that was received are taken for busy: the
     * next receive looks. */
    "ALTER TABLE message ADD COLUMN owner BLOB NOT NULL DEFAULT X'';"
    "UPDATE message SET owner = " OWNER_OF_BODY ";"
    "DROP TABLE waiting_group;" WAITING
    "INSERT INTO waiting_group SELECT message.group_id, owner, 0, first_id, until, changed FROM"
    "  (SELECT min(id) AS first_id, max(CASE WHEN receive_count > 0 THEN visible_ms END) AS until,"
    "  max(CASE WHEN receive_count > 0 THEN changed_ms END) AS changed"
    "  FROM message WHERE dead = 0 GROUP BY group_id) JOIN message ON id = first_id;"
    "INSERT INTO waiting_owner SELECT owner, 0, max(busy_until_ms IS NULL)"
    "  FROM waiting_group GROUP BY owner;",
};

const kedge_sqlite_kind kedge_queue_kind = {
    .name = "queue",
    .application_id = APPLICATION_ID,
    .version = 3,
    .schema = "CREATE TABLE message("
              "  id INTEGER PRIMARY KEY AUTOINCREMENT," /* never used twice: receipts name it */
              "  owner BLOB NOT NULL DEFAULT X'',"
              "  group_id BLOB NOT NULL,"
              "  sent_ms INTEGER NOT NULL,"
              "  receive_count INTEGER NOT NULL DEFAULT 0,"
              "  changed_ms INTEGER NOT NULL DEFAULT 0,"
              "  visible_ms INTEGER NOT NULL DEFAULT 0,"
              "  dead INTEGER NOT NULL DEFAULT 0,"
              "  body BLOB NOT NULL);"
              "CREATE INDEX message_dead ON message(id) WHERE dead = 1;" MESSAGE_INDEXES WAITING
              "CREATE TABLE deduplication("
              "  name BLOB PRIMARY KEY,"
              "  sent_ms INTEGER NOT NULL) WITHOUT ROWID;"
              "CREATE INDEX deduplication_sent ON deduplication(sent_ms);",
    .upgrades = upgrades,
    .statements = statements,
    .statement_count = KEDGE_QUEUE_STATEMENTS,
};
