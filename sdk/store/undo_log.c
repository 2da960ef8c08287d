/* The two stacks of groups, and the group that is open. */
#include "sdk/store/undo_log.h"

#include "common/assert.h"

#include <string.h>

void kedge_undo_log_init(kedge_undo_log *log, const kedge_allocator *allocator)
{
    *log = (kedge_undo_log){.allocator = allocator, .open = kedge_undo_group_make(allocator)};
}

void kedge_undo_stack_pop(kedge_undo_stack *stack)
{
    KEDGE_ASSERT(stack->count > 0);
    kedge_undo_group_clear(&stack->groups[--stack->count]);
}

void kedge_undo_stack_clear(kedge_undo_stack *stack)
{
    while (stack->count > 0)
        kedge_undo_stack_pop(stack);
}

void kedge_undo_log_clear(kedge_undo_log *log)
{
    kedge_undo_stack_clear(&log->undo);
    kedge_undo_stack_clear(&log->redo);
    char label[KEDGE_UNDO_LABEL_SIZE];
    memcpy(label, log->open.label, sizeof label);
    kedge_undo_group_clear(&log->open);
    memcpy(log->open.label, label, sizeof label);
}

bool kedge_undo_log_records(const kedge_undo_log *log)
{
    return log->is_open && pthread_equal(log->owner, pthread_self());
}

kedge_undo_group *kedge_undo_log_top(kedge_undo_stack *stack)
{
    return stack->count == 0 ? NULL : &stack->groups[stack->count - 1];
}

static size_t bytes_of(const kedge_undo_stack *stack)
{
    size_t bytes = 0;
    for (size_t i = 0; i < stack->count; i++)
        bytes += stack->groups[i].bytes;
    return bytes;
}

void kedge_undo_stack_remove(kedge_undo_stack *stack, kedge_undo_group *group)
{
    size_t place = (size_t)(group - stack->groups);
    KEDGE_ASSERT(place < stack->count);
    kedge_undo_group_clear(group);
    stack->count--;
    memmove(group, group + 1, (stack->count - place) * sizeof *group);
}

kedge_undo_group *kedge_undo_log_find(kedge_undo_log *log, int64_t sequence)
{
    if (kedge_undo_group_has(&log->open, sequence)) return &log->open;
    for (size_t i = log->undo.count; i > 0; i--)
        if (kedge_undo_group_has(&log->undo.groups[i - 1], sequence))
            return &log->undo.groups[i - 1];
    return NULL;
}

static void void_in(kedge_undo_stack *stack, int64_t sequence)
{
    for (size_t i = stack->count; i > 0; i--) {
        kedge_undo_group *group = &stack->groups[i - 1];
        kedge_undo_group_void(group, sequence);
        if (group->count == 0) kedge_undo_stack_remove(stack, group);
    }
}

void kedge_undo_log_void(kedge_undo_log *log, int64_t sequence)
{
    kedge_undo_group_void(&log->open, sequence);
    void_in(&log->undo, sequence);
    void_in(&log->redo, sequence);
}

static void drop_oldest(kedge_undo_stack *stack)
{
    kedge_undo_stack_remove(stack, &stack->groups[0]);
}

void kedge_undo_log_push(kedge_undo_log *log, kedge_undo_stack *stack, kedge_undo_group *group)
{
    if (group->count > 0) {
        kedge_undo_stack *other = stack == &log->undo ? &log->redo : &log->undo;
        if (stack->count == KEDGE_LIMIT_UNDO_GROUPS) drop_oldest(stack);
        stack->groups[stack->count++] = *group;
        *group = kedge_undo_group_make(log->allocator);
        while (bytes_of(&log->undo) + bytes_of(&log->redo) > KEDGE_LIMIT_UNDO_BYTES &&
               (stack->count > 1 || other->count > 0))
            drop_oldest(stack->count > 1 ? stack : other);
    }
    kedge_undo_group_clear(group);
}
