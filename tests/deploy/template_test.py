#!/usr/bin/env python3
"""What deploy/template.yaml says, held to the sources and the docs: limits that must agree, and how far each role
reaches. Nothing runs but IAM's decision (policies.py).

Usage: template_test.py TEMPLATE. The environment may name, in KEDGE_PYTHON_TOOLS, the folder of a Python that has
PyYAML. Ends with 77 when there is none."""
import json
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path[:0] = [str(pathlib.Path(__file__).parent)]
from tools import use_python_with  # noqa: E402

use_python_with("yaml")

from gate import ACCOUNT, bucket_arn, queue_arn, stream_arn, table_arn  # noqa: E402
from policies import MAKING, NOTHING, PLATFORM, ROLES, described  # noqa: E402

TEMPLATE = sys.argv[1]
NAME = "kedge-deploy-test"


def template(**parameters):
    return described(pathlib.Path(TEMPLATE), NAME, lambda name: f"https://sqs.example.com/{ACCOUNT}/{name}",
                     Issuer="i", Audience="kedge", Jwks="{}", **parameters)


class Template(unittest.TestCase):
    def queued(self, resource):
        return template(Mode="queued").policy(resource)

    def test_the_table_lets_entries_expire_by_the_attribute_that_they_have(self):
        source = (pathlib.Path(__file__).parents[2] / "backend/log/record.c").read_text()
        (attribute,) = re.findall(r'define EXPIRES +"([A-Z])"', source)
        self.assertEqual(template().properties("Table")["TimeToLiveSpecification"],
                         {"AttributeName": attribute, "Enabled": True})

    def test_the_how_to_gives_a_restored_table_what_a_restore_leaves_out(self):
        page = (pathlib.Path(__file__).parents[2] / "docs/how-to/deploy-to-aws.md").read_text()
        table = template().properties("Table")
        expiry, stream = table["TimeToLiveSpecification"], table["StreamSpecification"]
        days = table["PointInTimeRecoverySpecification"]["RecoveryPeriodInDays"]
        self.assertTrue(table["DeletionProtectionEnabled"])
        commands = [" ".join(command.split()) for command in page.replace("\\\n", " ").splitlines()]
        for wanted in ("update-table --table-name $TABLE-2 --deletion-protection-enabled",
                       "update-continuous-backups --table-name $TABLE-2 --point-in-time-recovery-specification "
                       f"PointInTimeRecoveryEnabled=true,RecoveryPeriodInDays={days}",
                       "update-table --table-name $TABLE-2 --stream-specification "
                       f"StreamEnabled=true,StreamViewType={stream['StreamViewType']}",
                       "update-time-to-live --table-name $TABLE-2 --time-to-live-specification "
                       f"Enabled=true,AttributeName={expiry['AttributeName']}"):
            self.assertTrue(any(command.startswith("aws dynamodb " + wanted) for command in commands), wanted)

    def test_an_alarm_tells_of_the_budgets_that_an_organization_has_used_up(self):
        source = (pathlib.Path(__file__).parents[2] / "backend/front/response.c").read_text()
        counted, alarm = template().properties("BudgetRefusals"), template().properties("BudgetRefusalsAlarm")
        (event,) = re.findall(r'\{ \$\.event = "([a-z-]+)" \}', counted["FilterPattern"])
        self.assertIn(f'&log->exceeded, "{event}"', source)
        (metric,) = counted["MetricTransformations"]
        self.assertEqual((alarm["Namespace"], alarm["MetricName"]), (metric["MetricNamespace"], metric["MetricName"]))

    def test_an_alarm_tells_when_a_function_that_works_on_a_queue_failed(self):
        resources = template().tree["Resources"]
        queues = {name for name, resource in resources.items()
                  if any(event["Type"] == "SQS" for event in resource["Properties"].get("Events", {}).values())}
        alarms = [resource["Properties"] for resource in resources.values() if resource["Type"] == "AWS::CloudWatch::Alarm"]
        told = {alarm["Dimensions"][0]["Value"].value for alarm in alarms if alarm.get("MetricName") == "Errors"}
        self.assertEqual(queues, {"WorkerFunction", "SnapshotFunction"})
        self.assertEqual(queues - told, set())

    def test_the_template_fits_what_services_take(self):
        """CloudFormation takes so many bytes of a template that stands in no bucket, and IAM so many characters, white
        space aside, of a managed policy and of the policies in a role."""
        self.assertLessEqual(pathlib.Path(TEMPLATE).stat().st_size, 51200)
        self.assertLessEqual(self.policy_size("OperatorPolicy"), 6144)
        for role in ROLES[:-1]:
            self.assertLessEqual(self.policy_size(role), 10240)

    def policy_size(self, resource):
        """With a long name of the stack, so that the names of its resources are long."""
        path = pathlib.Path(TEMPLATE)
        made = described(path, "a" * 40, lambda name: f"https://sqs.example.com/{ACCOUNT}/{name}", Issuer="i",
                         Audience="kedge", Jwks="{}", Mode="queued", RestoredTable="a" * 40 + "-Table-1ABCDEFGHIJKL-2")
        return len(json.dumps(made.policy(resource).statements, separators=(",", ":")))

    def test_a_message_is_hidden_for_six_times_as_long_as_the_worker_may_take(self):
        resources = template().tree["Resources"]
        for queue, function in (("Queue", "WorkerFunction"), ("SnapshotQueue", "SnapshotFunction")):
            self.assertEqual(resources[queue]["Properties"]["VisibilityTimeout"],
                             6 * resources[function]["Properties"]["Timeout"])

    def test_each_function_reserves_what_its_parameter_says_and_nothing_by_default(self):
        for number, name in enumerate(("Api", "Worker", "Stream", "Snapshot"), 20):
            def reserved(**parameters):
                made = template(**parameters)
                return made.value(made.tree["Resources"][name + "Function"]["Properties"]["ReservedConcurrentExecutions"])

            parameter = {name + "ReservedConcurrency": number}
            self.assertIs(reserved(), NOTHING)
            self.assertEqual(reserved(**parameter), number)
            self.assertEqual(reserved(Stopped="yes", **parameter), 0)

    def test_the_queue_allows_as_many_deliveries_as_one_that_kedge_makes(self):
        header = (pathlib.Path(__file__).parents[2] / "backend/ports/queue.h").read_text()
        (deliveries,) = re.findall(r"define KEDGE_QUEUE_DELIVERIES +([0-9]+)", header)
        for name in ("Queue", "SnapshotQueue"):
            queue = template().tree["Resources"][name]["Properties"]
            self.assertEqual(queue["RedrivePolicy"]["maxReceiveCount"], int(deliveries))

    def test_the_how_to_allows_a_server_what_all_functions_may_do_together(self):
        """It is asked for its queue by name, and the functions by URL. Lambda writes their logs."""
        page = (pathlib.Path(__file__).parents[2] / "docs/how-to/run-the-server.md").read_text()
        rows = re.findall(r"^\| (.+) \| (`[a-z0-9]+:.+) \|$", page, re.MULTILINE)
        told = {on: set(re.findall(r"`([a-z0-9]+:[A-Za-z]+)`", actions)) for on, actions in rows}
        making = told.pop("with `--create`, also")
        self.assertEqual(making, MAKING | {"sqs:GetQueueAttributes"})
        allowed = {action for resource in ROLES[:-1] for _, action in self.queued(resource).allowed()}
        self.assertEqual(set().union(*told.values()), allowed - {action for _, action in PLATFORM})

    def test_direct_mode_has_nothing_to_do_with_the_queue(self):
        direct = template().policy("ApiRole").allowed()
        self.assertEqual(self.queued("ApiRole").allowed() - direct,
                         {("Queue", "sqs:GetQueueAttributes"), ("Queue", "sqs:SendMessage"),
                          ("DeadLettersAtTheStart", "sqs:GetQueueUrl")})

    def test_nobody_reaches_beyond_what_is_kedges(self):
        table, blob = table_arn(NAME), bucket_arn(NAME) + "/acme/projects/p/notes/0.json.gz"
        for resource in ROLES:
            policy = self.queued(resource)
            follows = resource == "StreamRole"
            self.assertEqual(policy.allows("dynamodb:GetItem", table, ["Project#acme/p"]), not follows)
            self.assertEqual(policy.allows("s3:GetObject", blob, None), not follows)
            self.assertEqual(policy.allows("dynamodb:GetRecords", stream_arn(NAME), None), follows)
            self.assertEqual(policy.allows("dynamodb:DeleteItem", table, ["P#0"]),
                             resource in ("SnapshotRole", "OperatorPolicy"))
            writes, deletes = resource in ("ApiRole", "OperatorPolicy"), resource == "OperatorPolicy"
            for leading in ("E#0", "S#0", "L#acme/p"):
                self.assertEqual(policy.allows("dynamodb:PutItem", table, [leading]),
                                 writes or (resource == "SnapshotRole" and leading[0] != "L"))
                self.assertEqual(policy.allows("dynamodb:DeleteItem", table, [leading]), deletes if leading[0] == "L" else writes)
            body = bucket_arn(NAME) + "/acme/logs/p/l/bodies/0.json.gz"
            self.assertEqual(policy.allows("s3:PutObjectTagging", body, None), writes)
            self.assertFalse(policy.allows("s3:PutObjectTagging", blob, None))
            self.assertEqual(policy.allows("dynamodb:PutItem", table, ["ResourceHistory#acme/k/i"]), writes)
            self.assertEqual(policy.allows("dynamodb:DeleteItem", table, ["Resource#acme/k"]), writes)
            self.assertEqual(policy.allows("dynamodb:DeleteItem", table, ["ResourceHistory#acme/k/i"]), deletes)
            for action, arn, leading in [
                    ("dynamodb:GetItem", table, ["Another#acme"]),
                    ("dynamodb:GetItem", table, None),
                    ("dynamodb:GetItem", table_arn(NAME + "-2"), ["Project#acme/p"]),
                    ("dynamodb:Query", table, ["notes"]),
                    ("dynamodb:Query", table + "/index/another", ["notes"]),
                    ("dynamodb:Scan", table, None),
                    ("s3:GetObject", bucket_arn(NAME) + "/another/0", None),
                    ("s3:GetObject", bucket_arn(NAME + "-2") + "/acme/projects/p/notes/0.json.gz", None),
                    ("s3:DeleteObjectVersion", blob, None),
                    ("sqs:ReceiveMessage", queue_arn("another.fifo"), None)]:
                self.assertFalse(policy.allows(action, arn, leading), (resource, action, arn, leading))
        worker = self.queued("WorkerRole")
        self.assertTrue(worker.allows("s3:DeleteObject", bucket_arn(NAME) + "/acme/projects/p/pushes/0.json.gz", None))
        self.assertFalse(worker.allows("s3:DeleteObject", blob, None))
        api, upload = self.queued("ApiRole"), bucket_arn(NAME) + "/acme/projects/p/uploads/0.json.gz"
        self.assertTrue(api.allows("s3:DeleteObject", upload, None))
        self.assertFalse(api.allows("s3:DeleteObject", blob, None))
        self.assertFalse(worker.allows("s3:DeleteObject", upload, None))
        self.assertFalse(worker.allows("dynamodb:GetItem", table, ["DeadLetters#acme", "Another#acme"]))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
