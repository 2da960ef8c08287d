/* What DynamoDB says that the port's requests consumed. */
#include "backend/aws/dynamodb_internal.h"

void kedge_dynamodb_write_usage(kedge_dynamodb *self, kedge_json_writer *writer)
{
    if (!self->measured) return;
    kedge_json_key(writer, "ReturnConsumedCapacity");
    kedge_json_chars(writer, "INDEXES");
}

static double units_of(kedge_bytes object)
{
    kedge_bytes value;
    double units = 0;
    if (kedge_json_member(object, "CapacityUnits", &value)) kedge_json_to_number(value, &units);
    return units;
}

/* The units of one table: those of the index, and the rest. */
static void add_table(kedge_bytes capacity, double *table_units, double *index_units)
{
    kedge_bytes indexes, index;
    double of_index = 0;
    if (kedge_json_member(capacity, "GlobalSecondaryIndexes", &indexes) &&
        kedge_json_member(indexes, KEDGE_DYNAMODB_INDEX, &index))
        of_index = units_of(index);
    *index_units += of_index;
    *table_units += units_of(capacity) - of_index;
}

void kedge_dynamodb_count_usage(kedge_dynamodb *self, bool writes,
                                const kedge_aws_response *response)
{
    kedge_bytes capacity, element;
    double table_units = 0, index_units = 0;
    if (!self->measured) return;
    if (kedge_json_member(kedge_buffer_bytes(&response->body), "ConsumedCapacity", &capacity)) {
        if (kedge_json_type_of(capacity) == KEDGE_JSON_ARRAY) {
            kedge_json_iterator tables = kedge_json_iterate(capacity);
            while (kedge_json_next_element(&tables, &element))
                add_table(element, &table_units, &index_units);
        } else {
            add_table(capacity, &table_units, &index_units);
        }
    }
    pthread_mutex_lock(&self->usage_lock);
    kedge_dynamodb_usage *usage = &self->usage;
    *(writes ? &usage->writes : &usage->reads) += 1;
    *(writes ? &usage->write_units : &usage->read_units) += table_units;
    *(writes ? &usage->index_write_units : &usage->index_read_units) += index_units;
    pthread_mutex_unlock(&self->usage_lock);
}

void kedge_dynamodb_records_measure(const kedge_records *records)
{
    ((kedge_dynamodb *)records->self)->measured = true;
}

void kedge_dynamodb_records_usage(const kedge_records *records, kedge_dynamodb_usage *usage)
{
    kedge_dynamodb *self = records->self;
    pthread_mutex_lock(&self->usage_lock);
    *usage = self->usage;
    pthread_mutex_unlock(&self->usage_lock);
}
