"""Every micro benchmark in one run: `python -m podherd.benchmarks.micro` (`make bench`)."""

import sys

from podherd.benchmarks.micro import codec, manifests, relist, report

if __name__ == "__main__":
    sys.exit(report.main("all", lambda: [*relist.results(), *codec.results(), *manifests.results()]))
