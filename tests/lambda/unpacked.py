"""A system that has nothing but a package of kedge-lambda, and what every Linux has."""
import os
import pathlib
import shutil
import stat
import zipfile

# A mount of its own, which ends with the process; then the package's program, in an emulator when there is one.
ENTER = 'mount -t proc proc "$0/proc" && exec chroot "$0" $1 /var/task/bootstrap'


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
        self.emulator = ""
        if emulator:
            self.emulator = "/" + shutil.copy(emulator, self.root).rpartition("/")[2]

    @property
    def command(self):
        return ["unshare", "--mount", "sh", "-c", ENTER, self.root, self.emulator]

    def remove(self):
        shutil.rmtree(self.root)
