/* Asking S3 about the bucket, and making it, with the rules by which it deletes by itself. */
#include "backend/aws/s3_internal.h"
#include "common/error.h"

#include <string.h>

/* ---- check ---- */

static kedge_status another_region(const kedge_s3 *self, const char *region, kedge_error *error)
{
    return kedge_fail(error, KEDGE_NOT_FOUND, "aws-bucket-region",
                      "the bucket %s is in the region %s, not in %s: set AWS_REGION to its region",
                      self->bucket, region, kedge_aws_client_region(self->client));
}

static kedge_status read_check(const kedge_s3 *self, kedge_status status,
                               const kedge_aws_response *response, kedge_error *error)
{
    if (status == KEDGE_OK) return KEDGE_OK;
    if (response->region[0] != '\0' &&
        strcmp(response->region, kedge_aws_client_region(self->client)) != 0)
        return another_region(self, response->region, error);
    if (kedge_s3_is(response, "NoSuchBucket"))
        return kedge_fail(error, KEDGE_NOT_FOUND, "aws-bucket-missing",
                          "there is no bucket %s in %s: make it, or name another one", self->bucket,
                          kedge_aws_client_region(self->client));
    return status == KEDGE_CONFLICT ? kedge_s3_refused(response, error) : status;
}

/* Lists one key instead of HeadBucket: both need s3:ListBucket, but a response to HEAD has no body
 * and so does not say why, and a skewed clock could not be told from a missing right. */
