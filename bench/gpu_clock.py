"""Times launches on a GPU with each rival at its own clock, counts that clock, and reads the power by NVML.

A card at its power limit lowers its clock until the power fits, some tens of milliseconds later. In short
rounds a kernel therefore runs at the clock that the one before it left. So each rival runs alone for some
hundred milliseconds, of which the second half is timed, and rivals take turns for some rounds. Figures are
medians over all rounds; power is a mean. Asked for a window of energy, the timed part lasts as long, whatever the
untimed part takes: the energy counter moves every 100 ms or so, so that 2 seconds are of 20 steps, and two samples
of the performance monitors (GPM, from Hopper on) say what part of the time SMs and tensor cores were busy. What NVML
lowers the clock for is beside each reading. The clock is the mean over the timed part, of each SM's count of cycles
and the timer of the device, which a small kernel reads before it and after it; NVML's readings where that cannot run.

PyTorch is imported where events are made, so that the rest serves without it.
"""

import ctypes
import dataclasses
import statistics
import threading
import time
from typing import Optional

CHUNK = 5  # milliseconds of launches between two events
SM_CLOCK = 1  # NVML_CLOCK_SM
POWER_INSTANT = 186  # NVML_FI_DEV_POWER_INSTANT; nvmlDeviceGetPowerUsage is the mean of a second on Hopper
PERIOD = 0.002  # seconds between two readings
LEAST = 0.1  # seconds of readings of the energy counter that make a power
# nvmlClocksEventReason...
REASONS = {0x1: "idle", 0x2: "set", 0x4: "power", 0x8: "hw_slowdown", 0x10: "sync_boost", 0x20: "thermal",
           0x40: "hw_thermal", 0x80: "power_brake", 0x100: "display"}
MONITORED = {"sm": 2, "tensor": 5}  # NVML_GPM_METRIC_SM_UTIL, _ANY_TENSOR_UTIL: percents
APART = 50  # readings between two samples of the monitors, of which NVML wants 100 ms


