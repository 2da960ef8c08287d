/* The queue port in memory: messages in order of their ids, dead letters among them. The rules are
 * those of the SQLite queue (backend/sqlite/queue.c). */
#include "backend/memory/list.h"
#include "backend/memory/memory_ports.h"
#include "backend/ports/queue_support.h"
#include "common/error.h"

#include <pthread.h>

typedef struct message {
    int64_t id;
    kedge_bytes owner, group, body;
    int64_t owner_place, group_place; /* the same in all messages of one that are not dead */
    int64_t sent_ms;
    uint32_t receive_count;
    int64_t changed_ms, visible_ms;
    bool dead;
} message; /* and the bytes */

typedef struct sent_name {
    kedge_bytes name;
    int64_t sent_ms;
} sent_name; /* and the bytes */

typedef struct memory_queue {
    const kedge_environment *environment;
    uint32_t receive_max;
    int64_t next_id;
    kedge_memory_list messages; /* by id */
    kedge_memory_list names;    /* deduplication, oldest first */
    pthread_mutex_t mutex;
} memory_queue;

static int64_t now_of(const memory_queue *self)
{
    return self->environment->now_ms(self->environment->context);
}

/* ---- places in line: as backend/sqlite/queue_tables.c has them ---- */

static int64_t place_after_all(const memory_queue *self)
{
    int64_t last = 0;
    for (size_t i = 0; i < self->messages.count; i++) {
        const message *at = self->messages.entries[i];
        if (!at->dead && at->owner_place > last) last = at->owner_place;
    }
    return last + 1;
}

/* Gives a message that comes anew the places of its owner and its group. */
static void join(const memory_queue *self, message *fresh)
{
    const message *of_owner = NULL, *of_group = NULL;
    for (size_t i = 0; i < self->messages.count; i++) {
        const message *at = self->messages.entries[i];
        if (at->dead) continue;
        if (kedge_bytes_equal(at->owner, fresh->owner)) of_owner = at;
        if (kedge_bytes_equal(at->group, fresh->group)) of_group = at;
    }
    fresh->owner_place = of_owner != NULL ? of_owner->owner_place : place_after_all(self);
    fresh->group_place = of_group != NULL ? of_group->group_place : fresh->owner_place;
}

static void go_last(memory_queue *self, message *const *given, size_t count)
{
    int64_t place = place_after_all(self);
    for (size_t i = 0; i < self->messages.count && count > 0; i++) {
        message *at = self->messages.entries[i];
        if (at->dead || !kedge_bytes_equal(at->owner, given[0]->owner)) continue;
        at->owner_place = place;
        for (size_t k = 0; k < count; k++) {
            if (kedge_bytes_equal(at->group, given[k]->group)) at->group_place = place;
        }
    }
}

/* ---- send ---- */

static bool is_recent(const sent_name *name, int64_t now_ms)
{
    int64_t age_ms = now_ms - name->sent_ms;
    return age_ms < KEDGE_QUEUE_DEDUPLICATION_MS && age_ms > -KEDGE_QUEUE_DEDUPLICATION_MS;
}

static bool was_sent(memory_queue *self, kedge_bytes name, int64_t now_ms)
{
    for (size_t i = 0; i < self->names.count;) {
        const sent_name *at = self->names.entries[i];
        if (!is_recent(at, now_ms)) {
            kedge_release(self->names.allocator, kedge_memory_list_take(&self->names, i));
            continue;
        }
        if (kedge_bytes_equal(at->name, name)) return true;
        i++;
    }
    return false;
}

static message *make_message(const kedge_allocator *allocator, const message *content)
{
    message *fresh = kedge_allocate(allocator, sizeof *fresh + content->owner.size +
                                                   content->group.size + content->body.size + 3);
    if (fresh == NULL) return NULL;
    char *at = (char *)(fresh + 1);
    *fresh = *content;
    fresh->owner = kedge_memory_place_bytes(&at, content->owner);
    fresh->group = kedge_memory_place_bytes(&at, content->group);
    fresh->body = kedge_memory_place_bytes(&at, content->body);
    return fresh;
}