kedge_status kedge_s3_check(const kedge_s3_options *options, kedge_error *error)
{
    kedge_s3 self;
    kedge_status status = kedge_s3_make(options, &self, error);
    if (status != KEDGE_OK) return status;
    const kedge_aws_parameter query[] = {
        {KEDGE_BYTES("list-type"), KEDGE_BYTES("2")},
        {KEDGE_BYTES("max-keys"), KEDGE_BYTES("1")},
        {KEDGE_BYTES("prefix"), kedge_bytes_of(self.prefix)},
    };
    const kedge_s3_request request = {.action = "s3:ListBucket",
                                      .method = "GET",
                                      .query = query,
                                      .query_count = 3,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    status = kedge_s3_call(&self, &request, &response, error);
    status = read_check(&self, status, &response, error);
    kedge_aws_response_free(&response);
    return status;
}

/* ---- the lifecycle ---- */

#define LIFECYCLE                                                                                  \
    "<LifecycleConfiguration xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"                   \
    "<Rule><ID>unfinished-uploads</ID><Status>Enabled</Status><Filter><Prefix></Prefix></Filter>"  \
    "<AbortIncompleteMultipartUpload><DaysAfterInitiation>1</DaysAfterInitiation>"                 \
    "</AbortIncompleteMultipartUpload></Rule>"                                                     \
    "<Rule><ID>discarded-writes</ID><Status>Enabled</Status><Filter><Tag>"                         \
    "<Key>" KEDGE_BLOB_DISCARD_TAG "</Key><Value>" KEDGE_BLOB_DISCARD_VALUE "</Value>"             \
    "</Tag></Filter><Expiration><Days>" KEDGE_BLOB_DISCARD_DAYS "</Days></Expiration></Rule>"      \
    "</LifecycleConfiguration>"

static kedge_status has_lifecycle(const kedge_s3 *self, bool *has, kedge_error *error)
{
    const kedge_aws_parameter query[] = {{KEDGE_BYTES("lifecycle"), {"", 0}}};
    const kedge_s3_request request = {.action = "s3:GetLifecycleConfiguration",
                                      .method = "GET",
                                      .query = query,
                                      .query_count = 1,
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    kedge_status status = kedge_s3_call(self, &request, &response, error);
    *has = status == KEDGE_OK;
    if (status == KEDGE_CONFLICT && kedge_s3_is(&response, "NoSuchLifecycleConfiguration"))
        status = KEDGE_OK;
    else if (status == KEDGE_CONFLICT)
        status = kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    return status;
}

static kedge_status put_lifecycle(const kedge_s3 *self, kedge_error *error)
{
    kedge_s3_sums sums;
    kedge_status status = kedge_s3_sum(self, KEDGE_BYTES(LIFECYCLE), &sums, error);
    if (status != KEDGE_OK) return status;
    const kedge_aws_parameter query[] = {{KEDGE_BYTES("lifecycle"), {"", 0}}};
    const kedge_http_header headers[] = {{"Content-Type", "application/xml"},
                                         {"Content-MD5", sums.md5},
                                         {KEDGE_S3_CHECKSUM_HEADER, sums.sha256}};
    const kedge_s3_request request = {.action = "s3:PutLifecycleConfiguration",
                                      .method = "PUT",
                                      .query = query,
                                      .query_count = 1,
                                      .headers = headers,
                                      .header_count = sizeof headers / sizeof headers[0],
                                      .body = KEDGE_BYTES(LIFECYCLE),
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_aws_response response = {0};
    status = kedge_s3_call(self, &request, &response, error);
    if (status == KEDGE_CONFLICT) status = kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    return status;
}

/* Rules that a bucket has already are its owner's, and stay as they are. */
static kedge_status set_lifecycle(const kedge_s3 *self, kedge_error *error)
{
    bool has;
    kedge_status status = has_lifecycle(self, &has, error);
    return status == KEDGE_OK && !has ? put_lifecycle(self, error) : status;
}

/* ---- create ---- */

static kedge_status create_bucket(const kedge_s3 *self, kedge_error *error)
{
    const char *region = kedge_aws_client_region(self->client);
    kedge_buffer body = kedge_buffer_make(kedge_aws_client_environment(self->client)->allocator);
    /* AWS's first region is the one that may not be named. */
    if (strcmp(region, "us-east-1") != 0) {
        kedge_buffer_append_text(&body, "<CreateBucketConfiguration xmlns=\"http://s3.amazonaws.com"
                                        "/doc/2006-03-01/\"><LocationConstraint>");
        kedge_s3_write_xml_text(kedge_bytes_of(region), &body);
        kedge_buffer_append_text(&body, "</LocationConstraint></CreateBucketConfiguration>");
    }
    kedge_aws_response response = {0};
    const kedge_http_header headers[] = {{"Content-Type", "application/xml"}};
    const kedge_s3_request request = {.action = "s3:CreateBucket",
                                      .method = "PUT",
                                      .headers = headers,
                                      .header_count = body.size > 0 ? 1 : 0,
                                      .body = kedge_buffer_bytes(&body),
                                      .response_bytes_max = KEDGE_S3_XML_BYTES_MAX};
    kedge_status status = kedge_buffer_status(&body, error);
    if (status == KEDGE_OK) status = kedge_s3_call(self, &request, &response, error);
    if (status == KEDGE_CONFLICT && kedge_s3_is(&response, "BucketAlreadyOwnedByYou"))
        status = KEDGE_OK;
    else if (status == KEDGE_CONFLICT && kedge_s3_is(&response, "BucketAlreadyExists"))
        status = kedge_fail(error, KEDGE_FORBIDDEN, "aws-bucket-taken",
                            "the name %s is another account's bucket: choose another name",
                            self->bucket);
    else if (status == KEDGE_CONFLICT)
        status = kedge_s3_refused(&response, error);
    kedge_aws_response_free(&response);
    kedge_buffer_free(&body);
    return status;
}

kedge_status kedge_s3_create(const kedge_s3_options *options, kedge_error *error)
{
    kedge_s3 self;
    kedge_status status = kedge_s3_make(options, &self, error);
    if (status == KEDGE_OK) status = create_bucket(&self, error);
    return status == KEDGE_OK ? set_lifecycle(&self, error) : status;
}
