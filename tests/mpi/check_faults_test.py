#!/usr/bin/env python3
"""Faults of one rank, through measure, archive and check: each named right, the healthy ones ok."""
import json
import unittest

from ranks import RanksTest

WORK = ["--device", "host", "--threads", "1", "--batch", "1", "--context", "8", "--width", "32", "--dtype", "float32",
        "--warmup", "2"]
# Times of a busy machine are not what these tests are about: only a GPU that is far beyond all is slow.
NO_TIMES = ["--prior", "1", "--level", "0.000000001"]


class Faults(RanksTest):
    def setUp(self):
        super().setUp()
        self.modules = self.faulty_modules()

    # Three repeats: too few for a verdict on drift or clusters, which a busy machine would earn.
    def run_with(self, ranks, *arguments, output=None, repeats=3, **faults):
        faults = {f"GPULOT_FAULT_{name}": value for name, value in faults.items()}
        return self.measure(ranks, *WORK, "--repeats", str(repeats), *arguments, "--output", output or self.output,
                            GPULOT_MODULE_DIR=self.modules, GPULOT_FAULT_OWN_UUID="1", **faults)

    def check(self, *arguments, archive=None):
        status, out, err = self.alone("check", archive or self.output, "--json", *NO_TIMES, *arguments)
        self.assertEqual("", err)
        result = json.loads(out)
        self.assertEqual(result["ok"], status == 0)
        return status, {d["rank"]: d["verdicts"] for d in result["devices"]}, result

    def finding(self, result, rank, verdict):
        found = [f for f in result["findings"] if f["rank"] == rank and f["verdict"] == verdict]
        self.assertTrue(found, f"rank {rank} has no finding '{verdict}'")
        return found[0]

    def expect(self, ranks, verdicts):
        status, found, result = self.check()
        wanted = {rank: verdicts.get(rank, ["ok"]) for rank in range(ranks)}
        self.assertEqual(wanted, found, result["findings"])
        self.assertEqual(0 if not verdicts else 1, status)
        return result

    def test_healthy(self):
        self.assertEqual((0, []), (lambda run: (run[0], [l for l in run[1] if "rank" in l and "fail" in l]))(
            self.run_with(4)))
        result = self.expect(4, {})
        self.assertEqual(1, len(result["groups"]))
        status, out, _ = self.alone("compare", self.output, self.output)
        self.assertEqual(0, status, out)  # three repeats are few, but the run is the same
        self.assertIn("are the same run", out)
        text = self.alone("check", self.output, *NO_TIMES)
        self.assertEqual((0, ""), (text[0], text[2]))
        self.assertIn("4 of 4 GPUs ok", text[1])
        self.assertEqual(text, self.alone("check", self.output, *NO_TIMES))

    def test_no_change(self):
        self.run_with(4, repeats=6)
        status, out, err = self.alone("compare", self.output, self.output)
        self.assertEqual((0, ""), (status, err), out)
        self.assertIn("no change\n", out)
        self.assertIn("nothing got worse", out)

    def test_one_bit_of_one_pass(self):
        self.run_with(4, RANKS="2", OUTPUT_BIT="4:100:3")
        found = self.finding(self.expect(4, {2: ["corrupt"]}), 2, "corrupt")
        self.assertEqual(("repeat", "warm_forward", 1), (found["evidence"], found["phase"], found["number"]))

    def test_a_bit_of_a_weight(self):
        """All its passes agree, the reference's bound is not reached: only the peers can know."""
        self.run_with(4, RANKS="1", WEIGHT_BIT="1:40:9")
        found = self.finding(self.expect(4, {1: ["corrupt"]}), 1, "corrupt")
        self.assertEqual("peer", found["evidence"])

    def test_a_bit_of_a_weight_among_two(self):
        """Nobody can say who of the two is wrong."""
        self.run_with(2, RANKS="1", WEIGHT_BIT="1:40:9")
        self.expect(2, {0: ["undecided"], 1: ["undecided"]})

    def localised(self, *more, **faults):
        """What check says of where the bits differ, as (rank, against, layer) -> entry."""
        self.run_with(3, "--localise", *more, **faults)
        _, verdicts, result = self.check()
        self.assertEqual({0: ["ok"], 1: ["corrupt"], 2: ["ok"]}, verdicts)
        return {(l["rank"], l["against_rank"], l["layer"]): l for l in result["localised"]}

    def test_where_a_weight_is_wrong(self):
        """Element 100 of the first weights [128, 32] is row 3: hidden unit 3 of every row, and nothing else there."""
        found = self.localised(RANKS="1", WEIGHT_BIT="1:100:12")
        first = found[1, 0, 1]
        self.assertEqual((3, 8 * 128), (first["first_element"], first["elements_compared"]))
        self.assertLessEqual(first["elements_differing"], 8)
        self.assertEqual(first["elements_differing"], first["rows_differing"])
        self.assertIn((1, 0, 2), found)
        self.assertNotIn((1, 1, 1), found)
        self.assertIn("rank 1 against rank 0: layer 1 (Linear and GELU)", self.alone("check", self.output, *NO_TIMES)[1])

    def test_where_one_pass_is_wrong(self):
        """Passes 0 to 5 are the protocol's, 6 to 8 those of --localise: of pass 7 one bit of element 100 of the output
        [8, 32], which is row 3, element 4."""
        found = self.localised(RANKS="1", OUTPUT_BIT="7:100:3")
        self.assertEqual([(1, 1, 2)], list(found))
        only = found[1, 1, 2]
        self.assertEqual((1, 1, 3, 4, 1), (only["elements_differing"], only["rows_differing"], only["first_row"],
                                           only["first_element"], only["bits_most"]))

    def test_why_nothing_says_where(self):
        """Pass 4 is a repeat: --localise sees none of it, and must not be recommended to one who gave it."""
        self.run_with(2, "--localise", RANKS="1", OUTPUT_BIT="4:100:3")
        self.assertIn("the sampled rows hold no difference", self.alone("check", self.output)[1])
        plain = self.folder / "plain.h5"
        self.run_with(2, output=plain, RANKS="1", OUTPUT_BIT="4:100:3")
        self.assertIn("a measurement with --localise keeps", self.alone("check", plain)[1])

    def test_a_bit_that_the_reference_sees(self):
        self.run_with(2, RANKS="0", WEIGHT_BIT="3:7:29")
        found = self.finding(self.expect(2, {0: ["corrupt"]}), 0, "corrupt")
        self.assertEqual("reference", found["evidence"])

    def test_golden_digest(self):
        """An earlier archive of the same work decides between two."""
        earlier = self.folder / "earlier.h5"
        self.run_with(2, output=earlier)
        self.run_with(2, RANKS="1", WEIGHT_BIT="1:40:9")
        status, found, result = self.check("--against", earlier)
        self.assertEqual((1, {0: ["ok"], 1: ["corrupt"]}), (status, found))
        self.assertEqual("expectation", self.finding(result, 1, "corrupt")["evidence"])
        status, out, _ = self.alone("compare", earlier, self.output, "--json", "--level", "0.000000001")
        wrong = [c for c in json.loads(out)["changes"] if c["change"] == "wrong"]
        self.assertEqual((1, [1]), (status, [c["rank_after"] for c in wrong]))

    def test_not_a_number(self):
        self.run_with(4, RANKS="0", OUTPUT_NAN="3:5")
        self.expect(4, {0: ["corrupt"]})

    def test_a_rank_that_never_measured(self):
        self.run_with(4, RANKS="3", CALL="build:0:device-memory")
        self.expect(4, {3: ["failed", "not-measured"]})

    def test_a_rank_that_fails_midway(self):
        self.run_with(4, RANKS="1", CALL="run:9:device-fault")
        status, found, _ = self.check()
        self.assertEqual(1, status)
        self.assertIn("failed", found[1])
        self.assertEqual([["ok"]] * 3, [found[rank] for rank in (0, 2, 3)])

    def test_one_rank_alone(self):
        self.run_with(1)
        self.expect(1, {0: ["undecided"]})

    def test_other_work_is_not_compared(self):
        other = self.folder / "other.h5"
        self.run_with(2)
        self.run_with(2, "--seed", "7", output=other)
        status, out, err = self.alone("compare", self.output, other)
        self.assertEqual((2, ""), (status, out))
        self.assertIn("seed", err)

    def test_a_baseline(self):
        first, second, base = (self.folder / name for name in ("1.h5", "2.h5", "base"))
        self.run_with(2, output=first)
        self.run_with(2, output=second)
        self.run_with(2)
        self.assertEqual(0, self.alone("baseline", "make", first, second, "--output", base)[0])
        self.assertEqual(2, self.alone("baseline", "make", first, second, "--output", base)[0])
        status, out, err = self.alone("compare", base, self.output, "--json", "--level", "0.000000001", "--tolerance",
                                      "0.99")
        found = json.loads(out)
        self.assertEqual((2, 2, 2), tuple(found[name] for name in ("archives_before", "matched",
                                                                   "archive_degrees_of_freedom")))
        # At such a level two archives tell little of passes this short: nothing got worse, or nobody can say.
        self.assertEqual(set(), {change["change"] for change in found["changes"]} - {"undecided"})
        self.assertEqual((1 if found["changes"] else 0, ""), (status, err), out)


if __name__ == "__main__":
    unittest.main()
