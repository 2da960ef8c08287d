"""What deploy/template.yaml allows to whom: its policies with every reference resolved, and IAM's decision on a
request. Knows what the template uses of CloudFormation and IAM, and fails on anything else."""
import fnmatch
import re

import yaml

from gate import ACCOUNT, REGION, bucket_arn, queue_arn, stream_arn

ROLES = ["ApiRole", "WorkerRole", "StreamRole", "SnapshotRole", "OperatorPolicy"]
# What --create uses besides. No deployed program makes its stores: the template does.
MAKING = {"dynamodb:CreateTable", "dynamodb:UpdateTable", "s3:CreateBucket", "s3:GetLifecycleConfiguration",
          "s3:PutLifecycleConfiguration", "sqs:CreateQueue"}
# What Lambda itself does with a function's role.
PLATFORM = {("Logs", "logs:CreateLogStream"), ("Logs", "logs:PutLogEvents"), ("Streams", "dynamodb:ListStreams")}


class Tagged:
    """!Name value."""

    def __init__(self, name, value):
        self.name, self.value = name, value


class Loader(yaml.SafeLoader):
    pass


def tagged(loader, name, node):
    kind = {yaml.ScalarNode: loader.construct_scalar, yaml.MappingNode: loader.construct_mapping}
    construct = kind.get(type(node), loader.construct_sequence)
    return Tagged(name, construct(node) if isinstance(node, yaml.ScalarNode) else construct(node, deep=True))


Loader.add_multi_constructor("!", tagged)
NOTHING = object()  # AWS::NoValue


class Template:
    """`names` are the physical names of the resources, `attributes` what !GetAtt finds ("Queue.Arn"), `parameters`
    those that differ from their defaults."""

    def __init__(self, path, names, attributes, **parameters):
        self.tree = yaml.load(path.read_text(), Loader)
        defaults = {name: str(p["Default"]) for name, p in self.tree["Parameters"].items() if "Default" in p}
        self.names, self.attributes = {**defaults, **parameters, **names, "AWS::NoValue": NOTHING}, attributes

    def condition(self, name):
        return self.value(self.tree["Conditions"][name])

    def value(self, node):
        if isinstance(node, Tagged):
            return getattr(self, "tag_" + node.name.lower())(node.value)
        if isinstance(node, dict):
            return {k: v for k, v in ((k, self.value(v)) for k, v in node.items()) if v is not NOTHING}
        if isinstance(node, list):
            return [v for v in map(self.value, node) if v is not NOTHING]
        return node

    def tag_ref(self, name):
        return self.names[name]

    def tag_getatt(self, name):
        return self.attributes[name]

    def tag_sub(self, text):
        text, local = text if isinstance(text, list) else (text, {})
        known = {**self.attributes, **self.names, **self.value(local)}
        return re.sub(r"\$\{([^}]+)\}", lambda match: known[match.group(1)], text)

    def tag_if(self, branches):
        return self.value(branches[1 if self.condition(branches[0]) else 2])

    def tag_condition(self, name):
        return self.condition(name)

    def tag_equals(self, sides):
        one, two = self.value(sides)
        return str(one) == str(two)

    def tag_not(self, operand):
        return not self.value(operand)[0]

    def tag_and(self, operands):
        return all(self.value(operands))

    def properties(self, resource):
        return self.value(self.tree["Resources"][resource]["Properties"])

    def policy(self, resource):
        """The policy of a role, or a managed policy."""
        properties = self.properties(resource)
        documents = [properties] if "PolicyDocument" in properties else properties["Policies"]
        return Policy([s for document in documents for s in document["PolicyDocument"]["Statement"]])

    def variables(self, function):
        """The environment of a function."""
        shared = self.tree["Globals"]["Function"]["Environment"]["Variables"]
        own = self.tree["Resources"][function]["Properties"]["Environment"]["Variables"]
        return self.value({**shared, **own})


def described(path, name, queue_url, **parameters):
    """The template of a stack `name`, whose stores have that name as well. `queue_url` makes a URL of a queue's name."""
    names = {"Table": name, "Bucket": name, "Queue": queue_url(name + ".fifo"),
             "SnapshotQueue": queue_url(name + "-snapshots.fifo"), "AWS::StackName": name, "AWS::Partition": "aws",
             "AWS::Region": REGION, "AWS::AccountId": ACCOUNT,
             **{f"{of}Logs": f"{name}-{of}Logs" for of in ("Api", "Worker", "Stream", "Snapshot")}}
    attributes = {"Bucket.Arn": bucket_arn(name), "Table.StreamArn": stream_arn(name), "Queue.Arn": queue_arn(name + ".fifo"),
                  "DeadLetters.Arn": queue_arn(name + "-dead-letters.fifo"),
                  "SnapshotQueue.Arn": queue_arn(name + "-snapshots.fifo"),
                  "SnapshotDeadLetters.Arn": queue_arn(name + "-snapshots-dead-letters.fifo"),
                  **{f"{of}Logs.Arn": f"arn:aws:logs:{of}" for of in ("Api", "Worker", "Stream", "Snapshot")}}
    return Template(path, names, attributes, **parameters)


def listed(value):
    return value if isinstance(value, list) else [value]


def like(text, pattern):
    """StringLike: * and ? alone are special."""
    return fnmatch.fnmatchcase(text, re.sub(r"\[", "[[]", pattern))


class Policy:
    def __init__(self, statements):
        self.statements = statements
        for statement in statements:
            known = {"Sid", "Effect", "Action", "Resource", "Condition"}
            if set(statement) - known or statement["Effect"] != "Allow":
                raise ValueError(statement)
            if any("*" in action for action in listed(statement["Action"])):
                raise ValueError(f"{statement['Sid']} allows actions by a pattern")

    def allowed(self):
        """Each (Sid, action)."""
        return {(s["Sid"], action) for s in self.statements for action in listed(s["Action"])}

    def without(self, sid, action):
        """The policy without one action of one statement."""
        return Policy([{**s, "Action": [a for a in listed(s["Action"]) if (s["Sid"], a) != (sid, action)]}
                       for s in self.statements])

    def allows(self, action, resource, leading):
        context = {} if leading is None else {"dynamodb:LeadingKeys": leading}
        return any(action in listed(s["Action"]) and any(like(resource, p) for p in listed(s["Resource"]))
                   and all(holds(*condition, context) for condition in s.get("Condition", {}).items())
                   for s in self.statements)


def holds(operator, keys, context):
    """`context` has a list of values for each key that the request has."""
    for key, wanted in keys.items():
        values = context.get(key)
        if operator == "ForAllValues:StringLike":
            if not all(any(like(value, p) for p in listed(wanted)) for value in values or []):
                return False
        elif operator == "Null":
            if (values is None) != (wanted == "true"):
                return False
        else:
            raise ValueError(f"a condition that is not known here: {operator}")
    return True
