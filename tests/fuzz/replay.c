/* Calls a fuzz target with each file that is named: the seeds, or what a fuzzer has found. */
#include "tests/fuzz/fuzz.h"

#define INPUT_MAX ((size_t)1048576)

static void replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    FUZZ_CHECK(file != NULL);
    uint8_t *room = malloc(INPUT_MAX);
    FUZZ_CHECK(room != NULL);
    size_t size = fread(room, 1, INPUT_MAX, file);
    fclose(file);
    /* A block of exactly its size, so that the address sanitizer sees a read outside. */
    uint8_t *input = realloc(room, size > 0 ? size : 1);
    FUZZ_CHECK(input != NULL);
    LLVMFuzzerTestOneInput(input, size);
    free(input);
}

int main(int count, char **paths)
{
    for (int i = 1; i < count; i++)
        replay(paths[i]);
    printf("%d inputs\n", count - 1);
    return count > 1 ? 0 : 1;
}
