/* The records port in memory: a list of entries in the order of their keys, and a second list, in
 * the order of the inverted index, of those that have an inverted value. Attributes are kept in the
 * compact form that the SQLite port stores, so that the simulator tests that form. */
#include "backend/memory/changes.h"
#include "backend/memory/memory_ports.h"
#include "backend/ports/records_support.h"
#include "common/error.h"

#include <pthread.h>

typedef struct entry {
    kedge_record_key key;
    kedge_bytes inverted; /* empty: not in the index */
    kedge_bytes attributes;
} entry; /* the bytes follow the struct */

typedef struct memory_records {
    const kedge_allocator *allocator;
    kedge_memory_list records;
    kedge_memory_list inverted;    /* borrows its entries from `records` */
    kedge_memory_changes *changes; /* NULL: nobody asked for a stream */
    pthread_mutex_t mutex;
} memory_records;

/* ---- order ---- */

static int compare_pairs(kedge_bytes a1, kedge_bytes a2, kedge_bytes b1, kedge_bytes b2)
{
    int order = kedge_bytes_compare(a1, b1);
    return order != 0 ? order : kedge_bytes_compare(a2, b2);
}

/* A key here is {first, second}: {partition, sort}, or in the index {inverted, partition}. */
static int order_of_records(const void *at, const void *key)
{
    const entry *record = at;
    const kedge_record_key *wanted = key;
    return compare_pairs(record->key.partition, record->key.sort, wanted->partition, wanted->sort);
}

static int order_of_index(const void *at, const void *key)
{
    const entry *record = at;
    const kedge_record_key *wanted = key;
    return compare_pairs(record->inverted, record->key.partition, wanted->partition, wanted->sort);
}

static entry *find(const memory_records *self, const kedge_record_key *key, size_t *place)
{
    *place = kedge_memory_list_place(&self->records, order_of_records, key);
    if (*place == self->records.count) return NULL;
    entry *at = self->records.entries[*place];
    return order_of_records(at, key) == 0 ? at : NULL;
}

/* ---- reading ---- */

static kedge_status add_if_there(const memory_records *self, const kedge_record_key *key,
                                 kedge_record_page *page, kedge_error *error)
{
    size_t place;
    const entry *found = find(self, key, &place);
    return found == NULL ? KEDGE_OK : kedge_record_page_add(page, key, found->attributes, error);
}

static kedge_status records_batch_get(void *context, const kedge_record_key *keys, size_t count,
                                      bool consistent, kedge_record_set *set, kedge_error *error)
{
    (void)consistent;
    memory_records *self = context;
    kedge_record_page page = {.allocator = self->allocator};
    kedge_status status = kedge_records_batch_check(keys, count, error);
    pthread_mutex_lock(&self->mutex);
    for (size_t i = 0; i < count && status == KEDGE_OK; i++)
        status = add_if_there(self, &keys[i], &page, error);
    pthread_mutex_unlock(&self->mutex);
    if (status == KEDGE_OK) kedge_record_page_finish(&page, false, set);
    kedge_record_page_free(&page);
    return status;
}

static kedge_status records_get(void *context, const kedge_record_key *key, bool consistent,
                                kedge_record_set *set, kedge_error *error)
{
    kedge_record_set found = {0};
    kedge_status status = records_batch_get(context, key, 1, consistent, &found, error);
    if (status == KEDGE_OK && found.count == 0) {
        kedge_record_set_free(&found);
        return kedge_fail(error, KEDGE_NOT_FOUND, "record-not-found",
                          "there is no record under the sort key %.*s", (int)key->sort.size,
                          key->sort.data);
    }
    if (status == KEDGE_OK) *set = found;
    return status;
}

