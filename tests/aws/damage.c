/* Random damage to a response. */
#include "tests/aws/damage.h"

#include <string.h>

uint32_t damage_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

size_t damage(char *text, size_t size, uint64_t *seed)
{
    static const char bytes[] = "{}[]\":,\\SBNpk0-9=u\n\x80\xff";
    size_t at = damage_random(seed) % size;
    size_t length = 1 + damage_random(seed) % (DAMAGE_GROWTH_MAX - 1);
    if (length > size - at) length = size - at;
    switch (damage_random(seed) % 4) {
    case 0:
        text[at] = bytes[damage_random(seed) % (sizeof bytes - 1)];
        return size;
    case 1:
        memmove(text + at, text + at + length, size - at - length);
        return size - length;
    case 2:
        memmove(text + at + length, text + at, size - at);
        return size + length;
    default:
        return at > size / 2 ? at : size;
    }
}
