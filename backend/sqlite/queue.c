/* The queue port in SQLite.
 *
 * A message's id is its place in the order; a redriven one gets a new id. It is in flight while its
 * visibility lasts; `changed_ms` is when that was set, so that a clock that was put back does not
 * hide a message for longer than KEDGE_QUEUE_CLOCK_SLACK_MS beyond it. Every call is a work of the
 * writer: a receive writes, too. */
#include "backend/ports/queue_support.h"
#include "backend/sqlite/sqlite_ports.h"
#include "backend/sqlite/writer.h"
#include "common/error.h"

#define APPLICATION_ID 0x4b445155 /* "KDQU" */
#define PURGE_MAX      "100"      /* forgotten deduplication names a send */

enum statement {
    FIND_DEDUPLICATION,
    PUT_DEDUPLICATION,
    PURGE_DEDUPLICATION,
    INSERT_MESSAGE,
    BURY_MESSAGES,
    SELECT_READY,
    DELIVER_MESSAGE,
    EXTEND_MESSAGE,
    DELETE_MESSAGE,
    SELECT_DEAD,
    REDRIVE_MESSAGE,
    DELETE_DEAD,
    STATEMENT_COUNT
};

/* ?1 is the time, ?2 the latest `changed_ms` that the clock allows. */
#define IN_FLIGHT "dead = 0 AND receive_count > 0 AND visible_ms > ?1 AND changed_ms <= ?2"
#define GROUP_IS_FREE                                                                              \
    "group_id NOT IN (SELECT group_id FROM message INDEXED BY message_received WHERE " IN_FLIGHT ")"
#define COLUMNS "id, group_id, body, sent_ms, receive_count"

static const char *const statements[STATEMENT_COUNT] = {
    [FIND_DEDUPLICATION] = "SELECT sent_ms FROM deduplication WHERE name = ?1",
    [PUT_DEDUPLICATION] = "REPLACE INTO deduplication(name, sent_ms) VALUES(?1, ?2)",
    [PURGE_DEDUPLICATION] =
        "DELETE FROM deduplication WHERE name IN (SELECT name FROM deduplication "
        "WHERE sent_ms <= ?1 ORDER BY sent_ms LIMIT " PURGE_MAX ")",
    [INSERT_MESSAGE] = "INSERT INTO message(group_id, body, sent_ms) VALUES(?1, ?2, ?3)",
    [BURY_MESSAGES] = "UPDATE message SET dead = 1 WHERE dead = 0 AND receive_count > 0 "
                      "AND receive_count >= ?3 AND " GROUP_IS_FREE,
    [SELECT_READY] = "SELECT " COLUMNS " FROM message WHERE id IN ("
                     "SELECT id FROM message INDEXED BY message_waiting WHERE dead = 0 "
                     "AND " GROUP_IS_FREE " ORDER BY id LIMIT ?3) ORDER BY id",
    [DELIVER_MESSAGE] = "UPDATE message SET receive_count = receive_count + 1, changed_ms = ?1, "
                        "visible_ms = ?2 WHERE id = ?3",
    [EXTEND_MESSAGE] = "UPDATE message SET changed_ms = ?1, visible_ms = ?2 "
                       "WHERE id = ?3 AND receive_count = ?4 AND dead = 0",
    [DELETE_MESSAGE] = "DELETE FROM message WHERE id = ?1 AND receive_count = ?2 AND dead = 0",
    [SELECT_DEAD] = "SELECT " COLUMNS " FROM message INDEXED BY message_dead WHERE dead = 1 "
                    "ORDER BY id LIMIT ?1",
    [REDRIVE_MESSAGE] = "INSERT INTO message(group_id, body, sent_ms) "
                        "SELECT group_id, body, sent_ms FROM message WHERE id = ?1 AND dead = 1",
    [DELETE_DEAD] = "DELETE FROM message WHERE id = ?1 AND dead = 1",
};

static const kedge_sqlite_kind kind = {
    .name = "queue",
    .application_id = APPLICATION_ID,
    .version = 1,
    .schema = "CREATE TABLE message("
              "  id INTEGER PRIMARY KEY AUTOINCREMENT," /* never used twice: receipts name it */
              "  group_id BLOB NOT NULL,"
              "  sent_ms INTEGER NOT NULL,"
              "  receive_count INTEGER NOT NULL DEFAULT 0,"
              "  changed_ms INTEGER NOT NULL DEFAULT 0,"
              "  visible_ms INTEGER NOT NULL DEFAULT 0,"
              "  dead INTEGER NOT NULL DEFAULT 0,"
              "  body BLOB NOT NULL);"
              "CREATE INDEX message_waiting ON message(id, group_id) WHERE dead = 0;"
              "CREATE INDEX message_received ON message(visible_ms, changed_ms, group_id)"
              "  WHERE dead = 0 AND receive_count > 0;"
              "CREATE INDEX message_dead ON message(id) WHERE dead = 1;"
              "CREATE TABLE deduplication("
              "  name BLOB PRIMARY KEY,"
              "  sent_ms INTEGER NOT NULL) WITHOUT ROWID;"
              "CREATE INDEX deduplication_sent ON deduplication(sent_ms);",
    .statements = statements,
    .statement_count = STATEMENT_COUNT,
};

