#!/usr/bin/env python3
"""Speeds judged a second time, from docs/consistency.md alone, over archives with random times. Exit 77 without h5py."""
import itertools
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy
except ImportError as missing:
    print(f"skipped: {missing}; ./run.sh test installs it into .venv")
    sys.exit(77)

GPULOT, SAMPLE = sys.argv.pop(1), sys.argv.pop(1)
PRIOR, LEVEL, TOLERANCE = 0.015, 0.01, 0.03
CORRECTIONS = {2: 1.196, 3: 1.495, 4: 1.363, 5: 1.206, 6: 1.200, 7: 1.140, 8: 1.129, 9: 1.107}
COARSEST_STEP = 1.1e-6


def lost(distance):
    return 1 - math.exp(-distance)


def robust(values):
    middle = numpy.median(values)
    count = len(values)
    return 1.4826 * CORRECTIONS.get(count, count / (count - 0.8)) * numpy.median(abs(values - middle))


def median_variance(count):
    return {1: 1.0, 2: 0.5}.get(count, math.pi / (2 * count))


def belief(y, variance):
    """Spreads and how much each is believed, of GPUs whose logarithms of times are y."""
    spreads = PRIOR / 8 * 2 ** (numpy.arange(29) / 4)
    median = PRIOR * math.exp(-statistics.NormalDist().inv_cdf(0.8) * 0.45)
    sigma = numpy.sqrt(spreads**2 + variance)
    log = -0.5 * (numpy.log(spreads / median) / 0.45) ** 2 + numpy.log(sigma)
    for value in y - numpy.median(y):
        log += numpy.log(0.995 * numpy.exp(-0.5 * (value / sigma) ** 2) / (sigma * math.sqrt(2 * math.pi)) + 0.005)
    weights = numpy.exp(log - log.max())
    return spreads, weights / weights.sum()


def tail(distance, believed, own, peers, count):
    """Chance that an honest GPU lies so far above the middle of `count` others."""
    sigma = [math.sqrt(s * s + own + median_variance(count) * (s * s + peers)) for s in believed[0]]
    return sum(p * 0.5 * math.erfc(distance / s / math.sqrt(2)) for p, s in zip(believed[1], sigma))


def threshold(chance, *arguments):
    low, high = 0.0, 64.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if tail(middle, *arguments) > chance else (low, middle)
    return high


