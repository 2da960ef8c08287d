/* A shared library that is no plugin. */
#include <kedge/base.h>

KEDGE_API int kedge_tests_no_plugin(void);

int kedge_tests_no_plugin(void)
{
    return 0;
}
