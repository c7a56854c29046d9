#!/usr/bin/env python3
"""Links of the documents lead to files and headings that are there, and every row of a table has all its cells."""
import re
import sys
import unittest

from project import SOURCE, documents

LINK = re.compile(r"\]\(([^)\s]+)\)")


def prose(text):
    """The lines outside code blocks, with their numbers."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        if not code:
            yield number, line


def anchors(text):
    """The headings as links name them: lower case, blanks as dashes, punctuation left out."""
    headings = (re.match(r"#+ (.*)", line) for _, line in prose(text))
    return {re.sub(r"[^\w\- ]", "", heading[1].lower()).replace(" ", "-") for heading in headings if heading}


def broken_links(document):
    for number, line in prose(document.read_text(encoding="utf-8")):
        for link in LINK.findall(line):
            name, _, anchor = link.partition("#")
            target = document.parent / name if name else document
            if re.match(r"[a-z]+:", link):
                continue
            if not target.exists() or anchor and anchor not in anchors(target.read_text(encoding="utf-8")):
                yield f"{document}:{number}: {link}"


def broken_rows(text):
    """Numbers of the lines of tables with more or fewer cells than the first one."""
    cells = None
    for number, line in prose(text):
        if not line.lstrip().startswith("|"):
            cells = None
            continue
        count = len(re.findall(r"(?<!\\)\|", line))
        cells = cells or count
        if count != cells:
            yield number


class Markdown(unittest.TestCase):
    def test_links(self):
        self.assertEqual([], [broken for document in documents() for broken in broken_links(document)])

    def test_tables(self):
        broken = [f"{document.relative_to(SOURCE)}:{number}" for document in documents()
                  for number in broken_rows(document.read_text(encoding="utf-8"))]
        self.assertEqual([], broken)

    def test_faults_are_found(self):
        self.assertEqual([3], list(broken_rows("| a | b |\n|---|---|\n| |x| | c |\n| `d\\|e` | f |\n")))
        self.assertEqual({"what-it-does-not-tell", "devices"}, anchors("# What it does not tell\n## /devices\n"))


if __name__ == "__main__":
    sys.exit(unittest.main())
