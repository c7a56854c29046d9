#!/usr/bin/env python3
"""Makes the example catalogue of tariffs from public hourly list prices.

    data/make_example_tariffs.py data/unit-prices-2026-08-22.csv >data/example-tariffs-2026-08-22.csv

lot price in cents = cents per GPU-hour x GPUs per lot x 24 x days, exact: all of them are integers. The result has
the shape of a lot tariff, and nobody sells at its prices: it is for trying the program out and for its tests.
"""
import csv
import pathlib
import re
import sys

PERIODS = (3, 7, 30)


def read(path):
    """The comment lines and the rows of the unit prices."""
    lines = path.read_text(encoding="utf-8").splitlines()
    comments = [line[1:].strip() for line in lines if line.startswith("#")]
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    return comments, rows


def head(comments, name):
    """The comment lines of the catalogue: what it is, and whom its numbers come from."""
    date = re.search(r"snapshot (\d{4}-\d{2}-\d{2})", " ".join(comments)).group(1)
    yield "# title: EXAMPLE, NOT A TARIFF: lot prices computed from public hourly list prices"
    yield f"# date: {date}"
    yield "# currency: USD"
    yield '# source: "GPU rental prices - open dataset" by gpurentalprices.com, doi:10.5281/zenodo.21435394, CC BY 4.0'
    yield "# is_example: yes"
    yield "#"
    yield "# Changed from the source: lot price = cents per GPU-hour x GPUs per lot x 24 x days. Licence of the source and of"
    yield "# this file: CC BY 4.0, https://creativecommons.org/licenses/by/4.0/."
    yield f"# Made by data/make_example_tariffs.py from {name}, which says:"
    for comment in comments:
        yield f"# | {comment}"


def main(path):
    comments, rows = read(path)
    for line in head(comments, path.name):
        print(line)
    print("gpu,gpus_per_lot,days,price_cents_usd")
    for row in rows:
        gpus = int(row["gpus_per_lot"])
        for days in PERIODS:
            print(f"{row['gpu']},{gpus},{days},{int(row['cents_per_gpu_hour']) * gpus * 24 * days}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} UNIT-PRICES.csv")
    main(pathlib.Path(sys.argv[1]))
