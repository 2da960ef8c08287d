"""kedge-lambda on the folder of a kedge-server: what one answer of Lambda cannot carry is pulled all the same."""
import contextlib
import json
import os
import pathlib
import sys

from harness import Case, Programs

sys.path.append(str(pathlib.Path(__file__).parent.parent / "lambda"))
from events import Keys
from poller import Gateway
from runtime_api import Function

LARGE = 7 << 20  # bytes of a text; packed more than the 4,700,000 bytes of an answer


class LargeItems(Case):
    def setUp(self):
        super().setUp()
        self.backend = self.server()

    @contextlib.contextmanager
    def function_in_its_place(self):
        """One at a time may have the folder. Gives the url of the gateway, and the function."""
        self.backend.stop()
        function = Function([Programs.function], {"KEDGE_DATA": str(self.backend.folder),
                                                  "KEDGE_MUTATORS": Programs.plugin, **self.keys.variables()})
        gateway = Gateway(function)
        try:
            yield gateway.url, function
        finally:
            gateway.stop()
            function.stop()
            self.backend.start()

    def sync_through_lambda(self, copy):
        """Returns the status of each answer to a request for a body."""
        with self.function_in_its_place() as (url, function):
            copy.url = url
            copy.sync()
            lines = [json.loads(line) for line in function.logged().splitlines() if line.startswith("{")]
        return [line["status"] for line in lines if line["event"] == "responded" and "/bodies/" in line["path"]]

    def check_same(self, writer, reader):
        written = writer.run("show", "large0", offline=True)
        self.assertGreater(len(written), LARGE)
        self.assertTrue(reader.run("show", "large0", offline=True) == written, "it is another text")

    def test_an_item_that_no_answer_of_lambda_can_carry_is_pulled_byte_for_byte(self):
        if not os.path.exists(Programs.function):
            self.skipTest("kedge-lambda is not built")
        self.keys = Keys(self.root)
        token = {"KEDGE_TOKEN": self.keys.token(org="demo")[7:]}
        writer = self.copy("writer", self.backend)
        readers = [self.copy(name, self.backend, environment=token) for name in ("before", "fresh")]
        writer.add()
        writer.sync()
        self.assertEqual(self.sync_through_lambda(readers[0]), [])
        self.assertEqual(writer.write(1, LARGE, "large"), (["large0"], ""))
        writer.sync()
        stored = [path.stat().st_size for path in self.backend.folder.glob("blobs/**/*.json.gz")]
        self.assertGreater(min(stored), 4700000)
        for reader in readers:  # by a difference, and by a first pull
            self.assertEqual(self.sync_through_lambda(reader), [206, 206])
            self.check_same(writer, reader)
            self.check_lists_equal([writer, reader])

    def test_a_large_item_comes_in_parts_from_a_server_too(self):
        writer, reader = self.copy("writer", self.backend), self.copy("reader", self.backend)
        writer.write(1, LARGE, "large")
        self.check_converged(self.backend, writer, reader)
        self.check_same(writer, reader)
        sent = [line["status"] for line in self.backend.requests() if "/bodies/" in line["path"]]
        self.assertEqual(sent, [206, 206])  # to the reader: the writer has the value already
