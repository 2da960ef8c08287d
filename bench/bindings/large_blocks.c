/* A library that is loaded in front of malloc (LD_PRELOAD), and counts the bytes of large blocks
 * that a process allocates: into the file that KEDGE_LARGE_BLOCKS names, as one number of 64 bits,
 * which bindings.py reads. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE 500000 /* bytes: half of the large document */

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);

static _Atomic uint64_t *counter;

__attribute__((constructor)) static void open_counter(void)
{
    const char *path = getenv("KEDGE_LARGE_BLOCKS");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0) return;
    void *mapped = mmap(NULL, sizeof *counter, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped != MAP_FAILED) counter = mapped;
    close(file);
}

static void count(size_t size)
{
    if (size >= LARGE && counter) atomic_fetch_add(counter, size);
}

void *malloc(size_t size)
{
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size)
{
    count(size == 0 || number > SIZE_MAX / size ? 0 : number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *block, size_t size)
{
    count(size);
    return __libc_realloc(block, size);
}
