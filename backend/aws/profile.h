/* The shared profile files of AWS's tools: "~/.aws/credentials" and "~/.aws/config".
 *
 * Source: AWS SDKs and Tools Reference Guide, "Shared config and credentials files". Sections are
 * "[name]" in the credentials file, "[default]" and "[profile name]" in the config file; other
 * sections are passed over. Lines are "name = value"; '#' and ';' begin a comment at the start of a
 * line or after white space; a line indented deeper than the setting before it belongs to that
 * one's nested settings and is passed over. The credentials file goes before the config file, and
 * "[profile default]" before "[default]". */
#ifndef KEDGE_BACKEND_AWS_PROFILE_H
#define KEDGE_BACKEND_AWS_PROFILE_H

#include "backend/aws/credentials.h"

#define KEDGE_AWS_PROFILE_FILE_BYTES_MAX 1048576

/* The settings that mean something here. */
typedef enum kedge_aws_setting {
    KEDGE_AWS_SETTING_KEY_ID,
    KEDGE_AWS_SETTING_SECRET,
    KEDGE_AWS_SETTING_TOKEN,
    KEDGE_AWS_SETTING_REGION,
    KEDGE_AWS_SETTING_ROLE,
    KEDGE_AWS_SETTING_PROCESS,
    KEDGE_AWS_SETTING_SSO_SESSION,
    KEDGE_AWS_SETTING_SSO_URL,
    KEDGE_AWS_SETTING_LOGIN,
    KEDGE_AWS_SETTING_WEB_IDENTITY
} kedge_aws_setting;
#define KEDGE_AWS_SETTINGS 10

typedef struct kedge_aws_profile_value {
    kedge_bytes text;
    const char *path; /* where it stands */
    uint32_t line;    /* 0: nowhere */
    uint32_t rank;    /* the higher one counts */
} kedge_aws_profile_value;

typedef struct kedge_aws_profile {
    const char *name;
    bool named;            /* by the caller or by AWS_PROFILE */
    bool found;            /* some section is its */
    kedge_buffer paths[2]; /* of the credentials and the config file; "" when there is no home */
    kedge_buffer texts[2];
    kedge_aws_profile_value values[KEDGE_AWS_SETTINGS];
} kedge_aws_profile;

/* Reads both files; one that is not there has nothing in it. Borrows `options`. `allocator` should
 * wipe. KEDGE_UNAUTHORIZED "aws-credentials-invalid": a file cannot be read, or which of its lines
 * is wrong. */
kedge_status kedge_aws_profile_load(const kedge_aws_credentials_options *options,
                                    const kedge_allocator *allocator, kedge_aws_profile *profile,
                                    kedge_error *error);
void kedge_aws_profile_free(kedge_aws_profile *profile);

#endif
