#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""benchmarks/results.py: a page of results by CPU, from records of `skald bench`.

usage: results_test.py FOLDER_OF_THE_EXECUTABLES, in the top folder of the repository
"""

import html.parser
import json
import re
import subprocess
import sys
import unittest
import xml.etree.ElementTree

from skald_program import TestCase

SCRIPT = "benchmarks/results.py"


class Balanced(html.parser.HTMLParser):
    """Collects text, and checks that every element ends where it should."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.text = [], set(), ""

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.text += data


class Results(TestCase):
    def records(self):
        """Rows that the program writes, as two machines might have written them."""
        file = self.folder / "real.jsonl"
        self.run_skald("bench", "-p", 4, "-n", 4, "-d", "0,8", "-b", "1,2", "-t", "1,2", "-r", 2, "--record", file)
        mine = [json.loads(line) for line in file.read_text().splitlines()]
        other = [dict(record, cpu="Other <CPU> & co", cpu_family="Vendor 1/2/3", tokens_per_second=record["tokens_per_second"] * 2,
                      weights_fit_cache=False, cycles_per_token=100.0, instructions_per_token=250.0, cache_misses_per_token=1.0,
                      joules_per_token=0.5, spread=0.01, other_cpus_busy=0.0) for record in mine]
        return mine, other

    def page(self, *files):
        page = self.folder / "page.html"
        done = subprocess.run([sys.executable, SCRIPT, page, *files], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return page.read_text()

    def write(self, name, records):
        path = self.folder / name
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
        return path

    def test_a_page_of_two_machines(self):
        mine, other = self.records()
        page = self.page(self.write("a.jsonl", mine), self.write("b.jsonl", other))
        parsed = Balanced()
        parsed.feed(page)
        self.assertEqual(parsed.open, [])
        self.assertIn(mine[0]["cpu"], parsed.text)
        self.assertIn("Other <CPU> & co (Vendor 1/2/3)", parsed.text)
        self.assertNotIn("cpu", parsed.tags)  # a name is no element
        self.assertIn("2.50 instructions a cycle, 0.500 J a token", parsed.text)
        self.assertFalse(re.search(r"(src|href)=", page), "the page needs no other file")
        plots = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
        titles = "; ".join(re.findall(r'font-weight="bold">([^<]*)<', page))
        for title in ("pp4, tokens/s", "tg4 @ 8, tokens/s", "Decode against context", "Threads", "Conversations together"):
            self.assertIn(title, titles)
        for plot in plots:
            drawn = xml.etree.ElementTree.fromstring(plot)
            for bar in drawn.iter("{http://www.w3.org/2000/svg}rect"):
                self.assertGreaterEqual(float(bar.get("width").rstrip("%")), 0)
        # The twice as fast one comes first, and its bar is twice as long.
        [plot] = [plot for plot in plots if ">tg4, tokens/s<" in plot]
        widths = [float(width) for width in re.findall(r'width="([\d.]+)" height="18"', plot)]
        self.assertAlmostEqual(widths[0] / widths[1], 2, places=1)

    def test_the_latest_of_several_measurements_counts(self):
        mine, _ = self.records()
        record = dict(mine[0], tokens_per_second=111.0, spread=0.0, other_cpus_busy=None)
        newer = dict(record, date="2999-01-01T00:00:00Z", tokens_per_second=222.0, spread=0.5)
        page = self.page(self.write("a.jsonl", [newer, record]))
        self.assertIn(">222*<", page)  # with a star, as its repetitions differ
        self.assertNotIn(">111", page)

    def test_files_that_hold_something_else_are_refused(self):
        mine, _ = self.records()
        good = json.dumps(mine[0])
        for text, pattern in (("", "there are no records"), ("[]\n", "bad.jsonl:1: no record: expected an object"),
                              (good + "\n{", "bad.jsonl:2: no record"),
                              (good.replace('"cpu"', '"cqu"'), "bad.jsonl:1: expected cpu, a text"),
                              (json.dumps(dict(mine[0], spread="x")), "bad.jsonl:1: expected spread, a number"),
                              (json.dumps(dict(mine[0], cpus=float("nan"))), "bad.jsonl:1: expected cpus, a number"),
                              (json.dumps(dict(mine[0], joules_per_token=-1)), "bad.jsonl:1: expected joules_per_token")):
            (self.folder / "bad.jsonl").write_text(text)
            done = subprocess.run([sys.executable, SCRIPT, self.folder / "page.html", self.folder / "bad.jsonl"],
                                  capture_output=True, text=True)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, rf"\Aresults.py: .*{pattern}")
            self.assertFalse((self.folder / "page.html").exists())


if __name__ == "__main__":
    unittest.main()