typedef struct sqlite_queue {
    const kedge_environment *environment;
    char *path;
    uint32_t receive_max;
    kedge_sqlite_writer writer;
} sqlite_queue;

/* What one call wants from the writer. */
typedef struct queue_work {
    sqlite_queue *queue;
    int64_t now_ms;
    int64_t visibility_ms;
    kedge_bytes group, deduplication, body;
    uint32_t count;
    kedge_queue_receipt receipt;
    const char *receipt_text;
    kedge_queue_batch batch;
} queue_work;

static queue_work work_of(sqlite_queue *self)
{
    const kedge_environment *environment = self->environment;
    return (queue_work){.queue = self, .now_ms = environment->now_ms(environment->context)};
}

/* ---- send ---- */

static kedge_status was_sent(kedge_sqlite_connection *connection, const queue_work *work,
                             bool *sent, kedge_error *error)
{
    sqlite3_stmt *find;
    kedge_status status = kedge_sqlite_statement(connection, FIND_DEDUPLICATION, &find, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(find, 1, work->deduplication);
    status = kedge_sqlite_step(connection, find, error);
    if (status == KEDGE_OK) {
        int64_t age_ms = work->now_ms - sqlite3_column_int64(find, 0);
        *sent = age_ms < KEDGE_QUEUE_DEDUPLICATION_MS && age_ms > -KEDGE_QUEUE_DEDUPLICATION_MS;
    }
    kedge_sqlite_reset(find);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status remember(kedge_sqlite_connection *connection, const queue_work *work,
                             kedge_error *error)
{
    sqlite3_stmt *put, *purge;
    kedge_status status = kedge_sqlite_statement(connection, PUT_DEDUPLICATION, &put, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(put, 1, work->deduplication);
    sqlite3_bind_int64(put, 2, work->now_ms);
    status = kedge_sqlite_run(connection, put, error);
    if (status != KEDGE_OK) return status;
    status = kedge_sqlite_statement(connection, PURGE_DEDUPLICATION, &purge, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(purge, 1, work->now_ms - KEDGE_QUEUE_DEDUPLICATION_MS);
    return kedge_sqlite_run(connection, purge, error);
}

static kedge_status send_work(kedge_sqlite_connection *connection, void *argument,
                              kedge_error *error)
{
    queue_work *work = argument;
    bool sent = false;
    sqlite3_stmt *insert;
    kedge_status status = was_sent(connection, work, &sent, error);
    if (status != KEDGE_OK || sent) return status;
    status = remember(connection, work, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(connection, INSERT_MESSAGE, &insert, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(insert, 1, work->group);
    kedge_sqlite_bind(insert, 2, work->body);
    sqlite3_bind_int64(insert, 3, work->now_ms);
    return kedge_sqlite_run(connection, insert, error);
}

static kedge_status queue_send(void *context, kedge_bytes group, kedge_bytes deduplication,
                               kedge_bytes body, kedge_error *error)
{
    sqlite_queue *self = context;
    kedge_status status = kedge_queue_send_check(group, deduplication, body, error);
    if (status != KEDGE_OK) return status;
    queue_work work = work_of(self);
    work.group = group;
    work.deduplication = deduplication;
    work.body = body;
    return kedge_sqlite_write(&self->writer, send_work, &work, error);
}

/* ---- receive ---- */

static void bind_time(sqlite3_stmt *statement, const queue_work *work)
{
    sqlite3_bind_int64(statement, 1, work->now_ms);
    sqlite3_bind_int64(statement, 2, work->now_ms + KEDGE_QUEUE_CLOCK_SLACK_MS);
}

static kedge_status bury(kedge_sqlite_connection *connection, const queue_work *work,
                         kedge_error *error)
{
    sqlite3_stmt *update;
    kedge_status status = kedge_sqlite_statement(connection, BURY_MESSAGES, &update, error);
    if (status != KEDGE_OK) return status;
    bind_time(update, work);
    sqlite3_bind_int64(update, 3, work->queue->receive_max);
    return kedge_sqlite_run(connection, update, error);
}

/* `delivered`: 1 for a delivery, which the row does not count yet; 0 for a dead letter. */
static kedge_status collect(kedge_sqlite_connection *connection, sqlite3_stmt *select,
                            queue_work *work, uint32_t delivered, kedge_error *error)
{
    kedge_status status;
    while ((status = kedge_sqlite_step(connection, select, error)) == KEDGE_OK) {
        char text[KEDGE_QUEUE_RECEIPT_SIZE];
        kedge_queue_message message = {.receipt = text,
                                       .group = kedge_sqlite_column(select, 1),
                                       .body = kedge_sqlite_column(select, 2),
                                       .sent_ms = sqlite3_column_int64(select, 3),
                                       .receive_count =
                                           (uint32_t)sqlite3_column_int64(select, 4) + delivered};
        kedge_queue_receipt receipt = {sqlite3_column_int64(select, 0),
                                       delivered * message.receive_count};
        kedge_queue_receipt_write(receipt, text);
        status = kedge_sqlite_columns_check(connection, error);
        if (status == KEDGE_OK)
            status = kedge_queue_batch_add(&work->batch, work->queue->environment->allocator,
                                           work->count, &message, error);
        if (status != KEDGE_OK) break;
    }
    kedge_sqlite_reset(select);
    return status == KEDGE_DONE ? KEDGE_OK : status;
}

static kedge_status deliver(kedge_sqlite_connection *connection, const queue_work *work,
                            const char *receipt_text, kedge_error *error)
{
    kedge_queue_receipt receipt;
    sqlite3_stmt *update;
    kedge_status status = kedge_queue_receipt_read(receipt_text, false, &receipt, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(connection, DELIVER_MESSAGE, &update, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(update, 1, work->now_ms);
    sqlite3_bind_int64(update, 2, work->now_ms + work->visibility_ms);
    sqlite3_bind_int64(update, 3, receipt.message);
    return kedge_sqlite_run(connection, update, error);
}

static kedge_status receive_work(kedge_sqlite_connection *connection, void *argument,
                                 kedge_error *error)
{
    queue_work *work = argument;
    sqlite3_stmt *select;
    kedge_status status = bury(connection, work, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(connection, SELECT_READY, &select, error);
    if (status != KEDGE_OK) return status;
    bind_time(select, work);
    sqlite3_bind_int64(select, 3, work->count);
    status = collect(connection, select, work, 1, error);
    for (size_t i = 0; i < work->batch.count && status == KEDGE_OK; i++)
        status = deliver(connection, work, work->batch.messages[i].receipt, error);
    return status;
}

/* Gives the batch away when the work's commit succeeded. */
static kedge_status submit_for_batch(sqlite_queue *self, kedge_sqlite_work run, queue_work *work,
                                     kedge_queue_batch *batch, kedge_error *error)
{
    kedge_status status = kedge_sqlite_write(&self->writer, run, work, error);
    if (status == KEDGE_OK)
        *batch = work->batch;
    else
        kedge_queue_batch_free(&work->batch);
    return status;
}

static kedge_status queue_receive(void *context, uint32_t count, int64_t visibility_ms,
                                  int64_t wait_ms, kedge_queue_batch *batch, kedge_error *error)
{
    sqlite_queue *self = context;
    kedge_status status = kedge_queue_receive_check(count, visibility_ms, wait_ms, error);
    if (status != KEDGE_OK) return status;
    queue_work work = work_of(self);
    work.count = count;
    work.visibility_ms = visibility_ms;
    return submit_for_batch(self, receive_work, &work, batch, error);
}

/* ---- one delivery ---- */

static kedge_status run_on_one(kedge_sqlite_connection *connection, sqlite3_stmt *change,
                               const queue_work *work, kedge_error *error)
{
    kedge_status status = kedge_sqlite_run(connection, change, error);
    if (status == KEDGE_OK && sqlite3_changes(connection->handle) == 0)
        status = kedge_queue_stale_receipt(work->receipt_text, error);
    return status;
}

static kedge_status extend_work(kedge_sqlite_connection *connection, void *argument,
                                kedge_error *error)
{
    queue_work *work = argument;
    sqlite3_stmt *update;
    kedge_status status = kedge_sqlite_statement(connection, EXTEND_MESSAGE, &update, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(update, 1, work->now_ms);
    sqlite3_bind_int64(update, 2, work->now_ms + work->visibility_ms);
    sqlite3_bind_int64(update, 3, work->receipt.message);
    sqlite3_bind_int64(update, 4, work->receipt.receive_count);
    return run_on_one(connection, update, work, error);
}

static kedge_status done_work(kedge_sqlite_connection *connection, void *argument,
                              kedge_error *error)
{
    queue_work *work = argument;
    sqlite3_stmt *delete;
    kedge_status status = kedge_sqlite_statement(connection, DELETE_MESSAGE, &delete, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(delete, 1, work->receipt.message);
    sqlite3_bind_int64(delete, 2, work->receipt.receive_count);
    return run_on_one(connection, delete, work, error);
}

static kedge_status redrive_work(kedge_sqlite_connection *connection, void *argument,
                                 kedge_error *error)
{
    queue_work *work = argument;
    sqlite3_stmt *insert, *delete;
    kedge_status status = kedge_sqlite_statement(connection, REDRIVE_MESSAGE, &insert, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(connection, DELETE_DEAD, &delete, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(insert, 1, work->receipt.message);
    status = kedge_sqlite_run(connection, insert, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(delete, 1, work->receipt.message);
    return run_on_one(connection, delete, work, error);
}

static kedge_status submit_receipt(sqlite_queue *self, kedge_sqlite_work run, const char *receipt,
                                   bool dead, int64_t visibility_ms, kedge_error *error)
{
    queue_work work = work_of(self);
    kedge_status status = kedge_queue_receipt_read(receipt, dead, &work.receipt, error);
    if (status != KEDGE_OK) return status;
    work.receipt_text = receipt;
    work.visibility_ms = visibility_ms;
    return kedge_sqlite_write(&self->writer, run, &work, error);
}

static kedge_status queue_extend(void *context, const char *receipt, int64_t visibility_ms,
                                 kedge_error *error)
{
    kedge_status status = kedge_queue_visibility_check(visibility_ms, error);
    if (status != KEDGE_OK) return status;
    return submit_receipt(context, extend_work, receipt, false, visibility_ms, error);
}

static kedge_status queue_done(void *context, const char *receipt, kedge_error *error)
{
    return submit_receipt(context, done_work, receipt, false, 0, error);
}

static kedge_status queue_redrive(void *context, const char *receipt, kedge_error *error)
{
    return submit_receipt(context, redrive_work, receipt, true, 0, error);
}

/* ---- dead letters ---- */

static kedge_status dead_letters_work(kedge_sqlite_connection *connection, void *argument,
                                      kedge_error *error)
{
    queue_work *work = argument;
    sqlite3_stmt *select;
    kedge_status status = kedge_sqlite_statement(connection, SELECT_DEAD, &select, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(select, 1, work->count);
    return collect(connection, select, work, 0, error);
}

static kedge_status queue_dead_letters(void *context, uint32_t count, kedge_queue_batch *batch,
                                       kedge_error *error)
{
    sqlite_queue *self = context;
    kedge_status status = kedge_queue_count_check(count, KEDGE_QUEUE_DEAD_LETTERS_MAX, error);
    if (status != KEDGE_OK) return status;
    queue_work work = work_of(self);
    work.count = count;
    return submit_for_batch(self, dead_letters_work, &work, batch, error);
}

/* ---- opening ---- */

static void queue_close(void *context)
{
    sqlite_queue *self = context;
    const kedge_allocator *allocator = self->environment->allocator;
    kedge_sqlite_writer_close(&self->writer);
    kedge_release(allocator, self->path);
    kedge_release(allocator, self);
}

static const kedge_queue_vtable vtable = {.send = queue_send,
                                          .receive = queue_receive,
                                          .extend = queue_extend,
                                          .done = queue_done,
                                          .dead_letters = queue_dead_letters,
                                          .redrive = queue_redrive,
                                          .close = queue_close};

kedge_status kedge_sqlite_queue_open(const kedge_environment *environment, const char *path,
                                     uint32_t receive_max, kedge_queue *queue, kedge_error *error)
{
    const kedge_allocator *allocator = environment->allocator;
    kedge_status status = kedge_queue_receive_max_check(receive_max, error);
    if (status != KEDGE_OK) return status;
    sqlite_queue *self = kedge_allocate(allocator, sizeof *self);
    char *path_copy = kedge_copy_text(allocator, kedge_bytes_of(path));
    if (self == NULL || path_copy == NULL)
        status = kedge_fail_no_memory(error);
    else
        status = kedge_sqlite_writer_open(&self->writer, path_copy, &kind, error);
    if (status != KEDGE_OK) {
        kedge_release(allocator, path_copy);
        kedge_release(allocator, self);
        return status;
    }
    self->environment = environment;
    self->path = path_copy;
    self->receive_max = receive_max;
    *queue = (kedge_queue){&vtable, self};
    return KEDGE_OK;
}
