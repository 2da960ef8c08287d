"""Live views: several processes on one folder, and copies that see each other's edits at once; texts that two edit."""
import os
import pty
import signal
import subprocess
import time

from harness import Case


class SharedTexts(Case):
    def edit_on_both(self, text, by_a, by_b):
        """What two copies read that were offline and edited one note."""
        server = self.server()
        a, b = self.copy("a", server), self.copy("b", server)
        note = a.add(text=text)
        a.sync()
        b.sync()
        a.edit(note, by_a)
        b.edit(note, by_b)
        self.check_converged(server, a, b)
        lists = [copy.list()[0].split(".: ")[1] for copy in (a, b)]
        self.assertEqual(lists[0], lists[1])
        return lists[0]

    def test_two_offline_edits_of_one_note_both_survive(self):
        merged = self.edit_on_both("Train at nine", "Train at ten, platform 4", "Train at nine, bring tickets")
        self.assertEqual(merged, "Train at ten, platform 4, bring tickets")

    def test_two_offline_edits_of_the_same_word_stay_both(self):
        merged = self.edit_on_both("at nine", "at ten", "at eight")
        self.assertIn(merged, ("at ten eight", "at eight ten"))


class LiveViews(Case):
    def setUp(self):
        super().setUp()
        self.backend = self.server()
        self.a, self.b = self.copy("a", self.backend), self.copy("b", self.backend)

    def check_end(self, *lives, typed=()):
        for live in lives:
            self.assertEqual(live.end(), 0)
        made = [*self.a.acknowledged, *self.b.acknowledged, *typed]
        self.check_converged(self.backend, self.a, self.b, acknowledged=made)

    def test_a_view_shows_what_another_process_adds_to_the_folder(self):
        live = self.live(self.a)
        live.wait("online")
        for offline in (True, False):
            self.a.add(f"by another, {offline}.", offline=offline)
            live.wait(f"by another, {offline}.")
        live.wait("0 pending")
        self.check_end(live)

    def test_two_views_on_one_folder_show_each_others_edits(self):
        one, two = self.live(self.a), self.live(self.a)
        one.wait("version 0")
        two.wait("version 0")
        for turn in range(3):
            one.type(f'add "one {turn}."')
            two.wait(f"one {turn}.")
            two.type(f'add "two {turn}."')
            one.wait(f"two {turn}.")
        self.check_end(one, two, typed=[f"{who} {turn}." for who in ("one", "two") for turn in range(3)])

    def test_another_process_takes_over_when_the_syncing_one_is_killed(self):
        leader = self.live(self.a)
        leader.wait("online")
        for turn in range(3):
            follower, elsewhere = self.live(self.a), self.live(self.b)
            follower.wait("another process syncs")
            self.assertNotEqual(leader.end(signal.SIGKILL), 0)
            follower.type(f'add "after the kill {turn}."')
            elsewhere.wait(f"after the kill {turn}.")
            elsewhere.type(f'add "back {turn}."')
            follower.wait(f"back {turn}.")
            follower.wait("online")
            self.assertEqual(elsewhere.end(), 0)
            leader = follower
        self.check_end(leader, typed=[f"{text} {turn}." for text in ("after the kill", "back")
                                      for turn in range(3)])

    def test_a_view_killed_in_the_middle_of_many_edits_loses_none_that_it_told(self):
        live = self.live(self.a)
        for number in range(300):
            live.type(f'add "k{number}."')
        live.wait("edit 100: ")
        live.end(signal.SIGKILL)
        self.a.sync()
        kept = len(self.a.titles())
        self.assertGreaterEqual(kept, 100)
        self.a.acknowledged = [f"k{number}." for number in range(kept)]
        self.check_end()

    def test_the_edit_of_another_copy_is_drawn_at_once_and_costs_few_requests(self):
        self.a.add()
        live = self.live(self.a)
        live.wait("version 1, 0 pending")
        for turn in range(5):
            before = len(self.backend.requests())
            self.b.add(f"seen {turn}.", offline=True)
            self.b.sync()
            started = time.monotonic()
            live.wait(f"seen {turn}.")
            self.assertLess(time.monotonic() - started, 5)
            answered = len(self.backend.requests()) - before
            self.assertLess(answered, 12, "the view asks although nothing is new")
        self.check_end(live)

    def test_a_terminal_gets_a_view_that_is_drawn_over(self):
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        view = subprocess.Popen(self.a.command("live"), stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)
        try:
            os.write(master, b'add "in a terminal."\n')
            seen, end = b"", time.monotonic() + 120
            while not seen.rstrip().endswith(b"0 pending, 0 rejected\r\n>") or b"version 1" not in seen:
                self.assertLess(time.monotonic(), end, seen)
                seen += os.read(master, 4096)
            self.assertIn(b"\x1b[2J", seen)
            os.write(master, b"quit\n")
            self.assertEqual(view.wait(120), 0)
        finally:
            view.kill()
            view.wait()
        self.check_end(typed=["in a terminal."])

    def test_a_view_whose_input_ends_closes_in_order(self):
        live = self.live(self.a)
        live.type('add "last words."')
        live.wait("last words.")
        live.process.stdin.close()
        self.assertEqual(live.process.wait(120), 0)
        self.check_end(typed=["last words."])