# Each SM's cycles and the device's nanoseconds, as one store of 16 bytes at the SM's number.
READ_COUNTERS = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry read_counters(.param .u64 counters) {
  .reg .b64 %to, %cycles, %now;
  .reg .b32 %sm;
  ld.param.u64 %to, [counters];
  mov.u32 %sm, %smid;
  mad.wide.u32 %to, %sm, 16, %to;
  mov.u64 %cycles, %clock64;
  mov.u64 %now, %globaltimer;
  st.global.v2.u64 [%to], {%cycles, %now};
  ret;
}
"""
NUMBERS = 1024  # of SMs; a number may be greater than their count


class FieldValue(ctypes.Structure):
    """nvmlFieldValue_t."""
    _fields_ = [("field", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency", ctypes.c_longlong), ("kind", ctypes.c_uint), ("status", ctypes.c_uint),
                ("value", ctypes.c_ulonglong)]


class GpmMetric(ctypes.Structure):
    """nvmlGpmMetric_t."""
    _fields_ = [("metric", ctypes.c_uint), ("status", ctypes.c_uint), ("value", ctypes.c_double), ("names", ctypes.c_char_p * 3)]


class GpmMetrics(ctypes.Structure):
    """nvmlGpmMetricsGet_t, of which NVML reads as many metrics as there are."""
    _fields_ = [("version", ctypes.c_uint), ("count", ctypes.c_uint), ("first", ctypes.c_void_p), ("last", ctypes.c_void_p),
                ("metrics", GpmMetric * 1024)]


def call(library, name, *arguments):
    """Calls a function of a C library whose status is 0 where it does what it should."""
    status = getattr(library, name)(*arguments)
    if status:
        raise OSError("%s gives %d" % (name, status))


class Meter:
    """One GPU as NVML sees it. Each reading is None where the device or the driver has none."""

    def __init__(self, uuid, library=None):
        self.nvml = library or ctypes.CDLL("libnvidia-ml.so.1")
        self.device = ctypes.c_void_p()
        call(self.nvml, "nvmlInit_v2")
        call(self.nvml, "nvmlDeviceGetHandleByUUID", uuid.encode(), ctypes.byref(self.device))

    def read(self, kind, name, *arguments):
        value = kind()
        return None if getattr(self.nvml, name)(self.device, *arguments, ctypes.byref(value)) else value.value

    def mhz(self):
        return self.read(ctypes.c_uint, "nvmlDeviceGetClockInfo", SM_CLOCK)

    def reasons(self):
        """Bits of REASONS."""
        for name in ("Event", "Throttle"):  # the latter in drivers before 535
            try:
                return self.read(ctypes.c_ulonglong, "nvmlDeviceGetCurrentClocks%sReasons" % name)
            except AttributeError:
                pass

    def monitors(self):
        """A sample of the performance monitors, for `busy`."""
        sample = ctypes.c_void_p()
        try:
            if self.nvml.nvmlGpmSampleAlloc(ctypes.byref(sample)):
                return None
            if not self.nvml.nvmlGpmSampleGet(self.device, sample):
                return sample
            self.nvml.nvmlGpmSampleFree(sample)
        except AttributeError:
            pass
        return None

    def busy(self, samples, taken):
        """-> {name: percent of the time} between the first and the last of some of the samples taken, which are freed"""
        found = {}
        if len(samples) > 1:
            asked = GpmMetrics(1, len(MONITORED), samples[0], samples[-1])
            for metric, number in zip(asked.metrics, MONITORED.values()):
                metric.metric = number
            if not self.nvml.nvmlGpmMetricsGet(ctypes.byref(asked)):
                found = {name: metric.value for name, metric in zip(MONITORED, asked.metrics) if not metric.status}
        for sample in taken:
            self.nvml.nvmlGpmSampleFree(sample)
        return found

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


class CycleCounter:
    """The mean SM clock of what PyTorch's current stream runs between two marks."""

    def __init__(self, driver=None):
        import torch
        self.driver = driver or ctypes.CDLL("libcuda.so.1")
        self.counters = torch.zeros(2, NUMBERS, 2, dtype=torch.int64, device="cuda")  # of both marks
        self.stream = torch.cuda.current_stream().cuda_stream
        self.blocks = 4 * torch.cuda.get_device_properties(torch.cuda.current_device()).multi_processor_count
        module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
        call(self.driver, "cuModuleLoadData", ctypes.byref(module), READ_COUNTERS)
        call(self.driver, "cuModuleGetFunction", ctypes.byref(self.kernel), module, b"read_counters")

    def mark(self, which):
        """Reads the counters, the first time (0) or the second (1)."""
        if not which:
            self.counters.zero_()
        address = ctypes.c_uint64(self.counters[which].data_ptr())
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(address))
        call(self.driver, "cuLaunchKernel", self.kernel, self.blocks, 1, 1, 32, 1, 1, 0, ctypes.c_void_p(self.stream),
             arguments, None)

    def mhz(self):
        """The mean of the SMs that both marks read, or None."""
        clocks = [1000 * (after[0] - before[0]) / (after[1] - before[1])
                  for before, after in zip(*self.counters.tolist()) if before[1] and after[1] > before[1]]
        return statistics.fmean(clocks) if clocks else None


def open_instrument(kind, *arguments):
    """-> (a Meter or a CycleCounter, ""), or (None, why there is none)"""
    try:
        return kind(*arguments), ""
    except (OSError, AttributeError) as error:
        return None, str(error)


@dataclasses.dataclass
class Sample:
    when: float  # time.monotonic()
    joules: float
    mhz: float
    watts: float
    reasons: Optional[int] = None
    monitors: Optional[ctypes.c_void_p] = None