static kedge_status fill_page(const kedge_memory_list *list, size_t first, size_t end,
                              const kedge_records_query *query, kedge_record_page *page, bool *more,
                              kedge_error *error)
{
    for (size_t i = first; i < end; i++) {
        *more = page->count == query->limit || page->bytes >= KEDGE_RECORDS_PAGE_BYTES;
        if (*more) return KEDGE_OK;
        const entry *at = list->entries[query->descending ? first + end - 1 - i : i];
        kedge_status status = kedge_record_page_add(page, &at->key, at->attributes, error);
        if (status != KEDGE_OK) return status;
    }
    return KEDGE_OK;
}

static kedge_status records_query(void *context, const kedge_records_query *query,
                                  kedge_record_set *set, kedge_error *error)
{
    memory_records *self = context;
    kedge_status status = kedge_records_query_check(query, error);
    if (status != KEDGE_OK) return status;
    kedge_records_range range;
    kedge_records_range_make(query, &range);
    kedge_record_page page = {.allocator = self->allocator};
    bool more = false;
    const kedge_memory_list *list = query->inverted ? &self->inverted : &self->records;
    kedge_memory_order order = query->inverted ? order_of_index : order_of_records;
    kedge_record_key lower = {query->partition, range.lower};
    kedge_record_key upper = {query->partition, range.upper};
    pthread_mutex_lock(&self->mutex);
    size_t first = kedge_memory_list_place(list, order, &lower);
    size_t end = kedge_memory_list_place(list, order, &upper);
    status = fill_page(list, first, end, query, &page, &more, error);
    pthread_mutex_unlock(&self->mutex);
    if (status == KEDGE_OK) kedge_record_page_finish(&page, more, set);
    kedge_record_page_free(&page);
    return status;
}

/* ---- writing ---- */

static entry *make_entry(const kedge_allocator *allocator, const kedge_record_key *key,
                         kedge_bytes inverted, kedge_bytes attributes)
{
    size_t size = key->partition.size + key->sort.size + inverted.size + attributes.size + 4;
    entry *fresh = kedge_allocate(allocator, sizeof *fresh + size);
    if (fresh == NULL) return NULL;
    char *at = (char *)(fresh + 1);
    fresh->key.partition = kedge_memory_place_bytes(&at, key->partition);
    fresh->key.sort = kedge_memory_place_bytes(&at, key->sort);
    fresh->inverted = kedge_memory_place_bytes(&at, inverted);
    fresh->attributes = kedge_memory_place_bytes(&at, attributes);
    return fresh;
}

static entry *encode_entry(const memory_records *self, const kedge_record *record)
{
    kedge_buffer encoded = kedge_buffer_make(self->allocator);
    kedge_record_encode(record, &encoded);
    entry *fresh = NULL;
    if (kedge_buffer_status(&encoded, NULL) == KEDGE_OK)
        fresh = make_entry(self->allocator, &record->key, kedge_record_inverted(record),
                           kedge_buffer_bytes(&encoded));
    kedge_buffer_free(&encoded);
    return fresh;
}

static size_t place_in_index(const memory_records *self, const entry *record)
{
    kedge_record_key key = {record->inverted, record->key.partition};
    return kedge_memory_list_place(&self->inverted, order_of_index, &key);
}

static void drop_from_index(memory_records *self, const entry *record)
{
    size_t place = place_in_index(self, record);
    while (self->inverted.entries[place] != record)
        place++;
    kedge_memory_list_take(&self->inverted, place);
}

/* Cannot fail: `fresh` is made, and both lists have room. */
static void apply(memory_records *self, const kedge_record_write *write, entry *fresh)
{
    size_t place;
    if (write->kind == KEDGE_WRITE_CHECK) return;
    entry *old = find(self, &write->record.key, &place);
    if (old != NULL) {
        if (old->inverted.size > 0) drop_from_index(self, old);
        kedge_release(self->allocator, kedge_memory_list_take(&self->records, place));
    }
    if (fresh == NULL) return;
    kedge_memory_list_insert(&self->records, place, fresh);
    if (fresh->inverted.size > 0)
        kedge_memory_list_insert(&self->inverted, place_in_index(self, fresh), fresh);
}

