/* Methods of io.kedge.Native that open and close a database, and those that need none. */
#include "kedge_java.h"

#include <stdlib.h>
#include <string.h>

/* What kedge_open refers to as long as the database is open: `userdata` is its address. Behind it
 * lie the mutators, then their names. */
typedef struct options_owner {
    void *token; /* of the app's functions */
    java_copy *names;
    size_t count;
    kedge_mutator *mutators;
} options_owner;

static void owner_free(void *userdata)
{
    options_owner *owner = userdata;
    java_free_all(owner->names, owner->count);
    free(owner->names);
    free(owner->mutators);
    free(owner);
}

static kedge_status on_token(void *userdata, char *buffer, size_t buffer_size)
{
    const options_owner *owner = userdata;
    return java_on_token(owner->token, buffer, buffer_size);
}

static void on_dispatch(void *userdata, void (*work)(void *argument), void *argument)
{
    const options_owner *owner = userdata;
    java_on_dispatch(owner->token, work, argument);
}

static void on_log(void *userdata, kedge_log_level level, const char *event, const char *message)
{
    const options_owner *owner = userdata;
    java_on_log(owner->token, level, event, message);
}

/* Takes over the names and numbers of the mutators. */
static bool take_mutators(JNIEnv *env, jobjectArray names, jlongArray numbers, options_owner *owner)
{
    const jsize count = (*env)->GetArrayLength(env, names);
    for (jsize i = 0; i < count; i++) {
        jlong number[2]; /* version, token */
        jbyteArray name = (*env)->GetObjectArrayElement(env, names, i);
        const bool copied = java_copy_all(env, &name, &owner->names[i], 1);
        (*env)->DeleteLocalRef(env, name);
        if (!copied) return false;
        owner->count = (size_t)i + 1;
        (*env)->GetLongArrayRegion(env, numbers, 2 * i, 2, number);
        owner->mutators[i] = (kedge_mutator){owner->names[i].bytes, (uint32_t)number[0],
                                             java_on_mutator, java_token(number[1])};
    }
    return true;
}

/* NULL: an exception is pending. */
static options_owner *make_owner(JNIEnv *env, jlong token, jobjectArray names, jlongArray numbers)
{
    const size_t count = (size_t)(*env)->GetArrayLength(env, names);
    options_owner *owner = calloc(1, sizeof *owner);
    if (owner) {
        owner->token = java_token(token);
        owner->names = calloc(count + 1, sizeof *owner->names);
        owner->mutators = calloc(count + 1, sizeof *owner->mutators);
        if (owner->names && owner->mutators && take_mutators(env, names, numbers, owner))
            return owner;
        owner_free(owner);
    }
    if (!(*env)->ExceptionCheck(env))
        java_throw(env, KEDGE_NO_MEMORY, "out-of-memory", "there is no memory for the mutators");
    return NULL;
}

/* The order of the texts and numbers that io.kedge.DatabaseBuilder gives. */
enum { PATH, URL, CA_FILE, ORGANIZATION, PROJECT, USER, ROLE, SCHEMA_VERSION, TEXT_COUNT };
enum {
    OFFLINE,
    CREATE_PROJECT,
    CALLER_DRIVEN,
    SERVER_WAIT_MS,
    LOG_LEVEL,
    HAS_TOKEN,
    HAS_DISPATCH,
    HAS_LOG,
    MUTATOR_COUNT,
    NUMBER_COUNT
};

static kedge_options options_of(const java_copy *texts, const jlong *numbers, options_owner *owner)
{
    kedge_options options = KEDGE_OPTIONS_INIT;
    options.path = texts[PATH].bytes;
    options.url = texts[URL].bytes;
    options.ca_file = texts[CA_FILE].bytes;
    options.organization = texts[ORGANIZATION].bytes;
    options.project = texts[PROJECT].bytes;
    options.user = texts[USER].bytes;
    options.role = texts[ROLE].bytes;
    options.schema_version = texts[SCHEMA_VERSION].bytes;
    options.offline = numbers[OFFLINE] != 0;
    options.create_project = numbers[CREATE_PROJECT] != 0;
    options.caller_driven = numbers[CALLER_DRIVEN] != 0;
    options.server_wait_ms = numbers[SERVER_WAIT_MS];
    options.log_level = (kedge_log_level)numbers[LOG_LEVEL];
    if (numbers[HAS_TOKEN]) options.token = on_token;
    if (numbers[HAS_DISPATCH]) options.dispatch = on_dispatch;
    if (numbers[HAS_LOG]) options.log = on_log;
    options.mutators = owner->mutators;
    options.mutator_count = (size_t)numbers[MUTATOR_COUNT];
    options.client_mutators = owner->mutators + options.mutator_count;
    options.client_mutator_count = owner->count - options.mutator_count;
    options.userdata = owner;
    options.userdata_free = owner_free;
    return options;
}

