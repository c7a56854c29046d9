#!/usr/bin/env python3
"""The generator and the digest by a second definition, in integers and fractions and none of the program's code, against
what a device makes: tests/support/generator_values.c prints elements of fills and their digests."""
import fractions
import math
import struct
import subprocess
import sys
import unittest

PROGRAM, DEVICE = sys.argv.pop(1), sys.argv.pop(1)

UNIFORM, NEAR_NORMAL = "uniform", "near-normal"
ITEM = {"float32": 4, "float16": 2, "bfloat16": 2}
# precision, least exponent of a normal number
FORMAT = {"float32": (24, -126), "float16": (11, -14), "bfloat16": (8, -126)}
MASK = 0xFFFFFFFF


def philox(counter, key):
    """Philox4x32-7 of Salmon, Moraes, Dror and Shaw (SC'11)."""
    a, b, c, d = counter
    k, l = key
    for _ in range(7):
        first, second = 0xD2511F53 * a, 0xCD9E8D57 * c
        a, b, c, d = second >> 32 ^ b ^ k, second & MASK, first >> 32 ^ d ^ l, first & MASK
        k, l = k + 0x9E3779B9 & MASK, l + 0xBB67AE85 & MASK
    return a, b, c, d


def signed(bits, width):
    return bits - (1 << width) if bits >> (width - 1) else bits


def rounded(value, form):
    """The fraction nearest to `value` that the format holds, the even one of two."""
    precision, least = FORMAT[form]
    if value == 0:
        return value
    size = abs(value.numerator).bit_length() - value.denominator.bit_length()
    exponent = max(least, size if abs(value) >= fractions.Fraction(2) ** size else size - 1)
    step = fractions.Fraction(2) ** (exponent - precision + 1)
    return round(value / step) * step


def bits_of(value, form):
    if form == "bfloat16":
        return struct.unpack("<I", struct.pack("<f", float(value)))[0] >> 16
    code, layout = ("<e", "<H") if form == "float16" else ("<f", "<I")
    return struct.unpack(layout, struct.pack(code, float(value)))[0]


def element(seed, tensor, law, scale, form, index):
    """The bits of one element, as docs/protocol.md and gpu/generator.h say."""
    halves = form != "float32"
    number = index // 2 if halves else index
    block = number // 4
    word = philox((block & MASK, block >> 32, tensor, 0), (seed & MASK, seed >> 32))[number % 4]
    second = halves and index % 2 == 1
    scale = rounded(fractions.Fraction(scale), "float32")
    if law == UNIFORM:
        part = (word >> 16 if second else word & 0xFFFF) if halves else word & ~0xFF
        width = 16 if halves else 32
        drawn, factor = signed(part, width), rounded(scale / 2 ** (width - 1), "float32")
    else:
        c = [signed(word >> 8 * i & 0xFF, 8) for i in range(4)]
        drawn = c[0] + c[1] - c[2] - c[3] if second else sum(c) + 2
        one = rounded(fractions.Fraction(1 / math.sqrt(4 * (2 ** 16 - 1) / 12)), "float32")
        factor = rounded(scale * one, "float32")
    value = rounded(rounded(drawn * factor, "float32"), form)
    if value == 0: # a fraction has no sign of zero
        return 1 << 8 * ITEM[form] - 1 if drawn < 0 else 0
    return bits_of(value, form)


def digest(data):
    total, wrap = len(data), 2 ** 64
    for index in range(0, (len(data) + 7) // 8):
        m = (int.from_bytes(data[8 * index:8 * index + 8], "little") + (index + 1) * 0x9E3779B97F4A7C15) % wrap
        m = (m ^ m >> 32) * 0xBF58476D1CE4E5B9 % wrap
        total += m ^ m >> 29
    return total % wrap


class Definition(unittest.TestCase):
    def test_published_vectors(self):
        """Random123's kat_vectors for philox4x32 with 7 rounds."""
        for counter, key, words in (
                ((0,) * 4, (0, 0), (0x5f6fb709, 0x0d893f64, 0x4f121f81, 0x4f730a48)),
                ((MASK,) * 4, (MASK, MASK), (0x5207ddc2, 0x45165e59, 0x4d8ee751, 0x8c52f662)),
                ((0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344), (0xa4093822, 0x299f31d0),
                 (0x4dfccaba, 0x190a87f0, 0xc47362ba, 0xb6b5242a))):
            self.assertEqual(words, philox(counter, key))

    def test_golden_digests(self):
        """What 1000 elements gave when this file was written: the definition itself must not move."""
        for (law, form), golden in GOLDEN.items():
            self.assertEqual(golden, digest(made(1, 5, law, "0.37", form, 0, 1000)), (law, form))


def made(seed, tensor, law, scale, form, first, count):
    return b"".join(element(seed, tensor, law, scale, form, first + i).to_bytes(ITEM[form], "little")
                    for i in range(count))


GOLDEN = {
    ("uniform", "float32"): 0x3BA22B0A64B263AF,
    ("uniform", "float16"): 0x02326C4B0943B23E,
    ("uniform", "bfloat16"): 0x2CE1ABFB548F9E41,
    ("near-normal", "float32"): 0xE1AAFEA8AF9A6D39,
    ("near-normal", "float16"): 0xE69DD8C8E3807AC9,
    ("near-normal", "bfloat16"): 0x6563DBEC38491F33,
}


class Device(unittest.TestCase):
    def test_values_and_digests(self):
        cases = [(seed, tensor, law, scale, form, first, count)
                 for seed, tensor, scale, first, count in (
                     (1, 5, "0.37", 0, 1000), (0xFEDCBA9876543210, 1, "0.011048543", 3, 517),
                     (42, 4, "1.0", (1 << 34) - 201, 477), (42, 4, "1.0", (1 << 35) - 333, 777),
                     (7, 2, "1e-38", 1, 64))
                 for law in (UNIFORM, NEAR_NORMAL) for form in ITEM]
        asked = "".join(" ".join(str(part) for part in case) + "\n" for case in cases)
        done = subprocess.run([PROGRAM, DEVICE], input=asked, stdout=subprocess.PIPE, encoding="ascii", check=True,
                              timeout=60)
        answers = done.stdout.splitlines()
        self.assertEqual(len(cases), len(answers))
        for case, answer in zip(cases, answers):
            wanted = made(*case)
            self.assertEqual(f"{digest(wanted):016x} {wanted.hex()}", answer, case)


if __name__ == "__main__":
    unittest.main()
