/* Credentials in environment variables, and what any credentials must be like. */
#include "backend/aws/credential_sources.h"

#include "common/error.h"
#include "common/hash.h"

#include <stdlib.h>
#include <string.h>

const char *kedge_aws_variable(const kedge_aws_credentials_options *options, const char *name)
{
    const char *value = options->variable == NULL
                            ? getenv(name)
                            : options->variable(options->variable_context, name);
    return value == NULL ? "" : value;
}

/* Visible ASCII alone: they are sent in a header. */
static bool copy(kedge_bytes from, char *to, size_t to_size)
{
    if (from.size >= to_size) return false;
    for (size_t i = 0; i < from.size; i++) {
        if (from.data[i] < '!' || from.data[i] > '~') return false;
    }
    if (from.size > 0) memcpy(to, from.data, from.size);
    to[from.size] = '\0';
    return true;
}

kedge_status kedge_aws_credentials_set(kedge_aws_credentials *credentials, kedge_bytes key_id,
                                       kedge_bytes secret, kedge_bytes token, const char *where,
                                       kedge_error *error)
{
    kedge_aws_credentials made = {0};
    const char *wrong = NULL;
    if (key_id.size == 0 || secret.size == 0) {
        wrong = key_id.size == 0 ? "an access key id" : "a secret access key";
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                          "the AWS credentials of %s lack %s", where, wrong);
    }
    if (!copy(token, made.token, sizeof made.token)) wrong = "session token";
    if (!copy(secret, made.secret, sizeof made.secret)) wrong = "secret access key";
    if (!copy(key_id, made.key_id, sizeof made.key_id)) wrong = "access key id";
    if (wrong == NULL) *credentials = made;
    kedge_cleanse(&made, sizeof made);
    if (wrong == NULL) return KEDGE_OK;
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                      "the %s of %s has a byte that is not visible ASCII, or too many of them",
                      wrong, where);
}

kedge_status kedge_aws_from_environment(kedge_aws_lookup *lookup,
                                        kedge_aws_credentials *credentials, kedge_error *error)
{
    const kedge_aws_credentials_options *options = lookup->options;
    kedge_bytes key_id = kedge_bytes_of(kedge_aws_variable(options, "AWS_ACCESS_KEY_ID"));
    kedge_bytes secret = kedge_bytes_of(kedge_aws_variable(options, "AWS_SECRET_ACCESS_KEY"));
    kedge_bytes token = kedge_bytes_of(kedge_aws_variable(options, "AWS_SESSION_TOKEN"));
    if (key_id.size == 0 && secret.size == 0) return KEDGE_NOT_FOUND;
    return kedge_aws_credentials_set(
        credentials, key_id, secret, token,
        "the environment (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN)", error);
}
