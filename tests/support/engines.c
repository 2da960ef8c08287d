/* Whether the real engine that a test wants is there. */
#include "tests/support/engines.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int engines_missing(const char *variable)
{
    const char *value = getenv(variable);
    if (value != NULL && value[0] != '\0') return 0;
    const char *wanted = getenv("KEDGE_ENGINES");
    bool required = wanted != NULL && strcmp(wanted, "required") == 0;
    printf("%s: %s is not set\n", required ? "failed" : "skipped", variable);
    return required ? 1 : ENGINES_SKIPPED;
}