static kedge_status check_conditions(const memory_records *self, const kedge_record_write *writes,
                                     size_t count, kedge_error *error)
{
    kedge_status status = KEDGE_OK;
    for (size_t i = 0; i < count && status == KEDGE_OK; i++) {
        size_t place;
        const entry *stored = find(self, &writes[i].record.key, &place);
        status = kedge_record_condition_check(
            &writes[i], stored != NULL, stored == NULL ? (kedge_bytes){0} : stored->attributes,
            error);
    }
    return status;
}

/* A removal has a record without attributes. NULL: no memory. */
static kedge_memory_change *make_removal(const memory_records *self, const kedge_record_key *key)
{
    const kedge_record without = {.key = *key};
    kedge_memory_change *change = NULL;
    kedge_buffer attributes = kedge_buffer_make(self->allocator);
    kedge_record_encode(&without, &attributes);
    if (kedge_buffer_status(&attributes, NULL) == KEDGE_OK)
        change = kedge_memory_change_make(self->changes, KEDGE_STREAM_REMOVE, key,
                                          kedge_buffer_bytes(&attributes));
    kedge_buffer_free(&attributes);
    return change;
}

/* The change that readers of the stream get. NULL: the write changes nothing, or, when `*failed`,
 * there is no memory. */
static kedge_memory_change *make_change(const memory_records *self, const kedge_record_write *write,
                                        const entry *fresh, bool *failed)
{
    size_t place;
    const kedge_record_key *key = &write->record.key;
    bool exists = find(self, key, &place) != NULL;
    bool put = write->kind == KEDGE_WRITE_PUT;
    if (self->changes == NULL || write->kind == KEDGE_WRITE_CHECK || (!put && !exists)) return NULL;
    kedge_stream_change_kind kind = exists ? KEDGE_STREAM_MODIFY : KEDGE_STREAM_INSERT;
    kedge_memory_change *change =
        put ? kedge_memory_change_make(self->changes, kind, key, fresh->attributes)
            : make_removal(self, key);
    *failed = change == NULL;
    return change;
}

/* Makes the entries and the changes, and makes room in the lists. After it nothing can fail. */
static kedge_status prepare(memory_records *self, const kedge_record_write *writes, size_t count,
                            entry **fresh, kedge_memory_change **changes, kedge_error *error)
{
    bool failed = !kedge_memory_list_reserve(&self->records, count) ||
                  !kedge_memory_list_reserve(&self->inverted, count) ||
                  (self->changes != NULL && !kedge_memory_changes_reserve(self->changes, count));
    for (size_t i = 0; i < count && !failed; i++) {
        if (writes[i].kind == KEDGE_WRITE_PUT) {
            fresh[i] = encode_entry(self, &writes[i].record);
            failed = fresh[i] == NULL;
        }
        if (!failed) changes[i] = make_change(self, &writes[i], fresh[i], &failed);
    }
    return failed ? kedge_fail_no_memory(error) : KEDGE_OK;
}

/* With the mutex held. */
static kedge_status submit(memory_records *self, const kedge_record_write *writes, size_t count,
                           kedge_error *error)
{
    entry *fresh[KEDGE_TRANSACT_WRITES_MAX] = {0};
    kedge_memory_change *changes[KEDGE_TRANSACT_WRITES_MAX] = {0};
    kedge_status status = check_conditions(self, writes, count, error);
    if (status == KEDGE_OK) status = prepare(self, writes, count, fresh, changes, error);
    for (size_t i = 0; i < count; i++) {
        if (status == KEDGE_OK) {
            apply(self, &writes[i], fresh[i]);
            if (changes[i] != NULL) kedge_memory_changes_add(self->changes, changes[i]);
        } else {
            kedge_release(self->allocator, fresh[i]);
            kedge_release(self->allocator, changes[i]);
        }
    }
    return status;
}

