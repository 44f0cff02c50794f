"""CPU quantities as the kernel's numbers (kubelet behaviour, sections 3.11 and 14.2)."""

MIN_SHARES = 2
MAX_SHARES = 262_144
MIN_QUOTA_US = 1_000
MAX_QUOTA_US = 2**44 - 1
"""The largest that the kernel takes (MAX_BW of kernel/sched): half a year of CPU time in each period."""


def cpu_shares(milli: int) -> int:
    """cgroup v1 shares of a CPU request in thousandths."""
    return min(max(milli * 1024 // 1000, MIN_SHARES), MAX_SHARES)


def cpu_quota_us(milli: int, period_us: int) -> int:
    """CPU time in one period for a limit in thousandths of a CPU; 0 is no limit."""
    return min(max(milli * period_us // 1000, MIN_QUOTA_US), MAX_QUOTA_US) if milli else 0
