"""A network that loses and reorders: packets for the neighbour come back from the neighbour.

Whoever sends to the other address of the device talks to whoever listens on its own: both names
change places on the way, and no sum of the packet changes with that. Arguments: the device, the
seed. When told to end, it says how many packets passed, were lost, and came later than the next.
"""

import fcntl
import os
import random
import select
import signal
import struct
import sys

TUNSETIFF = 0x400454CA
IFF_TUN_NO_PI = 0x1001
LOST = 0.03
LATE = 0.05
PATIENCE_S = 0.005

device, seed = sys.argv[1].encode(), int(sys.argv[2])
chance = random.Random(seed)
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH22x", device, IFF_TUN_NO_PI))
over = False


def end(*_):
    global over
    over = True


signal.signal(signal.SIGTERM, end)
print("ready", flush=True)
passed = lost = late = 0
held = None
while not over:
    readable, _, _ = select.select([tun], [], [], 0.2 if held is None else PATIENCE_S)
    if not readable:
        if held is not None:
            os.write(tun, held)
            held = None
        continue
    packet = os.read(tun, 65536)
    if packet[0] >> 4 != 4:
        continue
    packet = packet[:12] + packet[16:20] + packet[12:16] + packet[20:]
    fate = chance.random()
    if fate < LOST:
        lost += 1
    elif fate < LOST + LATE and held is None:
        held = packet
        late += 1
    else:
        passed += 1
        os.write(tun, packet)
        if held is not None:
            os.write(tun, held)
            held = None
print(passed, lost, late, flush=True)