static sent_name *make_name(const kedge_allocator *allocator, const sent_name *content)
{
    sent_name *fresh = kedge_allocate(allocator, sizeof *fresh + content->name.size + 1);
    if (fresh == NULL) return NULL;
    char *at = (char *)(fresh + 1);
    fresh->name = kedge_memory_place_bytes(&at, content->name);
    fresh->sent_ms = content->sent_ms;
    return fresh;
}

/* With the mutex held. All that can fail comes first. */
static kedge_status append(memory_queue *self, const message *content, const sent_name *name,
                           kedge_error *error)
{
    const kedge_allocator *allocator = self->environment->allocator;
    if (!kedge_memory_list_reserve(&self->messages, 1) ||
        !kedge_memory_list_reserve(&self->names, 1))
        return kedge_fail_no_memory(error);
    message *fresh = make_message(allocator, content);
    sent_name *fresh_name = make_name(allocator, name);
    if (fresh == NULL || fresh_name == NULL) {
        kedge_release(allocator, fresh);
        kedge_release(allocator, fresh_name);
        return kedge_fail_no_memory(error);
    }
    fresh->id = self->next_id++;
    join(self, fresh);
    kedge_memory_list_insert(&self->messages, self->messages.count, fresh);
    kedge_memory_list_insert(&self->names, self->names.count, fresh_name);
    return KEDGE_OK;
}

