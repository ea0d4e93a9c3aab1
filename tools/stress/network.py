#!/usr/bin/env python3
"""Runs a command on a network of the test's own: several hosts on one machine, and packets between
them that are late or lost.

Each host is a network namespace (ip netns) with a host name and a TUN device of its own. This program
is the network between the devices: it reads every packet, may drop it, waits, and writes it to the
device of its receiver. (tc netem does the same where the kernel has it; TUN devices are everywhere.)
Nothing outside of these namespaces is touched, and all of it is gone in the end.

Needs root, iproute2 and util-linux. SIGUSR1 stalls the network until the next SIGUSR1.

    tools/stress/network.py --hosts 4 --delay-ms 2 --loss 0.01 -- \\
        sh -c 'mpirun $FOVEA_MPIRUN -n 4 fovea train tiny.json --threads 1'

FOVEA_MPIRUN in the command's environment holds what OpenMPI's mpirun needs to start one rank on each
host and to send all messages through the network.
"""

import argparse
import collections
import fcntl
import os
import random
import select
import shlex
import signal
import struct
import subprocess
import sys
import time

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
MTU = 16000  # few packets: this program passes each on
DEVICE = "fovea0"


def address(host):
    return f"10.77.0.{host + 1}"


def namespace(pid, host):
    return f"fovea-{pid}-{host}"


def run(*command):
    subprocess.run(command, check=True)


def open_device(name):
    """A TUN device in this namespace, and the end of it that programs read and write."""
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(end, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return end


class Network:
    def __init__(self, hosts, delay, loss, seed):
        self.delay, self.loss, self.random = delay, loss, random.Random(seed)
        self.stalled = False
        self.passed = self.lost = 0
        self.late = collections.deque()  # (time, device, packet)
        self.ends = []
        self.pid = os.getpid()
        self.hosts = hosts

    def __enter__(self):
        try:
            for host in range(self.hosts):
                self.add(host)
        except BaseException:
            self.__exit__()
            raise
        return self

    def add(self, host):
        name, device = namespace(self.pid, host), f"fv{self.pid % 100000}-{host}"
        run("ip", "netns", "add", name)
        self.ends.append(open_device(device))
        run("ip", "link", "set", device, "netns", name)
        inside = ("ip", "-n", name)
        run(*inside, "link", "set", device, "name", DEVICE)
        run(*inside, "link", "set", "lo", "up")
        run(*inside, "address", "add", f"{address(host)}/24", "dev", DEVICE)
        run(*inside, "link", "set", DEVICE, "mtu", str(MTU), "up")

    def __exit__(self, *_):
        for end in self.ends:
            os.close(end)
        for host in range(self.hosts):
            subprocess.run(["ip", "netns", "delete", namespace(self.pid, host)], stderr=subprocess.DEVNULL)

    def end_processes(self):
        """All that runs on the hosts."""
        for host in range(self.hosts):
            found = subprocess.run(["ip", "netns", "pids", namespace(self.pid, host)], capture_output=True, text=True)
            for pid in found.stdout.split():
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def take(self, end):
        while True:
            try:
                packet = os.read(end, MTU + 100)
            except BlockingIOError:
                return
            receiver = packet[19] - 1  # the last byte of an IPv4 destination
            if packet[0] >> 4 != 4 or not 0 <= receiver < len(self.ends):
                continue
            if self.stalled or self.random.random() < self.loss:
                self.lost += 1
                continue
            self.late.append((time.monotonic() + self.delay, self.ends[receiver], packet))

    def give(self):
        while self.late and self.late[0][0] <= time.monotonic():
            _, end, packet = self.late.popleft()
            try:
                os.write(end, packet)
                self.passed += 1
            except OSError:  # its buffer is full: a network loses packets then
                self.lost += 1

    def serve(self, wait):
        """Passes packets on for at most `wait` seconds."""
        until = time.monotonic() + wait
        while (now := time.monotonic()) < until:
            left = (self.late[0][0] if self.late else until) - now
            ready, _, _ = select.select(self.ends, [], [], max(0.0, min(left, until - now)))
            for end in ready:
                self.take(end)
            self.give()


def agent(arguments):
    """What mpirun calls in place of ssh: HOST COMMAND..."""
    pid, host = os.environ["FOVEA_NETWORK"], int(arguments[0].rsplit(".", 1)[1]) - 1
    inside = f"hostname host{host} && exec {' '.join(arguments[1:])}"
    os.execvp("ip", ["ip", "netns", "exec", namespace(pid, host), "unshare", "--uts", "sh", "-c", inside])


def main():
    if sys.argv[1:2] == ["--agent"]:
        agent(sys.argv[2:])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=4)
    parser.add_argument("--delay-ms", type=float, default=0, help="of every packet, one way")
    parser.add_argument("--loss", type=float, default=0, help="share of the packets that are lost")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--limit", type=float, default=600, help="seconds after which all is ended")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="behind --, run on the first host")
    args = parser.parse_args()
    command = args.command[1:] if args.command[:1] == ["--"] else args.command
    if not command or not 1 <= args.hosts <= 250:
        parser.error("expected a command behind --, and 1 to 250 hosts")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with Network(args.hosts, args.delay_ms / 1e3, args.loss, args.seed) as network:
        def stall(*_):
            network.stalled = not network.stalled

        signal.signal(signal.SIGUSR1, stall)
        hosts = ",".join(address(host) for host in range(args.hosts))
        # (The agent's words are split at spaces.)
        options = ["-q", "--allow-run-as-root", "--host", hosts, "--mca", "plm_rsh_agent",
                   f"{os.path.abspath(__file__)} --agent", "--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include",
                   DEVICE, "--mca", "oob_tcp_if_include", DEVICE, "--mca", "pml", "ob1"]
        environment = dict(os.environ, FOVEA_NETWORK=str(network.pid), FOVEA_HOSTS=hosts,
                           FOVEA_MPIRUN=" ".join(shlex.quote(word) for word in options))
        inside = ["ip", "netns", "exec", namespace(network.pid, 0), "unshare", "--uts", "sh", "-c",
                  'hostname host0 && exec "$@"', "sh", *command]
        child = subprocess.Popen(inside, env=environment, start_new_session=True)
        end = time.monotonic() + args.limit
        try:
            while child.poll() is None and time.monotonic() < end:
                network.serve(0.2)
        finally:
            late = child.poll() is None
            network.end_processes()
        print(f"network: {network.passed} packets passed, {network.lost} lost", file=sys.stderr)
        if late:
            print(f"network: ended after the limit of {args.limit:g} s", file=sys.stderr)
            return 124
    return child.wait()


if __name__ == "__main__":
    sys.exit(main())
