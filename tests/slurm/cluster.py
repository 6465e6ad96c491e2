"""A Slurm of one node in a temporary directory: munged, slurmctld and slurmd of Debian's packages, as root, without systemd and cgroups."""

import ctypes
import os
import pathlib
import secrets
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time

DAEMONS = ("munged", "slurmctld", "slurmd")
PATH = "/usr/sbin:/sbin:" + os.environ["PATH"]

# A requeued job waits for cred_expire (2 minutes by default), because its node refuses a job that it has just ended.
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge_socket},cred_expire=5
CryptoType=crypto/munge
StateSaveLocation={state}/controller
SlurmdSpoolDir={state}/node
SlurmctldPidFile={state}/slurmctld.pid
SlurmdPidFile={state}/slurmd.pid
SlurmctldLogFile={state}/slurmctld.log
SlurmdLogFile={state}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
InactiveLimit=0
KillWait=5
MinJobAge=300
PrologFlags=NoHold
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=8000 Gres=gpu:{gpus} State=UNKNOWN
PartitionName=test Nodes={host} Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


def missing_programs():
    return [name for name in (*DAEMONS, "sbatch", "srun", "scontrol", "squeue", "scancel") if
            not shutil.which(name, path=PATH)]


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def die_with_parent():
    """No daemon outlives this process, even when it is killed."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


class Cluster:
    """Starts the daemons; as a context it ends them, and every job with them."""

    def __init__(self, gpus=4):
        self.gpus = gpus
        self.host = socket.gethostname().split(".")[0]
        self.path = pathlib.Path(tempfile.mkdtemp(prefix="kgen-slurm-"))
        self.processes = []
        self.environment = {**os.environ, "PATH": PATH, "SLURM_CONF": str(self.path / "slurm.conf")}

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        for name in ("controller", "node", "munge"):
            (self.path / name).mkdir(mode=0o700)
        # munged refuses a socket below a directory that others cannot enter.
        self.path.chmod(0o755)
        (self.path / "munge").chmod(0o755)
        key = self.path / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        controller_port, node_port = free_ports(2)
        (self.path / "slurm.conf").write_text(CONFIGURATION.format(
            host=self.host, state=self.path, gpus=self.gpus, munge_socket=self.path / "munge/socket",
            controller_port=controller_port, node_port=node_port))
        devices = [self.path / f"gpu{index}" for index in range(self.gpus)]
        for index, device in enumerate(devices):
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(195, index))
        (self.path / "gres.conf").write_text("".join(f"Name=gpu File={device}\n" for device in devices))
        self.spawn("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.path}/munge/socket",
                   f"--pid-file={self.path}/munge/pid", f"--log-file={self.path}/munge/log",
                   f"--seed-file={self.path}/munge/seed")
        self.wait_until(lambda: (self.path / "munge/socket").exists(), "munged makes its socket", 10)
        self.spawn("slurmctld", "-D", "-f", self.path / "slurm.conf")
        self.spawn("slurmd", "-D", "-f", self.path / "slurm.conf", "-N", self.host)
        self.wait_until(lambda: self.node_state().startswith("idle"), "the node is idle", 30)

    def spawn(self, *command):
        log = open(self.path / f"{command[0]}.out", "wb")
        self.processes.append(subprocess.Popen([str(word) for word in command], env=self.environment, stdout=log,
                                               stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
                                               preexec_fn=die_with_parent))
        log.close()

    def stop(self):
        if len(self.processes) == len(DAEMONS):
            self.run("scancel", "--full", "--signal=KILL", "--user=root", check=False)
            self.run("scancel", "--user=root", check=False)
            deadline = time.monotonic() + 10
            while self.run("squeue", "-h", check=False).stdout and time.monotonic() < deadline:
                time.sleep(0.1)
        for process in reversed(self.processes):
            process.send_signal(signal.SIGTERM)
        for process in reversed(self.processes):
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        shutil.rmtree(self.path, ignore_errors=True)

    def run(self, *command, check=True, timeout=60, **keywords):
        result = subprocess.run([str(word) for word in command], env=self.environment, stdin=subprocess.DEVNULL,
                                capture_output=True, text=True, timeout=timeout, check=False, **keywords)
        if check and result.returncode:
            raise AssertionError(f"{command}: exit {result.returncode}: {result.stdout}{result.stderr}\n{self.logs()}")
        return result

    def wait_until(self, is_true, what, seconds):
        deadline = time.monotonic() + seconds
        while not is_true():
            if time.monotonic() > deadline:
                raise AssertionError(f"after {seconds} s not true: {what}\n{self.logs()}")
            time.sleep(0.1)

    def logs(self):
        text = ""
        for log in sorted(self.path.glob("*.log")) + sorted(self.path.glob("*.out")):
            lines = log.read_text(errors="replace").splitlines()[-25:]
            text += f"--- {log.name}\n" + "\n".join(lines) + "\n"
        return text

    def node_state(self):
        return self.run("sinfo", "-h", "-o", "%T", check=False).stdout.strip()

    def job_state(self, job):
        return self.run("squeue", "-h", "--states=all", "-j", job, "-o", "%T", check=False).stdout.split()

    def sbatch(self, *arguments, **keywords):
        return self.run("sbatch", "--parsable", *arguments, **keywords).stdout.strip()
