/* The chain of sources of credentials. */
#include "backend/aws/credentials.h"

#include "common/error.h"
#include "common/hash.h"

#include <stdlib.h>
#include <string.h>

struct kedge_aws_credentials_provider {
    kedge_aws_credentials_options options;
};

static const char *variable_of(const kedge_aws_credentials_options *options, const char *name)
{
    const char *value = options->variable == NULL
                            ? getenv(name)
                            : options->variable(options->variable_context, name);
    return value == NULL ? "" : value;
}

kedge_status kedge_aws_credentials_provider_new(const kedge_aws_credentials_options *options,
                                                kedge_aws_credentials_provider **provider,
                                                kedge_error *error)
{
    kedge_aws_credentials_provider *made =
        kedge_allocate(options->environment->allocator, sizeof *made);
    if (made == NULL) return kedge_fail_no_memory(error);
    made->options = *options;
    *provider = made;
    return KEDGE_OK;
}

void kedge_aws_credentials_provider_free(kedge_aws_credentials_provider *provider)
{
    if (provider == NULL) return;
    kedge_release(provider->options.environment->allocator, provider);
}

static bool copy(char *to, size_t size, const char *from)
{
    size_t length = strlen(from);
    if (length >= size) return false;
    memcpy(to, from, length + 1);
    return true;
}

kedge_status kedge_aws_credentials_get(kedge_aws_credentials_provider *provider,
                                       kedge_aws_credentials *credentials, kedge_error *error)
{
    const kedge_aws_credentials_options *options = &provider->options;
    kedge_aws_credentials found = {0};
    const char *key_id = variable_of(options, "AWS_ACCESS_KEY_ID");
    const char *secret = variable_of(options, "AWS_SECRET_ACCESS_KEY");
    const char *token = variable_of(options, "AWS_SESSION_TOKEN");
    if (key_id[0] == '\0' && secret[0] == '\0') {
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-missing",
                          "no AWS credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY");
    }
    if (key_id[0] == '\0' || secret[0] == '\0' ||
        !copy(found.key_id, sizeof found.key_id, key_id) ||
        !copy(found.secret, sizeof found.secret, secret) ||
        !copy(found.token, sizeof found.token, token)) {
        kedge_cleanse(&found, sizeof found);
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                          "AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY or AWS_SESSION_TOKEN is empty "
                          "or too long");
    }
    *credentials = found;
    kedge_cleanse(&found, sizeof found);
    return KEDGE_OK;
}

void kedge_aws_credentials_forget(kedge_aws_credentials_provider *provider)
{
    (void)provider;
}

bool kedge_aws_region_find(const kedge_aws_credentials_options *options, char region[64])
{
    const char *found = variable_of(options, "AWS_REGION");
    if (found[0] == '\0') found = variable_of(options, "AWS_DEFAULT_REGION");
    return found[0] != '\0' && copy(region, 64, found);
}
