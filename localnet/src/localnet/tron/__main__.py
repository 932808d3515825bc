"""Run Tron's interfaces as a process of their own, before an anvil that runs already.

python -m localnet.tron --anvil-port 8548 --port 8549
"""

import argparse

from localnet.anvil import Anvil
from localnet.tron.node import TRON_CHAIN_ID, TronNode


def main() -> None:
    """Answer until the process is ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--anvil-port", type=int, required=True)
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    TronNode(Anvil(TRON_CHAIN_ID, port=options.anvil_port), port=options.port).serve()


if __name__ == "__main__":
    main()
