"""Times launches on a GPU with each rival at its own clock, and reads that clock and the power by NVML.

A card at its power limit lowers its clock until the power fits, some tens of milliseconds later. In short
rounds a kernel therefore runs at the clock that the one before it left. So each rival runs alone for some
hundred milliseconds, of which the second half is timed, and rivals take turns for some rounds. Figures are
medians over all rounds; power is a mean.

PyTorch is imported where events are made, so that the rest serves without it.
"""

import ctypes
import dataclasses
import statistics
import threading
import time

CHUNK = 5  # milliseconds of launches between two events
SM_CLOCK = 1  # NVML_CLOCK_SM
POWER_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT; nvmlDeviceGetPowerUsage is the mean of a second on Hopper
PERIOD = 0.002  # seconds between two readings
LEAST = 0.1  # seconds of readings of the energy counter that make a power


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t."""
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency", ctypes.c_longlong), ("kind", ctypes.c_uint), ("status", ctypes.c_uint),
                ("value", ctypes.c_ulonglong)]


class Meter:
    """One GPU as NVML sees it. Each reading is None where the device or the driver has none."""

    def __init__(self, uuid, library=None):
        self.nvml = library or ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        for call, arguments in (("nvmlInit_v2", ()), ("nvmlDeviceGetHandleByUUID", (
                uuid.encode(), ctypes.byref(self.device)))):
            status = getattr(self.nvml, call)(*arguments)
            if status:
                raise OSError("%s gives %d" % (call, status))

    def read(self, kind, call, *arguments):
        value = kind()
        return None if getattr(self.nvml, call)(self.device, *arguments, ctypes.byref(value)) else value.value

    def mhz(self):
        return self.read(ctypes.c_uint, "nvmlDeviceGetClockInfo", SM_CLOCK)

    def joules(self):
        """Energy since the driver was loaded."""
        value = self.read(ctypes.c_ulonglong, "nvmlDeviceGetTotalEnergyConsumption")
        return None if value is None else value / 1000

    def watts(self):
        field = FieldValue(field=POWER_INSTANT)
        if not self.nvml.nvmlDeviceGetFieldValues(self.device, 1, ctypes.byref(field)) and not field.status:
            return (field.value & 0xffffffff) / 1000
        value = self.read(ctypes.c_uint, "nvmlDeviceGetPowerUsage")
        return None if value is None else value / 1000


def open_meter(uuid):
    """-> (a meter, ""), or (None, why there is none)"""
    try:
        return Meter(uuid), ""
    except (OSError, AttributeError) as error:
        return None, str(error)


@dataclasses.dataclass
class Sample:
    when: float  # time.monotonic()
    joules: float
    mhz: float
    watts: float


class Readings:
    """Reads a meter on a thread for as long as the `with` lasts."""

    def __init__(self, meter):
        self.meter, self.samples, self.done = meter, [], threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.run) if self.meter else None
        if self.thread:
            self.thread.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        if self.thread:
            self.thread.join()

    def run(self):
        # The energy counter moves in steps, so it is read often; the others change slowly.
        mhz = watts = None
        count = 0
        while not self.done.is_set():
            joules = self.meter.joules()
            if count % 5 == 0:
                mhz, watts = self.meter.mhz(), self.meter.watts()
            self.samples.append(Sample(time.monotonic(), joules, mhz, watts))
            count += 1
            self.done.wait(PERIOD)

    def between(self, begin, end):
        return [sample for sample in self.samples if begin <= sample.when <= end]


def energy_of(samples):
    """-> (joules, seconds) from the first to the last step of the energy counter in `samples`."""
    steps = [after for before, after in zip(samples, samples[1:])
             if None not in (before.joules, after.joules) and before.joules != after.joules]
    if len(steps) < 2:
        return 0.0, 0.0
    return steps[-1].joules - steps[0].joules, steps[-1].when - steps[0].when


@dataclasses.dataclass
class Figure:
    """What was measured of one rival; each list and number grows with the rounds."""
    milliseconds: list = dataclasses.field(default_factory=list)  # a launch, by chunks
    samples: list = dataclasses.field(default_factory=list)
    joules: float = 0.0
    seconds: float = 0.0

    def time(self):
        return statistics.median(self.milliseconds)

    def mhz(self):
        clocks = [sample.mhz for sample in self.samples if sample.mhz]
        return statistics.median(clocks) if clocks else None

    def watts(self):
        """The mean power: of the energy counter, or of readings of the power where that moves too seldom."""
        if self.seconds >= LEAST:
            return self.joules / self.seconds
        powers = [sample.watts for sample in self.samples if sample.watts]
        return statistics.fmean(powers) if powers else None

    def add(self, times, samples):
        joules, seconds = energy_of(samples)
        self.milliseconds += times
        self.samples += samples
        self.joules += joules
        self.seconds += seconds


def milliseconds(run, launches):
    """The time of a launch, of some at once."""
    return time_chunks(run, launches, 1)[0]


def time_chunks(run, launches, chunks):
    import torch
    events = [torch.cuda.Event(enable_timing=True) for _ in range(chunks + 1)]
    events[0].record()
    for event in events[1:]:
        for _ in range(launches):
            run()
        event.record()
    events[-1].synchronize()
    return [before.elapsed_time(after) / launches for before, after in zip(events, events[1:])]


def split(total, each):
    """-> (launches in a chunk, chunks) of `total` milliseconds in launches of `each`."""
    launches = max(1, int(CHUNK / each))
    return launches, max(3, round(total / (launches * each)))


def time_alone(run, each, total, meter, figure):
    """Run `run`, whose launch takes about `each` milliseconds, for `total`, and add the second half to `figure`."""
    launches, chunks = split(total / 2, each)
    with Readings(meter) as readings:
        # The queue stays full between both halves: nothing waits there.
        for _ in range(launches * chunks):
            run()
        times = time_chunks(run, launches, chunks)
        end = time.monotonic()
    figure.add(times, readings.between(end - sum(times) * launches / 1000, end))


def time_rivals(rivals, total, rounds, meter=None):
    """-> {label: Figure}: each of `rivals` ({label: a function that launches}) at its own clock."""
    figures, each = {label: Figure() for label in rivals}, {}
    for label, run in rivals.items():
        milliseconds(run, 2)
        each[label] = milliseconds(run, 2)
    order = list(rivals.items())
    for turn in range(rounds):
        # Each comes first, second, ... in some round: the card still pays for the power that the
        # rival before took above the limit (measured: the last of three had up to 6 % less).
        for label, run in order[turn % len(order):] + order[:turn % len(order)]:
            time_alone(run, each[label], total, meter, figures[label])
    return figures


def time_bursts(rivals, rounds=15):
    """-> {label: milliseconds}: medians of rounds of 5 ms, each at the clock that the one before it left."""
    times = {label: [] for label in rivals}
    launches = {label: split(CHUNK, milliseconds(run, 2))[0] for label, run in rivals.items()}
    for _ in range(rounds):
        for label, run in rivals.items():
            times[label].append(milliseconds(run, launches[label]))
    return {label: statistics.median(values) for label, values in times.items()}
