/* What libkedge calls, on threads of its own or of the app: each call goes to a static method of
 * io.kedge.Callbacks, which finds the app's object by its number. No exception goes through C. */
#include "kedge_java.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Local references that one callback makes at most, with some to spare. */
#define FRAME_REFERENCES 16

static JavaVM *machine;
static pthread_key_t attached; /* set in threads that were attached here */
static jclass callbacks;
static struct {
    jmethodID mutate, token, dispatch, log, changes, status, result, rejected;
} on;

/* A thread that ends tells the virtual machine so. */
static void detach(void *of)
{
    JavaVM *from = of;
    (void)(*from)->DetachCurrentThread(from);
}

/* The worker thread of a database is attached once, as a daemon: it does not keep the virtual
 * machine from ending. NULL: the virtual machine is ending, or has no memory. */
static JNIEnv *here(void)
{
    void *found = NULL;
    if ((*machine)->GetEnv(machine, &found, JNI_VERSION_1_6) == JNI_OK) return found;
    JavaVMAttachArgs arguments = {JNI_VERSION_1_6, (char *)"kedge", NULL};
#if defined(__ANDROID__)
    JNIEnv *made = NULL;
    if ((*machine)->AttachCurrentThreadAsDaemon(machine, &made, &arguments) != JNI_OK) return NULL;
    found = made;
#else
    if ((*machine)->AttachCurrentThreadAsDaemon(machine, &found, &arguments) != JNI_OK) return NULL;
#endif
    (void)pthread_setspecific(attached, machine);
    return found;
}

bool java_callbacks_load(JavaVM *of, JNIEnv *env)
{
    const struct {
        jmethodID *method;
        const char *name, *signature;
    } methods[] = {
        {&on.mutate, "mutate", "(JJJ[B)I"},       {&on.token, "token", "(JI)[B"},
        {&on.dispatch, "dispatch", "(JJJ)Z"},     {&on.log, "log", "(JI[B[B)V"},
        {&on.changes, "changes", "(J[J[[B)V"},    {&on.status, "status", "(J[J[[B)V"},
        {&on.result, "result", "(J[J[[B[J[[B)V"}, {&on.rejected, "rejected", "(J[J[[B)V"}};
    machine = of;
    jclass found = (*env)->FindClass(env, "io/kedge/Callbacks");
    if (!found) return false;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        *methods[i].method =
            (*env)->GetStaticMethodID(env, found, methods[i].name, methods[i].signature);
        if (!*methods[i].method) return false;
    }
    callbacks = (*env)->NewGlobalRef(env, found);
    return callbacks && pthread_key_create(&attached, detach) == 0;
}

void *java_token(jlong token)
{
    return java_pointer(token);
}

/* Begins a callback. NULL: it cannot be made. */
static JNIEnv *enter(void)
{
    JNIEnv *env = here();
    if (!env) return NULL;
    if ((*env)->PushLocalFrame(env, FRAME_REFERENCES) == 0) return env;
    (*env)->ExceptionClear(env);
    return NULL;
}

/* Ends it. Callbacks catches all that the app throws; what is left, as when memory ran out, is
 * printed. Returns false when there was an exception. */
static bool leave(JNIEnv *env)
{
    const bool thrown = (*env)->ExceptionCheck(env);
    if (thrown) {
        (*env)->ExceptionDescribe(env);
        (*env)->ExceptionClear(env);
    }
    (void)(*env)->PopLocalFrame(env, NULL);
    return !thrown;
}

/* Nothing else is thrown here, since Callbacks catches what the app throws. */
static kedge_status no_memory(kedge_error *error)
{
    static const kedge_error full = {KEDGE_NO_MEMORY, "out-of-memory",
                                     "the virtual machine has no room for the call of a mutator"};
    if (error) *error = full;
    return KEDGE_NO_MEMORY;
}

kedge_status java_on_mutator(kedge_tx *tx, const char *args, size_t args_size, void *userdata,
                             kedge_error *error)
{
    JNIEnv *env = enter();
    if (!env) return no_memory(error);
    jint status = KEDGE_INTERNAL;
    jbyteArray bytes = java_bytes(env, (java_text){args, args_size});
    if (bytes)
        status = (*env)->CallStaticIntMethod(env, callbacks, on.mutate, java_handle(userdata),
                                             java_handle(tx), java_handle(error), bytes);
    return leave(env) ? (kedge_status)status : no_memory(error);
}

kedge_status java_on_token(void *userdata, char *buffer, size_t buffer_size)
{
    JNIEnv *env = enter();
    if (!env) return KEDGE_UNAUTHORIZED;
    kedge_status status = KEDGE_UNAUTHORIZED;
    jbyteArray given = (*env)->CallStaticObjectMethod(env, callbacks, on.token,
                                                      java_handle(userdata), (jint)buffer_size);
    if (!(*env)->ExceptionCheck(env) && given) {
        const jsize size = (*env)->GetArrayLength(env, given); /* below buffer_size: see Java */
        if (size >= 0 && (size_t)size < buffer_size) {
            (*env)->GetByteArrayRegion(env, given, 0, size, (jbyte *)buffer);
            buffer[size] = '\0';
            if (strncmp(buffer, "error: ", strlen("error: ")) != 0) status = KEDGE_OK;
        }
    }
    return leave(env) ? status : KEDGE_UNAUTHORIZED;
}

void java_on_dispatch(void *userdata, void (*work)(void *argument), void *argument)
{
    JNIEnv *env = enter();
    bool taken = false;
    if (env) {
        jlong function = 0;
        memcpy(&function, &work, sizeof work);
        taken = (*env)->CallStaticBooleanMethod(env, callbacks, on.dispatch, java_handle(userdata),
                                                function, java_handle(argument));
        taken = leave(env) && taken;
    }
    if (!taken) work(argument); /* it must run once */
}

