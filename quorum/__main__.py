"""``python -m quorum``: the command ``quorum`` in a clone, where it is not installed."""

from quorum.command import main

if __name__ == "__main__":
    main()
