#!/usr/bin/env python3
"""Every member that the program writes as JSON is documented, and each that a document names is written."""
import re
import sys
import unittest

from project import SOURCE, commands

# Place in the documents, the sources that write what it describes, and others that its names come from. What takes its
# names from the tables of fields is held against docs/archive-format.md by unit.archive_doc_test.
WRITTEN = (
    (("docs/json.md#estimate",), ("src/cmd/estimate.c",), ()),
    (("docs/json.md#environment",), ("src/cmd/environment.c",), ()),
    (("docs/json.md#show",), ("src/cmd/show_json.c",), ("src/core/run.c",)),
    (("docs/json.md#check",), ("io/check_json.c",), ("src/core/verdict.h", "src/analysis/judge.c")),
    (("docs/json.md#compare",), ("io/compare_json.c",), ("src/core/drift.h",)),
    (("docs/json.md#tariffs",), ("io/tariffs_json.c",), ()),
    (("docs/json.md#manifest",), ("src/cmd/manifest.c",), ()),
    (("docs/prices.md#Output", "docs/prices.md#The price at launch", "docs/quality-protocol.md"), ("io/price_json.c",),
     ("io/protocol_json.h", "io/protocol_json.c")),
    (("docs/prices.md#Manifests",), ("io/manifest.c",), ()),
    (("docs/consistency.md#The baseline's file",), ("io/baseline_file.c",), ()),
    (("docs/archive-format.md#The record",), ("io/record_json.c", "io/record_lists.c"),
     ("src/core/record.c", "src/measure/protocol.c", "src/cmd/measure.c")),
)

# Names in these places that are no members: values, and what other places describe.
OTHERS = {"null", "list", "verify", "rank", "cold_forward", "warm_forward", "tariff_json"}

KEY = re.compile(r'\b(?:lot_json_key|lot_json_member_\w+|add_\w+|write_\w+)\(&?(?:t|text|json), "(\w+)"')


def section(place):
    """A document, or the part of it under a heading, up to the next one of its level."""
    name, _, heading = place.partition("#")
    text = (SOURCE / name).read_text(encoding="utf-8")
    if not heading:
        return text
    level, rest = re.search(rf"^(#+) {heading}\n(.*)", text, re.MULTILINE | re.DOTALL).groups()
    return re.split(rf"^#{{1,{len(level)}}} ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def named(places):
    """The words that stand in code spans and code blocks."""
    spans = re.findall(r"```.*?```|`[^`\n]+`|^    .*$", "".join(map(section, places)), re.MULTILINE | re.DOTALL)
    return {word for span in spans for word in re.findall(r"\w+", span)}


def listed(places):
    """The names that stand alone in code spans and look like members."""
    return set(re.findall(r"`([a-z][a-z0-9]*(?:_[a-z0-9]+)*)`", "".join(map(section, places))))


def source(names):
    return "".join((SOURCE / name).read_text(encoding="utf-8") for name in names)


class Json(unittest.TestCase):
    def test_members_are_documented(self):
        for places, writers, _ in WRITTEN:
            with self.subTest(place=places[0]):
                keys = set(KEY.findall(source(writers)))
                self.assertGreater(len(keys), 3)
                self.assertEqual([], sorted(keys - named(places)))

    def test_documented_members_are_written(self):
        for places, writers, others in WRITTEN:
            with self.subTest(place=places[0]):
                text = source(writers + others)
                known = set(re.findall(r'"(\w+)"|\b(?:X|SECTION)\((\w+)', text))
                known = {name for pair in known for name in pair} | OTHERS | set(commands())
                self.assertEqual([], sorted(listed(places) - known))

    def test_every_writer_is_looked_at(self):
        writers = {name for _, names, _ in WRITTEN for name in names}
        for folder in ("src", "io", "gpu"):
            for path in sorted((SOURCE / folder).rglob("*.c")):
                if path.name != "json_text.c" and KEY.search(path.read_text(encoding="utf-8")):
                    self.assertIn(str(path.relative_to(SOURCE)), writers)


if __name__ == "__main__":
    sys.exit(unittest.main())
