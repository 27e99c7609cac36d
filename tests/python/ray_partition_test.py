"""Two nodes in network namespaces of their own: one is cut off amid load, and comes again."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

if os.geteuid() != 0 or not shutil.which("ip"):
    pytest.skip("SKIPPED: network namespaces are root's, by `ip` of iproute2", allow_module_level=True)

import ray_support
from ray_support import SLOW, Single, free_ports, model_in, wait_until

import ray  # isort: skip
from ray import serve  # isort: skip
from ray_failing_test import asked, check, load

BRIDGE, NET = f"pcb{os.getpid() % 10000}", f"10.{77 + os.getpid() % 100}.{os.getpid() % 250}"
os.environ["RAY_AUTH_MODE"] = "disabled"  # `ray start` and ray.init() have other defaults
# Ray thinks a node dead that has not answered for so long.
HEALTH = {"RAY_health_check_initial_delay_ms": "1000", "RAY_health_check_period_ms": "1000",
          "RAY_health_check_failure_threshold": "4"}  # fmt: skip


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


class Network:
    """A bridge at .1, which is the head's, and a namespace for each node."""

    def __init__(self, n):
        self.names = [f"{BRIDGE}n{i}" for i in range(n)]
        ip("link", "add", BRIDGE, "type", "bridge")
        ip("addr", "add", f"{NET}.1/24", "dev", BRIDGE)
        ip("link", "set", BRIDGE, "up")
        for i, name in enumerate(self.names):
            ip("netns", "add", name)
            ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", name, "master", BRIDGE, "up")
            inside = ("-n", name)
            ip(*inside, "addr", "add", f"{NET}.{i + 2}/24", "dev", "eth0")
            for link in ("eth0", "lo"):
                ip(*inside, "link", "set", link, "up")

    def cut(self, i):
        ip("link", "set", self.names[i], "down")

    def mend(self, i):
        ip("link", "set", self.names[i], "up")

    def close(self):
        for name in self.names:
            for pid in ip("netns", "pids", name, check=False).stdout.split():
                os.kill(int(pid), 9)
            ip("netns", "del", name, check=False)
        ip("link", "del", BRIDGE, check=False)


class Apart(ray_support.Fleet):
    """A fleet whose nodes are in namespaces, started as on machines of their own."""

    def __init__(self, folder, network, **options):
        self.folder, self.network = pathlib.Path(folder), network
        self.environment = {**os.environ, **HEALTH}
        self.head = f"{NET}.1:{free_ports(1)[0]}"
        try:
            self.begin(**options)
        except BaseException:
            self.close()
            raise

    def begin(self, **options):
        self.start("--head", f"--node-ip-address={NET}.1", f"--port={self.head.rpartition(':')[2]}",
                   "--num-cpus=0", "--node-name=head", "--include-dashboard=false")  # fmt: skip
        for i in range(len(self.network.names)):
            self.start_node(i)
        ray.init(address=self.head, _node_ip_address=f"{NET}.1", log_to_driver=False)
        (self.port,) = free_ports(1)
        serve.start(proxy_location="HeadOnly", http_options={"host": "0.0.0.0", "port": self.port})
        self.run(replicas=len(self.network.names), directory=str(self.folder / "stores"),
                 options=ray_support.SERVED, **options)  # fmt: skip

    def start(self, *words, inside=()):
        command = [*inside, sys.executable, "-m", "ray.scripts.scripts", "start", *words]
        subprocess.run(command, check=True, env=self.environment, stdout=subprocess.DEVNULL, timeout=120)

    def start_node(self, i):
        name = self.network.names[i]
        self.start(f"--address={self.head}", f"--node-ip-address={NET}.{i + 2}", "--num-cpus=1",
                   f"--node-name=node{i}", inside=("ip", "netns", "exec", name))  # fmt: skip

    def close(self):
        ray.shutdown()
        for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if f"{NET}.1".encode() in path.read_bytes() and int(path.parent.name) != os.getpid():
                    os.kill(int(path.parent.name), 9)
            except OSError:
                continue


@pytest.fixture
def network():
    one = None
    try:
        one = Network(2)
        yield one
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine makes no network namespaces: {error.stderr}")
    finally:
        if one:
            one.close()


def test_a_node_that_is_cut_off(tmp_path_factory, network):
    folder = tmp_path_factory.mktemp("apart")
    model = model_in(folder / "model", **SLOW)
    single = Single(folder / "single", model)
    two = Apart(folder, network, model=model)
    try:
        with load(two) as clients:
            clients.wait_for(20)
            network.cut(0)
            # Requests that are on their way to it wait until Ray knows that it is gone, and go to the other.
            wait_until(lambda: two.metric("promptcache_fleet_replicas") == 1, "it is found gone")
            clients.wait_for(20)
            network.mend(0)
            two.start_node(0)  # as a supervisor does: Ray's own processes of a node that was given up end
            wait_until(lambda: two.metric("promptcache_fleet_replicas") == 2, "it is there again")
            clients.wait_for(20)
        assert clients.failures == []
        check(clients.answers, single)
    finally:
        two.close()
        single.close()