class Readings:
    """Reads a meter on a thread for as long as the `with` lasts; the performance monitors too, where asked to."""

    def __init__(self, meter, monitored=False):
        self.meter, self.samples, self.done, self.monitored = meter, [], threading.Event(), monitored

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
        mhz = watts = reasons = None
        count = 0
        while not self.done.is_set():
            joules = self.meter.joules()
            if count % 5 == 0:
                mhz, watts, reasons = self.meter.mhz(), self.meter.watts(), self.meter.reasons()
            monitors = self.meter.monitors() if self.monitored and count % APART == 0 else None
            self.samples.append(Sample(time.monotonic(), joules, mhz, watts, reasons, monitors))
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
    percents: list = dataclasses.field(default_factory=list)  # {name: of the time}, by rounds
    clocks: list = dataclasses.field(default_factory=list)  # MHz by the counters, of each round

    def time(self):
        return statistics.median(self.milliseconds)

    def mhz(self):
        if self.clocks:
            return statistics.fmean(self.clocks)
        clocks = [sample.mhz for sample in self.samples if sample.mhz]
        return statistics.median(clocks) if clocks else None

    def watts(self):
        """The mean power: of the energy counter, or of readings of the power where that moves too seldom."""
        if self.seconds >= LEAST:
            return self.joules / self.seconds
        powers = [sample.watts for sample in self.samples if sample.watts]
        return statistics.fmean(powers) if powers else None

    def reasons(self):
        """-> {why NVML lowers the clock: in what part of the readings}"""
        read = [sample.reasons for sample in self.samples if sample.reasons is not None]
        counts = {name: sum(bool(bits & bit) for bits in read) for bit, name in REASONS.items()}
        return {name: count / len(read) for name, count in counts.items() if count}

    def busy(self):
        """-> {name: percent of the time that SMs, or tensor cores, were busy}"""
        return {name: statistics.fmean(percents[name] for percents in self.percents if name in percents)
                for name in MONITORED if any(name in percents for percents in self.percents)}

    def add(self, times, samples, percents=None, clock=None):
        self.percents += [percents] if percents else []
        self.clocks += [clock] if clock else []
        joules, seconds = energy_of(samples)
        self.milliseconds += times
        self.samples += samples
        self.joules += joules
        self.seconds += seconds


def milliseconds(run, launches):
    """The time of a launch, of some at once."""
    return time_chunks(run, launches, 1)[0]


def time_chunks(run, launches, chunks, counter=None):
    import torch
    events = [torch.cuda.Event(enable_timing=True) for _ in range(chunks + 1)]
    if counter:
        counter.mark(0)
    events[0].record()
    for event in events[1:]:
        for _ in range(launches):
            run()
        event.record()
    if counter:
        counter.mark(1)
    events[-1].synchronize()
    return [before.elapsed_time(after) / launches for before, after in zip(events, events[1:])]


def split(total, each):
    """-> (launches in a chunk, chunks) of `total` milliseconds in launches of `each`."""
    launches = max(1, int(CHUNK / each))
    return launches, max(3, round(total / (launches * each)))


def time_alone(run, each, total, meter, figure, window=0, counter=None):
    """Run `run`, whose launch takes about `each` milliseconds, for `total`, and add the second half to `figure`, or as much
    as `window` where that is longer."""
    launches, chunks = split(total / 2, each)
    with Readings(meter, monitored=window > 0) as readings:
        # The queue stays full between both halves: nothing waits there.
        for _ in range(launches * chunks):
            run()
        times = time_chunks(run, *split(max(total / 2, window), each), counter)
        end = time.monotonic()
    samples = readings.between(end - sum(times) * launches / 1000, end)
    inside, taken = ([sample.monitors for sample in some if sample.monitors] for some in (samples, readings.samples))
    figure.add(times, samples, meter.busy(inside, taken) if taken else None, counter.mhz() if counter else None)


def time_rivals(rivals, total, rounds, meter=None, window=0, counter=None):
    """-> {label: Figure}: each of `rivals` ({label: a function that launches}) at its own clock."""
    figures, each = {label: Figure() for label in rivals}, {}
    for label, run in rivals.items():
        milliseconds(run, 2)
        each[label] = milliseconds(run, 2)
    order = list(rivals.items())
    for turn in range(rounds):
        # Each comes first, second, ... in some round: the card still pays for the power that the
        # rival before took above the limit (measured: the last of three had up to 6 % less).
        first = turn % max(len(order), 1)
        for label, run in order[first:] + order[:first]:
            time_alone(run, each[label], total, meter, figures[label], window, counter)
    return figures


def time_bursts(rivals, rounds=15):
    """-> {label: milliseconds}: medians of rounds of 5 ms, each at the clock that the one before it left."""
    times = {label: [] for label in rivals}
    launches = {label: split(CHUNK, milliseconds(run, 2))[0] for label, run in rivals.items()}
    for _ in range(rounds):
        for label, run in rivals.items():
            times[label].append(milliseconds(run, launches[label]))
    return {label: statistics.median(values) for label, values in times.items()}
