/* Methods of io.kedge.Native for sync: the status, waiting, lists of edits, the inbox, the loop. */
#include "kedge_java.h"

#include <poll.h>

void java_status_parts(const kedge_sync_status *status, jlong *numbers, java_text *texts)
{
    numbers[0] = status->connection;
    numbers[1] = status->resyncing;
    numbers[2] = status->version;
    numbers[3] = status->pending;
    numbers[4] = status->rejected;
    numbers[5] = status->withheld;
    numbers[6] = status->unrecovered;
    numbers[7] = status->last_error.status;
    texts[0] = java_text_of(status->client);
    texts[1] = java_text_of(status->last_error.code);
    texts[2] = java_text_of(status->last_error.message);
}

void java_mutation_parts(const kedge_mutation *mutation, jlong *numbers, java_text *texts)
{
    numbers[0] = mutation->sequence;
    numbers[1] = mutation->timestamp_ms;
    numbers[2] = mutation->sent;
    numbers[3] = mutation->withheld;
    texts[0] = java_text_of(mutation->name);
    texts[1] = (java_text){mutation->args, mutation->args_size};
    texts[2] = java_text_of(mutation->code);
    texts[3] = java_text_of(mutation->message);
}

static void sync_status(JNIEnv *env, jclass class, jlong db, jlongArray numbers, jobjectArray texts)
{
    (void)class;
    kedge_sync_status status = KEDGE_SYNC_STATUS_INIT;
    kedge_error error = {0};
    if (!java_ok(env, kedge_get_sync_status(java_pointer(db), &status, &error), &error)) return;
    jlong number_parts[JAVA_STATUS_NUMBERS];
    java_text text_parts[JAVA_STATUS_TEXTS];
    java_status_parts(&status, number_parts, text_parts);
    java_fill_numbers(env, numbers, number_parts, JAVA_STATUS_NUMBERS);
    java_fill_texts(env, texts, text_parts, JAVA_STATUS_TEXTS);
}

static void set_online(JNIEnv *env, jclass class, jlong db, jboolean online)
{
    (void)class;
    kedge_error error = {0};
    (void)java_ok(env, kedge_set_online(java_pointer(db), online, &error), &error);
}

static void sync_now(JNIEnv *env, jclass class, jlong db, jint timeout_ms)
{
    (void)class;
    kedge_error error = {0};
    (void)java_ok(env, kedge_sync(java_pointer(db), timeout_ms, &error), &error);
}

static jint wait_for(JNIEnv *env, jclass class, jlong db, jlong sequence, jint timeout_ms)
{
    (void)class;
    kedge_error error = {0};
    kedge_outcome outcome = KEDGE_OUTCOME_PENDING;
    (void)java_ok(env, kedge_wait(java_pointer(db), sequence, timeout_ms, &outcome, &error),
                  &error);
    return (jint)outcome;
}

static jlong list_open(JNIEnv *env, jclass class, jlong db, jboolean rejected)
{
    (void)class;
    kedge_error error = {0};
    kedge_mutation_list *list = NULL;
    const kedge_status status = rejected ? kedge_rejected_open(java_pointer(db), &list, &error)
                                         : kedge_pending_open(java_pointer(db), &list, &error);
    (void)java_ok(env, status, &error);
    return java_handle(list);
}

static jboolean list_next(JNIEnv *env, jclass class, jlong list, jlongArray numbers,
                          jobjectArray texts)
{
    (void)class;
    kedge_error error = {0};
    kedge_mutation mutation = KEDGE_MUTATION_INIT;
    if (!java_ok(env, kedge_mutation_list_next(java_pointer(list), &mutation, &error), &error))
        return JNI_FALSE;
    jlong number_parts[JAVA_MUTATION_NUMBERS];
    java_text text_parts[JAVA_MUTATION_TEXTS];
    java_mutation_parts(&mutation, number_parts, text_parts);
    java_fill_numbers(env, numbers, number_parts, JAVA_MUTATION_NUMBERS);
    java_fill_texts(env, texts, text_parts, JAVA_MUTATION_TEXTS);
    return JNI_TRUE;
}

