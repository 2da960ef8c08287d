/* The queue port in SQLite: messages, and the groups that they wait in (queue_tables.c). Every call
 * is a work of the writer: a receive writes, too. */
#include "backend/ports/queue_support.h"
#include "backend/sqlite/queue_groups.h"
#include "backend/sqlite/queue_tables.h"
#include "backend/sqlite/sqlite_ports.h"
#include "backend/sqlite/writer.h"
#include "common/error.h"

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
    kedge_bytes owner, group, deduplication, body;
    uint32_t count;
    const kedge_queue_admission *admission;
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
    kedge_status status = kedge_sqlite_statement(connection, KEDGE_QUEUE_FIND_NAME, &find, error);
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
    kedge_status status = kedge_sqlite_statement(connection, KEDGE_QUEUE_PUT_NAME, &put, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(put, 1, work->deduplication);
    sqlite3_bind_int64(put, 2, work->now_ms);
    status = kedge_sqlite_run(connection, put, error);
    if (status != KEDGE_OK) return status;
    status = kedge_sqlite_statement(connection, KEDGE_QUEUE_PURGE_NAMES, &purge, error);
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
        status = kedge_sqlite_statement(connection, KEDGE_QUEUE_INSERT_MESSAGE, &insert, error);
    if (status != KEDGE_OK) return status;
    kedge_sqlite_bind(insert, 1, work->owner);
    kedge_sqlite_bind(insert, 2, work->group);
    kedge_sqlite_bind(insert, 3, work->body);
    sqlite3_bind_int64(insert, 4, work->now_ms);
    status = kedge_sqlite_run(connection, insert, error);
    if (status != KEDGE_OK) return status;
    return kedge_queue_group_join(connection, work->owner, work->group, error);
}

static kedge_status queue_send(void *context, kedge_bytes owner, kedge_bytes group,
                               kedge_bytes deduplication, kedge_bytes body, kedge_error *error)
{
    sqlite_queue *self = context;
    kedge_status status = kedge_queue_send_check(owner, group, deduplication, body, error);
    if (status != KEDGE_OK) return status;
    queue_work work = work_of(self);
    work.owner = owner;
    work.group = group;
    work.deduplication = deduplication;
    work.body = body;
    return kedge_sqlite_write(&self->writer, send_work, &work, error);
}

/* ---- receive ---- */

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

