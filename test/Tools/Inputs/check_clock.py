"""Checks bench/gpu_clock.py with a stand-in for NVML and one for PyTorch's events: check_clock.py BENCH-FOLDER."""
import ctypes
import sys
import time
import types

sys.path.insert(0, sys.argv[1])


class Clock:
    """Time that passes by launches alone."""
    now = 0.0

    def monotonic(self):
        return self.now


class Event:
    """Of a device that runs a launch while the host waits for it."""
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.when = clock.now

    def synchronize(self):
        pass

    def elapsed_time(self, end):
        return (end.when - self.when) * 1000


sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(Event=Event))
import gpu_clock
clock = gpu_clock.time = Clock()


class Nvml:
    """500 W, in steps of the energy counter each `step` seconds; the clock that the last launch left."""
    def __init__(self, step=0.01, absent=()):
        self.step, self.absent, self.clock, self.taken, self.freed = step, absent, 1980, [], 0

    def __getattr__(self, name):
        if "EventReasons" in name:  # of an older driver
            raise AttributeError(name)
        return lambda *arguments: 3 if name in self.absent else getattr(self, "do_" + name)(
            *(getattr(argument, "_obj", argument) for argument in arguments))

    def do_nvmlInit_v2(self):
        return 0

    def do_nvmlDeviceGetHandleByUUID(self, uuid, device):
        device.value = 7
        return 0 if uuid == b"GPU-1" else 6

    def do_nvmlDeviceGetClockInfo(self, device, kind, value):
        assert device.value == 7 and kind == 1
        value.value = self.clock
        return 0

    def do_nvmlDeviceGetTotalEnergyConsumption(self, device, value):
        value.value = int(int(clock.now / self.step) * self.step * 500e3)
        return 0

    def do_nvmlDeviceGetFieldValues(self, device, count, field):
        assert count == 1 and field.field == 186
        field.value = 480000
        return 0

    def do_nvmlDeviceGetCurrentClocksThrottleReasons(self, device, value):
        value.value = 4 if clock.now < 1e9 else 0
        return 0

    def do_nvmlGpmSampleAlloc(self, sample):
        self.taken.append(clock.now)
        sample.value = len(self.taken)
        return 0

    def do_nvmlGpmSampleGet(self, device, sample):
        assert device.value == 7 and sample.value == len(self.taken)
        return 0

    def do_nvmlGpmSampleFree(self, sample):
        self.freed += 1
        return 0

    def do_nvmlGpmMetricsGet(self, asked):
        assert asked.version == 1 and asked.count == 2 and [asked.metrics[i].metric for i in range(3)] == [2, 5, 0]
        self.between = self.taken[asked.first - 1], self.taken[asked.last - 1]
        asked.metrics[0].value, asked.metrics[1].status = 98.5, 3
        return 0

    def do_nvmlDeviceGetPowerUsage(self, device, value):
        value.value = 450000
        return 0


assert ctypes.sizeof(gpu_clock.FieldValue) == 40

# What a device lacks is no reading; what it does not know is an error.
meter = gpu_clock.Meter("GPU-1", Nvml())
assert meter.mhz() == 1980 and meter.watts() == 480 and meter.joules() >= 0
lacking = gpu_clock.Meter("GPU-1", Nvml(absent=["nvmlDeviceGetTotalEnergyConsumption", "nvmlDeviceGetFieldValues"]))
assert lacking.joules() is None and lacking.watts() == 450
try:
    gpu_clock.Meter("GPU-2", Nvml())
except OSError as error:
    assert str(error) == "nvmlDeviceGetHandleByUUID gives 6"
else:
    raise AssertionError("a device that is not there has a meter")

# The thread reads for as long as it is asked to.
with gpu_clock.Readings(meter) as readings:
    while len(readings.samples) < 3:
        time.sleep(0.001)
count = len(readings.samples)
assert readings.samples[0] == gpu_clock.Sample(0.0, 0.0, 1980, 480, 4) and not readings.thread.is_alive()
assert readings.between(0, 1) == readings.samples and readings.between(0.5, 1) == []


class Readings(gpu_clock.Readings):
    """Reads after each launch, in place of a thread."""
    def __enter__(self):
        open_readings.append(self)
        return self

    def __exit__(self, *_):
        open_readings.pop()


gpu_clock.Readings, open_readings, log = Readings, [], []


def rival(name, seconds, mhz, nvml):
    def run():
        log.append(name)
        clock.now += seconds
        nvml.clock = mhz
        for readings in open_readings:
            meter = readings.meter
            if meter:
                count = len(readings.samples)
                readings.samples.append(gpu_clock.Sample(
                    clock.now, meter.joules(), meter.mhz(), meter.watts(), meter.reasons(),
                    meter.monitors() if readings.monitored and count % gpu_clock.APART == 0 else None))
    return run


