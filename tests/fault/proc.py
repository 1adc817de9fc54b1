"""What a running process costs, from /proc."""
import os


def status_kb(pid, name):
    """A line of its status in KB: VmRSS is what it has in memory now, VmHWM the most that it ever had."""
    with open(f'/proc/{pid}/status', encoding='ascii') as status:
        return next(int(line.split()[1]) for line in status if line.startswith(name + ':'))


def rss_kb(daemon):
    return status_kb(daemon.process.pid, 'VmRSS')


def peak_kb(daemon):
    """The most since forget_peak()."""
    return status_kb(daemon.process.pid, 'VmHWM')


def forget_peak(daemon):
    with open(f'/proc/{daemon.process.pid}/clear_refs', 'w', encoding='ascii') as clear:
        clear.write('5')


def n_fds(daemon):
    return len(os.listdir(f'/proc/{daemon.process.pid}/fd'))


def cpu_ms(daemon):
    """What it has computed so far, in milliseconds with decimals."""
    with open(f'/proc/{daemon.process.pid}/schedstat', encoding='ascii') as stat:
        return int(stat.read().split()[0]) / 1e6
