/* A plugin that ends its process while it is loaded. */
#include <stdlib.h>

__attribute__((constructor)) static void die(void)
{
    abort();
}