static kedge_status queue_send(void *context, kedge_bytes owner, kedge_bytes group,
                               kedge_bytes deduplication, kedge_bytes body, kedge_error *error)
{
    memory_queue *self = context;
    kedge_status status = kedge_queue_send_check(owner, group, deduplication, body, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    int64_t now_ms = now_of(self);
    message content = {.owner = owner, .group = group, .body = body, .sent_ms = now_ms};
    sent_name name = {deduplication, now_ms};
    if (!was_sent(self, deduplication, now_ms)) status = append(self, &content, &name, error);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

/* ---- receive: with the mutex held ---- */

static bool in_flight(const message *at, int64_t now_ms)
{
    return !at->dead && at->receive_count > 0 && at->visible_ms > now_ms &&
           at->changed_ms <= now_ms + KEDGE_QUEUE_CLOCK_SLACK_MS;
}

static bool group_is_free(const memory_queue *self, kedge_bytes group, int64_t now_ms)
{
    for (size_t i = 0; i < self->messages.count; i++) {
        const message *at = self->messages.entries[i];
        if (in_flight(at, now_ms) && kedge_bytes_equal(at->group, group)) return false;
    }
    return true;
}

/* Of two messages with the same places the older one comes first, which is met first. */
static bool is_before(const message *a, const message *b)
{
    if (a->owner_place != b->owner_place) return a->owner_place < b->owner_place;
    return a->group_place < b->group_place;
}

static bool may_give(const memory_queue *self, const message *at, int64_t now_ms)
{
    return !at->dead && group_is_free(self, at->group, now_ms);
}

static bool is_chosen(message *const *ready, size_t count, kedge_bytes group)
{
    for (size_t i = 0; i < count; i++)
        if (kedge_bytes_equal(ready[i]->group, group)) return true;
    return false;
}

/* The oldest message of the group that is next: of an owner with a place after `after`, or of
 * that `owner`, and of no chosen group. NULL: there is none. */
static const message *next_group(const memory_queue *self, const kedge_bytes *owner, int64_t after,
                                 message *const *ready, size_t count, int64_t now_ms)
{
    const message *next = NULL;
    for (size_t i = 0; i < self->messages.count; i++) {
        const message *at = self->messages.entries[i];
        if (owner == NULL ? at->owner_place <= after : !kedge_bytes_equal(at->owner, *owner))
            continue;
        if (!may_give(self, at, now_ms) || is_chosen(ready, count, at->group)) continue;
        if (next == NULL || is_before(at, next)) next = at;
    }
    return next;
}

/* The oldest message of the group that is next, of the owners that may be served. */
static const message *first_group(const memory_queue *self, const kedge_queue_admission *admission,
                                  int64_t now_ms)
{
    int64_t after = 0;
    for (uint32_t asked = 0; asked < KEDGE_QUEUE_OWNERS_ASKED; asked++) {
        const message *next = next_group(self, NULL, after, NULL, 0, now_ms);
        if (next == NULL || admission == NULL ||
            admission->may_take(admission->context, next->owner))
            return next;
        after = next->owner_place;
    }
    return NULL;
}

static bool others_wait(const memory_queue *self, kedge_bytes owner, int64_t now_ms)
{
    for (size_t i = 0; i < self->messages.count; i++) {
        const message *at = self->messages.entries[i];
        if (!kedge_bytes_equal(at->owner, owner) && may_give(self, at, now_ms)) return true;
    }
    return false;
}

/* Chooses messages of the group, after burying those of it that were received too often. */
static size_t choose_in_group(memory_queue *self, kedge_bytes group, message **ready, size_t room)
{
    size_t chosen = 0;
    for (size_t i = 0; i < self->messages.count; i++) {
        message *at = self->messages.entries[i];
        if (at->dead || !kedge_bytes_equal(at->group, group)) continue;
        at->dead = at->receive_count >= self->receive_max;
        if (!at->dead && chosen < room) ready[chosen++] = at;
    }
    return chosen;
}

/* What the next receive gives. */
static size_t choose(memory_queue *self, uint32_t count, const kedge_queue_admission *admission,
                     int64_t now_ms, message *ready[KEDGE_QUEUE_RECEIVE_MAX])
{
    size_t chosen = 0;
    const message *next = first_group(self, admission, now_ms);
    while (next != NULL && chosen < count) {
        chosen += choose_in_group(self, next->group, ready + chosen, count - chosen);
        if (chosen == 0)
            next = first_group(self, admission, now_ms); /* all of the group are dead */
        else if (others_wait(self, ready[0]->owner, now_ms))
            break;
        else
            next = next_group(self, &ready[0]->owner, 0, ready, chosen, now_ms);
    }
    return chosen;
}

static kedge_status copy_out(const memory_queue *self, const message *at, uint32_t delivered,
                             size_t capacity, kedge_queue_batch *batch, kedge_error *error)
{
    char text[KEDGE_QUEUE_RECEIPT_SIZE];
    kedge_queue_message copy = {.receipt = text,
                                .group = at->group,
                                .body = at->body,
                                .sent_ms = at->sent_ms,
                                .receive_count = at->receive_count + delivered};
    kedge_queue_receipt receipt = {at->id, delivered * copy.receive_count};
    kedge_queue_receipt_write(receipt, text);
    return kedge_queue_batch_add(batch, self->environment->allocator, capacity, &copy, error);
}

/* Nothing is delivered before all copies are made: a failure leaves the queue as it was, but for
 * messages whose deliveries were used up. */
static kedge_status receive(memory_queue *self, uint32_t count, int64_t visibility_ms,
                            const kedge_queue_admission *admission, kedge_queue_batch *batch,
                            kedge_error *error)
{
    message *ready[KEDGE_QUEUE_RECEIVE_MAX];
    int64_t now_ms = now_of(self);
    size_t chosen = choose(self, count, admission, now_ms, ready);
    for (size_t i = 0; i < chosen; i++) {
        kedge_status status = copy_out(self, ready[i], 1, count, batch, error);
        if (status != KEDGE_OK) return status;
    }
    for (size_t i = 0; i < chosen; i++) {
        ready[i]->receive_count++;
        ready[i]->changed_ms = now_ms;
        ready[i]->visible_ms = now_ms + visibility_ms;
    }
    go_last(self, ready, chosen);
    return KEDGE_OK;
}

static kedge_status queue_receive(void *context, uint32_t count, int64_t visibility_ms,
                                  int64_t wait_ms, const kedge_queue_admission *admission,
                                  kedge_queue_batch *batch, kedge_error *error)
{
    memory_queue *self = context;
    kedge_queue_batch found = {0};
    kedge_status status = kedge_queue_receive_check(count, visibility_ms, wait_ms, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    status = receive(self, count, visibility_ms, admission, &found, error);
    pthread_mutex_unlock(&self->mutex);
    if (status == KEDGE_OK)
        *batch = found;
    else
        kedge_queue_batch_free(&found);
    return status;
}

/* ---- one delivery ---- */

static int order_of_messages(const void *at, const void *key)
{
    int64_t id = ((const message *)at)->id, wanted = *(const int64_t *)key;
    return (id > wanted) - (id < wanted);
}

/* NULL when the message is gone or, but for a dead letter, delivered again since. */
static message *find(const memory_queue *self, const kedge_queue_receipt *receipt, bool dead,
                     size_t *place)
{
    *place = kedge_memory_list_place(&self->messages, order_of_messages, &receipt->message);
    if (*place == self->messages.count) return NULL;
    message *at = self->messages.entries[*place];
    if (at->id != receipt->message || at->dead != dead) return NULL;
    return dead || at->receive_count == receipt->receive_count ? at : NULL;
}

static kedge_status queue_extend(void *context, const char *receipt, int64_t visibility_ms,
                                 kedge_error *error)
{
    memory_queue *self = context;
    kedge_queue_receipt read;
    size_t place;
    kedge_status status = kedge_queue_visibility_check(visibility_ms, error);
    if (status == KEDGE_OK) status = kedge_queue_receipt_read(receipt, false, &read, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    message *found = find(self, &read, false, &place);
    if (found != NULL) {
        found->changed_ms = now_of(self);
        found->visible_ms = found->changed_ms + visibility_ms;
    }
    pthread_mutex_unlock(&self->mutex);
    return found != NULL ? KEDGE_OK : kedge_queue_stale_receipt(receipt, error);
}

static kedge_status queue_done(void *context, const char *receipt, kedge_error *error)
{
    memory_queue *self = context;
    kedge_queue_receipt read;
    size_t place;
    kedge_status status = kedge_queue_receipt_read(receipt, false, &read, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    bool found = find(self, &read, false, &place) != NULL;
    if (found)
        kedge_release(self->messages.allocator, kedge_memory_list_take(&self->messages, place));
    pthread_mutex_unlock(&self->mutex);
    return found ? KEDGE_OK : kedge_queue_stale_receipt(receipt, error);
}

static kedge_status queue_redrive(void *context, const char *receipt, kedge_error *error)
{
    memory_queue *self = context;
    kedge_queue_receipt read;
    size_t place;
    kedge_status status = kedge_queue_receipt_read(receipt, true, &read, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    message *found = find(self, &read, true, &place);
    if (found != NULL) {
        kedge_memory_list_take(&self->messages, place);
        found->id = self->next_id++;
        found->receive_count = 0;
        found->dead = false;
        join(self, found);
        kedge_memory_list_insert(&self->messages, self->messages.count, found);
    }
    pthread_mutex_unlock(&self->mutex);
    return found != NULL ? KEDGE_OK : kedge_queue_stale_receipt(receipt, error);
}

static kedge_status queue_dead_letters(void *context, uint32_t count, kedge_queue_batch *batch,
                                       kedge_error *error)
{
    memory_queue *self = context;
    kedge_queue_batch found = {0};
    kedge_status status = kedge_queue_count_check(count, KEDGE_QUEUE_DEAD_LETTERS_MAX, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->messages.count && status == KEDGE_OK && found.count < count; i++) {
        const message *at = self->messages.entries[i];
        if (at->dead) status = copy_out(self, at, 0, count, &found, error);
    }
    found.more = found.count == count;
    pthread_mutex_unlock(&self->mutex);
    if (status == KEDGE_OK)
        *batch = found;
    else
        kedge_queue_batch_free(&found);
    return status;
}

/* ---- for tests ---- */

size_t kedge_memory_queue_waiting(const kedge_queue *queue)
{
    memory_queue *self = queue->self;
    size_t count = 0;
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < self->messages.count; i++) {
        const message *at = self->messages.entries[i];
        if (!at->dead) count++;
    }
    pthread_mutex_unlock(&self->mutex);
    return count;
}

bool kedge_memory_queue_find(const kedge_queue *queue, const char *receipt,
                             kedge_queue_message *found)
{
    memory_queue *self = queue->self;
    kedge_queue_receipt read;
    size_t place;
    if (kedge_queue_receipt_read(receipt, false, &read, NULL) != KEDGE_OK) return false;
    pthread_mutex_lock(&self->mutex);
    const message *at = find(self, &read, false, &place);
    if (at != NULL) {
        *found = (kedge_queue_message){.group = at->group,
                                       .body = at->body,
                                       .sent_ms = at->sent_ms,
                                       .receive_count = at->receive_count};
    }
    pthread_mutex_unlock(&self->mutex);
    return at != NULL;
}

/* ---- opening, copying ---- */

static void queue_close(void *context)
{
    memory_queue *self = context;
    kedge_memory_list_free(&self->messages);
    kedge_memory_list_free(&self->names);
    pthread_mutex_destroy(&self->mutex);
    kedge_release(self->environment->allocator, self);
}

static const kedge_queue_vtable vtable = {.send = queue_send,
                                          .receive = queue_receive,
                                          .extend = queue_extend,
                                          .done = queue_done,
                                          .dead_letters = queue_dead_letters,
                                          .redrive = queue_redrive,
                                          .close = queue_close};

kedge_status kedge_memory_queue_open(const kedge_environment *environment, uint32_t receive_max,
                                     kedge_queue *queue, kedge_error *error)
{
    kedge_status status = kedge_queue_receive_max_check(receive_max, error);
    if (status != KEDGE_OK) return status;
    memory_queue *self = kedge_allocate(environment->allocator, sizeof *self);
    if (self == NULL) return kedge_fail_no_memory(error);
    self->environment = environment;
    self->receive_max = receive_max;
    self->next_id = 1;
    self->messages.allocator = environment->allocator;
    self->names.allocator = environment->allocator;
    pthread_mutex_init(&self->mutex, NULL);
    *queue = (kedge_queue){&vtable, self};
    return KEDGE_OK;
}

static kedge_status copy_contents(const memory_queue *from, memory_queue *copy, kedge_error *error)
{
    if (!kedge_memory_list_reserve(&copy->messages, from->messages.count) ||
        !kedge_memory_list_reserve(&copy->names, from->names.count))
        return kedge_fail_no_memory(error);
    for (size_t i = 0; i < from->messages.count; i++) {
        message *fresh = make_message(copy->messages.allocator, from->messages.entries[i]);
        if (fresh == NULL) return kedge_fail_no_memory(error);
        kedge_memory_list_insert(&copy->messages, i, fresh);
    }
    for (size_t i = 0; i < from->names.count; i++) {
        sent_name *fresh = make_name(copy->names.allocator, from->names.entries[i]);
        if (fresh == NULL) return kedge_fail_no_memory(error);
        kedge_memory_list_insert(&copy->names, i, fresh);
    }
    copy->next_id = from->next_id;
    return KEDGE_OK;
}

static void swap_lists(kedge_memory_list *a, kedge_memory_list *b)
{
    kedge_memory_list old = *a;
    *a = *b;
    *b = old;
}

kedge_status kedge_memory_queue_copy(const kedge_queue *from, const kedge_queue *to,
                                     kedge_error *error)
{
    memory_queue *source = from->self, *target = to->self;
    if (source == target) return KEDGE_OK;
    const kedge_allocator *allocator = target->environment->allocator;
    memory_queue copy = {.messages = {.allocator = allocator}, .names = {.allocator = allocator}};
    pthread_mutex_lock(&source->mutex);
    kedge_status status = copy_contents(source, &copy, error);
    pthread_mutex_unlock(&source->mutex);
    if (status == KEDGE_OK) {
        pthread_mutex_lock(&target->mutex);
        swap_lists(&target->messages, &copy.messages);
        swap_lists(&target->names, &copy.names);
        target->next_id = copy.next_id;
        pthread_mutex_unlock(&target->mutex);
    }
    kedge_memory_list_free(&copy.messages);
    kedge_memory_list_free(&copy.names);
    return status;
}