static void list_close(JNIEnv *env, jclass class, jlong list)
{
    (void)env, (void)class;
    kedge_mutation_list_close(java_pointer(list));
}

static void dismiss(JNIEnv *env, jclass class, jlong db, jlong sequence)
{
    (void)class;
    kedge_error error = {0};
    (void)java_ok(env, kedge_rejected_dismiss(java_pointer(db), sequence, &error), &error);
}

static jlong dismiss_through(JNIEnv *env, jclass class, jlong db, jlong sequence)
{
    (void)class;
    kedge_error error = {0};
    size_t dismissed = 0;
    const kedge_status status =
        kedge_rejected_dismiss_through(java_pointer(db), sequence, &dismissed, &error);
    (void)java_ok(env, status, &error);
    return (jlong)dismissed;
}

static jlong resubmit(JNIEnv *env, jclass class, jlong db, jlong sequence)
{
    (void)class;
    kedge_error error = {0};
    int64_t made = 0;
    (void)java_ok(env, kedge_rejected_resubmit(java_pointer(db), sequence, &made, &error), &error);
    return made;
}

static jbyteArray history(JNIEnv *env, jclass class, jlong db, jlong before, jint limit,
                          jint timeout_ms)
{
    (void)class;
    kedge_error error = {0};
    kedge_document *versions = NULL;
    const kedge_status status =
        kedge_history(java_pointer(db), before, limit, timeout_ms, &versions, &error);
    if (!java_ok(env, status, &error)) return NULL;
    java_text text = {0};
    text.bytes = kedge_document_json(versions, &text.size);
    jbyteArray made = java_bytes(env, text);
    kedge_document_free(versions);
    return made;
}

static jint loop_run(JNIEnv *env, jclass class, jlong db)
{
    (void)class;
    kedge_error error = {0};
    int32_t wait_ms = 0;
    (void)java_ok(env, kedge_loop_run(java_pointer(db), &wait_ms, &error), &error);
    return wait_ms;
}

static jint loop_descriptor(JNIEnv *env, jclass class, jlong db)
{
    (void)env, (void)class;
    return kedge_loop_descriptor(java_pointer(db));
}

/* Waits until the loop has something to do. Java has no other way to wait for a descriptor. */
static jboolean loop_await(JNIEnv *env, jclass class, jlong db, jint timeout_ms)
{
    (void)env, (void)class;
    struct pollfd set = {.fd = kedge_loop_descriptor(java_pointer(db)), .events = POLLIN};
    return poll(&set, 1, timeout_ms) > 0 ? JNI_TRUE : JNI_FALSE;
}

java_methods java_sync_methods(void)
{
    static const JNINativeMethod methods[] = {
        JAVA_METHOD("syncStatus", "(J[J[[B)V", sync_status),
        JAVA_METHOD("setOnline", "(JZ)V", set_online),
        JAVA_METHOD("sync", "(JI)V", sync_now),
        JAVA_METHOD("waitFor", "(JJI)I", wait_for),
        JAVA_METHOD("listOpen", "(JZ)J", list_open),
        JAVA_METHOD("listNext", "(J[J[[B)Z", list_next),
        JAVA_METHOD("listClose", "(J)V", list_close),
        JAVA_METHOD("dismiss", "(JJ)V", dismiss),
        JAVA_METHOD("dismissThrough", "(JJ)J", dismiss_through),
        JAVA_METHOD("resubmit", "(JJ)J", resubmit),
        JAVA_METHOD("history", "(JJII)[B", history),
        JAVA_METHOD("loopRun", "(J)I", loop_run),
        JAVA_METHOD("loopDescriptor", "(J)I", loop_descriptor),
        JAVA_METHOD("loopAwait", "(JI)Z", loop_await),
    };
    return (java_methods){methods, sizeof methods / sizeof *methods};
}
