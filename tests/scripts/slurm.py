"""A small Slurm on this machine: one controller and a few nodes, no services of the system."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ["munged", "slurmctld", "slurmd"]
SETTINGS = """ClusterName=firn
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CredType=cred/munge
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=bf_interval=1,sched_min_interval=100000,defer
SlurmdTimeout=5
KillWait=5
JobRequeue=1
ReturnToService=2
SlurmdParameters=config_overrides
PartitionName=farm Nodes={nodes} Default=YES MaxTime=INFINITE State=UP
"""


def missing():
    """What keeps a cluster from being started here; "" when nothing does."""
    if os.geteuid() != 0:
        return "Slurm's daemons need root"
    lost = [name for name in [*DAEMONS, "sbatch"] if find(name) is None]
    return f"not installed: {', '.join(lost)}" if lost else ""


def find(name):
    return shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin:/sbin")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def children_of(pid):
    """Every process below one, nearest first."""
    found, todo = [], [pid]
    while todo:
        try:
            lists = Path(f"/proc/{todo[0]}/task").glob("*/children")
            below = [int(word) for one in lists for word in one.read_text().split()]
        except OSError:
            below = []
        found, todo = found + below, todo[1:] + below
    return found


class Cluster:
    def __init__(self, folder, nodes):
        self.folder, self.nodes = Path(folder), nodes
        self.env = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf")}

    def start(self):
        (self.folder / "state").mkdir(parents=True)
        ports = free_ports(1 + len(self.nodes))
        host = socket.gethostname().split(".")[0]
        text = SETTINGS.format(host=host, user=pwd.getpwuid(os.geteuid()).pw_name,
                               folder=self.folder, port=ports[0], nodes=",".join(self.nodes))
        for node, port in zip(self.nodes, ports[1:]):
            (self.folder / f"spool.{node}").mkdir()
            text += (f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 "
                     "RealMemory=1000 State=UNKNOWN\n")
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.run("munged", "--force", f"--key-file={key}", f"--socket={self.folder}/munge.sock",
                 f"--pid-file={self.folder}/munged.pid", f"--log-file={self.folder}/munged.log",
                 f"--seed-file={self.folder}/munge.seed")
        self.run("slurmctld", "-c", "-f", self.folder / "slurm.conf")
        for node in self.nodes:
            self.run("slurmd", "-f", self.folder / "slurm.conf", "-N", node)
        self.wait(lambda: self.states().count("idle") == len(self.nodes), 30)

    def run(self, *words):
        words = [find(words[0]), *map(str, words[1:])]
        # Daemons must not keep the pipe of the test.
        log = self.folder / "commands.log"
        with open(log, "a+") as out:
            begin = out.tell()
            done = subprocess.run(words, env=self.env, stdin=subprocess.DEVNULL, stdout=out,
                                  stderr=subprocess.STDOUT, timeout=60, check=False)
        text = log.read_text()[begin:]
        if done.returncode != 0:
            raise RuntimeError(f"{words}: {text}")
        return text

    def states(self):
        return self.run("sinfo", "-h", "-N", "-o", "%T").split()

    def queue(self):
        """The jobs that wait or run: number of its own, state, node."""
        return [line.split("|") for line in
                self.run("squeue", "-h", "-r", "-o", "%A|%T|%N").splitlines()]

    def wait(self, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError((self.folder / "slurmctld.log").read_text()[-3000:])
            time.sleep(0.2)

    def pid(self, name):
        try:
            pid = int((self.folder / f"{name}.pid").read_text())
            words = Path(f"/proc/{pid}/cmdline").read_bytes()
        except (OSError, ValueError):
            return None
        return pid if str(self.folder).encode() in words else None

    def steps(self, jobs):
        """The processes that run jobs. They are no children of the daemon that started them."""
        titles = {f"slurmstepd: [{job}.batch]".encode() for job in jobs}
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                title, place = path.read_bytes().split(b"\0")[0], os.readlink(path.parent / "cwd")
            except OSError:
                continue
            if title.strip() in titles and place.startswith(str(self.folder)):
                found.append(int(path.parent.name))
        return found

    def kill_node(self, node):
        """As a power cut: the daemon and all that it runs, at once. Returns the jobs."""
        jobs = [job for job, state, where in self.queue() if where == node and state == "RUNNING"]
        doomed = [self.pid(node), *self.steps(jobs)]
        for pid in [*doomed, *[below for one in doomed for below in children_of(one)]]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return jobs

    def stop(self):
        for name in [*self.nodes, "slurmctld", "munged"]:
            pid = self.pid(name)
            if pid is not None:
                os.kill(pid, signal.SIGTERM)
        self.wait(lambda: all(self.pid(n) is None for n in [*self.nodes, "slurmctld"]), 20)