class Comparison:
    """The warm repeats of equal GPUs, each an array of seconds."""

    def __init__(self, times):
        logs = [numpy.log(t) for t in times]
        self.repeats = len(times[0])
        self.y = numpy.array([math.log(numpy.median(t)) for t in times])
        degrees = self.repeats - 1
        deviations = sorted(numpy.std(x, ddof=1) for x in logs)
        self.noise = deviations[(len(times) - 1) // 2] / (1 - 2 / (9 * degrees)) ** 1.5
        steps = [numpy.diff(numpy.sort(x)) for x in logs]
        steps = [(s[s > 1e-7].min(), t) for s, t in zip(steps, times) if (s > 1e-7).any()]
        self.step = min((s for s, t in steps if s * numpy.median(t) <= COARSEST_STEP), default=0)
        self.variance = self.of_median(self.noise)
        self.own = [self.of_median(robust(x) if robust(x) > 2 * self.noise else self.noise) for x in logs]
        self.chance = 0.8 * LEVEL / len(times)
        self.all = belief(self.y, self.variance)
        self.used = math.sqrt((self.all[1] * self.all[0] ** 2).sum())

    def of_median(self, noise):
        return max(noise**2 * median_variance(self.repeats), self.step**2 / 12)

    def expected(self):
        peers = len(self.y) - 1
        typical = threshold(self.chance, self.all, self.variance, self.variance, peers)
        fast = threshold(0.05, self.all, self.variance, self.variance, peers)
        return {"repeat_noise": self.noise, "used_spread": self.used, "typical_threshold": lost(typical),
                "detectable": lost(typical + fast), "false_alarm": self.chance,
                "own_spread": robust(self.y) if peers > 1 else None}

    def device(self, i):
        """What is expected of GPU i: its loss, the interval, and its own threshold where it is slow."""
        others = sorted((y, k) for k, y in enumerate(self.y) if k != i)
        pair = [others[(len(others) - 1) // 2][1], others[len(others) // 2][1]]
        distance = self.y[i] - self.y[pair].mean()
        peers = (self.own[pair[0]] + self.own[pair[1]]) / 2
        against = (belief(numpy.delete(self.y, i), self.variance), self.own[i], peers, len(others))
        half = statistics.NormalDist().inv_cdf(0.975) * math.sqrt(
            self.own[i] + median_variance(len(others)) * (self.used**2 + peers))
        slow = tail(distance, *against) < self.chance
        return (lost(distance), lost(distance - half), lost(distance + half),
                lost(threshold(self.chance, *against)) if slow else None)


def mann_whitney(n, m):
    """P(U <= u), by the number of ways that sums can be made: the Gaussian binomial coefficients."""
    ways = [1] + [0] * (n * m)
    for i in range(1, n + 1):
        for u in range(n * m, m + i - 1, -1):
            ways[u] -= ways[u - m - i]
        for u in range(i, n * m + 1):
            ways[u] += ways[u - i]
    return [float(below) / math.comb(n + m, n) for below in itertools.accumulate(ways)]


class Referee(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.random = numpy.random.default_rng(20261201)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def archive(self, name, times, kinds="equal,known"):
        """An archive with a GPU for each array of warm times."""
        path = pathlib.Path(self.folder.name) / name
        path.unlink(missing_ok=True)
        subprocess.run([SAMPLE, path, str(len(times)), str(len(times[0])), kinds], check=True, timeout=60)
        with h5py.File(path, "r+") as file:
            rows = file["phases"][:]
            for rank, seconds in enumerate(times):
                rows["device_seconds"][(rows["rank"] == rank) & (rows["phase"] == b"warm_forward")] = seconds
            file["phases"][...] = rows
        return path

    def times(self, gpus, repeats):
        """Random times of a pass of 100 us: spread, noise, one slow GPU, one noisy, a coarse clock."""
        draw = self.random
        own = numpy.exp(draw.normal(size=gpus) * 10 ** draw.uniform(-4, -1.3))
        own[0] /= 1 - draw.choice([0, 0, 0.05, 0.2])
        noise = numpy.full(gpus, 10 ** draw.uniform(-4, -1.5))
        noise[-1] *= draw.choice([1, 1, 5])
        made = [1e-4 * own[i] * numpy.exp(draw.normal(size=repeats) * noise[i]) for i in range(gpus)]
        step = draw.choice([0, 0, 1e-6])
        return [numpy.round(t / step) * step if step else t for t in made]

    def ask(self, *arguments):
        return json.loads(subprocess.run([GPULOT, *arguments, "--json"], capture_output=True, timeout=60).stdout)

    def near(self, expected, actual, what):
        if expected is None or actual is None:
            self.assertEqual(expected, actual, what)
        else:
            self.assertTrue(math.isclose(expected, actual, rel_tol=1e-6, abs_tol=1e-9), f"{what}: {expected} {actual}")

    def test_check(self):
        for gpus, repeats in itertools.product((2, 3, 4, 5, 8), (2, 3, 5, 10, 20)):
            with self.subTest(gpus=gpus, repeats=repeats):
                times = self.times(gpus, repeats)
                said = self.ask("check", self.archive("check.h5", times))
                comparison = Comparison(times)
                for name, value in comparison.expected().items():
                    self.near(value, said["comparisons"][0][name], name)
                slow = {f["rank"]: f["threshold"] for f in said["findings"] if f["verdict"] == "slow"}
                for i in range(gpus):
                    value, low, high, own = comparison.device(i)
                    for name, number in (("value", value), ("low", low), ("high", high)):
                        self.near(number, said["devices"][i]["slower"][name], f"GPU {i} {name}")
                    self.near(own, slow.get(i), f"GPU {i}, own threshold")

    def test_compare(self):
        for n, m in itertools.product((3, 4, 5, 8, 30), repeat=2):
            with self.subTest(before=n, after=m):
                before, after = self.times(2, n), self.times(2, m)
                said = self.ask("compare", self.archive("before.h5", before),
                                self.archive("after.h5", after, "equal,known,again"))
                below = mann_whitney(n, m)
                drifts = {d["rank_after"]: d for d in said["drifts"] if d["phase"] == "warm_forward"}
                for i in range(2):
                    ordered = sorted(math.log(a / b) for a in after[i] for b in before[i])
                    change = math.log(numpy.median(after[i]) / numpy.median(before[i]))
                    rank = 1
                    while rank <= n * m // 2 and 1 - 2 * below[rank] >= 1 - LEVEL / 2:
                        rank += 1
                    low, high = lost(min(ordered[rank - 1], change)), lost(max(ordered[-rank], change))
                    judged = 1 - 2 * below[rank - 1] >= 0.95
                    for name, number in (("slower", lost(change)), ("slower_low", low), ("slower_high", high),
                                         ("coverage", 1 - 2 * below[rank - 1])):
                        self.near(number, drifts[i][name], f"GPU {i} {name}")
                    self.assertEqual(judged and (low > 0 or high < 0), drifts[i]["beyond_noise"])
                    self.assertEqual(lost(abs(change)) <= TOLERANCE, drifts[i]["tolerated"])


if __name__ == "__main__":
    unittest.main()
