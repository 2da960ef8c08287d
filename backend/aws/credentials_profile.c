/* Credentials and the region in a profile. */
#include "backend/aws/credential_sources.h"
#include "backend/aws/profile.h"

#include "common/error.h"

#include <stdio.h>
#include <string.h>

#define WHERE_BYTES 208

/* A way to get credentials that is not for this program. */
typedef struct foreign_way {
    kedge_aws_setting setting;
    const char *name;
    const char *instead;
} foreign_way;

static const foreign_way other_identity[] = {
    {KEDGE_AWS_SETTING_ROLE, "role_arn", "assume the role before, and pass on its keys"},
};

static const foreign_way other_ways[] = {
    {KEDGE_AWS_SETTING_PROCESS, "credential_process",
     "run the program before, and pass on its keys"},
    {KEDGE_AWS_SETTING_SSO_SESSION, "sso_session", "use \"aws configure export-credentials\""},
    {KEDGE_AWS_SETTING_SSO_URL, "sso_start_url", "use \"aws configure export-credentials\""},
    {KEDGE_AWS_SETTING_LOGIN, "login_session", "use \"aws configure export-credentials\""},
    {KEDGE_AWS_SETTING_WEB_IDENTITY, "web_identity_token_file",
     "assume the role before, and pass on its keys"},
};

static kedge_status refuse(const kedge_aws_profile *profile, const foreign_way *ways, size_t count,
                           kedge_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const kedge_aws_profile_value *value = &profile->values[ways[i].setting];
        if (value->line == 0) continue;
        return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-unsupported",
                          "%s, line %u: %s is not supported: %s", value->path, value->line,
                          ways[i].name, ways[i].instead);
    }
    return KEDGE_OK;
}

static kedge_status missing_profile(const kedge_aws_profile *profile, kedge_error *error)
{
    return kedge_fail(error, KEDGE_UNAUTHORIZED, "aws-credentials-invalid",
                      "there is no profile %.64s in %.64s or %.64s", profile->name,
                      profile->paths[0].data, profile->paths[1].data);
}

/* A session token counts only when it stands with its key. */
static kedge_bytes matching_token(const kedge_aws_profile *profile)
{
    const kedge_aws_profile_value *token = &profile->values[KEDGE_AWS_SETTING_TOKEN];
    bool together = token->rank == profile->values[KEDGE_AWS_SETTING_KEY_ID].rank;
    return together ? token->text : (kedge_bytes){NULL, 0};
}

static kedge_status read_profile(const kedge_aws_profile *profile,
                                 kedge_aws_credentials *credentials, kedge_error *error)
{
    const kedge_aws_profile_value *key_id = &profile->values[KEDGE_AWS_SETTING_KEY_ID];
    const kedge_aws_profile_value *secret = &profile->values[KEDGE_AWS_SETTING_SECRET];
    char where[WHERE_BYTES];
    if (!profile->found) return profile->named ? missing_profile(profile, error) : KEDGE_NOT_FOUND;
    kedge_status status =
        refuse(profile, other_identity, sizeof other_identity / sizeof other_identity[0], error);
    if (status != KEDGE_OK) return status;
    if (key_id->line == 0 && secret->line == 0) {
        status = refuse(profile, other_ways, sizeof other_ways / sizeof other_ways[0], error);
        return status == KEDGE_OK ? KEDGE_NOT_FOUND : status;
    }
    const kedge_aws_profile_value *at = key_id->line != 0 ? key_id : secret;
    snprintf(where, sizeof where, "profile %.48s (%.120s, line %u)", profile->name, at->path,
             at->line);
    return kedge_aws_credentials_set(credentials, key_id->text, secret->text,
                                     matching_token(profile), where, error);
}

kedge_status kedge_aws_from_profile(kedge_aws_lookup *lookup, kedge_aws_credentials *credentials,
                                    kedge_error *error)
{
    kedge_aws_profile profile;
    kedge_status status =
        kedge_aws_profile_load(lookup->options, lookup->environment->allocator, &profile, error);
    if (status != KEDGE_OK) return status;
    status = read_profile(&profile, credentials, error);
    kedge_aws_profile_free(&profile);
    return status;
}

/* ---- the region ---- */

static kedge_status copy_region(kedge_bytes found, const char *where,
                                char region[KEDGE_AWS_REGION_SIZE], kedge_error *error)
{
    if (found.size >= KEDGE_AWS_REGION_SIZE) {
        return kedge_fail(error, KEDGE_INVALID_ARGUMENT, "aws-region-invalid",
                          "%.160s: the region \"%.40s...\" has %zu bytes; it must be a name like "
                          "eu-west-1",
                          where, found.data, found.size);
    }
    memcpy(region, found.data, found.size);
    region[found.size] = '\0';
    return KEDGE_OK;
}

static kedge_status read_region(const kedge_aws_profile *profile,
                                char region[KEDGE_AWS_REGION_SIZE], kedge_error *error)
{
    const kedge_aws_profile_value *value = &profile->values[KEDGE_AWS_SETTING_REGION];
    char where[WHERE_BYTES];
    if (!profile->found && profile->named) return missing_profile(profile, error);
    if (value->text.size == 0) return KEDGE_NOT_FOUND;
    snprintf(where, sizeof where, "%.140s, line %u", value->path, value->line);
    return copy_region(value->text, where, region, error);
}

kedge_status kedge_aws_region_find(const kedge_aws_credentials_options *options,
                                   char region[KEDGE_AWS_REGION_SIZE], kedge_error *error)
{
    static const char *const variables[] = {"AWS_REGION", "AWS_DEFAULT_REGION"};
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) {
        kedge_bytes found = kedge_bytes_of(kedge_aws_variable(options, variables[i]));
        if (found.size > 0) return copy_region(found, variables[i], region, error);
    }
    kedge_wiping wiping;
    kedge_aws_profile profile;
    kedge_wiping_init(&wiping, options->environment->allocator);
    kedge_status status = kedge_aws_profile_load(options, &wiping.allocator, &profile, error);
    if (status != KEDGE_OK) return status;
    status = read_region(&profile, region, error);
    kedge_aws_profile_free(&profile);
    return status;
}
