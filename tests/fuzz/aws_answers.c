/* Fuzz target: what the backend reads of AWS besides DynamoDB's items: XML of S3, credentials of an
 * endpoint, the shared profile files, by the first byte of the input. */
#include "backend/aws/credential_sources.h"
#include "backend/aws/profile.h"
#include "backend/aws/xml.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool see_element(void *context, const char *path, kedge_bytes text)
{
    size_t *seen = context;
    FUZZ_CHECK(strlen(path) <= KEDGE_AWS_XML_PATH_BYTES_MAX);
    FUZZ_CHECK(text.size <= KEDGE_AWS_XML_TEXT_BYTES_MAX && text.data[text.size] == '\0');
    return ++*seen < 100000;
}

static void read_credentials(kedge_bytes json)
{
    kedge_aws_credentials credentials;
    if (kedge_aws_credentials_read(json, &credentials, &kedge_allocator_default, "an endpoint",
                                   NULL) != KEDGE_OK)
        return;
    for (const char *at = credentials.token; *at != '\0'; at++)
        FUZZ_CHECK(*at > ' ' && *at < 0x7f); /* it may stand in a header */
}

static char path[64];

static const char *variable(void *context, const char *name)
{
    (void)context;
    return strcmp(name, "AWS_SHARED_CREDENTIALS_FILE") == 0 || strcmp(name, "AWS_CONFIG_FILE") == 0
               ? path
               : NULL;
}

/* The same text as both files. */
static void read_profile(kedge_bytes text)
{
    kedge_environment environment = kedge_environment_system(NULL);
    kedge_aws_credentials_options options = {.environment = &environment, .variable = variable};
    kedge_aws_profile profile = {0};
    int file = memfd_create("profile", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0);
    FUZZ_CHECK(write(file, text.data, text.size) == (ssize_t)text.size);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (kedge_aws_profile_load(&options, environment.allocator, &profile, NULL) == KEDGE_OK) {
        for (size_t i = 0; i < KEDGE_AWS_SETTINGS; i++)
            FUZZ_CHECK(profile.values[i].text.size <= text.size);
    }
    kedge_aws_profile_free(&profile);
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    size_t seen = 0;
    kedge_bytes body = {(const char *)data + 1, size - 1};
    if (data[0] % 3 == '0' % 3)
        (void)kedge_aws_xml_read(&kedge_allocator_default, body, see_element, &seen, NULL);
    if (data[0] % 3 == '1' % 3) read_credentials(body);
    if (data[0] % 3 == '2' % 3) read_profile(body);
    return 0;
}
