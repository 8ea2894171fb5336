"""Run Vowpal Wabbit's daemon from its Python package, because not every distribution has its program.

    python benchmarks/serve_vw_daemon.py PORT [OPTIONS OF VW ...]

The package contains the same library as the program. A workspace made with --daemon listens on the port and forks its
one child, which waits for the first connection; its parser then answers lines, connection after connection.
"""

from __future__ import annotations

import sys


def main(port: str, options: list[str]) -> None:
    """Serve until killed."""
    import vowpalwabbit

    daemon = ["--daemon", "--foreground", "--num_children", "1", "--port", port, "--quiet"]
    vowpalwabbit.Workspace(arg_list=[*daemon, *options]).run_parser()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
