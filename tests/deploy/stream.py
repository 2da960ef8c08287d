"""The stream of a table, as Lambda's poller reads it by the role of a function, with the template's filter."""
import base64
import json

import boto3


class Stream:
    def __init__(self, table, gate):
        self.arn = boto3.client("dynamodb").describe_table(TableName=table)["Table"]["LatestStreamArn"]
        self.streams = boto3.client("dynamodbstreams", endpoint_url=gate.url("dynamodb"))

    @staticmethod
    def fits(change):
        return change["Keys"]["pk"]["S"].startswith("E#") and "N" in change.get("NewImage", {})

    def read(self):
        """All that is there, as records of an event."""
        found = []
        for shard in self.streams.describe_stream(StreamArn=self.arn)["StreamDescription"]["Shards"]:
            iterator = self.streams.get_shard_iterator(StreamArn=self.arn, ShardId=shard["ShardId"],
                                                       ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
            while iterator:
                read = self.streams.get_records(ShardIterator=iterator)
                found += [record for record in read["Records"] if self.fits(record["dynamodb"])]
                iterator = read.get("NextShardIterator") if read["Records"] else None
        return json.loads(json.dumps([{**record, "eventSource": "aws:dynamodb"} for record in found],
                                     default=self.plain))

    @staticmethod
    def plain(value):
        return base64.b64encode(value).decode() if isinstance(value, bytes) else value.timestamp()
