"""Keeps a kernel thread at work until it is ended.

It runs in namespaces of its own for networks and mounts. Packets that leave one end of a pair of
devices are received at the other by a thread of the kernel, which looks each of them up in a
thousand rules. Both come before other programs, so that these do not take the CPU from them. The
thread and all else goes with the namespace.
"""

import array
import fcntl
import os
import socket
import struct
import subprocess
import time

RULES = 1000
# What setpriority(2) calls nice: this is far ahead of everyone's 0.
AHEAD = -15
# ioctl(2) for a device's settings, and the settings: how devices merge and split packets.
SIOCETHTOOL, SET_TSO, SET_GRO = 0x8946, 0x1F, 0x2C
TARGET = "198.18.0.2"


def ip(*words, lines=None):
    subprocess.run(["ip", *words], input=lines, text=True, check=True)


def offload(device, setting, value):
    wish = array.array("B", struct.pack("II", setting, value))
    request = struct.pack("16sQ8x", device.encode(), wish.buffer_info()[0])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def datagram(mac):
    source, target = socket.inet_aton("198.18.0.1"), socket.inet_aton(TARGET)
    head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 46, 0, 0, 64, 17, 0, source, target)
    total = sum(struct.unpack("!10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    total = (total & 0xFFFF) + (total >> 16)
    head = head[:10] + struct.pack("!H", ~total & 0xFFFF) + head[12:]
    udp = struct.pack("!HHHH", 9, 9, 26, 0) + bytes(18)
    return mac + b"\x02\0\0\0\0\x01" + b"\x08\x00" + head + udp


def is_receiver(pid):
    try:
        with open(f"/proc/{pid}/comm") as name:
            return name.read().startswith("napi/far")
    except OSError:
        # It has ended.
        return False


def main():
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], check=True)
    ip("link", "add", "near", "type", "veth", "peer", "name", "far")
    # Only what is not split by the sender's device goes by way of the thread.
    offload("far", SET_GRO, 1)
    offload("near", SET_TSO, 0)
    for device in ("near", "far"):
        ip("link", "set", device, "up")
    ip("addr", "add", TARGET + "/24", "dev", "far")
    with open("/sys/class/net/far/threaded", "w") as threaded:
        threaded.write("1")
    os.setpriority(os.PRIO_PROCESS, 0, AHEAD)
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if is_receiver(pid):
            os.setpriority(os.PRIO_PROCESS, int(pid), AHEAD)
    rules = (
        f"rule add from 203.0.{n // 250}.{n % 250} prio {n + 1} table 77\n"
        for n in range(RULES)
    )
    ip("-b", "-", lines="".join(rules))
    with open("/sys/class/net/far/address") as address:
        mac = bytes.fromhex(address.read().strip().replace(":", ""))
    packet = datagram(mac)
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind(("near", 0))
    print("ready", flush=True)
    while True:
        # As many as its queue holds: enough for longer than the pause.
        for _ in range(250):
            try:
                sender.send(packet)
            except OSError:
                pass
        time.sleep(0.002)


main()