# Each rival runs alone, half of its time untimed, in turn, and each comes first in some round; the clock and the power are those of the timed half.
nvml = Nvml()
rivals = {"hot": rival("hot", 0.002, 1500, nvml), "cool": rival("cool", 0.004, 1900, nvml)}
figures = gpu_clock.time_rivals(rivals, 200, 3, gpu_clock.Meter("GPU-1", nvml))
assert list(figures) == ["hot", "cool"]
assert abs(figures["hot"].time() - 2) < 1e-6 and abs(figures["cool"].time() - 4) < 1e-6
assert (figures["hot"].mhz(), figures["cool"].mhz()) == (1500, 1900)
for name, figure in figures.items():
    assert figure.seconds > gpu_clock.LEAST and abs(figure.watts() - 500) < 30, (figure.seconds, figure.watts())
    # 4 launches to know how long one takes, then three times 200 ms, of which 100 ms are timed, in chunks of 5 ms.
    launches, chunks = gpu_clock.split(100, figure.time())
    assert log.count(name) == 4 + 3 * 2 * launches * chunks and len(figure.milliseconds) == 3 * chunks
    assert abs(launches * chunks * figure.time() - 100) <= 2 * figure.time()
    assert abs(len(figure.samples) - 3 * launches * chunks) <= 3
    assert figure.reasons() == {"power": 1.0} and figure.busy() == {} and not nvml.taken
turns = [name for before, name in zip(["", *log], log) if name != before]
# To know how long a launch takes; hot, cool; cool, hot; hot, cool.
assert turns == ["hot", "cool", "hot", "cool", "hot", "cool"], turns

# Counted clocks are those of the timed half alone, of SMs that both marks read.
class Driver:
    """Counters of two SMs at 1500 and 1502 MHz, and of a third that the second mark does not reach."""
    def cuModuleLoadData(self, module, text):
        assert b".entry read_counters(" in text
        module._obj.value = 3
        return 0

    def cuModuleGetFunction(self, kernel, module, name):
        assert (module.value, name) == (3, b"read_counters")
        kernel._obj.value = 4
        return 0

    def cuLaunchKernel(self, kernel, *launch):
        assert kernel.value == 4 and launch[:6] == (528, 1, 1, 32, 1, 1) and launch[7].value == 9
        which = ctypes.c_uint64.from_address(launch[8][0]).value
        marks.append((which, clock.now, len(log)))
        nanoseconds = 1000 + round(clock.now * 1e9)
        for sm, mhz in (0, 1500), (130, 1502), (7, 1000):
            if sm != 7 or not which:
                counters.rows[which][sm] = [nanoseconds * mhz // 1000, nanoseconds]
        return 0


class Counters:
    rows = []

    def zero_(self):
        self.rows = [[[0, 0]] * gpu_clock.NUMBERS for _ in range(2)]

    def __getitem__(self, which):
        return types.SimpleNamespace(data_ptr=lambda: which)

    def tolist(self):
        return self.rows


marks, counters, torch = [], Counters(), sys.modules["torch"]
torch.zeros = lambda *sizes, dtype, device: counters
torch.int64 = "int64"
torch.cuda.current_stream = lambda: types.SimpleNamespace(cuda_stream=9)
torch.cuda.current_device = lambda: 0
torch.cuda.get_device_properties = lambda device: types.SimpleNamespace(multi_processor_count=132)
log.clear()
figure = gpu_clock.time_rivals({"hot": rivals["hot"]}, 200, 3, gpu_clock.Meter("GPU-1", nvml), counter=gpu_clock.CycleCounter(Driver()))["hot"]
assert abs(figure.mhz() - 1501) < 0.1 and len(figure.clocks) == 3, figure.clocks
# 4 launches to know how long one takes, then 50 without marks and 50 between two, in each round.
assert [count for _, _, count in marks] == [54, 104, 154, 204, 254, 304] and [which for which, _, _ in marks] == [0, 1] * 3, marks
counters.zero_()
assert gpu_clock.CycleCounter(Driver()).mhz() is None
refusing = Driver()
refusing.cuModuleLoadData = lambda module, text: 218
try:
    gpu_clock.CycleCounter(refusing)
    assert False
except OSError as error:
    assert str(error) == "cuModuleLoadData gives 218"

# A window of energy: the timed part lasts as long, and monitors say what is busy in it; of what NVML lacks nothing is said.
log.clear()
nvml = Nvml()
figure = gpu_clock.time_rivals({"hot": rival("hot", 0.002, 1500, nvml)}, 200, 3, gpu_clock.Meter("GPU-1", nvml), 2000)["hot"]
assert len(log) == 4 + 3 * (50 + 1000) and 5.9 < figure.seconds <= 6 and abs(figure.watts() - 500) < 5, figure.seconds
assert figure.busy() == {"sm": 98.5} and nvml.freed == len(nvml.taken) > 60
assert 1.8 < nvml.between[1] - nvml.between[0] <= 2
lacking = gpu_clock.Meter("GPU-1", Nvml(absent=["nvmlGpmSampleAlloc", "nvmlDeviceGetCurrentClocksThrottleReasons"]))
assert lacking.monitors() is None and lacking.reasons() is None

# A counter that moves too seldom says nothing: readings of the power do.
figure = gpu_clock.time_rivals({"hot": rivals["hot"]}, 40, 1, gpu_clock.Meter("GPU-1", Nvml(step=1e6)))["hot"]
assert figure.watts() == 480
# Without NVML there are times alone.
figure = gpu_clock.time_rivals({"hot": rivals["hot"]}, 40, 1)["hot"]
assert abs(figure.time() - 2) < 1e-6 and figure.mhz() is None and figure.watts() is None

assert gpu_clock.split(150, 0.5) == (10, 30) and gpu_clock.split(150, 25) == (1, 6)
assert gpu_clock.split(150, 100) == (1, 3)
bursts = gpu_clock.time_bursts(rivals, rounds=2)
assert {name: round(time, 6) for name, time in bursts.items()} == {"hot": 2, "cool": 4}
