/* Methods of io.kedge.Native that begin and end watches, and the one that runs dispatched work. */
#include "kedge_java.h"

#include <string.h>

static jlong watch(JNIEnv *env, jclass class, jlong db, jbyteArray collection, jlong token)
{
    (void)class;
    java_copy copy;
    if (!java_copy_all(env, &collection, &copy, 1)) return 0;
    kedge_watch_token *made = NULL;
    kedge_error error = {0};
    const kedge_status status = kedge_watch(java_pointer(db), copy.bytes, java_on_changes,
                                            java_token(token), NULL, &made, &error);
    java_free_all(&copy, 1);
    (void)java_ok(env, status, &error);
    return java_handle(made);
}

static void watch_free(JNIEnv *env, jclass class, jlong watch)
{
    (void)env, (void)class;
    kedge_watch_free(java_pointer(watch));
}

static jlong watch_query(JNIEnv *env, jclass class, jlong db, jbyteArray sql, jbyteArray parameters,
                         jlong token)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){sql, parameters}, copies, 2)) return 0;
    kedge_query_watch *made = NULL;
    kedge_error error = {0};
    const kedge_status status =
        kedge_watch_query(java_pointer(db), copies[0].bytes, copies[0].size, copies[1].bytes,
                          copies[1].size, java_on_result, java_token(token), NULL, &made, &error);
    java_free_all(copies, 2);
    (void)java_ok(env, status, &error);
    return java_handle(made);
}

static void query_watch_free(JNIEnv *env, jclass class, jlong watch)
{
    (void)env, (void)class;
    kedge_query_watch_free(java_pointer(watch));
}

static jlong watch_status(JNIEnv *env, jclass class, jlong db, jlong token)
{
    (void)class;
    kedge_sync_watch *made = NULL;
    kedge_error error = {0};
    const kedge_status status = kedge_watch_sync_status(java_pointer(db), java_on_status,
                                                        java_token(token), NULL, &made, &error);
    (void)java_ok(env, status, &error);
    return java_handle(made);
}

static jlong watch_rejected(JNIEnv *env, jclass class, jlong db, jlong token)
{
    (void)class;
    kedge_sync_watch *made = NULL;
    kedge_error error = {0};
    const kedge_status status = kedge_watch_rejected(java_pointer(db), java_on_rejected,
                                                     java_token(token), NULL, &made, &error);
    (void)java_ok(env, status, &error);
    return java_handle(made);
}

static void sync_watch_free(JNIEnv *env, jclass class, jlong watch)
{
    (void)env, (void)class;
    kedge_sync_watch_free(java_pointer(watch));
}

/* Work that was dispatched, on the thread that the app has chosen for it. */
static void run_work(JNIEnv *env, jclass class, jlong work, jlong argument)
{
    (void)env, (void)class;
    void (*function)(void *argument);
    memcpy(&function, &work, sizeof function);
    function(java_pointer(argument));
}

java_methods java_watch_methods(void)
{
    static const JNINativeMethod methods[] = {
        JAVA_METHOD("watch", "(J[BJ)J", watch),
        JAVA_METHOD("watchFree", "(J)V", watch_free),
        JAVA_METHOD("watchQuery", "(J[B[BJ)J", watch_query),
        JAVA_METHOD("queryWatchFree", "(J)V", query_watch_free),
        JAVA_METHOD("watchStatus", "(JJ)J", watch_status),
        JAVA_METHOD("watchRejected", "(JJ)J", watch_rejected),
        JAVA_METHOD("syncWatchFree", "(J)V", sync_watch_free),
        JAVA_METHOD("runWork", "(JJ)V", run_work),
    };
    return (java_methods){methods, sizeof methods / sizeof *methods};
}