void java_on_log(void *userdata, kedge_log_level level, const char *event, const char *message)
{
    JNIEnv *env = enter();
    if (!env) return;
    jbyteArray event_bytes = java_bytes(env, java_text_of(event));
    jbyteArray message_bytes = event_bytes ? java_bytes(env, java_text_of(message)) : NULL;
    if (message_bytes)
        (*env)->CallStaticVoidMethod(env, callbacks, on.log, java_handle(userdata), (jint)level,
                                     event_bytes, message_bytes);
    (void)leave(env);
}

/* Calls a method of (number, numbers, texts). False: there is no memory for them. */
static bool tell(JNIEnv *env, jmethodID method, const void *userdata, const jlong *numbers,
                 size_t number_count, const java_text *texts, size_t text_count)
{
    jlongArray first = java_numbers(env, numbers, number_count);
    jobjectArray second = first ? java_texts(env, texts, text_count) : NULL;
    if (second)
        (*env)->CallStaticVoidMethod(env, callbacks, method, java_handle(userdata), first, second);
    return second != NULL;
}

void java_on_changes(void *userdata, const kedge_change *changes, size_t count)
{
    JNIEnv *env = enter();
    if (!env) return;
    bool told = false;
    jlong *numbers = calloc(count + 1, sizeof *numbers);
    java_text *texts = calloc(4 * count + 1, sizeof *texts);
    if (numbers && texts) {
        for (size_t i = 0; i < count; i++) {
            const kedge_change *each = &changes[i];
            numbers[i] = each->source;
            texts[4 * i] = java_text_of(each->collection);
            texts[4 * i + 1] = (java_text){each->id, each->id_size};
            texts[4 * i + 2] = (java_text){each->old_value, each->old_size};
            texts[4 * i + 3] = (java_text){each->new_value, each->new_size};
        }
        told = tell(env, on.changes, userdata, numbers, count, texts, 4 * count);
    }
    if (!told) {
        (*env)->ExceptionClear(env);
        (void)tell(env, on.changes, userdata, NULL, 0, NULL, 0); /* read everything again */
    }
    (void)leave(env);
    free(numbers);
    free(texts);
}

void java_on_status(void *userdata, const kedge_sync_status *status)
{
    JNIEnv *env = enter();
    if (!env) return;
    jlong numbers[JAVA_STATUS_NUMBERS];
    java_text texts[JAVA_STATUS_TEXTS];
    java_status_parts(status, numbers, texts);
    (void)tell(env, on.status, userdata, numbers, JAVA_STATUS_NUMBERS, texts, JAVA_STATUS_TEXTS);
    (void)leave(env);
}

void java_on_rejected(void *userdata, const kedge_mutation *mutation)
{
    JNIEnv *env = enter();
    if (!env) return;
    jlong numbers[JAVA_MUTATION_NUMBERS];
    java_text texts[JAVA_MUTATION_TEXTS];
    java_mutation_parts(mutation, numbers, texts);
    (void)tell(env, on.rejected, userdata, numbers, JAVA_MUTATION_NUMBERS, texts,
               JAVA_MUTATION_TEXTS);
    (void)leave(env);
}

/* The rows of a result: three numbers and three texts for each. False: there is no memory. */
static bool tell_result(JNIEnv *env, const void *userdata, const kedge_query_changes *changes,
                        jlong *numbers, java_text *texts)
{
    for (size_t i = 0; i < changes->count; i++) {
        const kedge_row_change *each = &changes->rows[i];
        numbers[3 * i] = each->kind;
        numbers[3 * i + 1] = each->old_position;
        numbers[3 * i + 2] = each->new_position;
        texts[3 * i] = (java_text){each->key, each->key_size};
        texts[3 * i + 1] = (java_text){each->old_row, each->old_size};
        texts[3 * i + 2] = (java_text){each->new_row, each->new_size};
    }
    const kedge_error *error = changes->error;
    const jlong whole[] = {
        (jlong)changes->row_count, changes->first,         changes->local,
        changes->pulled,           changes->other_process, error ? error->status : KEDGE_OK};
    const java_text failure[] = {java_text_of(error ? error->code : ""),
                                 java_text_of(error ? error->message : "")};
    jlongArray row_numbers = java_numbers(env, numbers, 3 * changes->count);
    jobjectArray row_texts = row_numbers ? java_texts(env, texts, 3 * changes->count) : NULL;
    jlongArray whole_numbers =
        row_texts ? java_numbers(env, whole, sizeof whole / sizeof *whole) : NULL;
    jobjectArray whole_texts = whole_numbers ? java_texts(env, failure, 2) : NULL;
    if (whole_texts)
        (*env)->CallStaticVoidMethod(env, callbacks, on.result, java_handle(userdata), row_numbers,
                                     row_texts, whole_numbers, whole_texts);
    return whole_texts != NULL;
}

void java_on_result(void *userdata, const kedge_query_changes *changes)
{
    JNIEnv *env = enter();
    if (!env) return;
    jlong *numbers = calloc(3 * changes->count + 1, sizeof *numbers);
    java_text *texts = calloc(3 * changes->count + 1, sizeof *texts);
    if (!numbers || !texts || !tell_result(env, userdata, changes, numbers, texts)) {
        (*env)->ExceptionClear(env);
        (*env)->CallStaticVoidMethod(env, callbacks, on.result, java_handle(userdata), NULL, NULL,
                                     NULL, NULL); /* that it is lost */
    }
    (void)leave(env);
    free(numbers);
    free(texts);
}