static kedge_status deliver(kedge_sqlite_connection *connection, queue_work *work, int64_t id,
                            kedge_error *error)
{
    sqlite3_stmt *select, *update;
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_MESSAGE, &select, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(connection, KEDGE_QUEUE_DELIVER_MESSAGE, &update, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(select, 1, id);
    status = collect(connection, select, work, 1, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(update, 1, work->now_ms);
    sqlite3_bind_int64(update, 2, work->now_ms + work->visibility_ms);
    sqlite3_bind_int64(update, 3, id);
    return kedge_sqlite_run(connection, update, error);
}

static kedge_status receive_work(kedge_sqlite_connection *connection, void *argument,
                                 kedge_error *error)
{
    queue_work *work = argument;
    kedge_queue_choice choice;
    const kedge_queue_wish wish = {.count = work->count,
                                   .receive_max = work->queue->receive_max,
                                   .now_ms = work->now_ms,
                                   .admission = work->admission};
    kedge_status status = kedge_queue_choose(connection, &wish, &choice, error);
    for (size_t i = 0; i < choice.count && status == KEDGE_OK; i++)
        status = deliver(connection, work, choice.messages[i], error);
    if (status != KEDGE_OK) return status;
    return kedge_queue_served(connection, &choice, work->now_ms, error);
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
                                  int64_t wait_ms, const kedge_queue_admission *admission,
                                  kedge_queue_batch *batch, kedge_error *error)
{
    sqlite_queue *self = context;
    kedge_status status = kedge_queue_receive_check(count, visibility_ms, wait_ms, error);
    if (status != KEDGE_OK) return status;
    queue_work work = work_of(self);
    work.count = count;
    work.visibility_ms = visibility_ms;
    work.admission = admission;
    return submit_for_batch(self, receive_work, &work, batch, error);
}

/* ---- one delivery ---- */

/* The group and the owner of the message that the receipt names, found by `statement`. */
static kedge_status find(kedge_sqlite_connection *connection, kedge_queue_statement statement,
                         const queue_work *work, kedge_queue_name *group, kedge_queue_name *owner,
                         kedge_error *error)
{
    sqlite3_stmt *select;
    kedge_status status = kedge_sqlite_statement(connection, statement, &select, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(select, 1, work->receipt.message);
    if (statement == KEDGE_QUEUE_FIND_DELIVERY)
        sqlite3_bind_int64(select, 2, work->receipt.receive_count);
    status = kedge_sqlite_step(connection, select, error);
    if (status == KEDGE_OK) {
        kedge_queue_name_take(select, 0, group);
        if (owner != NULL) kedge_queue_name_take(select, 1, owner);
        status = kedge_sqlite_columns_check(connection, error);
    }
    kedge_sqlite_reset(select);
    return status == KEDGE_DONE ? kedge_queue_stale_receipt(work->receipt_text, error) : status;
}

static kedge_status run_on_id(kedge_sqlite_connection *connection, kedge_queue_statement statement,
                              int64_t id, kedge_error *error)
{
    sqlite3_stmt *change;
    kedge_status status = kedge_sqlite_statement(connection, statement, &change, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(change, 1, id);
    return kedge_sqlite_run(connection, change, error);
}

static kedge_status extend_work(kedge_sqlite_connection *connection, void *argument,
                                kedge_error *error)
{
    queue_work *work = argument;
    kedge_queue_name group;
    sqlite3_stmt *update;
    kedge_status status = find(connection, KEDGE_QUEUE_FIND_DELIVERY, work, &group, NULL, error);
    if (status == KEDGE_OK)
        status = kedge_sqlite_statement(connection, KEDGE_QUEUE_EXTEND_MESSAGE, &update, error);
    if (status != KEDGE_OK) return status;
    sqlite3_bind_int64(update, 1, work->now_ms);
    sqlite3_bind_int64(update, 2, work->now_ms + work->visibility_ms);
    sqlite3_bind_int64(update, 3, work->receipt.message);
    status = kedge_sqlite_run(connection, update, error);
    if (status != KEDGE_OK) return status;
    return kedge_queue_group_refresh(connection, kedge_queue_name_bytes(&group), work->now_ms,
                                     error);
}

static kedge_status done_work(kedge_sqlite_connection *connection, void *argument,
                              kedge_error *error)
{
    queue_work *work = argument;
    kedge_queue_name group;
    kedge_status status = find(connection, KEDGE_QUEUE_FIND_DELIVERY, work, &group, NULL, error);
    if (status == KEDGE_OK)
        status = run_on_id(connection, KEDGE_QUEUE_DELETE_MESSAGE, work->receipt.message, error);
    if (status != KEDGE_OK) return status;
    return kedge_queue_group_refresh(connection, kedge_queue_name_bytes(&group), work->now_ms,
                                     error);
}

static kedge_status redrive_work(kedge_sqlite_connection *connection, void *argument,
                                 kedge_error *error)
{
    queue_work *work = argument;
    kedge_queue_name group, owner;
    int64_t id = work->receipt.message;
    kedge_status status = find(connection, KEDGE_QUEUE_FIND_DEAD, work, &group, &owner, error);
    if (status == KEDGE_OK) status = run_on_id(connection, KEDGE_QUEUE_REDRIVE_MESSAGE, id, error);
    if (status == KEDGE_OK)
        status = kedge_queue_group_join(connection, kedge_queue_name_bytes(&owner),
                                        kedge_queue_name_bytes(&group), error);
    if (status == KEDGE_OK) status = run_on_id(connection, KEDGE_QUEUE_DELETE_MESSAGE, id, error);
    return status;
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
    kedge_status status =
        kedge_sqlite_statement(connection, KEDGE_QUEUE_SELECT_DEAD, &select, error);
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
    status = submit_for_batch(self, dead_letters_work, &work, batch, error);
    if (status == KEDGE_OK) batch->more = batch->count == count;
    return status;
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
        status = kedge_sqlite_writer_open(&self->writer, path_copy, &kedge_queue_kind, error);
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
