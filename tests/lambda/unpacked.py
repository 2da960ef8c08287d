"""A system that has nothing but a package of kedge-lambda, and what every Linux has."""
import os
import pathlib
import shutil
import stat
import subprocess
import zipfile

# A mount of its own, which ends with the process.
MOUNT = 'mount -t proc proc "$0/proc" && '
# The package's program, in an emulator when there is one.
ENTER = 'exec chroot "$0" $1 /var/task/bootstrap'


class System:
    def __init__(self, folder, package, emulator=None):
        self.root = pathlib.Path(folder)
        for name in ("var/task", "tmp", "proc", "dev", "etc"):
            (self.root / name).mkdir(parents=True)
        os.mknod(self.root / "dev/null", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        with zipfile.ZipFile(package) as archive:
            for entry in archive.infolist():
                path = pathlib.Path(archive.extract(entry, self.root / "var/task"))
                path.chmod(entry.external_attr >> 16 & 0o777)
        # A container may refuse mounts, and below a plain chroot they cannot be private. There, a link stands for
        # what the package needs of /proc: its own program, which it starts again for its plugin.
        self.mounts = subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
        if not self.mounts:
            (self.root / "proc/self").mkdir()
            (self.root / "proc/self/exe").symlink_to("/var/task/bootstrap")
        self.emulator = ""
        if emulator:
            self.emulator = "/" + shutil.copy(emulator, self.root).rpartition("/")[2]

    @property
    def command(self):
        if self.mounts:
            return ["unshare", "--mount", "sh", "-c", MOUNT + ENTER, self.root, self.emulator]
        return ["sh", "-c", ENTER, self.root, self.emulator]

    def remove(self):
        shutil.rmtree(self.root)
