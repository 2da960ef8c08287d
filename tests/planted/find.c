/* One child process, its output read line by line. */
#include "tests/planted/find.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PATH_BYTES 4096

bool planted_find(const char *program, const char *bug, char *line, size_t size)
{
    char self[PATH_BYTES];
    char command[PATH_BYTES + 256];
    line[0] = '\0';
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) return false;
    self[length] = '\0';
    char *slash = strrchr(self, '/');
    if (slash == NULL) return false;
    *slash = '\0';
    (void)snprintf(command, sizeof command, "'%s/planted/%s-%s' --find %s", self, program, bug,
                   bug);
    FILE *output = popen(command, "r");
    if (output == NULL) return false;
    while (fgets(line, (int)size, output) != NULL)
        line[strcspn(line, "\n")] = '\0';
    return pclose(output) == 0;
}