static kedge_status records_write(void *context, const kedge_record_write *write,
                                  kedge_error *error)
{
    memory_records *self = context;
    kedge_status status = kedge_record_write_check(write, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    status = submit(self, write, 1, error);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

static kedge_status records_transact(void *context, const kedge_record_write *writes, size_t count,
                                     kedge_error *error)
{
    memory_records *self = context;
    kedge_status status = kedge_records_transact_check(writes, count, error);
    if (status != KEDGE_OK) return status;
    pthread_mutex_lock(&self->mutex);
    status = submit(self, writes, count, error);
    pthread_mutex_unlock(&self->mutex);
    return status;
}

/* ---- opening, copying ---- */

static void free_contents(memory_records *self)
{
    self->inverted.count = 0;
    kedge_memory_list_free(&self->inverted);
    kedge_memory_list_free(&self->records);
}

static void records_close(void *context)
{
    memory_records *self = context;
    free_contents(self);
    kedge_memory_changes_free(self->changes);
    pthread_mutex_destroy(&self->mutex);
    kedge_release(self->allocator, self);
}

static const kedge_records_vtable vtable = {.get = records_get,
                                            .batch_get = records_batch_get,
                                            .query = records_query,
                                            .write = records_write,
                                            .transact = records_transact,
                                            .close = records_close};

kedge_status kedge_memory_records_open(const kedge_environment *environment, kedge_records *records,
                                       kedge_error *error)
{
    memory_records *self = kedge_allocate(environment->allocator, sizeof *self);
    if (self == NULL) return kedge_fail_no_memory(error);
    self->allocator = environment->allocator;
    self->records.allocator = environment->allocator;
    self->inverted.allocator = environment->allocator;
    pthread_mutex_init(&self->mutex, NULL);
    *records = (kedge_records){&vtable, self};
    return KEDGE_OK;
}

kedge_status kedge_memory_records_changes(const kedge_environment *environment,
                                          const kedge_records *records,
                                          kedge_memory_changes **changes, kedge_error *error)
{
    memory_records *self = records->self;
    pthread_mutex_lock(&self->mutex);
    if (self->changes == NULL) self->changes = kedge_memory_changes_new(environment, &self->mutex);
    *changes = self->changes;
    pthread_mutex_unlock(&self->mutex);
    return *changes == NULL ? kedge_fail_no_memory(error) : KEDGE_OK;
}

static kedge_status copy_contents(const memory_records *from, memory_records *copy,
                                  kedge_error *error)
{
    if (!kedge_memory_list_reserve(&copy->records, from->records.count) ||
        !kedge_memory_list_reserve(&copy->inverted, from->inverted.count))
        return kedge_fail_no_memory(error);
    for (size_t i = 0; i < from->records.count; i++) {
        const entry *old = from->records.entries[i];
        entry *fresh = make_entry(copy->allocator, &old->key, old->inverted, old->attributes);
        if (fresh == NULL) return kedge_fail_no_memory(error);
        kedge_memory_list_insert(&copy->records, i, fresh);
        if (fresh->inverted.size > 0)
            kedge_memory_list_insert(&copy->inverted, place_in_index(copy, fresh), fresh);
    }
    return KEDGE_OK;
}

kedge_status kedge_memory_records_copy(const kedge_records *from, const kedge_records *to,
                                       kedge_error *error)
{
    memory_records *source = from->self, *target = to->self;
    if (source == target) return KEDGE_OK;
    memory_records copy = {.allocator = target->allocator,
                           .records = {.allocator = target->allocator},
                           .inverted = {.allocator = target->allocator}};
    pthread_mutex_lock(&source->mutex);
    kedge_status status = copy_contents(source, &copy, error);
    pthread_mutex_unlock(&source->mutex);
    if (status != KEDGE_OK) {
        free_contents(&copy);
        return status;
    }
    pthread_mutex_lock(&target->mutex);
    free_contents(target);
    target->records = copy.records;
    target->inverted = copy.inverted;
    pthread_mutex_unlock(&target->mutex);
    return KEDGE_OK;
}
