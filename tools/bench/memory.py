"""The process's memory as Linux sees it; the counterpart of memory.cpp."""

import ctypes


def status_bytes(key):
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(key + ":"):
                return 1024 * int(line.split()[1])
    return 0


def resident_bytes():
    return status_bytes("VmRSS")


def peak_resident_bytes():
    """Most bytes in memory since the last reset."""
    return status_bytes("VmHWM")


def reset_peak_resident():
    """Gives unused heap back to the system and starts the peak again from what is then left."""
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
