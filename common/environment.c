/* The system's clocks and randomness. */
#include "common/environment.h"

#include "common/hash.h"

#include <stdlib.h>
#include <time.h>

#ifdef _WIN32
#include <windows.h>
/* Behind windows.h, whose types it needs. */
#include <ntsecapi.h>
#else
#include <sys/random.h>
#endif

static int64_t read_clock(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_now_ms(void *context)
{
    (void)context;
    return read_clock(CLOCK_REALTIME);
}

static int64_t system_monotonic_ms(void *context)
{
    (void)context;
    return read_clock(CLOCK_MONOTONIC);
}

/* The most that getentropy gives in a call. */
#define ENTROPY_BYTES_MAX 256

#ifdef _WIN32
static int getentropy(void *bytes, size_t size)
{
    return RtlGenRandom(bytes, (ULONG)size) ? 0 : -1;
}
#elif defined(__ANDROID__) && __ANDROID_API__ < 28 /* which has no getentropy yet */
static int getentropy(void *bytes, size_t size)
{
    arc4random_buf(bytes, size); /* of the kernel's randomness, and seeded anew in a child */
    return 0;
}
#endif

/* Ids must never repeat, also in a process that was forked, so the kernel is asked each time. The
 * process cannot continue without randomness. An id of 16 bytes takes the kernel a microsecond, and
 * OpenSSL's generator four. */
static void system_random(void *context, void *bytes, size_t size)
{
    (void)context;
    unsigned char *next = bytes;
    while (size > 0) {
        size_t part = size > ENTROPY_BYTES_MAX ? ENTROPY_BYTES_MAX : size;
        if (getentropy(next, part) != 0) abort();
        next += part;
        size -= part;
    }
}

kedge_environment kedge_environment_system(const kedge_allocator *allocator)
{
    return (kedge_environment){
        .allocator = allocator == NULL ? &kedge_allocator_default : allocator,
        .now_ms = system_now_ms,
        .monotonic_ms = system_monotonic_ms,
        .random = system_random,
        .context = NULL,
    };
}

uint64_t kedge_random_u64(const kedge_environment *environment)
{
    uint64_t number = 0;
    environment->random(environment->context, &number, sizeof number);
    return number;
}

void kedge_random_hex(const kedge_environment *environment, size_t size, char *hex)
{
    uint8_t bytes[32];
    if (size > sizeof bytes) abort();
    environment->random(environment->context, bytes, size);
    kedge_hex_encode(bytes, size, hex);
}
