#!/usr/bin/env python3
"""Compares prices with Python's fractions and decimal over random cases, the edges of 64 bits among them.

    tests/python/price_test.py build/tests/price_driver [SEED]
"""
import decimal
import fractions
import random
import subprocess
import sys

CASES = 10_000
LARGEST = 2**63 - 1


def number(source):
    """Of every size, and often close to a power of two or of ten, or to the largest."""
    kind = source.randrange(8)
    if kind == 0:
        return source.randint(1, 10)
    if kind == 1:
        near = source.choice([2 ** source.randint(1, 63), 10 ** source.randint(1, 18), LARGEST])
        return min(max(near + source.randint(-2, 2), 1), LARGEST)
    return source.randint(1, 2 ** source.randint(1, 63) - 1)


def case(source):
    gpus = source.choice([1, 2, 4, 8, number(source)])
    cents = number(source)
    kind = source.randrange(4)
    ranks = number(source) if kind != 1 else 0
    lots = number(source) if kind in (1, 2) else 0
    if kind == 3:  # a total close to the largest, on both sides
        lots = source.randint(1, 1000)
        ranks = source.randint(1, lots * gpus) if lots * gpus <= LARGEST else 1
        cents = min(max(LARGEST // lots + source.randint(-1, 1), 1), LARGEST)
    # 2 x 10^6 units: every other total ends in a half at the seventh place
    accepted = source.choice([0, 1, number(source), number(source), 2_000_000 * source.randint(1, 9)])
    return gpus, cents, ranks, lots, accepted


def expected(gpus_per_lot, cents, ranks, lots, accepted):
    if lots == 0:
        lots = -(-ranks // gpus_per_lot)
    gpus = lots * gpus_per_lot
    if gpus > LARGEST:
        return "too-large"
    if ranks > gpus:
        return "usage"
    total = lots * cents
    if total > LARGEST:
        return "too-large"
    idle = gpus - ranks if ranks else -1
    if accepted == 0:
        return f"ok {lots} {gpus} {idle} {total} 0/1 -"
    unit = fractions.Fraction(total, accepted)
    with decimal.localcontext(decimal.Context(prec=60)):
        # 60 digits do not hold every quotient, but no quotient of 63-bit numbers comes as close to a half
        # without being one: its distance to a half is at least 1 / (2 x 10^6 x 2^63).
        quotient = decimal.Decimal(unit.numerator) / decimal.Decimal(unit.denominator)
        text = quotient.quantize(decimal.Decimal("0.000001"), rounding=decimal.ROUND_HALF_UP)
    return f"ok {lots} {gpus} {idle} {total} {unit.numerator}/{unit.denominator} {text:f}"


def main(driver, seed):
    source = random.Random(seed)
    cases = [case(source) for _ in range(CASES)]
    done = subprocess.run([driver], input="".join("%d %d %d %d %d\n" % c for c in cases), encoding="utf-8",
                          stdout=subprocess.PIPE, timeout=60, check=True)
    answers = done.stdout.splitlines()
    if len(answers) != CASES:
        sys.exit(f"{CASES} cases, {len(answers)} answers")
    wrong = 0
    outcomes = {}
    for one, answer in zip(cases, answers):
        wanted = expected(*one)
        outcomes[wanted.split()[0]] = outcomes.get(wanted.split()[0], 0) + 1
        if answer != wanted:
            wrong += 1
            print(f"{one}\n  wanted {wanted}\n  got    {answer}")
    print(f"seed {seed}: {CASES} cases {outcomes}, {wrong} wrong")
    if wrong or min(outcomes.get(k, 0) for k in ("ok", "usage", "too-large")) < 100:
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20260822)