static bool take_texts(JNIEnv *env, jobjectArray texts, java_copy *copies)
{
    jbyteArray arrays[TEXT_COUNT];
    for (jsize i = 0; i < TEXT_COUNT; i++)
        arrays[i] = (*env)->GetObjectArrayElement(env, texts, i);
    return java_copy_all(env, arrays, copies, TEXT_COUNT);
}

static jlong open_database(JNIEnv *env, jclass class, jobjectArray texts, jlongArray numbers,
                           jlong token, jobjectArray mutator_names, jlongArray mutator_numbers)
{
    (void)class;
    java_copy copies[TEXT_COUNT];
    jlong parts[NUMBER_COUNT];
    if (!take_texts(env, texts, copies)) return 0;
    (*env)->GetLongArrayRegion(env, numbers, 0, NUMBER_COUNT, parts);
    kedge_db *db = NULL;
    options_owner *owner = make_owner(env, token, mutator_names, mutator_numbers);
    if (owner) {
        const kedge_options options = options_of(copies, parts, owner);
        kedge_error error = {0};
        const kedge_status status = kedge_open(&options, &db, &error);
        if (status != KEDGE_OK) owner_free(owner);
        (void)java_ok(env, status, &error);
    }
    java_free_all(copies, TEXT_COUNT);
    return java_handle(db);
}

static jint close_database(JNIEnv *env, jclass class, jlong db)
{
    (void)env, (void)class;
    return (jint)kedge_close(java_pointer(db));
}

static jbyteArray library_version(JNIEnv *env, jclass class)
{
    (void)class;
    return java_bytes(env, java_text_of(kedge_library_version()));
}

static jbyteArray status_name(JNIEnv *env, jclass class, jint status)
{
    (void)class;
    return java_bytes(env, java_text_of(kedge_status_name((kedge_status)status)));
}

static jlongArray repair(JNIEnv *env, jclass class, jbyteArray path, jbyteArray new_path)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){path, new_path}, copies, 2)) return NULL;
    kedge_repair_report report = KEDGE_REPAIR_REPORT_INIT;
    kedge_error error = {0};
    const kedge_status status = kedge_repair(copies[0].bytes, copies[1].bytes, &report, &error);
    java_free_all(copies, 2);
    if (!java_ok(env, status, &error)) return NULL;
    const jlong numbers[] = {report.pending, report.rejected, report.confirmed, report.damaged,
                             report.missing};
    return java_numbers(env, numbers, sizeof numbers / sizeof *numbers);
}

static jbyteArray order_between(JNIEnv *env, jclass class, jbyteArray before, jbyteArray after,
                                jint random)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){before, after}, copies, 2)) return NULL;
    char key[KEDGE_ORDER_KEY_SIZE];
    kedge_error error = {0};
    const kedge_status status =
        kedge_order_between(copies[0].bytes, copies[1].bytes, (uint32_t)random, key, &error);
    java_free_all(copies, 2);
    return java_ok(env, status, &error) ? java_bytes(env, java_text_of(key)) : NULL;
}

static jbyteArray args_text(JNIEnv *env, jclass class, jbyteArray object, jbyteArray member)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){object, member}, copies, 2)) return NULL;
    /* A text is never longer than the JSON that has it. */
    const size_t room = copies[0].size + 1;
    java_text text = {0};
    kedge_error error = {KEDGE_NO_MEMORY, "out-of-memory", "there is no memory for a text"};
    kedge_status status = KEDGE_NO_MEMORY;
    char *buffer = malloc(room);
    if (buffer)
        status = kedge_args_text(copies[0].bytes, copies[0].size, copies[1].bytes, buffer, room,
                                 &text.size, &error);
    text.bytes = buffer;
    java_free_all(copies, 2);
    jbyteArray made = java_ok(env, status, &error) ? java_bytes(env, text) : NULL;
    free(buffer);
    return made;
}

static jlong args_integer(JNIEnv *env, jclass class, jbyteArray object, jbyteArray member)
{
    (void)class;
    java_copy copies[2];
    if (!java_copy_all(env, (jbyteArray[]){object, member}, copies, 2)) return 0;
    int64_t value = 0;
    kedge_error error = {0};
    const kedge_status status =
        kedge_args_integer(copies[0].bytes, copies[0].size, copies[1].bytes, &value, &error);
    java_free_all(copies, 2);
    (void)java_ok(env, status, &error);
    return value;
}

java_methods java_database_methods(void)
{
    static const JNINativeMethod methods[] = {
        JAVA_METHOD("open", "([[B[JJ[[B[J)J", open_database),
        JAVA_METHOD("close", "(J)I", close_database),
        JAVA_METHOD("libraryVersion", "()[B", library_version),
        JAVA_METHOD("statusName", "(I)[B", status_name),
        JAVA_METHOD("repair", "([B[B)[J", repair),
        JAVA_METHOD("orderBetween", "([B[BI)[B", order_between),
        JAVA_METHOD("argsText", "([B[B)[B", args_text),
        JAVA_METHOD("argsInteger", "([B[B)J", args_integer),
    };
    return (java_methods){methods, sizeof methods / sizeof *methods};
}
